// Package difflib computes the similarity ratio of Python's difflib.SequenceMatcher on strings, to the
// last bit: anchor groups and hindsight contexts depend on whether it reaches a threshold.
//
// It owns the ratio only. Characters are Unicode code points, as in Python; no character is junk by a
// user's rule, but the automatic rule applies: in a second string of 200 characters or more, characters
// that make up over 1% of it start no match. The ratio is therefore not symmetric.
//
// Source: the documentation of Python's difflib (Ratcliff and Obershelp's gestalt pattern matching),
// and its behaviour on random strings.
package difflib

import "unicode/utf8"

// autoJunkLength is the length of the second string from which frequent characters start no match.
const autoJunkLength = 200

// Ratio is SequenceMatcher(None, a, b).ratio(): twice the number of characters in matching blocks
// over the number of characters of both strings; 1 for two empty strings.
func Ratio(a, b string) float64 { return NewMatcher(b).Ratio(a) }

// Similar reports whether Ratio(a, b) >= threshold. Two upper bounds of the ratio, by lengths and by
// character counts, usually decide before the ratio is computed.
func Similar(a, b string, threshold float64) bool {
	if a == b {
		return 1 >= threshold // equal strings match whole, whatever the automatic rule removes
	}
	if lengthBound(a, b) < threshold {
		return false
	}
	return NewMatcher(b).Similar(a, threshold)
}

// lengthBound is an upper bound of the ratio: a block covers no more than the shorter string.
func lengthBound(a, b string) float64 {
	n, m := utf8.RuneCountInString(a), utf8.RuneCountInString(b)
	return ratio(min(n, m), n+m)
}

func ratio(matches, length int) float64 {
	if length == 0 {
		return 1
	}
	return 2 * float64(matches) / float64(length)
}

// Matcher compares many strings with one second string. It is not safe for concurrent use.
type Matcher struct {
	b         []rune
	positions map[rune][]int32 // where a character starts matches in b, ascending
	count     map[rune]int     // of every character of b
	previous  []int32          // match lengths ending at each position of b, shifted by one; zero between calls
	current   []int32
}

// NewMatcher prepares b.
func NewMatcher(b string) *Matcher {
	m := &Matcher{b: []rune(b), positions: make(map[rune][]int32), count: make(map[rune]int)}
	for j, c := range m.b {
		m.positions[c] = append(m.positions[c], int32(j))
		m.count[c]++
	}
	if n := len(m.b); n >= autoJunkLength {
		for c, at := range m.positions {
			if len(at) > n/100+1 {
				delete(m.positions, c)
			}
		}
	}
	m.previous, m.current = make([]int32, len(m.b)+1), make([]int32, len(m.b)+1)
	return m
}

// Ratio is the package's Ratio with the prepared second string.
func (m *Matcher) Ratio(a string) float64 { return m.ratio([]rune(a)) }

// Similar is the package's Similar with the prepared second string.
func (m *Matcher) Similar(a string, threshold float64) bool {
	runes := []rune(a)
	n, l := len(runes), len(runes)+len(m.b)
	if ratio(min(n, len(m.b)), l) < threshold || ratio(m.shared(runes), l) < threshold {
		return false
	}
	return m.ratio(runes) >= threshold
}

// shared counts the characters that a and b have in common as multisets: no set of blocks matches more.
func (m *Matcher) shared(a []rune) int {
	used, n := make(map[rune]int, len(m.count)), 0
	for _, c := range a {
		if used[c] < m.count[c] {
			used[c]++
			n++
		}
	}
	return n
}

func (m *Matcher) ratio(a []rune) float64 {
	return ratio(m.matched(a), len(a)+len(m.b))
}

// region is a rectangle of a and b that is still to be matched.
type region struct{ aLo, aHi, bLo, bHi int }

// matched sums the sizes of all matching blocks: the longest one, then those to its left and right.
func (m *Matcher) matched(a []rune) int {
	total, todo := 0, []region{{0, len(a), 0, len(m.b)}}
	for len(todo) > 0 {
		r := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		i, j, size := m.longest(a, r)
		if size == 0 {
			continue
		}
		total += size
		if r.aLo < i && r.bLo < j {
			todo = append(todo, region{r.aLo, i, r.bLo, j})
		}
		if i+size < r.aHi && j+size < r.bHi {
			todo = append(todo, region{i + size, r.aHi, j + size, r.bHi})
		}
	}
	return total
}

// longest finds the longest block of a region: of those, the first in a, and of those the first in b.
// Characters that start no match can still extend one.
func (m *Matcher) longest(a []rune, r region) (bestI, bestJ, size int) {
	bestI, bestJ = r.aLo, r.bLo
	var before []int32 // positions whose previous entries are set
	for i := r.aLo; i < r.aHi; i++ {
		at := within(m.positions[a[i]], r.bLo, r.bHi)
		for _, j := range at {
			k := m.previous[j] + 1
			m.current[j+1] = k
			if int(k) > size {
				size = int(k)
				bestI, bestJ = i-size+1, int(j)-size+1
			}
		}
		clearAt(m.previous, before)
		m.previous, m.current, before = m.current, m.previous, at
	}
	clearAt(m.previous, before)
	for bestI > r.aLo && bestJ > r.bLo && a[bestI-1] == m.b[bestJ-1] {
		bestI, bestJ, size = bestI-1, bestJ-1, size+1
	}
	for bestI+size < r.aHi && bestJ+size < r.bHi && a[bestI+size] == m.b[bestJ+size] {
		size++
	}
	return bestI, bestJ, size
}

// within cuts ascending positions to [lo, hi).
func within(at []int32, lo, hi int) []int32 {
	for len(at) > 0 && int(at[0]) < lo {
		at = at[1:]
	}
	for len(at) > 0 && int(at[len(at)-1]) >= hi {
		at = at[:len(at)-1]
	}
	return at
}

func clearAt(lengths, at []int32) {
	for _, j := range at {
		lengths[j+1] = 0
	}
}
