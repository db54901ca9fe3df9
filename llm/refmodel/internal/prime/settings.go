package prime

import (
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/hindsightrl/harness/llm/refmodel/internal/ngram"
	"github.com/hindsightrl/harness/llm/refmodel/internal/vocab"
)

// A setting is what a policy finds itself in: a household, or one of a shop's kinds of pages. What is on
// offer tells it, and each has n-grams of its own. The first is the one that no offer tells.

// settings lists what tells the transcripts' settings, "" first.
func settings(ts []Transcript) []string {
	set := map[string]bool{"": true}
	for _, t := range ts {
		set[t.Offers] = true
	}
	return slices.Sorted(maps.Keys(set))
}

// in returns the transcripts of one setting.
func in(ts []Transcript, setting string) []Transcript {
	return slices.DeleteFunc(slices.Clone(ts), func(t Transcript) bool { return t.Offers != setting })
}

// count adds a transcript's response. A name that only its page has, a product's number, is left out:
// names are copied, not remembered.
func count(c *ngram.Counts, v *vocab.Vocab, t Transcript) {
	head, tail := []int32{vocab.Assistant}, t.Response
	if name := pageName.FindStringSubmatch(t.Action); name != nil {
		at := strings.LastIndex(tail, name[1])
		c.Add(v.Append(head, tail[:at], false))
		head, tail = nil, tail[at+len(name[1]):]
	}
	c.Add(append(v.Append(head, tail, false), vocab.EOS))
}

var pageName = regexp.MustCompile(`^click\[([a-z0-9]{10})\]$`)
