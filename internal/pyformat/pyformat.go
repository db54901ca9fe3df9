// Package pyformat reads and fills templates in the notation of Python's str.format, in the part of it
// that prompt templates use: {name}, {name:.4f}, and {{ and }} for braces. Everything else that
// Python allows (positions, attributes, indices, conversions, other format specifications) is an error
// that says so, for a template comes from a file that somebody wrote.
package pyformat

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Field is one placeholder of a template.
type Field struct {
	Name      string
	Precision int // decimals of a {name:.Nf}; -1 for a plain {name}
	Offset    int // byte in the source where its brace opens
}

// Template is a parsed template. It is immutable.
type Template struct {
	source string
	parts  []part
}

// part is literal text, and then a field unless last.
type part struct {
	text  string
	field *Field
}

// SyntaxError is a template that Python would not format, or would format by rules outside this
// package.
type SyntaxError struct {
	Offset int // byte in the source
	Line   int // 1-based
	Reason string
}

// Error prints "line n: reason".
func (e *SyntaxError) Error() string { return fmt.Sprintf("line %d: %s", e.Line, e.Reason) }

// Parse reads a template.
func Parse(source string) (*Template, error) {
	t := &Template{source: source}
	var text strings.Builder
	for i := 0; i < len(source); {
		c := source[i]
		switch {
		case c != '{' && c != '}':
			next := strings.IndexAny(source[i:], "{}")
			if next < 0 {
				next = len(source) - i
			}
			text.WriteString(source[i : i+next])
			i += next
		case i+1 < len(source) && source[i+1] == c:
			text.WriteByte(c)
			i += 2
		case c == '}':
			return nil, syntaxError(source, i, "a single '}' (write '}}' for a brace)")
		default:
			end := strings.IndexAny(source[i+1:], "{}")
			if end < 0 || source[i+1+end] == '{' {
				return nil, syntaxError(source, i, "a '{' that is never closed (write '{{' for a brace)")
			}
			f, reason := parseField(source[i+1 : i+1+end])
			if reason != "" {
				return nil, syntaxError(source, i, reason)
			}
			f.Offset = i
			t.parts = append(t.parts, part{text.String(), &f})
			text.Reset()
			i += end + 2
		}
	}
	if text.Len() > 0 {
		t.parts = append(t.parts, part{text: text.String()})
	}
	return t, nil
}

func syntaxError(source string, offset int, reason string) error {
	return &SyntaxError{Offset: offset, Line: 1 + strings.Count(source[:offset], "\n"), Reason: reason}
}

// parseField reads what stands between the braces; reason is "" where it could.
func parseField(s string) (f Field, reason string) {
	name, spec, _ := strings.Cut(s, ":")
	f = Field{Name: name, Precision: -1}
	switch {
	case name == "":
		return f, "a placeholder without a name"
	case !isName(name):
		return f, fmt.Sprintf("placeholder %q is not a plain name", name)
	case spec == "":
		return f, ""
	}
	digits, isFloat := strings.CutSuffix(strings.TrimPrefix(spec, "."), "f")
	n, err := strconv.ParseUint(digits, 10, 8)
	if !isFloat || !strings.HasPrefix(spec, ".") || err != nil || n > 100 {
		return f, fmt.Sprintf("format %q of placeholder %q is not supported (only .Nf is)", spec, name)
	}
	f.Precision = int(n)
	return f, ""
}

func isName(s string) bool {
	for i := 0; i < len(s); i++ {
		c := s[i]
		letter := c == '_' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
		if !letter && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return s != ""
}

// Source is the text that the template was parsed from.
func (t *Template) Source() string { return t.source }

// Fields lists the placeholders in order of appearance, repetitions included.
func (t *Template) Fields() []Field {
	var out []Field
	for _, p := range t.parts {
		if p.field != nil {
			out = append(out, *p.field)
		}
	}
	return out
}

// Literals are the texts around the placeholders, doubled braces undone: one more than Fields has.
func (t *Template) Literals() []string {
	out := []string{""}
	for _, p := range t.parts {
		out[len(out)-1] += p.text
		if p.field != nil {
			out = append(out, "")
		}
	}
	return out
}

// Has reports whether the template has a placeholder of that name.
func (t *Template) Has(name string) bool {
	for _, p := range t.parts {
		if p.field != nil && p.field.Name == name {
			return true
		}
	}
	return false
}

// Append fills the template and appends the result to dst. value returns what stands for a name: a
// string, an int or a float64, and nil for a name that it does not know, which is an error. A plain
// {name} takes a string or an int; {name:.Nf} takes an int or a float64 and prints N decimals.
func (t *Template) Append(dst []byte, value func(name string) any) ([]byte, error) {
	for _, p := range t.parts {
		dst = append(dst, p.text...)
		if p.field == nil {
			continue
		}
		switch v := value(p.field.Name).(type) {
		case nil:
			return dst, fmt.Errorf("nothing to fill placeholder %q with", p.field.Name)
		case string:
			if p.field.Precision >= 0 {
				return dst, fmt.Errorf("placeholder %q prints decimals of a text", p.field.Name)
			}
			dst = append(dst, v...)
		case int:
			if p.field.Precision >= 0 {
				dst = strconv.AppendFloat(dst, float64(v), 'f', p.field.Precision, 64)
			} else {
				dst = strconv.AppendInt(dst, int64(v), 10)
			}
		case float64:
			if p.field.Precision < 0 {
				return dst, fmt.Errorf("placeholder %q needs a number of decimals (%s:.4f)", p.field.Name, p.field.Name)
			}
			dst = appendFloat(dst, v, p.field.Precision)
		default:
			return dst, fmt.Errorf("placeholder %q: cannot print a %T", p.field.Name, v)
		}
	}
	return dst, nil
}

// appendFloat prints as Python does: it writes inf, -inf and nan.
func appendFloat(dst []byte, v float64, decimals int) []byte {
	switch {
	case math.IsInf(v, 1):
		return append(dst, "inf"...)
	case math.IsInf(v, -1):
		return append(dst, "-inf"...)
	case math.IsNaN(v):
		return append(dst, "nan"...)
	}
	return strconv.AppendFloat(dst, v, 'f', decimals, 64)
}

// Format is Append into a new string.
func (t *Template) Format(value func(name string) any) (string, error) {
	b, err := t.Append(nil, value)
	return string(b), err
}
