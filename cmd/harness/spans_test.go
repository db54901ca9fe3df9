package main

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hindsightrl/harness"
	"github.com/hindsightrl/harness/agent"
)

// spelled makes a step whose response is the pieces, one token each; known says whether their lengths are.
func spelled(known bool, pieces ...string) *harness.Step {
	s := &harness.Step{Tokens: &harness.Tokens{}}
	for i, p := range pieces {
		s.Response += p
		s.Tokens.IDs = append(s.Tokens.IDs, int32(i))
		if known {
			s.Tokens.Lengths = append(s.Tokens.Lengths, int32(len(p)))
		}
	}
	s.Spans = agent.ExactSpans(s.Response)
	return s
}

func TestSpanReport(t *testing.T) {
	t.Parallel()
	var r spanReport
	text := spelled(false, "<action>look</action>")
	text.Tokens = nil
	for i, s := range []*harness.Step{
		spelled(true, "<think>", "ok", "</think>", "<action>", "go to ", "desk 1", "</action>", ""), // alike
		spelled(true, "<action>", " look ", "</action>"),                                            // compat takes the space; the token is the same
		spelled(true, "<action>", " ", "look", "</action>"),                                         // here the space is a token
		spelled(true, "I'd ", "click[", "desk", "]"),                                                // no tags: only compat finds something
		spelled(false, "<action>", "look", "</action>"),                                             // lengths unknown
		text,
	} {
		s.Index = i
		if err := r.step(7, s); err != nil {
			t.Fatal(err)
		}
	}
	want := spanReport{
		Steps:     6,
		WithSpan:  spanCounts{Exact: 5, Compat: 6, OnlyCompat: 1},
		Bytes:     spanCounts{Exact: 12 + 4*4, Compat: 12 + 6 + 5 + 11 + 4 + 4, OnlyCompat: 2 + 1 + 11},
		Tokens:    spanCounts{Exact: 2 + 1 + 1, Compat: 2 + 1 + 2 + 3, OnlyCompat: 1 + 3},
		NoTokens:  1,
		NoLengths: 1,
		Differ:    3,
		MasksOff:  2,
		Where: []spanDiff{
			{Episode: 7, Step: 1, Exact: []string{"look"}, Compat: []string{" look "}},
			{Episode: 7, Step: 2, Exact: []string{"look"}, Compat: []string{" look"}, Tokens: true},
			{Episode: 7, Step: 3, Exact: []string{}, Compat: []string{"click[desk]"}, Tokens: true},
		},
	}
	if d := cmp.Diff(want, r); d != "" {
		t.Error(d)
	}
	broken := spelled(true, "<action>", "look", "</action>")
	broken.Tokens.Lengths[1]++
	if err := r.step(7, broken); err == nil {
		t.Error("lengths that do not add up are taken")
	}
	if got := quoteSpans([]string{"a\nb", "0123456789012345678901234567890123456789abc"}); got != `"a\nb" "0123456789012345678901234567890123456789…"` {
		t.Error(got)
	}
}
