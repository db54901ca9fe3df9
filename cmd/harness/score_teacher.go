package main

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"github.com/hindsightrl/harness/internal/errext"
	"github.com/hindsightrl/harness/llm"
	"github.com/hindsightrl/harness/teacher"
)

// teacherFlags say who the teacher is.
type teacherFlags struct {
	spec       string
	model      string
	keyEnv     string
	concurrent int
	timeout    time.Duration
	local      localFlags
}

func (t *teacherFlags) flags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&t.spec, "teacher", defaultPolicy, "who scores: refmodel, gguf:FILE, or a server: vllm:URL, sglang:URL, llamacpp:URL, auto:URL")
	f.StringVar(&t.model, "model", "", "model name, for teachers behind a server (default: the first that it lists)")
	f.StringVar(&t.keyEnv, "api-key-env", "HARNESS_API_KEY", "environment variable that holds the server's key")
	f.IntVar(&t.concurrent, "max-concurrent", 64, "calls in flight at the server")
	f.DurationVar(&t.timeout, "call-timeout", 5*time.Minute, "how long one call may take")
	t.local.flags(cmd)
}

// openTeacher is a teacher that is ready to be asked.
type openTeacher struct {
	engine      teacher.Engine
	identity    teacher.Identity
	concurrency int // calls that are worth having in flight; 0 = one per processor
	close       func() error
}

func (t *teacherFlags) open(ctx context.Context, g *globals) (openTeacher, error) {
	cfg := llm.Config{
		Model: t.model, APIKey: llm.Secret(g.env(t.keyEnv)), Timeout: t.timeout, MaxConcurrent: t.concurrent, Now: g.now, Log: g.log,
	}
	if isLocal(t.spec) {
		model, closeModel, err := t.local.open(ctx, t.spec)
		if err != nil {
			return openTeacher{}, err
		}
		local := llm.NewLocal(model, cfg)
		who, err := teacher.Identify(ctx, local)
		return openTeacher{engine: local, identity: who, close: closeModel}, err
	}
	client, err := llm.Open(ctx, t.spec, cfg)
	if err != nil {
		return openTeacher{}, errext.WithHint(err, hintOr(err, "name a teacher: refmodel, gguf:FILE, vllm:URL, …"))
	}
	engine, err := teacher.AsEngine(client)
	if err != nil {
		return openTeacher{}, err
	}
	who, err := teacher.Identify(ctx, client)
	return openTeacher{engine: engine, identity: who, concurrency: t.concurrent, close: func() error { return nil }}, err
}

// contextFlags are the options of contexts, with the reference's defaults.
type contextFlags struct {
	format       string
	threshold    float64
	trajectory   int
	future       int
	own          bool
	keepThinking bool
	similarity   float64
}

func (c *contextFlags) flags(cmd *cobra.Command) {
	d := teacher.DefaultConfig("")
	f := cmd.Flags()
	f.StringVar(&c.format, "trajectory-format", string(d.Format), "how trajectories are written: response or observation_action")
	f.Float64Var(&c.threshold, "success-threshold", d.SuccessThreshold, "return from which an episode counts as a success where the environment does not say")
	f.IntVar(&c.trajectory, "max-trajectory-steps", 0, "first steps of a successful trajectory to show; 0 = all")
	f.IntVar(&c.future, "max-future-steps", 0, "first steps of the future to show; 0 = all")
	f.BoolVar(&c.own, "own-success", !d.ExcludeOwn, "let the own trajectory be the successful one")
	f.BoolVar(&c.keepThinking, "keep-thinking", !d.StripThinking, "show <think>…</think> of other responses")
	f.Float64Var(&c.similarity, "anchor-similarity", 0, "difflib ratio from which anchor observations are the same; 0 = they must be equal (the reference's value is 0.95)")
}

func (c *contextFlags) config(mode teacher.Mode) (teacher.Config, error) {
	cfg := teacher.DefaultConfig(mode)
	format, err := teacher.ParseFormat(c.format)
	if err != nil {
		return cfg, err
	}
	cfg.Format, cfg.SuccessThreshold = format, c.threshold
	cfg.MaxTrajectorySteps, cfg.MaxFutureSteps = c.trajectory, c.future
	cfg.ExcludeOwn, cfg.StripThinking = !c.own, !c.keepThinking
	if c.similarity != 0 {
		cfg.Similarity, cfg.SimilarityThreshold = true, c.similarity
	}
	return cfg, cfg.Validate()
}
