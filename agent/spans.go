package agent

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/hindsightrl/harness"
	"github.com/hindsightrl/harness/internal/pystr"
)

// ExactSpans returns the bytes of the response that are the executable action: what ProjectALFWorld
// and ProjectWebShop take from between the tags, as generated, before lower-casing and without the
// space around it. It is nil where the tags or the action are missing: a tail that stands in for an
// action was not meant as one.
func ExactSpans(response string) []harness.Span {
	start, end := indexLower(response, openAction), indexLower(response, closeAction)
	if start < 0 || end < 0 || start+len(openAction) >= end {
		return nil
	}
	return stripped(response, start+len(openAction), end)
}

// GenericSpans is ExactSpans for ProjectGeneric: the tags are in lower case, and the closing one is the
// first after the opening one.
func GenericSpans(response string) []harness.Span {
	start := strings.Index(response, openAction)
	if start < 0 {
		return nil
	}
	start += len(openAction)
	n := strings.Index(response[start:], closeAction)
	if n < 0 {
		return nil
	}
	return stripped(response, start, start+n)
}

func stripped(response string, start, end int) []harness.Span {
	a, b := pystr.StripRange(response[start:end])
	if a == b {
		return nil
	}
	return []harness.Span{{Start: start + a, End: start + b}}
}

// CompatSpans returns the action spans as the reference finds them, in code points of the response,
// merged and in order. They are more than the executable action: every block between tags counts, also
// inside <think>; an unclosed tag reaches to the end; without tags every search[…] and click[…] does.
// Source: OliverLeeXZ/SERL@5a2a85b recipe/serl/serl_ray_trainer.py:_find_action_spans.
func CompatSpans(response string) []harness.Span {
	return toCodePoints(response, CompatByteSpans(response))
}

// CompatByteSpans is CompatSpans in bytes.
func CompatByteSpans(response string) []harness.Span {
	var spans []harness.Span
	for _, opener := range []opener{angleOpener, bracketOpener, bareOpener} {
		spans = appendBlocks(spans, response, opener)
	}
	if len(spans) == 0 {
		if _, body := angleOpener(response, 0); body >= 0 && body < len(response) {
			spans = append(spans, harness.Span{Start: body, End: len(response)})
		}
	}
	if len(spans) == 0 {
		spans = appendCalls(spans, response)
	}
	return merge(spans)
}

// An opener finds the first opening tag at or after byte from: where it starts and where its body
// does, both -1 where there is none.
type opener func(s string, from int) (start, body int)

// angleOpener matches <action\b[^>]*> ignoring case.
func angleOpener(s string, from int) (start, body int) {
	for i := from; ; i++ {
		n := strings.IndexByte(s[i:], '<')
		if n < 0 {
			return -1, -1
		}
		i += n
		m, ok := pystr.FoldPrefix(s[i+1:], "action")
		if !ok {
			continue
		}
		after := i + 1 + m
		if r, size := utf8.DecodeRuneInString(s[after:]); size > 0 && pystr.IsWord(r) {
			continue
		}
		gt := strings.IndexByte(s[after:], '>')
		if gt < 0 {
			return -1, -1 // no tag after this one can be complete either
		}
		return i, after + gt + 1
	}
}

// bracketOpener matches [action> and bareOpener action>, ignoring case.
func bracketOpener(s string, from int) (start, body int) { return fixedOpener(s, "[action>", from) }
func bareOpener(s string, from int) (start, body int)    { return fixedOpener(s, "action>", from) }

func fixedOpener(s, word string, from int) (start, body int) {
	i := indexFold(s, word, from)
	if i < 0 {
		return -1, -1
	}
	n, _ := pystr.FoldPrefix(s[i:], word)
	return i, i + n
}

// appendBlocks appends the non-empty bodies of opener(.*?)</action>, not overlapping, from the left.
func appendBlocks(spans []harness.Span, s string, open opener) []harness.Span {
	for from := 0; ; {
		_, body := open(s, from)
		if body < 0 {
			return spans
		}
		end := indexFold(s, closeAction, body)
		if end < 0 {
			return spans
		}
		if end > body {
			spans = append(spans, harness.Span{Start: body, End: end})
		}
		n, _ := pystr.FoldPrefix(s[end:], closeAction)
		from = end + n
	}
}

// appendCalls appends every search[…] and click[…] whose argument has no newline and no bracket.
func appendCalls(spans []harness.Span, s string) []harness.Span {
	for i := 0; i < len(s); {
		n, ok := pystr.FoldPrefix(s[i:], "search[")
		if !ok {
			n, ok = pystr.FoldPrefix(s[i:], "click[")
		}
		if !ok {
			i++
			continue
		}
		end := strings.IndexAny(s[i+n:], "]\n")
		if end < 0 {
			return spans // nor can a later one be closed
		}
		if s[i+n+end] == ']' {
			spans = append(spans, harness.Span{Start: i, End: i + n + end + 1})
		}
		i += n + end + 1 // past a newline as well: it ends every call that opens before it
	}
	return spans
}

// indexFold is the first byte at or after from where word (lower-case ASCII) matches ignoring case as
// Python's re does, or -1.
func indexFold(s, word string, from int) int {
	for i := from; i < len(s); i++ {
		if c := s[i]; c < utf8.RuneSelf && c|0x20 != word[0]|0x20 {
			continue
		}
		if _, ok := pystr.FoldPrefix(s[i:], word); ok {
			return i
		}
	}
	return -1
}

// indexLower is the first byte where tag (lower-case ASCII) stands in the lower-cased text, or -1.
// Lower-casing makes no other character than A to Z into a letter of a tag.
func indexLower(s, tag string) int {
	for i := 0; ; i++ {
		n := strings.IndexByte(s[i:], tag[0])
		if n < 0 || len(s)-i-n < len(tag) {
			return -1
		}
		i += n
		if strings.EqualFold(s[i:i+len(tag)], tag) {
			return i
		}
	}
}

// merge sorts spans and joins those that overlap or touch.
func merge(spans []harness.Span) []harness.Span {
	slices.SortFunc(spans, func(a, b harness.Span) int {
		if a.Start != b.Start {
			return a.Start - b.Start
		}
		return a.End - b.End
	})
	out := spans[:0]
	for _, s := range spans {
		if n := len(out); n > 0 && s.Start <= out[n-1].End {
			out[n-1].End = max(out[n-1].End, s.End)
			continue
		}
		out = append(out, s)
	}
	return out
}

// toCodePoints converts ordered byte spans of s. A byte that is not UTF-8 counts as one code point.
func toCodePoints(s string, spans []harness.Span) []harness.Span {
	out := make([]harness.Span, len(spans))
	at, points := 0, 0
	count := func(to int) int {
		points += utf8.RuneCountInString(s[at:to])
		at = to
		return points
	}
	for i, sp := range spans {
		out[i].Start = count(sp.Start)
		out[i].End = count(sp.End)
	}
	return out
}
