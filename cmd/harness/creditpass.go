package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/hindsightrl/harness"
	"github.com/hindsightrl/harness/credit"
	"github.com/hindsightrl/harness/creditrun"
	"github.com/hindsightrl/harness/internal/errext"
	"github.com/hindsightrl/harness/store"
)

// creditPlan is a credit pass before it is computed: what it reads, how, and the key of the two.
type creditPlan struct {
	run    store.Run
	cfg    creditrun.Config
	scores scoreSource
	key    string
	failed int // episodes that are left out
	open   int
	done   int
}

// planCredit finds the run and the key of the pass.
func planCredit(ctx context.Context, db *store.Store, run, config, score string, update int) (creditPlan, error) {
	var p creditPlan
	var err error
	if p.run, err = runNamed(ctx, db, run); err != nil {
		return p, err
	}
	if p.scores, err = findScores(ctx, db, p.run, score); err != nil {
		return p, err
	}
	if p.cfg, err = readCreditConfig(config, p.scores.key != ""); err != nil {
		return p, errext.WithCode(err, exitUsage)
	}
	if update >= 0 {
		p.cfg.Update = update
	}
	var inputs string
	if inputs, p.done, p.failed, p.open, err = db.CreditInputs(ctx, p.run.ID); err != nil {
		return p, err
	}
	p.key, err = p.cfg.Key(inputs, p.scores.key)
	return p, err
}

// compute reads the run's steps, gives them credit and stores the pass.
func (p creditPlan) compute(ctx context.Context, db *store.Store) (store.CreditPass, error) {
	steps, err := creditSteps(ctx, db, p.run, p.scores, p.cfg)
	if err != nil {
		return store.CreditPass{}, err
	}
	res, err := creditrun.Run(steps, p.cfg)
	if err != nil {
		return store.CreditPass{}, explainCreditError(err)
	}
	config, err := json.Marshal(p.cfg)
	if err != nil {
		return store.CreditPass{}, err
	}
	report, err := json.Marshal(res.Report)
	if err != nil {
		return store.CreditPass{}, err
	}
	rows := make([]store.Credit, len(res.Rows))
	for i := range res.Rows {
		rows[i] = storedCredit(&res.Rows[i])
	}
	return db.AddCreditPass(ctx, store.CreditPass{
		RunID: p.run.ID, Key: p.key, Scores: p.scores.pass.Key, CodeVersion: codeVersion(), Config: config, Report: report,
	}, rows)
}

func storedCredit(r *creditrun.Row) store.Credit {
	return store.Credit{
		Step: r.Step, Base: r.Base, Factor: r.Factor, Tokens: r.Tokens, Weighted: r.Weights.N, Clipped: r.Clipped,
		WeightSum: r.Weights.Mean * float64(r.Weights.N), WeightMin: r.Weights.Min, WeightMax: r.Weights.Max,
	}
}

// creditSteps reads what credit needs of a run's finished episodes, with the scores of a pass.
func creditSteps(ctx context.Context, db *store.Store, run store.Run, scores scoreSource, cfg creditrun.Config) ([]creditrun.Step, error) {
	src, err := db.CreditSources(ctx, run.ID)
	if err != nil {
		return nil, err
	}
	byStep, err := scores.read(ctx, db)
	if err != nil {
		return nil, err
	}
	answers, err := creditAnswers(ctx, db, run, cfg)
	if err != nil {
		return nil, err
	}
	steps := make([]creditrun.Step, len(src))
	for i := range src {
		s := &src[i]
		steps[i] = creditrun.Step{
			ID: s.Step, Episode: s.Episode, Group: s.Group, Sample: s.Sample, Index: s.Index, Return: s.Return, Reward: s.Reward,
			Task: s.Score, Won: s.Won,
			Valid: s.Valid, Anchor: s.Anchor, Tokens: s.Tokens,
			Entropies: s.Entropies, EntropyLow: s.EntropyLow, EntropyHigh: s.EntropyHigh, Score: byStep[s.Step], Version: -1,
		}
		steps[i].Fork = creditFork(s.Fork)
		if a, ok := answers[s.Episode]; ok {
			steps[i].Answer, steps[i].Version = answerOf(a), a.Version
		}
	}
	return steps, nil
}

// creditFork is an episode's fork as credit reads it; nil for a root.
func creditFork(f *harness.Fork) *credit.Fork {
	if f == nil {
		return nil
	}
	return &credit.Fork{Parent: int(f.Parent), Step: f.Step, Token: f.Token}
}

// explainCreditError adds the remedy in terms of this command line.
func explainCreditError(err error) error {
	switch {
	case errors.Is(err, creditrun.ErrNoScores):
		return errext.WithHint(err, "name a scoring pass with --score, or set token: none in the configuration")
	case errors.Is(err, creditrun.ErrNoEntropies):
		return errext.WithHint(err, "set response: none in the configuration, or collect with a server that returns log-probabilities of alternatives")
	case errors.Is(err, creditrun.ErrNoAnswers):
		return errext.WithHint(err, "set reward: environment in the configuration, or collect with: harness rollout --env qa")
	case errors.Is(err, creditrun.ErrNoSignal):
		return errext.WithHint(err, "set filter_groups: {enable: false} in the configuration, or collect more: harness train-feed goes on until there is a signal")
	case errors.Is(err, creditrun.ErrNoSteps):
		return errext.WithHint(err, "see what the run holds: harness runs RUN")
	}
	return err
}

// savedPass is a stored pass with its JSON decoded.
type savedPass struct {
	store.CreditPass
	cfg    creditrun.Config
	report creditrun.Report
}

func decodePass(p store.CreditPass) (savedPass, error) {
	s := savedPass{CreditPass: p}
	if err := json.Unmarshal(p.Config, &s.cfg); err != nil {
		return s, fmt.Errorf("credit pass %d: read its configuration: %w", p.ID, err)
	}
	if err := json.Unmarshal(p.Report, &s.report); err != nil {
		return s, fmt.Errorf("credit pass %d: read its report: %w", p.ID, err)
	}
	return s, nil
}
