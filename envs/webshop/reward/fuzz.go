package reward

import (
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/hindsightrl/harness/internal/difflib"
	"github.com/hindsightrl/harness/internal/pystr"
)

// similarEnough is the score from which on two phrases count as the same: scores above 85.
const similarEnough = 85

// TokenSetRatio is thefuzz's token_set_ratio without python-Levenshtein: how alike two phrases are as
// sets of words, from 0 to 100.
func TokenSetRatio(a, b string) int { return tokensOf(a).ratio(tokensOf(b)) }

// tokens are a phrase's distinct words, sorted.
type tokens []string

// tokensOf does what full_process does: characters U+0080 to U+00FF are dropped, what is no letter,
// digit or underscore becomes a space, the rest lower-case.
func tokensOf(s string) tokens {
	var b strings.Builder
	for _, r := range s {
		switch {
		case 0x80 <= r && r <= 0xff:
		case r < utf8.RuneSelf && ('a' <= r && r <= 'z' || '0' <= r && r <= '9' || 'A' <= r && r <= 'Z' || r == '_'):
			b.WriteByte(byte(r))
		case r < utf8.RuneSelf || !pystr.IsWord(r):
			b.WriteByte(' ')
		default:
			b.WriteRune(r)
		}
	}
	words := strings.Fields(pystr.Lower(b.String()))
	slices.Sort(words)
	return slices.Compact(words)
}

// parts are the sorted words of both, and those of both with the rest of each.
func (t tokens) parts(o tokens) (both, left, right string) {
	var common, a, b []string
	for i, j := 0, 0; i < len(t) || j < len(o); {
		switch {
		case j == len(o) || i < len(t) && t[i] < o[j]:
			a = append(a, t[i])
			i++
		case i == len(t) || o[j] < t[i]:
			b = append(b, o[j])
			j++
		default:
			common = append(common, t[i])
			i++
			j++
		}
	}
	both = strings.Join(common, " ")
	left = strings.TrimSpace(both + " " + strings.Join(a, " "))
	right = strings.TrimSpace(both + " " + strings.Join(b, " "))
	return both, left, right
}

func (t tokens) ratio(o tokens) int {
	if len(t) == 0 || len(o) == 0 {
		return 0
	}
	both, left, right := t.parts(o)
	return max(ratio(both, left), ratio(both, right), ratio(left, right))
}

// ratio is fuzz.ratio: Python rounds halves to even.
func ratio(a, b string) int {
	if a == b {
		return 100
	}
	return int(math.RoundToEven(100 * difflib.Ratio(a, b)))
}

// similar reports ratio > similarEnough. Most pairs are told apart by their lengths.
func (t tokens) similar(o tokens) bool {
	if len(t) == 0 || len(o) == 0 {
		return false
	}
	both, left, right := t.parts(o)
	return alike(both, left) || alike(both, right) || alike(left, right)
}

func alike(a, b string) bool {
	if a == b {
		return true
	}
	n, m := utf8.RuneCountInString(a), utf8.RuneCountInString(b)
	// 2·min/(n+m) bounds the ratio; 0.85 is safely below what rounds to 86.
	if 2*float64(min(n, m)) < 0.85*float64(n+m) {
		return false
	}
	return ratio(a, b) > similarEnough
}
