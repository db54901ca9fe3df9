// Package py prints and reads values the way Python does: repr, json.dumps, pprint and
// ast.literal_eval, of the types that the shop's pages, addresses and logs show. A byte that differs
// is a different observation.
//
// Values are nil, bool, int, float64, string, []any, Tuple and Dict.
package py

// Dict is a Python dict with string keys: pairs in insertion order.
type Dict []Item

// Item is one pair of a Dict.
type Item struct {
	Key   string
	Value any
}

// Tuple is a Python tuple.
type Tuple []any

// Get returns the value of a key.
func (d Dict) Get(key string) (any, bool) {
	for _, it := range d {
		if it.Key == key {
			return it.Value, true
		}
	}
	return nil, false
}

// Set returns the dict with a pair: a known key keeps its place.
func (d Dict) Set(key string, value any) Dict {
	for i := range d {
		if d[i].Key == key {
			d[i].Value = value
			return d
		}
	}
	return append(d, Item{key, value})
}

// Strings turns strings into a Python list.
func Strings(s []string) []any {
	out := make([]any, len(s))
	for i, v := range s {
		out[i] = v
	}
	return out
}
