package py

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"

	"github.com/hindsightrl/harness/internal/pyjson"
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
		return pyjson.AppendQuote(b, v)
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
			b = append(pyjson.AppendQuote(b, it.Key), ": "...)
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
