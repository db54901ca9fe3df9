package store

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"iter"

	"github.com/hindsightrl/harness"
)

// CreditSource is what credit needs of one step of a finished episode; prompts, responses and token ids
// stay in the file.
type CreditSource struct {
	Step    int64 // ledger id
	Episode int64
	Group   int
	Sample  int
	Index   int
	Return  float64 // the episode's reward
	Reward  float64
	Valid   bool
	Anchor  string
	Tokens  int // number of response tokens; −1: the policy gave none

	Entropies   []float32 // nil where the policy gave none
	EntropyLow  []float32
	EntropyHigh []float32
}

// CreditSources streams the steps of a run's done episodes, by episode and turn. Episodes that failed
// or are open are not among them.
func (s *Store) CreditSources(ctx context.Context, runID int64) iter.Seq2[CreditSource, error] {
	const text = `SELECT e.id, g.idx, e.sample, e.reward, s.id, s.idx, s.valid, s.reward, s.anchor, s.next_anchor, s.next_text,
		coalesce(t.n, -1), t.entropies, t.entropy_low, t.entropy_high
		FROM episodes e JOIN groups g ON g.id = e.group_id JOIN steps s ON s.attempt_id = e.attempt_id
		LEFT JOIN tokens t ON t.step_id = s.id WHERE e.run_id = ? AND e.status = 'done' ORDER BY e.id, s.idx`
	return func(yield func(CreditSource, error) bool) {
		left := "" // anchor text that the step before left
		query(ctx, s.db, fmt.Sprintf("read steps of run %d for credit", runID), text, []any{runID},
			func(scan func(...any) error) (CreditSource, error) { return scanSource(scan, &left) })(yield)
	}
}

func scanSource(scan func(...any) error, left *string) (c CreditSource, err error) {
	var anchor, nextAnchor, nextText, mean, low, high any
	err = scan(&c.Episode, &c.Group, &c.Sample, &c.Return, &c.Step, &c.Index, &c.Valid, &c.Reward, &anchor, &nextAnchor, &nextText,
		&c.Tokens, &mean, &low, &high)
	if err != nil {
		return c, err
	}
	at := func(err error) error {
		return fmt.Errorf("episode %d, step %d: %w", c.Episode, c.Index, err)
	}
	switch {
	case anchor != nil:
		if c.Anchor, err = textOf(anchor); err != nil {
			return c, at(fmt.Errorf("anchor: %w", err))
		}
	case c.Index == 0:
		return c, at(badBlob("NULL in a first step"))
	default:
		c.Anchor = *left
	}
	next := harness.Observation{}
	if next.Anchor, err = textOf(nextAnchor); err != nil {
		return c, at(fmt.Errorf("next_anchor: %w", err))
	}
	if next.Text, err = textOf(nextText); err != nil {
		return c, at(fmt.Errorf("next_text: %w", err))
	}
	*left = next.AnchorText()
	for _, col := range []struct {
		name string
		to   *[]float32
		v    any
	}{{"entropies", &c.Entropies, mean}, {"entropy_low", &c.EntropyLow, low}, {"entropy_high", &c.EntropyHigh, high}} {
		if *col.to, err = float32s(col.v); err != nil {
			return c, at(fmt.Errorf("%s: %w", col.name, err))
		}
		if n := len(*col.to); n != 0 && n != c.Tokens {
			return c, at(badBlob("%s has %d values for %d tokens", col.name, n, c.Tokens))
		}
	}
	return c, nil
}

// CreditInputs identifies what CreditSources streams without reading it: a hash over the run and, for
// each done episode, the attempt that closed it and its outcome. A closed attempt never changes, so
// neither do the steps behind an equal hash. done, failed and open count the run's episodes.
func (s *Store) CreditInputs(ctx context.Context, runID int64) (hash string, done, failed, open int, err error) {
	run, err := s.Run(ctx, runID)
	if err != nil {
		return "", 0, 0, 0, err
	}
	h := sha256.New()
	fmt.Fprintf(h, "%q %d %d %s %d\n", run.Name, run.Created.UnixMilli(), run.Seed, run.PanelHash, run.GroupSize)
	for e, err := range s.Episodes(ctx, runID, Filter{}) {
		switch {
		case err != nil:
			return "", 0, 0, 0, err
		case e.Status == harness.StatusFailed:
			failed++
		case e.Outcome == nil:
			open++
		default:
			done++
			fmt.Fprintf(h, "%d %d %v %d\n", e.ID, e.Attempt, e.Outcome.Reward, e.Outcome.Steps)
		}
	}
	return hex.EncodeToString(h.Sum(nil)), done, failed, open, nil
}
