package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/hindsightrl/harness/agent"
	"github.com/hindsightrl/harness/envs/swebench"
	"github.com/hindsightrl/harness/internal/errext"
	"github.com/hindsightrl/harness/store"
)

type trainCommand struct {
	st      stops
	g       *globals
	config  string
	example bool
	check   bool
}

func newTrainFeed(st stops, g *globals) *cobra.Command {
	c := &trainCommand{st: st, g: g}
	cmd := &cobra.Command{
		Use:   "train-feed",
		Short: "Collect, score, give credit and feed trainers, continuously, in one process",
		Long: `train-feed plays a panel of tasks round after round, has a teacher score what finishes, gives it credit
group by group and hands it to trainers as harness serve does. One YAML file says how.

Everything is in the ledger: the same command goes on where the last one ended, however that ended, and
no group reaches a trainer twice. The first Ctrl-C finishes the running episodes, the second stops at once.`,
		Example: `  harness train-feed --example > run.yaml
  harness train-feed --config run.yaml
  harness train-feed --config run.yaml --check`,
		GroupID: "feed",
		RunE:    func(cmd *cobra.Command, _ []string) error { return c.run(cmd) },
	}
	f := cmd.Flags()
	f.StringVar(&c.config, "config", "", "the YAML file")
	f.BoolVar(&c.example, "example", false, "print a file with every key, its default and what it means")
	f.BoolVar(&c.check, "check", false, "read the file, say what is wrong with it, and start nothing")
	return cmd
}

func (c *trainCommand) run(cmd *cobra.Command) error {
	if c.example {
		_, err := fmt.Fprint(c.g.stdout, trainExample)
		return err
	}
	if c.config == "" {
		return usageError(cmd, errext.WithHint(errors.New("no --config"), "harness train-feed --example > run.yaml"))
	}
	g := *c.g // with a log of its own
	plan, err := readTrainPlan(c.st, &g, c.config)
	if err != nil {
		return errext.WithCode(err, exitUsage)
	}
	g.log = plan.Log.open(&g)
	token := g.env(plan.serve.tokenEnv)
	for _, addr := range []string{plan.serve.listen, plan.Metrics} {
		if addr == "" {
			continue
		}
		if err := checkListen(addr, token, plan.serve.tokenEnv); err != nil {
			return errext.WithCode(err, exitUsage)
		}
	}
	if c.check {
		_, err := fmt.Fprintf(g.stdout, "%s is sound: run %s, policy %s\n", c.config, plan.Run, plan.collect.policy.spec)
		return err
	}
	db, err := store.Open(c.st.hard, plan.Ledger, store.Config{Now: g.now, Readers: 16})
	if err != nil {
		return err
	}
	t := &trainFeed{st: c.st, g: &g, plan: plan, db: db, token: token, again: shellLine([]string{"harness", "train-feed", "--config", c.config}), wake: make(chan struct{}, 1)}
	return errors.Join(t.run(), db.Close())
}

// check reports a value that is none, under the name that it was given by.
func (l trainLog) check(format, level string) error {
	if !slices.Contains([]string{"text", "json"}, l.Format) {
		return fmt.Errorf("%s is %q, want text or json", format, l.Format)
	}
	if err := new(slog.Level).UnmarshalText([]byte(l.Level)); err != nil {
		return fmt.Errorf("%s is %q, want debug, info, warn or error", level, l.Level)
	}
	return nil
}

func (l trainLog) open(g *globals) *slog.Logger {
	opts := &slog.HandlerOptions{Level: logLevel(l.Level)}
	if l.Format == "json" {
		return slog.New(slog.NewJSONHandler(g.stderr, opts))
	}
	return slog.New(slog.NewTextHandler(g.stderr, opts))
}

// open finds or begins the run, with everything that its episodes need. What it opened is closed by close,
// also where it failed.
func (t *trainFeed) open(ctx context.Context) (err error) {
	c := t.plan.collect
	old, err := t.db.RunByName(ctx, t.plan.Run)
	begun := err == nil
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return err
	}
	if begun {
		if err := takeOver(t.plan.collectCmd.Flags(), old); err != nil {
			return errext.WithCode(errext.WithHint(err, "keep what the run was begun with, or name another run"), exitUsage)
		}
		c.resume = t.plan.Run
	} else if err := c.source.choose(t.plan.collectCmd, c.panelPath); err != nil {
		return err
	}
	if c.source.repair.log = t.g.log; c.source.env == swebench.Name {
		if err := c.source.repair.settle(t.plan.collectCmd, !begun, runtime.NumCPU()); err != nil {
			return err
		}
	}
	suite, err := c.source.open(ctx)
	if err != nil {
		return err
	}
	t.close = append(t.close, func() error { return closeSuite(suite) })
	policy, err := c.policy.open(ctx, t.g)
	if err != nil {
		return err
	}
	t.close = append(t.close, policy.close)
	templates, err := readTemplates(c.templates)
	if err != nil {
		return err
	}
	if begun {
		t.of, err = old, c.reopen(ctx, t.db, suite, policy, old)
	} else {
		t.of, err = c.create(ctx, t.plan.collectCmd, t.db, suite, policy)
	}
	if err != nil {
		return err
	}
	flush := policy.calls.attach(t.st.hard, t.db, t.of.ID)
	t.close = append(t.close, func() error { flush(); return nil })
	t.gate = newPolicyGate(policy.Policy)
	t.client = policy.client
	t.agent = c.agentConfig(templates)
	t.agent.RunSeed, t.agent.Suites = t.of.Seed, suitesOf(suite)
	t.agent.Policy, t.agent.Recorder, t.agent.OnEvent = t.gate, t.db.Recorder(t.of.ID), t.event
	return t.openTeacher(ctx)
}

func (t *trainFeed) openTeacher(ctx context.Context) error {
	if t.plan.score == nil {
		return nil
	}
	open, err := t.plan.score.teacher.open(ctx, t.g)
	if err != nil {
		return fmt.Errorf("open the teacher: %w", err)
	}
	if t.teacher.close != nil {
		if err := t.teacher.close(); err != nil {
			return err
		}
	}
	t.teacher = open
	return nil
}

// closeAll undoes open, last things first.
func (t *trainFeed) closeAll() (err error) {
	if t.teacher.close != nil {
		err = t.teacher.close()
	}
	for i := len(t.close) - 1; i >= 0; i-- {
		err = errors.Join(err, t.close[i]())
	}
	return err
}

// finish writes how the collection ended into the run.
func (t *trainFeed) finish(collectErr error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.st.hard), 30*time.Second)
	defer cancel()
	state, message := store.RunDone, ""
	if collectErr != nil {
		state, message = store.RunInterrupted, collectErr.Error()
	}
	return t.db.SetRunState(ctx, t.of.ID, state, message)
}

// stopped says how to go on after a stop.
func (t *trainFeed) stopped(err error) error {
	if errors.Is(err, agent.ErrStopped) || errors.Is(err, context.Canceled) && t.st.soft.Err() != nil {
		return errext.WithCode(errext.WithHint(agent.ErrStopped, t.again), exitInterrupted)
	}
	return err
}
