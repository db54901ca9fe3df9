// Package errext adds two things to an error chain that the command line needs and other packages
// only pass through: the remedy (a hint: the next command to type) and the exit code.
package errext

import "errors"

type withHint struct {
	error
	hint string
}

func (e *withHint) Unwrap() error { return e.error }

// WithHint attaches a remedy to err. The outermost hint of a chain wins. WithHint(nil, …) is nil.
func WithHint(err error, hint string) error {
	if err == nil {
		return nil
	}
	return &withHint{err, hint}
}

// Hint returns the outermost hint in err's chain, or "".
func Hint(err error) string {
	if h := (*withHint)(nil); errors.As(err, &h) {
		return h.hint
	}
	return ""
}

type withCode struct {
	error
	code int
}

func (e *withCode) Unwrap() error { return e.error }

// WithCode attaches a process exit code to err. WithCode(nil, …) is nil.
func WithCode(err error, code int) error {
	if err == nil {
		return nil
	}
	return &withCode{err, code}
}

// Code returns the outermost exit code in err's chain, or fallback.
func Code(err error, fallback int) int {
	if c := (*withCode)(nil); errors.As(err, &c) {
		return c.code
	}
	return fallback
}
