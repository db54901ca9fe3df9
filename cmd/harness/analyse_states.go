package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"

	"github.com/hindsightrl/harness"
	"github.com/hindsightrl/harness/agent"
	"github.com/hindsightrl/harness/envs/alfworld/embedded"
	"github.com/hindsightrl/harness/internal/errext"
	"github.com/hindsightrl/harness/llm"
	"github.com/hindsightrl/harness/store"
)

// ownTexts makes states of a model without an environment: the opening and so many tokens more that the
// model sampled itself, a number between 4 and 48 that the seed decides.
func (s *sampler) ownTexts(ctx context.Context, m llm.Model) ([]state, error) {
	opening, err := m.Tokenize(s.opening, true)
	if err != nil {
		return nil, err
	}
	out := make([]state, 0, s.states)
	for k := 0; len(out) < s.states; k++ {
		if k > 20*s.states {
			return nil, errors.New("the model ends its texts too early to make states of them")
		}
		r := rand.New(rand.NewPCG(uint64(s.derive(k, 0, "text")), 1))
		want, seed := 4+r.IntN(45), r.Int64()
		prompt := append([]int32{}, opening...)
		sampling := llm.Sampling{Temperature: 1, TopP: 1, MaxTokens: want, Seed: &seed}
		finish, err := m.Stream(ctx, llm.StreamRequest{Prompt: prompt, Sampling: sampling}, func(e llm.TokenEvent) error {
			prompt = append(prompt, e.ID)
			return nil
		})
		if err != nil {
			return nil, fmt.Errorf("make state %d: %w", k, err)
		}
		if finish == "length" { // a text that has ended is no state to go on from
			out = append(out, state{prompt: prompt})
		}
	}
	return out, nil
}

// runStates takes states from the prompts of a run, evenly over all its steps.
func (s *sampler) runStates(ctx context.Context, m llm.Model) (out []state, source string, err error) {
	take := func(db *store.Store, run store.Run) error {
		out, err = s.spread(ctx, db, run, m)
		return err
	}
	if s.run != "" {
		err = readLedger(ctx, s.db, func(db *store.Store) error {
			run, err := runNamed(ctx, db, s.run)
			if err != nil {
				return err
			}
			return take(db, run)
		})
		return out, "prompts of run " + s.run, err
	}
	err = s.playEmbedded(ctx, take)
	return out, "prompts of embedded ALFWorld games, played by expert:0.3", err
}

// spread picks the states from a run's finished episodes.
func (s *sampler) spread(ctx context.Context, db *store.Store, run store.Run, m llm.Model) ([]state, error) {
	var ids []int64
	total := 0
	for e, err := range db.Episodes(ctx, run.ID, store.Filter{Status: []harness.Status{harness.StatusDone}}) {
		if err != nil {
			return nil, err
		}
		ids = append(ids, e.ID)
		total += e.Outcome.Steps
	}
	if total < s.states {
		return nil, errext.WithHint(fmt.Errorf("run %s has %s, want %d states", run.Name, plural(total, "step"), s.states), "give a smaller --states, or collect more episodes")
	}
	var out []state
	at := 0
	for _, id := range ids {
		ep, err := db.Episode(ctx, id)
		if err != nil {
			return nil, err
		}
		steps, err := db.EpisodeSteps(ctx, id)
		if err != nil {
			return nil, err
		}
		for _, st := range steps {
			if len(out) < s.states && at == len(out)*total/s.states {
				prompt, err := m.Render(st.Prompt)
				if err != nil {
					return nil, fmt.Errorf("episode %d, step %d: %w", id, st.Index, err)
				}
				out = append(out, state{prompt: prompt, env: ep.Task.Env, action: st.Action})
			}
			at++
		}
	}
	return out, nil
}

// playEmbedded collects a small run in a ledger of its own, which is gone afterwards.
func (s *sampler) playEmbedded(ctx context.Context, f func(*store.Store, store.Run) error) (err error) {
	dir, err := os.MkdirTemp("", "harness-states-")
	if err != nil {
		return fmt.Errorf("make a folder for states: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	suite, err := embedded.Suite(ctx)
	if err != nil {
		return err
	}
	tasks, err := suite.Tasks(ctx, defaultSplit)
	if err != nil {
		return err
	}
	db, err := store.Open(ctx, filepath.Join(dir, "states.db"), store.Config{Now: s.g.now})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	run, err := db.CreateRun(ctx, store.RunSpec{Name: "states", Panel: harness.Panel{Name: "states", Tasks: tasks}, GroupSize: 1, Seed: s.seed})
	if err != nil {
		return err
	}
	policy, err := agent.Expert(0.3)
	if err != nil {
		return err
	}
	refs, err := db.Pending(ctx, run.ID)
	if err != nil {
		return err
	}
	_, err = agent.Run(ctx, ctx, refs, agent.Config{
		RunSeed: s.seed, Suites: map[string]harness.Suite{suite.Name(): suite}, Policy: policy, Recorder: db.Recorder(run.ID),
		Templates: agent.DefaultTemplates(),
	})
	if err != nil {
		return err
	}
	return f(db, run)
}
