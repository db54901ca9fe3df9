package py

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Float is repr of a float: the shortest digits that read back the same, in exponent notation below
// 1e-4 and from 1e16 on, and with ".0" where there is no fraction.
func Float(f float64) string { return string(AppendFloat(nil, f)) }

// AppendFloat appends Float.
func AppendFloat(b []byte, f float64) []byte {
	switch {
	case f != f:
		return append(b, "nan"...)
	case f > 1.7976931348623157e308:
		return append(b, "inf"...)
	case f < -1.7976931348623157e308:
		return append(b, "-inf"...)
	}
	abs := max(f, -f)
	if abs != 0 && (abs < 1e-4 || abs >= 1e16) {
		return strconv.AppendFloat(b, f, 'e', -1, 64) // Go writes two exponent digits at least, as Python does
	}
	n := len(b)
	b = strconv.AppendFloat(b, f, 'f', -1, 64)
	for _, c := range b[n:] {
		if c == '.' {
			return b
		}
	}
	return append(b, ".0"...)
}

// Quote is repr of a str: single quotes, unless the text has single quotes and no double ones.
func Quote(s string) string { return string(AppendQuote(nil, s)) }

// AppendQuote appends Quote.
func AppendQuote(b []byte, s string) []byte {
	quote := byte('\'')
	if strings.IndexByte(s, '\'') >= 0 && strings.IndexByte(s, '"') < 0 {
		quote = '"'
	}
	b = append(b, quote)
	for _, r := range s {
		switch {
		case r == rune(quote) || r == '\\':
			b = append(b, '\\', byte(r))
		case r == '\n':
			b = append(b, '\\', 'n')
		case r == '\r':
			b = append(b, '\\', 'r')
		case r == '\t':
			b = append(b, '\\', 't')
		case r < ' ' || r == 0x7f:
			b = fmt.Appendf(b, `\x%02x`, r)
		case r < utf8.RuneSelf || unicode.IsPrint(r):
			b = utf8.AppendRune(b, r)
		case r <= 0xff:
			b = fmt.Appendf(b, `\x%02x`, r)
		case r <= 0xffff:
			b = fmt.Appendf(b, `\u%04x`, r)
		default:
			b = fmt.Appendf(b, `\U%08x`, r)
		}
	}
	return append(b, quote)
}

// Repr is repr of a value.
func Repr(v any) string { return string(AppendRepr(nil, v)) }

// Str is str of a value: a string as it is, else its repr.
func Str(v any) string {
	if s, ok := v.(string); ok {
		return s
	}
	return Repr(v)
}

// AppendRepr appends Repr.
func AppendRepr(b []byte, v any) []byte {
	switch v := v.(type) {
	case nil:
		return append(b, "None"...)
	case bool:
		if v {
			return append(b, "True"...)
		}
		return append(b, "False"...)
	case int:
		return strconv.AppendInt(b, int64(v), 10)
	case float64:
		return AppendFloat(b, v)
	case string:
		return AppendQuote(b, v)
	case []any:
		return append(appendList(append(b, '['), v), ']')
	case Tuple:
		b = appendList(append(b, '('), v)
		if len(v) == 1 {
			b = append(b, ',')
		}
		return append(b, ')')
	case Dict:
		b = append(b, '{')
		for i, it := range v {
			if i > 0 {
				b = append(b, ", "...)
			}
			b = append(AppendQuote(b, it.Key), ": "...)
			b = AppendRepr(b, it.Value)
		}
		return append(b, '}')
	}
	panic(fmt.Sprintf("py: repr of %T", v))
}

func appendList(b []byte, list []any) []byte {
	for i, x := range list {
		if i > 0 {
			b = append(b, ", "...)
		}
		b = AppendRepr(b, x)
	}
	return b
}
