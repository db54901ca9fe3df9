package main

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/hindsightrl/harness"
	"github.com/hindsightrl/harness/store"
)

// BenchmarkCredit takes a synthetic run of 100,000 step rows with 200 tokens each from the ledger, gives
// it credit, stores the pass and reads it back. A tenth of the tokens are the action.
func BenchmarkCredit(b *testing.B) {
	const tasks, group, length, tokens = 250, 8, 50, 200
	dir := b.TempDir()
	s, err := store.Open(b.Context(), filepath.Join(dir, "l.db"), store.Config{Now: time.Now})
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	run := syntheticRun(b, s, tasks, group, length, tokens)
	for name, c := range map[string][2]string{"aem": {"response: aem\n", ""}, "gigpo+aem+serl": {"estimator: gigpo\nresponse: aem\n", "1"}} {
		b.Run(fmt.Sprintf("%s/rows=%d", name, tasks*group*length), func(b *testing.B) {
			config := filepath.Join(dir, name+".yaml")
			if err := os.WriteFile(config, []byte(c[0]), 0o644); err != nil {
				b.Fatal(err)
			}
			for b.Loop() {
				plan, err := planCredit(b.Context(), s, run.Name, config, c[1], -1)
				if err != nil {
					b.Fatal(err)
				}
				plan.key += fmt.Sprint(time.Now().UnixNano()) // a pass of its own
				pass, err := plan.compute(b.Context(), s)
				if err != nil {
					b.Fatal(err)
				}
				if rows, err := s.Credits(b.Context(), pass.ID, 0); err != nil || len(rows) != tasks*group*length {
					b.Fatal(len(rows), err)
				}
			}
		})
	}
}

// syntheticRun records a run with scores, many episodes at once so that they share commits.
func syntheticRun(b *testing.B, s *store.Store, tasks, group, length, tokens int) store.Run {
	panel := harness.Panel{Name: "synthetic"}
	for i := range tasks {
		panel.Tasks = append(panel.Tasks, harness.Task{Env: "alfworld", ID: fmt.Sprint("task-", i)})
	}
	run, err := s.CreateRun(b.Context(), store.RunSpec{Name: "synthetic", Panel: panel, GroupSize: group})
	if err != nil {
		b.Fatal(err)
	}
	pass, err := s.OpenScorePass(b.Context(), harness.ScorePass{RunID: run.ID, Key: "0123456789abcdef", Mode: "noise", Config: json.RawMessage("{}")})
	if err != nil {
		b.Fatal(err)
	}
	refs, err := s.Pending(b.Context(), run.ID)
	if err != nil {
		b.Fatal(err)
	}
	scores := make([][]harness.StepScore, len(refs))
	var wg sync.WaitGroup
	work := make(chan int)
	for range 64 {
		wg.Go(func() {
			for i := range work {
				if err := syntheticEpisode(b, s, run.ID, refs[i], length, tokens, &scores[i]); err != nil {
					b.Error(err)
				}
			}
		})
	}
	for i := range refs {
		work <- i
	}
	close(work)
	wg.Wait()
	for g := range tasks {
		var of []harness.StepScore
		for i, ref := range refs {
			if ref.Group == g {
				of = append(of, scores[i]...)
			}
		}
		if err := s.SaveScores(b.Context(), pass.ID, g, "print", of); err != nil {
			b.Fatal(err)
		}
	}
	if err := s.CloseScorePass(b.Context(), pass.ID, json.RawMessage("{}")); err != nil {
		b.Fatal(err)
	}
	return run
}

func syntheticEpisode(b *testing.B, s *store.Store, run int64, ref harness.EpisodeRef, length, tokens int, scores *[]harness.StepScore) error {
	ctx, rec := b.Context(), s.Recorder(run)
	id, _, err := rec.Begin(ctx, ref)
	if err != nil {
		return err
	}
	r := rand.New(rand.NewPCG(uint64(ref.ID), 1))
	o := harness.Outcome{Stop: harness.StopMaxSteps, Steps: length}
	var cols []harness.LogprobColumn
	anchor := "you are in a room"
	for i := range length {
		st := harness.Step{Index: i, Response: "<action>look</action>", Action: "look", Valid: true, Anchor: anchor, Tokens: &harness.Tokens{}}
		anchor = fmt.Sprintf("you see thing %d", r.IntN(30))
		st.Next.Text = anchor
		if i == length-1 && r.IntN(2) == 0 {
			st.Reward, st.Score, st.Won, st.Done = 10, 1, true, true
			o.Reward, o.Score, o.Won, o.Stop = 10, 1, true, harness.StopWon
		}
		sc := harness.StepScore{Attempt: id, Step: i, Status: harness.ScoreDone}
		for j := range tokens {
			lp := -float32(r.ExpFloat64())
			st.Tokens.IDs = append(st.Tokens.IDs, r.Int32N(50000))
			st.Tokens.Logprobs = append(st.Tokens.Logprobs, lp)
			st.Tokens.Entropies = append(st.Tokens.Entropies, float32(r.ExpFloat64()))
			sc.Student.Values = append(sc.Student.Values, lp)
			sc.Teacher.Values = append(sc.Teacher.Values, min(0, lp+float32(r.NormFloat64())/4))
			sc.ActionMask = append(sc.ActionMask, j >= tokens*9/10)
		}
		for k, col := range []*harness.LogprobColumn{&sc.Student, &sc.Teacher} {
			sum := sha256.Sum256(fmt.Appendf(nil, "%d %d %d", ref.ID, i, k))
			copy(col.Key[:], sum[:])
			cols = append(cols, *col)
		}
		*scores = append(*scores, sc)
		if err := rec.Step(ctx, id, st); err != nil {
			return err
		}
	}
	if err := s.AddLogprobs(ctx, cols); err != nil {
		return err
	}
	return rec.Finish(ctx, id, o)
}
