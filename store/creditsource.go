package store

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"

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
	Score   float64 // the episode's score, in [0, 1]
	Won     bool    // the episode solved its task
	Reward  float64
	Valid   bool
	Anchor  string
	Tokens  int // number of response tokens; −1: the policy gave none

	Fork   *harness.Fork // of the episode; nil unless it is a leaf
	Shared bool          // the step is an ancestor's

	Entropies   []float32 // nil where the policy gave none
	EntropyLow  []float32
	EntropyHigh []float32
}

// CreditSources reads the steps of a run's done episodes, by episode and turn. Episodes that failed or
// are open are not among them.
//
// The file is read from front to back, whatever order the episodes ran in: steps of one episode lie
// scattered among those of all that ran at the same time, and jumping from one to the next takes twice
// as long.
func (s *Store) CreditSources(ctx context.Context, runID int64) ([]CreditSource, error) {
	const text = `WITH ends AS (SELECT min(s.id) AS low, max(s.id) AS high FROM episodes e JOIN steps s ON s.attempt_id = e.attempt_id
			WHERE e.run_id = ?1 AND e.status = 'done')
		SELECT s.attempt_id, s.id, s.idx, s.valid, s.reward, s.anchor, s.next_anchor, s.next_text,
			coalesce(t.n, -1), t.entropies, t.entropy_low, t.entropy_high, coalesce(s.shared_id, 0)
		FROM steps s LEFT JOIN tokens t ON t.step_id = s.id
		WHERE s.id BETWEEN (SELECT low FROM ends) AND (SELECT high FROM ends) ORDER BY s.id`
	op := fmt.Sprintf("read steps of run %d for credit", runID)
	var rows []sourceRow
	err := s.snapshot(ctx, func(q querier) error {
		episodes, err := s.closedAttempts(ctx, q, runID)
		if err != nil {
			return err
		}
		for r, err := range query(ctx, q, op, text, []any{runID}, scanSource) {
			if err != nil {
				return err
			}
			e, ok := episodes[r.attempt]
			if !ok { // of another run, or of an attempt that failed
				continue
			}
			r.Episode, r.Group, r.Sample, r.Return, r.Score, r.Won, r.Fork = e.Episode, e.Group, e.Sample, e.Return, e.Score, e.Won, e.Fork
			rows = append(rows, r)
		}
		return nil
	})
	if err == nil {
		err = shareSources(rows)
	}
	if err != nil {
		return nil, err
	}
	slices.SortFunc(rows, func(a, b sourceRow) int {
		return cmp.Or(cmp.Compare(a.Episode, b.Episode), cmp.Compare(a.Index, b.Index))
	})
	out := make([]CreditSource, len(rows))
	left := "" // anchor text that the step before left
	for i := range rows {
		if left, err = rows[i].decode(left); err != nil {
			return nil, fmt.Errorf("%s: episode %d, step %d: %w", op, rows[i].Episode, rows[i].Index, err)
		}
		out[i] = rows[i].CreditSource
	}
	return out, nil
}

// closedAttempts maps the attempts that closed a run's done episodes to those.
func (s *Store) closedAttempts(ctx context.Context, q querier, runID int64) (map[int64]CreditSource, error) {
	const text = `SELECT e.attempt_id, e.id, g.idx, e.sample, e.reward, e.score, e.won, p.episode_id, f.step, f.token
		FROM episodes e JOIN groups g ON g.id = e.group_id LEFT JOIN forks f ON f.attempt_id = e.attempt_id LEFT JOIN attempts p ON p.id = f.parent_id
		WHERE e.run_id = ? AND e.status = 'done'`
	out := map[int64]CreditSource{}
	for r, err := range query(ctx, q, fmt.Sprintf("read episodes of run %d", runID), text, []any{runID}, func(scan func(...any) error) (r sourceRow, err error) {
		var fork forkRow
		err = scan(&r.attempt, &r.Episode, &r.Group, &r.Sample, &r.Return, &r.Score, &r.Won, &fork.parent, &fork.step, &fork.token)
		r.Fork = fork.fork()
		return r, err
	}) {
		if err != nil {
			return nil, err
		}
		out[r.attempt] = r.CreditSource
	}
	return out, nil
}

// sourceRow is a step as it lies in the file.
type sourceRow struct {
	CreditSource
	attempt                       int64
	shared                        int64 // id of the step with the content; 0 = this one
	anchor, nextAnchor, next      any
	entropies, entropyL, entropyH any
}

func scanSource(scan func(...any) error) (r sourceRow, err error) {
	err = scan(&r.attempt, &r.Step, &r.Index, &r.Valid, &r.Reward, &r.anchor, &r.nextAnchor, &r.next,
		&r.Tokens, &r.entropies, &r.entropyL, &r.entropyH, &r.shared)
	r.Shared = r.shared != 0
	return r, err
}

// shareSources gives each shared step the content of the step that it shares. That is a step of another
// done episode of the run, because a parent is done.
func shareSources(rows []sourceRow) error {
	var at map[int64]int
	for i := range rows {
		r := &rows[i]
		if r.shared == 0 {
			continue
		}
		if at == nil {
			at = make(map[int64]int, len(rows))
			for k := range rows {
				at[rows[k].Step] = k
			}
		}
		k, ok := at[r.shared]
		if !ok {
			return badBlob("step %d shares step %d, which is of no finished episode", r.Step, r.shared)
		}
		c := &rows[k]
		r.anchor, r.nextAnchor, r.next, r.Tokens = c.anchor, c.nextAnchor, c.next, c.Tokens
		r.entropies, r.entropyL, r.entropyH = c.entropies, c.entropyL, c.entropyH
	}
	return nil
}

// decode fills the texts and columns of the row after a step that left the given anchor text, and
// returns what this one leaves.
func (r *sourceRow) decode(before string) (left string, err error) {
	switch {
	case r.anchor != nil:
		if r.Anchor, err = textOf(r.anchor); err != nil {
			return "", fmt.Errorf("anchor: %w", err)
		}
	case r.Index == 0:
		return "", badBlob("NULL in a first step")
	default:
		r.Anchor = before
	}
	next := harness.Observation{}
	if next.Anchor, err = textOf(r.nextAnchor); err != nil {
		return "", fmt.Errorf("next_anchor: %w", err)
	}
	if next.Text, err = textOf(r.next); err != nil {
		return "", fmt.Errorf("next_text: %w", err)
	}
	for _, col := range []struct {
		name string
		to   *[]float32
		v    any
	}{{"entropies", &r.Entropies, r.entropies}, {"entropy_low", &r.EntropyLow, r.entropyL}, {"entropy_high", &r.EntropyHigh, r.entropyH}} {
		if *col.to, err = float32s(col.v); err != nil {
			return "", fmt.Errorf("%s: %w", col.name, err)
		}
		if n := len(*col.to); n != 0 && n != r.Tokens {
			return "", badBlob("%s has %d values for %d tokens", col.name, n, r.Tokens)
		}
	}
	return next.AnchorText(), nil
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
