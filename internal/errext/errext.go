// Package errext adds two things to an error chain that the command line needs and other packages
// only pass through: the remedy (a hint: the next command to type) and the exit code.
package errext

import "errors"

type hintError struct {
	error
	hint string
}

func (e *hintError) Unwrap() error { return e.error }

// WithHint attaches a remedy to err. The outermost hint of a chain wins. WithHint(nil, …) is nil.
func WithHint(err error, hint string) error {
	if err == nil {
		return nil
	}
	return &hintError{err, hint}
}

// Hint returns the outermost hint in err's chain, or "".
func Hint(err error) string {
	if h := (*hintError)(nil); errors.As(err, &h) {
		return h.hint
	}
	return ""
}

type codeError struct {
	error
	code int
}

func (e *codeError) Unwrap() error { return e.error }

// WithCode attaches a process exit code to err. WithCode(nil, …) is nil.
func WithCode(err error, code int) error {
	if err == nil {
		return nil
	}
	return &codeError{err, code}
}

// Code returns the outermost exit code in err's chain, or fallback.
func Code(err error, fallback int) int {
	if c := (*codeError)(nil); errors.As(err, &c) {
		return c.code
	}
	return fallback
}
