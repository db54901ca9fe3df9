package store

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"math"
	"strconv"

	"github.com/hindsightrl/harness"
)

// DumpCanonical writes a run's episodes with the steps of their deciding attempts as text that
// depends on what happened and on nothing else: no row ids, no times, no attempts that were given
// up. Two runs of the same plan, one of which was killed and resumed any number of times, give equal
// bytes. The form is for comparing and may change between versions.
func (s *Store) DumpCanonical(ctx context.Context, runID int64, w io.Writer) error {
	run, err := s.Run(ctx, runID)
	if err != nil {
		return err
	}
	d := dumper{w: bufio.NewWriter(w)}
	d.line("run", "panel", run.PanelHash, "group_size", run.GroupSize, "seed", run.Seed)
	err = s.snapshot(ctx, func(q querier) error {
		for e, err := range query(ctx, q, "dump episodes", selectEpisode+"WHERE e.run_id = ? ORDER BY g.idx, e.sample", []any{runID}, scanEpisode) {
			if err != nil {
				return err
			}
			if err := d.episode(ctx, q, e); err != nil {
				return err
			}
		}
		return d.unused(ctx, q, runID)
	})
	if err == nil {
		err = d.w.Flush()
	}
	if err != nil {
		return fmt.Errorf("dump run %d: %w", runID, err)
	}
	return nil
}

type dumper struct {
	w   *bufio.Writer
	buf []byte
}

// line writes a name and key=value pairs. Write errors stay in the bufio.Writer until Flush.
func (d *dumper) line(name string, pairs ...any) {
	d.buf = append(d.buf[:0], name...)
	for i := 0; i+1 < len(pairs); i += 2 {
		d.buf = append(append(append(d.buf, ' '), pairs[i].(string)...), '=')
		d.value(pairs[i+1])
	}
	_, _ = d.w.Write(append(d.buf, '\n'))
}

func (d *dumper) value(v any) {
	switch v := v.(type) {
	case string:
		d.buf = strconv.AppendQuote(d.buf, v)
	case float64:
		d.buf = strconv.AppendFloat(d.buf, v, 'g', -1, 64)
	case []float32:
		if v == nil {
			d.buf = append(d.buf, "nil"...)
			return
		}
		for _, x := range v {
			d.buf = append(strconv.AppendUint(d.buf, uint64(math.Float32bits(x)), 16), ',')
		}
	case []string:
		d.buf = fmt.Appendf(d.buf, "%#v", v)
	case []int32:
		d.buf = fmt.Appendf(d.buf, "%#v", v)
	default:
		d.buf = fmt.Appendf(d.buf, "%+v", v)
	}
}

func (d *dumper) episode(ctx context.Context, q querier, e Episode) error {
	d.line("episode", "group", e.Group, "sample", e.Sample, "task", e.Task.Key(), "status", string(e.Status))
	if e.Fork != nil {
		parent, err := sampleOf(ctx, q, e.Fork.Parent)
		if err != nil {
			return err
		}
		d.line("fork", "parent", parent, "step", e.Fork.Step, "token", e.Fork.Token)
	}
	if e.Outcome != nil {
		d.line("outcome", "stop", string(e.Outcome.Stop), "won", e.Outcome.Won, "reward", e.Outcome.Reward, "score", e.Outcome.Score,
			"steps", e.Outcome.Steps, "invalid", e.Outcome.Invalid)
	}
	if e.Failure != nil {
		d.line("failure", "kind", string(e.Failure.Kind), "op", e.Failure.Op, "message", e.Failure.Message)
	}
	attempt, err := decidingAttempt(ctx, q, e.ID)
	if err != nil || attempt == 0 {
		return err
	}
	for st, err := range steps(ctx, q, attempt, &carry{}) {
		if err != nil {
			return err
		}
		d.step(&st)
	}
	return nil
}

func (d *dumper) step(s *harness.Step) {
	d.line("step", "index", s.Index, "valid", s.Valid, "reward", s.Reward, "score", s.Score, "won", s.Won, "done", s.Done)
	d.messages(" prompt", s.Prompt)
	d.line(" response", "text", s.Response, "action", s.Action, "spans", s.Spans)
	d.line(" before", "anchor", s.Anchor, "admissible", s.Admissible)
	d.line(" after", "feedback", s.Feedback, "privileged", s.Privileged, "text", s.Next.Text, "task", s.Next.Task, "anchor", s.Next.Anchor, "admissible", s.Next.Admissible)
	d.messages(" next_prompt", s.NextPrompt)
	if s.Shared || s.SharedTokens > 0 {
		d.line(" shared", "step", s.Shared, "tokens", s.SharedTokens)
	}
	if t := s.Tokens; t != nil {
		d.line(" tokens", "prompt", t.PromptIDs, "ids", t.IDs, "logprobs", t.Logprobs, "entropies", t.Entropies, "low", t.EntropyLow,
			"high", t.EntropyHigh, "versions", t.Versions, "lengths", t.Lengths, "top_k", t.TopK)
		if t.Meta != nil {
			d.line(" meta", "value", *t.Meta)
		}
	}
}

func (d *dumper) messages(name string, ms []harness.Message) {
	for _, m := range ms {
		d.line(name, "role", m.Role, "content", m.Content)
	}
}
