package gen

import (
	"fmt"
	"slices"
	"strings"
)

// names are the names that the engines give to things and furniture, by index: "cabinet 4".
type names struct {
	fixtures, items []string
}

// newNames numbers what is in the scene as the engines do: ids in lower case and sorted; of n with one
// name the first gets n and the last gets 1. The name is what precedes the first "_bar_", with "basin"
// added where the id speaks of one. Source: alfworld 0.4.2, agents/utils/misc.py, Demangler.
func newNames(s *scene) names {
	type entity struct {
		id  string
		dst *string
	}
	n := names{make([]string, len(s.fixtures)), make([]string, len(s.items))}
	var all []entity
	for i, f := range s.fixtures {
		all = append(all, entity{strings.ToLower(f.id), &n.fixtures[i]})
	}
	for i, it := range s.items {
		all = append(all, entity{strings.ToLower(it.id), &n.items[i]})
	}
	slices.SortFunc(all, func(a, b entity) int { return strings.Compare(a.id, b.id) })

	left := map[string]int{}
	for _, e := range all {
		left[baseName(e.id)]++
	}
	for _, e := range all {
		base := baseName(e.id)
		*e.dst = fmt.Sprintf("%s %d", base, left[base])
		left[base]--
	}
	return n
}

// baseName is the name without number of a lower-case id.
func baseName(id string) string {
	base, _, _ := strings.Cut(id, "_bar_")
	if strings.Contains(id, "basin") {
		base += "basin"
	}
	return base
}
