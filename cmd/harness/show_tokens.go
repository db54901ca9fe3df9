package main

import (
	"fmt"
	"strconv"

	"github.com/hindsightrl/harness"
	"github.com/hindsightrl/harness/agent"
)

// tokenTable prints each response token of a step with its numbers and whether it is part of the action, as
// the executed bytes say (exact) and as the reference's patterns do (serl-compat).
func (c *showCommand) tokenTable(s harness.Step) error {
	w := c.g.stdout
	tok := s.Tokens
	if tok == nil {
		fmt.Fprintln(w, "  no tokens: the policy gave text alone")
		return nil
	}
	spans, err := tok.Spans(s.Response)
	if err != nil {
		return fmt.Errorf("step %d: %w", s.Index, err)
	}
	fmt.Fprintf(w, "  %s after %s of prompt%s\n", plural(len(tok.IDs), "token"), plural(len(tok.PromptIDs), "token"), metaLine(tok))
	exact, compat := agent.MaskFromSpans(spans, s.Spans), agent.MaskFromSpans(spans, agent.CompatByteSpans(s.Response))
	t := table{columns: []column{
		{title: "token", right: true},
		{title: "id", right: true},
		{title: "text"},
		{title: "log-prob", right: true},
		{title: "entropy", right: true},
		{title: "low", right: true},
		{title: "high", right: true},
		{title: "version", right: true},
		{title: "exact"},
		{title: "serl-compat"},
	}}
	for i, id := range tok.IDs {
		text, inExact, inCompat := "?", "?", "?" // unknown: the server did not spell its tokens
		if spans != nil {
			text = strconv.QuoteToGraphic(s.Response[spans[i].Start:spans[i].End])
			inExact, inCompat = mark(exact[i]), mark(compat[i])
		}
		t.add(strconv.Itoa(i), strconv.Itoa(int(id)), text, nats(tok.Logprobs, i), nats(tok.Entropies, i),
			nats(tok.EntropyLow, i), nats(tok.EntropyHigh, i), versionOf(tok.Versions, i), inExact, inCompat)
	}
	return t.write(w)
}

// metaLine says what the numbers are.
func metaLine(tok *harness.Tokens) string {
	line := ""
	if m := tok.Meta; m != nil {
		line = fmt.Sprintf("; %s, model %s, %s log-probabilities, temperature %g, top-p %g", m.Engine, m.Model, orUnknown(m.Mode), m.Temperature, m.TopP)
		if m.Finish != "" {
			line += ", ended by " + m.Finish
		}
		if m.Drift != "" {
			line += ", " + m.Drift
		}
	}
	switch {
	case tok.Entropies == nil:
	case tok.EntropyLow == nil:
		line += "; entropies exact"
	default:
		line += fmt.Sprintf("; entropies bounded from the top %d", tok.TopK)
	}
	return line
}

func orUnknown(mode string) string {
	if mode == "" {
		return "unknown kind of"
	}
	return mode
}

func mark(in bool) string {
	if in {
		return "action"
	}
	return ""
}

// nats prints a value of a column, "-" where the column was not given.
func nats(column []float32, i int) string {
	if column == nil {
		return "-"
	}
	return strconv.FormatFloat(float64(column[i]), 'f', 4, 32)
}

func versionOf(column []int32, i int) string {
	if column == nil {
		return "-"
	}
	return strconv.Itoa(int(column[i]))
}
