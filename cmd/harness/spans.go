package main

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/hindsightrl/harness"
	"github.com/hindsightrl/harness/agent"
	"github.com/hindsightrl/harness/store"
)

// spanReport compares the two ways to find a response's action: the bytes that are executed (exact), and
// what the reference's patterns find (serl-compat).
type spanReport struct {
	Steps     int        `json:"steps"`      // steps of done episodes
	WithSpan  spanCounts `json:"with_span"`  // steps in which there is an action
	Bytes     spanCounts `json:"bytes"`      // bytes marked
	Tokens    spanCounts `json:"tokens"`     // tokens marked, in the steps whose tokens' lengths are known
	NoTokens  int        `json:"no_tokens"`  // steps without tokens
	NoLengths int        `json:"no_lengths"` // steps with tokens that the server could not spell
	Differ    int        `json:"differ"`     // steps whose bytes differ
	MasksOff  int        `json:"masks_off"`  // steps whose token masks differ
	Where     []spanDiff `json:"where"`      // the steps that differ
}

// spanCounts counts what each way found, and what only one of them did.
type spanCounts struct {
	Exact      int `json:"exact"`
	Compat     int `json:"serl_compat"`
	OnlyExact  int `json:"only_exact"`
	OnlyCompat int `json:"only_serl_compat"`
}

func (c *spanCounts) add(exact, compat bool) {
	if exact {
		c.Exact++
	}
	if compat {
		c.Compat++
	}
	if exact && !compat {
		c.OnlyExact++
	}
	if compat && !exact {
		c.OnlyCompat++
	}
}

// spanDiff is a step in which the two ways differ.
type spanDiff struct {
	Episode int64    `json:"episode"`
	Step    int      `json:"step"`
	Exact   []string `json:"exact"` // texts of the spans
	Compat  []string `json:"serl_compat"`
	Tokens  bool     `json:"tokens"` // the token masks differ too
}

// spanReport reads every step of a run's done episodes.
func (c *runsCommand) spanReport(ctx context.Context, db *store.Store, run store.Run) (spanReport, error) {
	r := spanReport{Where: []spanDiff{}}
	for e, err := range db.Episodes(ctx, run.ID, store.Filter{Status: []harness.Status{harness.StatusDone}}) {
		if err != nil {
			return r, err
		}
		for s, err := range db.Steps(ctx, e.Attempt) {
			if err != nil {
				return r, err
			}
			if err := r.step(e.ID, &s); err != nil {
				return r, fmt.Errorf("episode %d, step %d: %w", e.ID, s.Index, err)
			}
		}
	}
	return r, nil
}

func (r *spanReport) step(episode int64, s *harness.Step) error {
	compat := agent.CompatByteSpans(s.Response)
	exactBytes, compatBytes := marked(len(s.Response), s.Spans), marked(len(s.Response), compat)
	for i := range exactBytes {
		r.Bytes.add(exactBytes[i], compatBytes[i])
	}
	r.Steps++
	r.WithSpan.add(slices.Contains(exactBytes, true), slices.Contains(compatBytes, true))
	tokens, err := s.Tokens.Spans(s.Response)
	if err != nil {
		return err
	}
	masksDiffer := false
	switch {
	case s.Tokens == nil:
		r.NoTokens++
	case tokens == nil:
		r.NoLengths++
	default:
		a, b := agent.MaskFromSpans(tokens, s.Spans), agent.MaskFromSpans(tokens, compat)
		for i := range a {
			r.Tokens.add(a[i], b[i])
		}
		if masksDiffer = !slices.Equal(a, b); masksDiffer {
			r.MasksOff++
		}
	}
	if !slices.Equal(exactBytes, compatBytes) {
		r.Differ++
		r.Where = append(r.Where, spanDiff{episode, s.Index, spanTexts(s.Response, s.Spans), spanTexts(s.Response, compat), masksDiffer})
	}
	return nil
}

// marked flags the bytes that lie in spans.
func marked(n int, spans []harness.Span) []bool {
	out := make([]bool, n)
	for _, s := range spans {
		for i := max(s.Start, 0); i < min(s.End, n); i++ {
			out[i] = true
		}
	}
	return out
}

func spanTexts(response string, spans []harness.Span) []string {
	out := make([]string, len(spans))
	for i, s := range spans {
		out[i] = response[s.Start:s.End]
	}
	return out
}

// maxShownSpans is how many differing steps the table lists; --json has all.
const maxShownSpans = 20

// spans prints where the two ways to find actions differ.
func (c *runsCommand) spans(ctx context.Context, db *store.Store, run store.Run) error {
	r, err := c.spanReport(ctx, db, run)
	if err != nil {
		return err
	}
	if c.asJSON {
		return writeJSON(c.g.stdout, r)
	}
	t := table{columns: []column{
		{title: "action spans"},
		{title: "exact", right: true},
		{title: "serl-compat", right: true},
		{title: "only exact", right: true},
		{title: "only serl-compat", right: true},
	}}
	for _, row := range []struct {
		name string
		spanCounts
	}{{"steps with one", r.WithSpan}, {"bytes", r.Bytes}, {"tokens", r.Tokens}} {
		t.add(row.name, strconv.Itoa(row.Exact), strconv.Itoa(row.Compat), strconv.Itoa(row.OnlyExact), strconv.Itoa(row.OnlyCompat))
	}
	if err := t.write(c.g.stdout); err != nil {
		return err
	}
	fmt.Fprintf(c.g.stdout, "they differ in %d of %s, in the tokens of %d\n", r.Differ, plural(r.Steps, "step"), r.MasksOff)
	if r.NoTokens > 0 {
		fmt.Fprintf(c.g.stdout, "%s without tokens: the policy gave text alone\n", plural(r.NoTokens, "step"))
	}
	if r.NoLengths > 0 {
		fmt.Fprintf(c.g.stdout, "%s with tokens that the server could not spell: no mask can be made without its tokenizer\n", plural(r.NoLengths, "step"))
	}
	if len(r.Where) == 0 {
		return nil
	}
	fmt.Fprintln(c.g.stdout)
	where := table{columns: []column{{title: "episode", right: true}, {title: "step", right: true}, {title: "tokens"}, {title: "exact"}, {title: "serl-compat"}}}
	for _, d := range r.Where[:min(len(r.Where), maxShownSpans)] {
		tokens := "same"
		if d.Tokens {
			tokens = "differ"
		}
		where.add(strconv.FormatInt(d.Episode, 10), strconv.Itoa(d.Step), tokens, quoteSpans(d.Exact), quoteSpans(d.Compat))
	}
	if err := where.write(c.g.stdout); err != nil {
		return err
	}
	if n := len(r.Where) - maxShownSpans; n > 0 {
		fmt.Fprintf(c.g.stdout, "… and %s; --json lists all\n", plural(n, "more step"))
	}
	return nil
}

// maxSpanText is how much of a span a table shows.
const maxSpanText = 40

func quoteSpans(texts []string) string {
	if len(texts) == 0 {
		return "none"
	}
	out := make([]string, len(texts))
	for i, s := range texts {
		if r := []rune(s); len(r) > maxSpanText {
			s = string(r[:maxSpanText]) + "…"
		}
		out[i] = strconv.Quote(s)
	}
	return strings.Join(out, " ")
}
