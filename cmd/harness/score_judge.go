package main

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/hindsightrl/harness/internal/errext"
	"github.com/hindsightrl/harness/llm"
	"github.com/hindsightrl/harness/store"
	"github.com/hindsightrl/harness/teacher"
)

// judgeFlags say who judges trajectories, for the judged modes.
type judgeFlags struct {
	spec, model, fallback, keyEnv string
	timeout                       time.Duration
	local                         localFlags
	cfg                           teacher.JudgeConfig
	noFeedback                    bool

	asked bool // the models are open
}

func (j *judgeFlags) flags(cmd *cobra.Command) {
	j.cfg = teacher.DefaultJudge(teacher.JudgeModel{})
	f := cmd.Flags()
	f.StringVar(&j.spec, "judge", "", "who judges trajectories, for the judged modes: a server as for --teacher, or openai:URL (default: nobody, and the latest judgements are shown)")
	f.StringVar(&j.model, "judge-model", "", "model name of the judge (default: the first that the server lists)")
	f.StringVar(&j.fallback, "judge-fallback", "", "model of the same server to ask where the judge fails or says nothing")
	f.StringVar(&j.keyEnv, "judge-key-env", "HARNESS_JUDGE_KEY", "environment variable that holds the judge's key")
	f.DurationVar(&j.timeout, "judge-timeout", 3*time.Minute, "how long one question may take")
	f.IntVar(&j.cfg.Tries, "judge-tries", j.cfg.Tries, "questions to one model until it judges")
	f.IntVar(&j.cfg.MaxTokens, "judge-tokens", j.cfg.MaxTokens, "tokens of a judgement")
	f.IntVar(&j.cfg.RetryMaxTokens, "judge-retry-tokens", j.cfg.RetryMaxTokens, "tokens after an answer that was cut off before it said anything")
	f.Float64Var(&j.cfg.Temperature, "judge-temperature", 0, "the judge's sampling temperature")
	f.IntVar(&j.cfg.Concurrency, "judge-concurrent", j.cfg.Concurrency, "questions in flight at the judge")
	f.BoolVar(&j.cfg.Strict, "judge-strict", false, "stop where an episode gets no judgement, instead of going without")
	f.BoolVar(&j.noFeedback, "judge-no-feedback", false, "do not show the judge the environment's last answer")
}

// open connects to the judge's models.
func (j *judgeFlags) open(ctx context.Context, g *globals) error {
	if j.asked {
		return nil
	}
	one := func(model string) (teacher.JudgeModel, error) {
		cfg := llm.Config{
			Model: model, APIKey: llm.Secret(g.env(j.keyEnv)), Timeout: j.timeout, MaxConcurrent: j.cfg.Concurrency, Now: g.now, Log: g.log,
		}
		var client llm.Client
		var err error
		if isLocal(j.spec) {
			local, _, err := j.local.open(ctx, j.spec)
			if err != nil {
				return teacher.JudgeModel{}, err
			}
			client = llm.NewLocal(local, cfg)
		} else if client, err = llm.Open(ctx, j.spec, cfg); err != nil {
			return teacher.JudgeModel{}, errext.WithHint(err, hintOr(err, "see whether the judge answers"))
		}
		who, err := teacher.Identify(ctx, client)
		return teacher.JudgeModel{Generator: client, Name: who.String()}, err
	}
	var err error
	if j.cfg.Model, err = one(j.model); err != nil {
		return err
	}
	if j.fallback != "" {
		if j.cfg.Fallback, err = one(j.fallback); err != nil {
			return err
		}
	}
	j.asked = true
	return nil
}

// run has the run judged in the judged modes of opt and lets opt show these judgements.
func (j *judgeFlags) run(ctx context.Context, g *globals, db *store.Store, opt *teacher.Options, quiet bool) error {
	var judged []teacher.Config
	for _, m := range opt.Modes {
		if m.Mode.Judged() {
			judged = append(judged, m)
		}
	}
	if len(judged) == 0 || j.spec == "" || opt.DryRun {
		return nil
	}
	if err := j.open(ctx, g); err != nil {
		return err
	}
	cfg := j.cfg
	cfg.Templates, cfg.Log, cfg.WithFeedback = opt.Templates, g.log, !j.noFeedback
	for _, m := range judged {
		r, err := teacher.JudgeRun(ctx, db, db, opt.RunID, m, opt.WholeGroups, cfg)
		if err != nil {
			return err
		}
		if !quiet {
			fmt.Fprintf(g.stderr, "%s: %s judged (%d by the fallback), %d before, %d without a judgement\n", m.Mode, plural(r.Judged, "episode"), r.Fallbacks, r.Cached, r.Failed)
		}
	}
	opt.Judge = cfg.Key()
	return nil
}
