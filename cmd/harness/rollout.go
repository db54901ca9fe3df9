package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/hindsightrl/harness"
	"github.com/hindsightrl/harness/agent"
	"github.com/hindsightrl/harness/envs/swebench"
	"github.com/hindsightrl/harness/internal/errext"
	"github.com/hindsightrl/harness/llm"
	"github.com/hindsightrl/harness/store"
)

// rolloutCommand collects a run: it takes a panel, makes groups of episodes, runs them and writes
// every step to the ledger.
type rolloutCommand struct {
	st stops
	g  *globals

	source    envSource
	panelPath string
	tasks     int
	group     int
	maxSteps  int
	history   int
	converse  bool
	seed      int64
	templates string
	policy    policyFlags
	sampler   samplerFlags

	db      string
	name    string
	resume  string
	retry   bool
	workers int
	budget  agent.Budget
	asJSON  bool
	quiet   bool

	again   string           // the command that resumes the run
	stats   func() llm.Stats // of the policy's model; nil without one
	failure *harness.Failure // of the episode that failed last; nil = none did
}

func newRollout(st stops, g *globals) *cobra.Command {
	c := &rolloutCommand{st: st, g: g}
	cmd := &cobra.Command{
		Use:   "rollout",
		Short: "Collect episodes: run a policy on a panel of tasks and record everything",
		Long: `rollout runs groups of episodes and writes every step to the ledger as it happens.

Without flags it plays the embedded games and shops in the embedded shop, with a built-in policy. The first Ctrl-C finishes the
episodes that are running, the second stops at once; either way --resume goes on from there.`,
		Example: `  harness rollout
  harness rollout --data $ALFWORLD_DATA --split valid_unseen --policy expert --group 1
  harness rollout --env webshop --policy expert --group 1
  harness rollout --env swebench --policy expert --group 1
  harness rollout --policy openai:http://127.0.0.1:8000 --model my-model --group 8 --name nightly
  harness rollout --resume nightly`,
		GroupID: "run",
		RunE:    func(cmd *cobra.Command, _ []string) error { return c.run(cmd) },
	}
	c.flags(cmd)
	configurable(g, cmd)
	return cmd
}

func (c *rolloutCommand) flags(cmd *cobra.Command) {
	c.source.flags(cmd)
	f := cmd.Flags()
	f.StringVar(&c.panelPath, "panel", "", "panel file to run instead of a split, as written by: harness panel make")
	f.IntVar(&c.tasks, "tasks", 0, "only the first N tasks; 0 = all")
	f.IntVar(&c.group, "group", 4, "episodes per task")
	f.IntVar(&c.maxSteps, "max-steps", 0, "steps per episode; 0 = the environment's own limit")
	f.IntVar(&c.history, "history", agent.DefaultHistory, "past steps that a prompt shows")
	f.BoolVar(&c.converse, "conversation", false, "one growing chat per episode, continued in token space, in place of prompts with a history")
	f.Int64Var(&c.seed, "seed", 0, "seed of the run: all randomness derives from it, the task and the sample")
	f.StringVar(&c.templates, "templates", "", "prompt templates: compact (short ones, for small contexts), or a JSON or YAML file (default: the built-in ones)")
	c.policy.flags(cmd)
	c.sampler.flags(cmd)
	ledgerFlag(cmd, &c.db)
	f.StringVar(&c.name, "name", "", "name of the run (default: environment and time)")
	f.StringVar(&c.resume, "resume", "", "go on with this run instead of starting one")
	f.BoolVar(&c.retry, "retry-failed", false, "with --resume: try failed episodes again")
	f.IntVar(&c.workers, "workers", 32, "episodes that run at the same time")
	f.IntVar(&c.budget.Tokens, "max-episode-tokens", 0, "end an episode after so many response tokens; 0 = no bound")
	f.DurationVar(&c.budget.Time, "max-episode-time", 0, "end an episode after so much time; 0 = no bound")
	f.BoolVar(&c.asJSON, "json", false, "print the summary as JSON")
	f.BoolVar(&c.quiet, "quiet", false, "no progress")
}

// hereAndNow are the flags that belong to this machine or this call rather than to the run: they are
// not stored with it and may differ when it is resumed.
var hereAndNow = map[string]bool{
	"db": true, "name": true, "resume": true, "retry-failed": true, "workers": true, "json": true, "quiet": true,
	"config": true, "help": true, "data": true, "panel": true, "api-key-env": true, "max-concurrent": true, "library": true, "nouns": true, "bridge": true, "original-image": true, "prepared": true,
}

func (c *rolloutCommand) run(cmd *cobra.Command) error {
	err := c.validate()
	if err == nil && c.resume == "" {
		err = errors.Join(checkRunName(c.name), c.policy.forServers(cmd.Flags()))
	}
	if err != nil {
		return usageError(cmd, err)
	}
	if c.resume == "" {
		if err := c.source.choose(cmd, c.panelPath); err != nil {
			return err
		}
	}
	c.source.repair.log = c.g.log
	db, err := store.Open(c.st.hard, c.db, store.Config{Now: c.g.now})
	if err != nil {
		return err
	}
	err = c.collect(cmd, db)
	return errors.Join(err, db.Close())
}

func (c *rolloutCommand) validate() error {
	switch {
	case c.group < 1:
		return fmt.Errorf("--group %d: want at least 1 episode per task", c.group)
	case c.workers < 1:
		return fmt.Errorf("--workers %d: want at least 1", c.workers)
	case c.tasks < 0 || c.maxSteps < 0 || c.history < 0:
		return errors.New("--tasks, --max-steps and --history cannot be negative")
	case c.retry && c.resume == "":
		return errors.New("--retry-failed needs --resume RUN")
	case c.resume != "" && c.name != "":
		return errors.New("--name is for new runs, --resume for old ones")
	case c.budget.Tokens < 0 || c.budget.Time < 0:
		return errors.New("--max-episode-tokens and --max-episode-time cannot be negative")
	case c.db == "":
		return errors.New("--db is empty: name a file")
	}
	if _, err := c.sampler.pick(); err != nil {
		return err
	}
	return c.policy.validate()
}

func (c *rolloutCommand) collect(cmd *cobra.Command, db *store.Store) (err error) {
	ctx := c.st.soft // nothing runs yet: the first Ctrl-C ends it
	var old store.Run
	if c.resume != "" {
		if old, err = runNamed(ctx, db, c.resume); err != nil {
			return err
		}
		if err := takeOver(cmd.Flags(), old); err != nil {
			return usageError(cmd, err)
		}
	}
	if c.source.env == swebench.Name {
		if err := c.source.repair.settle(cmd, c.resume == "", runtime.NumCPU()); err != nil {
			return err
		}
	}
	suite, err := c.source.open(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closeSuite(suite)) }()
	policy, err := c.policy.open(ctx, c.g)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, policy.close()) }()
	c.stats = policy.stats
	templates, err := readTemplates(c.templates)
	if err != nil {
		return err
	}
	run := old
	if c.resume == "" {
		run, err = c.create(ctx, cmd, db, suite, policy)
	} else {
		err = c.reopen(ctx, db, suite, policy, run)
	}
	if err != nil {
		return err
	}
	defer policy.calls.attach(c.st.hard, db, run.ID)()
	c.again = resumeCommand(cmd.Flags(), run.Name)
	return c.drive(c.st.hard, db, run, agent.Config{
		RunSeed: run.Seed, Suites: suitesOf(suite),
		Policy: policy.Policy, Recorder: db.Recorder(run.ID), Templates: templates,
		Workers: c.workers, MaxSteps: c.maxSteps, History: historyOf(c.history), Conversation: c.converse,
		Budget: c.budget, Log: c.g.log, Now: c.g.now, Formats: c.source.repair.formats(),
	})
}

// reopen makes an old run ready to go on.
func (c *rolloutCommand) reopen(ctx context.Context, db *store.Store, suite harness.Suite, policy openPolicy, run store.Run) error {
	if err := errors.Join(samePolicy(run, policy.name), c.sameTemplates(run)); err != nil {
		return err
	}
	if v := codeVersion(); v != run.CodeVersion {
		c.g.log.Warn("another version of the program began this run", "run", run.Name, "began", run.CodeVersion, "this", v)
	}
	if c.retry {
		if _, err := db.RequeueFailed(ctx, run.ID); err != nil {
			return err
		}
	}
	tasks, err := left(ctx, db, run.ID)
	if err == nil {
		err = c.checkTasks(ctx, suite, tasks)
	}
	if err != nil {
		return fmt.Errorf("resume run %q: %w", run.Name, err)
	}
	return nil
}

// historyOf translates the flag's 0 (no history) into the agent's.
func historyOf(n int) int {
	if n == 0 {
		return agent.NoHistory
	}
	return n
}

func readTemplates(path string) (*agent.Templates, error) {
	if path == "" {
		return agent.DefaultTemplates(), nil
	}
	if t, ok := agent.NamedTemplates(path); ok {
		return t, nil
	}
	raw, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read templates: %w", err)
	}
	t, err := agent.ParseTemplates(raw)
	if err != nil {
		return nil, fmt.Errorf("read templates %q: %w", path, err)
	}
	return t, nil
}

// create writes a new run with its panel and all its episodes.
func (c *rolloutCommand) create(ctx context.Context, cmd *cobra.Command, db *store.Store, suite harness.Suite, policy openPolicy) (store.Run, error) {
	panel, err := c.panel(ctx, suite)
	if err != nil {
		return store.Run{}, err
	}
	way, err := c.sampler.pick()
	if err != nil {
		return store.Run{}, err
	}
	if err := way.check(ctx, policy.Policy, suitesOf(suite), panel.Tasks); err != nil {
		return store.Run{}, insteadParallel(err)
	}
	size, err := c.sampler.sizeOf(way, cmd.Flags(), c.group)
	if err != nil {
		return store.Run{}, err
	}
	config, err := json.Marshal(runConfig(cmd.Flags()))
	if err != nil {
		return store.Run{}, err
	}
	about := runInfo(suite, policy)
	if about[templatesKey], err = templatesHash(c.templates); err != nil {
		return store.Run{}, err
	}
	info, err := json.Marshal(about)
	if err != nil {
		return store.Run{}, err
	}
	name := c.name
	if name == "" {
		base := c.source.env + "-" + c.g.now().UTC().Format("20060102-150405")
		if name, err = freeName(ctx, db, base); err != nil {
			return store.Run{}, err
		}
	}
	return db.CreateRun(ctx, store.RunSpec{
		Name: name, Panel: panel, GroupSize: size, Seed: c.seed, Policy: policy.name,
		Config: config, Info: info, CodeVersion: codeVersion(),
	})
}

func (c *rolloutCommand) panel(ctx context.Context, suite harness.Suite) (harness.Panel, error) {
	var panel harness.Panel
	var err error
	if c.panelPath != "" {
		if panel, err = readPanel(c.panelPath); err == nil {
			err = c.checkTasks(ctx, suite, firstTasks(panel.Tasks, c.tasks))
		}
	} else if panel, err = c.source.panel(ctx, suite); err == nil {
		err = c.tellLeftOut(ctx, suite)
	}
	panel.Tasks = firstTasks(panel.Tasks, c.tasks)
	return panel, err
}

// tellLeftOut says how many trials of the data are not in the panel, because nobody can play them.
func (c *rolloutCommand) tellLeftOut(ctx context.Context, suite harness.Suite) error {
	n, first, err := c.source.leftOut(ctx, suite)
	if n > 0 {
		fmt.Fprintf(c.g.stderr, "%s of the data left out, the first being %s\n", plural(n, "trial"), firstLine(first))
	}
	return err
}

// runConfig is every setting that decides what the run does, by flag name.
func runConfig(flags *pflag.FlagSet) map[string]string {
	config := map[string]string{}
	flags.VisitAll(func(f *pflag.Flag) {
		if !hereAndNow[f.Name] {
			config[f.Name] = f.Value.String()
		}
	})
	return config
}

// drive runs what the run has left and prints the summary, also after a stop or an error.
func (c *rolloutCommand) drive(ctx context.Context, db *store.Store, run store.Run, cfg agent.Config) error {
	way, err := c.sampler.pick() // again: a resumed run has the sampler that it began with
	if err != nil {
		return err
	}
	refs, err := db.Pending(ctx, run.ID)
	if err != nil {
		return err
	}
	if len(refs) == 0 {
		fmt.Fprintf(c.g.stderr, "run %s has nothing left to do\n", run.Name)
		return c.summary(ctx, db, run.ID)
	}
	if err := db.SetRunState(ctx, run.ID, store.RunRunning, ""); err != nil {
		return err
	}
	fmt.Fprintf(c.g.stderr, "run %s: %s, policy %s, %d at a time, ledger %s\n",
		run.Name, plural(len(refs), "episode"), run.Policy, min(c.workers, len(refs)), c.db)
	bar := newProgress(c.g, len(refs), c.quiet)
	cfg.OnEvent = func(e agent.Event) {
		bar.event(e)
		if e.Kind == agent.EventFailed {
			c.failure = e.Failure
		}
	}
	undo := context.AfterFunc(c.st.soft, func() {
		fmt.Fprintln(c.g.stderr, "stopping: running episodes go on to their end; press Ctrl-C again to stop at once")
	})
	_, runErr := way.run(c.st.soft, ctx, refs, cfg)
	undo()
	bar.close()
	// The last words go to the ledger also after a hard stop.
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), 30*time.Second)
	defer cancel()
	state, message := store.RunDone, ""
	if runErr != nil {
		state, message = store.RunInterrupted, runErr.Error()
	}
	err = errors.Join(runErr, db.SetRunState(last, run.ID, state, message))
	if sumErr := c.summary(last, db, run.ID); err == nil {
		err = sumErr
	}
	switch {
	case errors.Is(err, agent.ErrStopped):
		return errext.WithCode(errext.WithHint(err, c.again), exitInterrupted)
	case runErr != nil:
		return errext.WithHint(err, strings.TrimPrefix(errext.Hint(err)+"; then: "+c.again, "; then: "))
	}
	return err
}
