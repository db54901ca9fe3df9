package py

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"unicode/utf16"
)

// JSON is json.dumps(v): separators ", " and ": ", everything outside ASCII escaped.
func JSON(v any) string { return string(AppendJSON(nil, v, false)) }

// HTMLJSON is the "tojson" filter of Flask's templates: keys sorted, and <, >, & and ' escaped, so that
// the text is safe inside a page.
func HTMLJSON(v any) string {
	raw := AppendJSON(nil, v, true)
	out := make([]byte, 0, len(raw))
	for _, c := range raw {
		switch c {
		case '<', '>', '&', '\'':
			out = fmt.Appendf(out, `\u%04x`, c)
		default:
			out = append(out, c)
		}
	}
	return string(out)
}

// AppendJSON appends json.dumps(v, sort_keys=sorted).
func AppendJSON(b []byte, v any, sorted bool) []byte {
	switch v := v.(type) {
	case nil:
		return append(b, "null"...)
	case bool:
		return strconv.AppendBool(b, v)
	case int:
		return strconv.AppendInt(b, int64(v), 10)
	case float64:
		return AppendFloat(b, v)
	case string:
		return appendJSONString(b, v)
	case []any:
		return appendJSONList(b, v, sorted)
	case Tuple:
		return appendJSONList(b, v, sorted)
	case Dict:
		b = append(b, '{')
		for i, it := range inOrder(v, sorted) {
			if i > 0 {
				b = append(b, ", "...)
			}
			b = append(appendJSONString(b, it.Key), ": "...)
			b = AppendJSON(b, it.Value, sorted)
		}
		return append(b, '}')
	}
	panic(fmt.Sprintf("py: JSON of %T", v))
}

func appendJSONList(b []byte, list []any, sorted bool) []byte {
	b = append(b, '[')
	for i, x := range list {
		if i > 0 {
			b = append(b, ", "...)
		}
		b = AppendJSON(b, x, sorted)
	}
	return append(b, ']')
}

func inOrder(d Dict, sorted bool) Dict {
	if !sorted {
		return d
	}
	d = slices.Clone(d)
	slices.SortStableFunc(d, func(x, y Item) int { return cmp.Compare(x.Key, y.Key) })
	return d
}

func appendJSONString(b []byte, s string) []byte {
	b = append(b, '"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			b = append(b, '\\', byte(r))
		case r == '\n':
			b = append(b, `\n`...)
		case r == '\r':
			b = append(b, `\r`...)
		case r == '\t':
			b = append(b, `\t`...)
		case r == '\f':
			b = append(b, `\f`...)
		case r == '\b':
			b = append(b, `\b`...)
		case r >= ' ' && r < 0x80: // also DEL, which Python leaves as it is
			b = append(b, byte(r))
		case r > 0xffff:
			hi, lo := utf16.EncodeRune(r)
			b = fmt.Appendf(b, `\u%04x\u%04x`, hi, lo)
		default:
			b = fmt.Appendf(b, `\u%04x`, r)
		}
	}
	return append(b, '"')
}
