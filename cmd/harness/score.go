package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/hindsightrl/harness/credit"
	"github.com/hindsightrl/harness/internal/errext"
	"github.com/hindsightrl/harness/llm"
	"github.com/hindsightrl/harness/store"
	"github.com/hindsightrl/harness/teacher"
)

// scoreCommand asks a teacher how likely a run's tokens are in hindsight.
type scoreCommand struct {
	st stops
	g  *globals

	db        string
	runName   string
	modes     string
	teacher   teacherFlags
	templates string
	context   contextFlags

	student    string
	mask       string
	truncation string
	maxPrompt  int
	tolerance  float64
	schedule   scheduleFlags
	judge      judgeFlags

	dryRun   bool
	show     int
	price    float64
	follow   bool
	interval time.Duration
	asJSON   bool
	quiet    bool
}

func newScore(st stops, g *globals) *cobra.Command {
	c := &scoreCommand{st: st, g: g}
	cmd := &cobra.Command{
		Use:   "score",
		Short: "Ask a teacher how likely a run's tokens are once the feedback is known",
		Long: `score builds, for each step of a run's finished episodes, the context that a mode shows in hindsight, and
asks the teacher for the log-probability of each response token with that context and without. The
difference is what credit weighs tokens by.

Everything is kept under a hash of what it depends on: the same command again asks nothing, a killed one
goes on, and a changed template asks only what it changed. Modes: all (the eighteen unjudged ones), step,
anchor, judged, privileged, or names separated by commas:

` + modeList() + `

anchor_NAME shows the same feedback of all steps of the group that began with the same observation.`,
		Example: `  harness score
  harness score --run nightly --mode all --teacher vllm:http://127.0.0.1:8000
  harness score --mode future_trajectory --dry-run --show 1
  harness score table --run nightly
  harness score show 17 --mode immediate_feedback
  harness score context 17 --mode future_trajectory --step 3
  harness score compare immediate_feedback anchor_immediate_feedback`,
		GroupID: "look",
		RunE:    func(cmd *cobra.Command, _ []string) error { return c.run(cmd) },
	}
	c.flags(cmd)
	configurable(g, cmd)
	cmd.AddCommand(newScoreList(g), newScoreShow(g), newScoreContext(st, g), newScoreCompare(g), newScoreTable(g))
	return cmd
}

// modeList names the modes at the step, one a line.
func modeList() string {
	var b strings.Builder
	for _, m := range teacher.Modes() {
		if !m.Anchor() {
			b.WriteString("  " + string(m) + "\n")
		}
	}
	return strings.TrimSuffix(b.String(), "\n")
}

func (c *scoreCommand) flags(cmd *cobra.Command) {
	ledgerFlag(cmd, &c.db)
	f := cmd.Flags()
	f.StringVar(&c.runName, "run", "", "the run (default: the last one of the ledger)")
	f.StringVar(&c.modes, "mode", "all", "what the teacher sees: names separated by commas, or all, step, anchor, judged")
	c.teacher.flags(cmd)
	f.StringVar(&c.templates, "templates", "", "file of context templates (JSON or YAML)")
	c.context.flags(cmd)
	f.StringVar(&c.student, "student", string(teacher.StudentScored), "log-probabilities without the context: scored (by the same server) or recorded (the policy's own)")
	f.StringVar(&c.mask, "action-mask", string(teacher.MaskExact), "how action tokens are found: exact (bytes of the real tokens) or serl-compat")
	f.StringVar(&c.truncation, "truncation", string(teacher.TruncateParts), "what an over-long context loses: parts (the least useful first) or serl-compat (its end)")
	f.IntVar(&c.maxPrompt, "max-prompt", 0, "tokens of the teacher's prompt; 0 = what the server takes")
	f.Float64Var(&c.tolerance, "tolerance", -1, "nats by which the self-check may differ; negative = by the teacher's engine")
	c.schedule.flags(cmd)
	c.judge.flags(cmd)
	f.BoolVar(&c.dryRun, "dry-run", false, "build contexts and count tokens; ask the teacher's model nothing, keep nothing")
	f.IntVar(&c.show, "show", 0, "with --dry-run: print the first N contexts of each mode")
	f.Float64Var(&c.price, "price", 0, "with --dry-run: price of a million tokens, to foretell the cost")
	f.BoolVar(&c.follow, "follow", false, "go on scoring groups as they are finished, until the run is")
	f.DurationVar(&c.interval, "interval", 5*time.Second, "with --follow: how often to look for new episodes")
	f.BoolVar(&c.asJSON, "json", false, "print JSON")
	f.BoolVar(&c.quiet, "quiet", false, "no progress")
}

func (c *scoreCommand) validate() error {
	switch {
	case (c.show > 0 || c.price > 0) && !c.dryRun:
		return errors.New("--show and --price belong to --dry-run")
	case c.dryRun && c.follow:
		return errors.New("--dry-run and --follow exclude each other")
	case c.price < 0 || c.show < 0:
		return errors.New("--price and --show cannot be negative")
	case c.interval <= 0:
		return fmt.Errorf("--interval %v: want more than 0", c.interval)
	}
	return c.schedule.validate()
}

func (c *scoreCommand) run(cmd *cobra.Command) error {
	if err := c.validate(); err != nil {
		return usageError(cmd, err)
	}
	modes, err := teacher.ParseModes(c.modes)
	if err != nil {
		return usageError(cmd, err)
	}
	opt, err := c.options(modes)
	if err != nil {
		return usageError(cmd, err)
	}
	if done, err := c.schedule.over(c.g.stderr); done || err != nil {
		return err
	}
	work := func(db *store.Store) error { return c.work(cmd, db, opt) }
	if c.dryRun {
		return readLedger(cmd.Context(), c.db, work)
	}
	db, err := store.OpenScores(c.st.soft, c.db, store.Config{Now: c.g.now})
	if err != nil {
		return errext.WithHint(err, hintOr(err, "harness rollout --db "+c.db))
	}
	return errors.Join(work(db), db.Close())
}

// options are those that need neither the run nor the teacher.
func (c *scoreCommand) options(modes []teacher.Mode) (teacher.Options, error) {
	opt := teacher.Options{
		PolicyVersion: c.schedule.version(), Student: teacher.Student(c.student), Mask: teacher.Mask(c.mask),
		Truncation: teacher.Truncation(c.truncation), MaxPrompt: c.maxPrompt, Tolerance: c.tolerance,
		DryRun: c.dryRun, Log: c.g.log,
	}
	for _, m := range modes {
		cfg, err := c.context.config(m)
		if err != nil {
			return opt, err
		}
		opt.Modes = append(opt.Modes, cfg)
	}
	var err error
	opt.Templates, err = readTeacherTemplates(c.templates)
	return opt, err
}

func readTeacherTemplates(path string) (*teacher.Templates, error) {
	if path == "" {
		return teacher.DefaultTemplates(), nil
	}
	raw, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read templates: %w", err)
	}
	t, err := teacher.ParseTemplates(raw)
	if err != nil {
		return nil, fmt.Errorf("read templates %q: %w", path, err)
	}
	return t, nil
}

func (c *scoreCommand) work(cmd *cobra.Command, db *store.Store, opt teacher.Options) (err error) {
	ctx := c.st.soft
	run, err := runNamed(ctx, db, c.runName)
	if err != nil {
		return err
	}
	opt.RunID = run.ID
	open, err := c.teacher.open(ctx, c.g)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, open.close()) }()
	opt.Teacher, opt.Concurrency = open.identity, open.concurrency
	if err := c.schedule.check(open.identity); err != nil {
		return err
	}
	shown := map[teacher.Mode]int{}
	if c.show > 0 {
		opt.Contexts = func(s teacher.Shown) { c.showContext(s, shown) }
	}
	if !c.follow {
		return c.once(ctx, cmd, db, run, open, opt)
	}
	return c.followRun(ctx, cmd, db, run, open, opt)
}

// once scores what is there.
func (c *scoreCommand) once(ctx context.Context, cmd *cobra.Command, db *store.Store, run store.Run, open openTeacher, opt teacher.Options) error {
	if err := c.judge.run(ctx, c.g, db, &opt, c.quiet); err != nil {
		return err
	}
	bar := newScoreProgress(c.g, c.quiet)
	opt.Progress = bar.update
	r, err := teacher.Score(ctx, db, open.engine, opt)
	bar.close()
	if err != nil {
		if ctx.Err() != nil {
			return errext.WithHint(err, "what was answered is kept: the same command goes on from there")
		}
		return err
	}
	return c.print(run, open.identity, r)
}

// followRun scores groups as they are finished, until the run is done.
func (c *scoreCommand) followRun(ctx context.Context, cmd *cobra.Command, db *store.Store, run store.Run, open openTeacher, opt teacher.Options) error {
	opt.WholeGroups = true
	for {
		now, err := db.Run(ctx, run.ID)
		if err != nil {
			return err
		}
		if now.State != store.RunRunning && now.State != store.RunCreated {
			opt.WholeGroups = false
			return c.once(ctx, cmd, db, now, open, opt)
		}
		round := opt
		if err := c.judge.run(ctx, c.g, db, &round, true); err != nil {
			return err
		}
		r, err := teacher.Score(ctx, db, open.engine, round)
		if err != nil {
			return err
		}
		if !r.UpToDate && !c.quiet {
			fmt.Fprintf(c.g.stderr, "%s scored, %s to come\n", plural(scoredRows(r), "row"), plural(r.OpenEpisodes, "episode"))
		}
		timer := time.NewTimer(c.interval)
		select {
		case <-ctx.Done():
			timer.Stop()
			return errext.WithHint(context.Cause(ctx), "what was answered is kept: the same command goes on from there")
		case <-timer.C:
		}
	}
}

// scheduleFlags say which update of the trainer a pass is for.
type scheduleFlags struct {
	update int
	serl   credit.SERLConfig
}

func (s *scheduleFlags) flags(cmd *cobra.Command) {
	s.serl = credit.DefaultSERL()
	f := cmd.Flags()
	f.IntVar(&s.update, "update", -1, "the trainer's update that the pass is for; it fixes λ and which policy the teacher should hold")
	f.Float64Var(&s.serl.Lambda, "lambda", s.serl.Lambda, "with --update: λ at update 0")
	f.IntVar(&s.serl.DecaySteps, "decay-updates", s.serl.DecaySteps, "with --update: updates until λ is 0; 0 = never")
	f.IntVar(&s.serl.SyncEvery, "sync-every", s.serl.SyncEvery, "with --update: updates between copies of the policy into the teacher; 0 = never")
}

func (s *scheduleFlags) validate() error {
	if s.update < -1 {
		return fmt.Errorf("--update %d: want 0 or more", s.update)
	}
	return s.serl.Validate()
}

func (s *scheduleFlags) version() int32 { return int32(s.update) }

// over reports that the schedule has no use for a teacher any more.
func (s *scheduleFlags) over(w interface{ Write([]byte) (int, error) }) (bool, error) {
	if s.update < 0 || s.serl.LambdaAt(s.update) > 0 {
		return false, nil
	}
	_, err := fmt.Fprintf(w, "λ is 0 at update %d: the weights have no effect, and nothing is asked\n", s.update)
	return true, err
}

// check compares the weights that the teacher says it holds with those that the schedule wants.
func (s *scheduleFlags) check(who teacher.Identity) error {
	if s.update < 0 {
		return nil
	}
	want := s.serl.TeacherAt(s.update)
	held, known := llm.ParseVersion(who.Weights)
	if !known || int(held) == want {
		return nil
	}
	return errext.WithHint(fmt.Errorf("at update %d the teacher should hold the policy of update %d, the server says %q", s.update, want, who.Weights),
		fmt.Sprintf("load the weights of update %d, or set --sync-every to how the teacher is really synced", want))
}
