package engine

import (
	"strconv"
	"strings"
)

// entity is an object with the texts that a grammar can ask for.
type entity struct {
	id, typ string
	name    string // "" where the entity is in no initial fact: the original has no name for it either
}

// nameEntities gives the entities of the initial facts their display names, as the original's
// demangler does without shuffling: ids in sorted order, each kind of thing numbered from the highest
// down to 1. ids must be sorted.
func nameEntities(ids, types []string, named []bool) []entity {
	count := make(map[string]int)
	out := make([]entity, len(ids))
	for i, id := range ids {
		out[i] = entity{id: id, typ: types[i]}
		if kind, ok := kindOf(id); ok && named[i] {
			count[kind]++
		}
	}
	for i, id := range ids {
		if !named[i] {
			continue
		}
		kind, ok := kindOf(id)
		if !ok {
			out[i].name = plainName.Replace(id) + " "
			continue
		}
		out[i].name = kind + " " + strconv.Itoa(count[kind])
		count[kind]--
	}
	return out
}

var plainName = strings.NewReplacer("_minus_", "-", "_plus_", "+", "_dot_", ".", "_comma_", ",")

// kindOf is the text before the first "_bar_", with "basin" after it where the id holds that word
// anywhere. ok is false for an id without "_bar_".
func kindOf(id string) (kind string, ok bool) {
	kind, _, ok = strings.Cut(id, "_bar_")
	if ok && strings.Contains(id, "basin") {
		kind += "basin"
	}
	return kind, ok
}
