package teacher

import (
	"strings"
	"unicode/utf8"

	"github.com/hindsightrl/harness"
	"github.com/hindsightrl/harness/internal/pystr"
)

// The tags that responses are read by.
const (
	openThink, closeThink   = "<think>", "</think>"
	openAction, closeAction = "<action>", "</action>"
)

// promptText is the text of the last message that has one, without the space around it: what a context
// is put behind, and the observation of observation-action trajectories.
func promptText(ms []harness.Message) string {
	for i := len(ms) - 1; i >= 0; i-- {
		if text := strip(ms[i].Content); text != "" {
			return text
		}
	}
	return ""
}

// strip is str.strip(), quick for the many texts that have no space around them.
func strip(s string) string {
	if s != "" && isGraph(s[0]) && isGraph(s[len(s)-1]) {
		return s
	}
	return pystr.Strip(s)
}

func isGraph(c byte) bool { return c > ' ' && c < 0x7f }

// stripThinking cuts every <think>…</think> and the space after it. A thought that is never closed stays.
func stripThinking(s string) string {
	start := strings.Index(s, openThink)
	if start < 0 {
		return s
	}
	var b strings.Builder
	for start >= 0 {
		end := strings.Index(s[start:], closeThink)
		if end < 0 {
			break
		}
		if start > 0 { // mostly the thought comes first, and what is left is no copy
			b.WriteString(s[:start])
		}
		s = strings.TrimLeftFunc(s[start+end+len(closeThink):], pystr.IsSpace)
		start = strings.Index(s, openThink)
	}
	if b.Len() == 0 {
		return s
	}
	b.WriteString(s)
	return b.String()
}

// candidateAction is the action that a response stands for among the candidates of an anchor group: the
// text of the first <action>…</action>, or all of it, white space folded, in lower case. "" where nothing
// is left.
func candidateAction(response string) string {
	if start, body := indexFold(response, openAction, 0); start >= 0 {
		if end, _ := indexFold(response, closeAction, body); end >= 0 {
			response = response[body:end]
		}
	}
	return pystr.Lower(foldSpace(response))
}

// indexFold is the first place at or after byte from where a tag stands, ignoring case as Python's re
// does, and where the tag ends; -1 where there is none.
func indexFold(s, tag string, from int) (start, end int) {
	for i := from; ; i++ {
		n := strings.IndexByte(s[i:], tag[0])
		if n < 0 {
			return -1, -1
		}
		i += n
		if n, ok := pystr.FoldPrefix(s[i:], tag); ok {
			return i, i + n
		}
	}
}

// foldSpace makes every run of white space one space and strips it at both ends.
func foldSpace(s string) string {
	folded := true
	for i := 0; i < len(s) && folded; i++ {
		folded = isGraph(s[i]) || s[i] == ' ' && i > 0 && i < len(s)-1 && s[i-1] != ' '
	}
	if folded {
		return s
	}
	return strings.Join(strings.FieldsFunc(s, pystr.IsSpace), " ")
}

// cutMiddle shortens s to at most limit code points around a mark that says how many were left out,
// and returns that number. A limit of 0 means no limit.
func (w *wording) cutMiddle(s string, limit int) (string, int) {
	if limit <= 0 || len(s) <= limit {
		return s, 0
	}
	n := utf8.RuneCountInString(s)
	if n <= limit {
		return s, 0
	}
	cut := n - limit
	head, tail := (limit+1)/2, limit/2
	return s[:runeOffset(s, head)] + w.fill("text_cut", field{"count", cut}) + pystr.Last(s, tail), cut
}

// runeOffset is the byte at which the n-th code point begins.
func runeOffset(s string, n int) int {
	i := 0
	for ; n > 0; n-- {
		_, size := utf8.DecodeRuneInString(s[i:])
		i += size
	}
	return i
}

// mean is the arithmetic mean as numpy computes it: sums of up to 8 values in order, of up to 128 in eight
// interleaved parts, longer ones by halves.
func mean(v []float64) float64 {
	return pairwiseSum(v) / float64(len(v))
}

func pairwiseSum(v []float64) float64 {
	switch n := len(v); {
	case n < 8:
		sum := 0.0
		for _, x := range v {
			sum += x
		}
		return sum
	case n <= 128:
		var r [8]float64
		copy(r[:], v)
		i := 8
		for ; i+8 <= n; i += 8 {
			for k := range r {
				r[k] += v[i+k]
			}
		}
		sum := ((r[0] + r[1]) + (r[2] + r[3])) + ((r[4] + r[5]) + (r[6] + r[7]))
		for _, x := range v[i:] {
			sum += x
		}
		return sum
	default:
		half := n / 2
		half -= half % 8
		return pairwiseSum(v[:half]) + pairwiseSum(v[half:])
	}
}
