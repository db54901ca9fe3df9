package answer

import (
	"math/big"
	"strings"
)

// DefaultTolerance is how far a rounded number may be off, relative to the larger one: four digits.
const DefaultTolerance = 1e-4

// Rules say when two answers are the same. The zero value is exact numbers only; start from
// DefaultRules.
type Rules struct {
	// Exact compares the texts, without the space around them, and nothing else.
	Exact bool `json:"exact"`
	// Tolerance is relative, and counts only where at least one of two numbers may have been rounded (it
	// has a decimal point, a root or π) and not both are whole. Whole numbers and fractions are the same
	// or they are not.
	Tolerance float64 `json:"tolerance"`
}

// DefaultRules compares by meaning, with DefaultTolerance.
func DefaultRules() Rules { return Rules{Tolerance: DefaultTolerance} }

// Equal reports whether two answers are the same. It is symmetric, and every answer equals itself; it
// is not transitive, since roundings add up and 50 % equals both 50 and 0.5. An empty answer equals
// nothing but itself.
func Equal(a, b string, r Rules) bool {
	if r.Exact || a == b {
		return strings.TrimSpace(a) == strings.TrimSpace(b)
	}
	return r.same(read(a), read(b))
}

// Classes sorts answers into classes of the same, numbered from 0 by first appearance: an answer joins
// the first class whose first answer it equals. Empty answers are in none, and have −1.
func Classes(answers []string, r Rules) []int {
	out := make([]int, len(answers))
	known := map[string]int{"": -1}
	var first []string
	var values []value
	for i, a := range answers {
		a = strings.TrimSpace(a)
		k, ok := known[a]
		if !ok {
			k = r.class(a, first, values)
			if k == len(first) {
				first = append(first, a)
				if !r.Exact {
					values = append(values, read(a))
				}
			}
			known[a] = k
		}
		out[i] = k
	}
	return out
}

// class is the number of the first class that a belongs to, or of a new one.
func (r Rules) class(a string, first []string, values []value) int {
	if r.Exact {
		for k, f := range first {
			if f == a {
				return k
			}
		}
		return len(first)
	}
	v := read(a)
	for k := range values {
		if r.same(v, values[k]) {
			return k
		}
	}
	return len(first)
}

func (r Rules) same(a, b value) bool {
	if a.kind > b.kind {
		a, b = b, a
	}
	switch {
	case a.kind == kindNumber && b.kind == kindNumber:
		return r.sameNumber(a, b)
	case a.kind == kindSet && b.kind == kindTuple:
		return a.bare && b.edges == [2]byte{'(', ')'} && r.inOrder(a.items, b.items)
	case a.kind == kindSet && b.kind == kindSet, a.kind == kindUnion && b.kind == kindUnion:
		return r.anyOrder(a.items, b.items)
	case a.kind == kindTuple && b.kind == kindTuple:
		return a.edges == b.edges && r.inOrder(a.items, b.items)
	case a.kind == kindText && b.kind == kindLetter, a.kind == b.kind:
		return a.text == b.text
	}
	return false
}

var hundred = number{rat: big.NewRat(100, 1), f: 100}

// sameNumber also takes 50 % for 0.5, and for 50: who leaves the unit out means the number before it.
func (r Rules) sameNumber(a, b value) bool {
	if a.number.near(b.number, r.Tolerance) {
		return true
	}
	if a.percent == b.percent {
		return false
	}
	if !a.percent {
		a, b = b, a
	}
	n, err := combine(a.number, hundred, '*')
	return err == nil && n.near(b.number, r.Tolerance)
}

func (r Rules) inOrder(a, b []value) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if !r.same(a[i], b[i]) {
			return false
		}
	}
	return true
}

// anyOrder pairs every item of a with one of b. It looks for a whole pairing, not for the first that
// comes: equality is not transitive, and the answer must not depend on which set is asked first. Each two
// items are compared once.
func (r Rules) anyOrder(a, b []value) bool {
	if len(a) != len(b) {
		return false
	}
	same := make([][]bool, len(a))
	for i := range a {
		same[i] = make([]bool, len(b))
		for j := range b {
			same[i][j] = r.same(a[i], b[j])
		}
	}
	partner := make([]int, len(b)) // of b's items among a's, plus one
	for i := range a {
		if !pair(same, i, partner, make([]bool, len(b))) {
			return false
		}
	}
	return true
}

// pair finds a partner for a's item i, moving earlier ones on where it must.
func pair(same [][]bool, i int, partner []int, tried []bool) bool {
	for j, ok := range same[i] {
		if tried[j] || !ok {
			continue
		}
		tried[j] = true
		if partner[j] == 0 || pair(same, partner[j]-1, partner, tried) {
			partner[j] = i + 1
			return true
		}
	}
	return false
}
