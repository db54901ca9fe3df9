package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/hindsightrl/harness"
	"github.com/hindsightrl/harness/agent"
	"github.com/hindsightrl/harness/envs/swebench"
	"github.com/hindsightrl/harness/envs/swebench/embedded"
	"github.com/hindsightrl/harness/envs/swebench/eval"
)

// repairFlags are what SWE-bench has to choose.
type repairFlags struct {
	face        string
	images      swebench.ImageConfig
	relax       string
	memory      float64
	cpus        float64
	disk        float64
	processes   int64
	prepared    int
	command     time.Duration
	evaluate    bool
	tests       time.Duration
	keepHistory bool
	hints       bool
	log         *slog.Logger // nil is silent
	listOnly    bool         // no episode is opened: no daemon is needed
}

// repairFlagNames are the flags by name, for envFlags.
var repairFlagNames = []string{
	"interface", "image-namespace", "image-tag", "image-arch", "relax", "memory-gb", "cpus", "disk-gb", "processes",
	"command-timeout", "evaluate", "test-timeout", "keep-history", "hints",
}

func (f *repairFlags) flags(cmd *cobra.Command) {
	fl := cmd.Flags()
	fl.StringVar(&f.face, "interface", string(swebench.Bash), "SWE-bench: how agents act: bash (a command block a turn) or tools (a call of an editor, search or shell)")
	fl.StringVar(&f.images.Namespace, "image-namespace", "", "SWE-bench: namespace of official images (default swebench); none = images built here")
	fl.StringVar(&f.images.Tag, "image-tag", "", "SWE-bench: tag of official images (default latest)")
	fl.StringVar(&f.images.Arch, "image-arch", "", "SWE-bench: architecture of official images: x86_64 (default) or arm64")
	fl.StringVar(&f.relax, "relax", "", "SWE-bench: limits of containers to give up, separated by commas: network=NAME, capability=NAME, new-privileges, unlimited, or official (all that the official harness allows)")
	fl.Float64Var(&f.memory, "memory-gb", 0, "SWE-bench: memory of a container, in GiB (default 8)")
	fl.Float64Var(&f.cpus, "cpus", 0, "SWE-bench: processors of a container (default 2)")
	fl.Float64Var(&f.disk, "disk-gb", 0, "SWE-bench: what a container may write, in GiB (default 10)")
	fl.Int64Var(&f.processes, "processes", 0, "SWE-bench: processes of a container (default 1024)")
	fl.IntVar(&f.prepared, "prepared", swebench.DefaultReady, "SWE-bench: containers that are prepared for the episodes that come next, beside those at work, never more than --workers; 0 = none")
	fl.DurationVar(&f.command, "command-timeout", 0, "SWE-bench: end a command that takes longer (default 1m of bash, 1m30s of tools)")
	fl.BoolVar(&f.evaluate, "evaluate", true, "SWE-bench: run the hidden tests on each episode's patch; without it every reward is 0")
	fl.DurationVar(&f.tests, "test-timeout", eval.DefaultTimeout, "SWE-bench: end hidden tests that take longer")
	fl.BoolVar(&f.keepHistory, "keep-history", false, "SWE-bench: leave commits in the repository that came after the issue: agents can find the repair there")
	fl.BoolVar(&f.hints, "hints", false, "SWE-bench: show the comments that were made on the issue before it was solved")
}

// relaxed are the names in --relax.
func (f *repairFlags) relaxed() []string {
	return strings.FieldsFunc(f.relax, func(r rune) bool { return r == ',' || r == ' ' })
}

// config checks the flags and translates them.
func (f *repairFlags) config() (cfg swebench.Config, err error) {
	switch {
	case f.memory < 0 || f.cpus < 0 || f.disk < 0 || f.processes < 0 || f.prepared < 0:
		return cfg, hintUsage(errors.New("--memory-gb, --cpus, --disk-gb, --processes and --prepared cannot be negative"), "leave them out for the defaults")
	case f.command < 0 || f.tests <= 0:
		return cfg, hintUsage(errors.New("--command-timeout and --test-timeout must be above 0"), "leave them out for the defaults")
	}
	cfg = swebench.Config{
		Images: f.images, StepTimeout: f.command, KeepHistory: f.keepHistory, Hints: f.hints, Ready: f.prepared,
		Limits: swebench.Limits{
			Processes: f.processes, Memory: int64(f.memory * (1 << 30)), CPUs: f.cpus, Disk: int64(f.disk * (1 << 30)),
		},
	}
	if f.prepared == 0 {
		cfg.Ready = swebench.NoReady
	}
	if cfg.Interface, err = swebench.ParseInterface(f.face); err != nil {
		return cfg, hintUsage(err, "there are --interface bash and --interface tools")
	}
	if cfg.Relax, err = swebench.ParseRelax(f.relaxed()); err != nil {
		return cfg, hintUsage(err, "--relax official allows what the official harness does")
	}
	if err := cfg.Validate(); err != nil {
		return cfg, hintUsage(err, "harness rollout --help")
	}
	return cfg, nil
}

// repairSuite closes its engine and its judge with the suite.
type repairSuite struct {
	*swebench.Suite
	close []func() error
}

var _ harness.Preparer = (*repairSuite)(nil)

// Close implements io.Closer.
func (s *repairSuite) Close() error {
	var errs []error
	for i := len(s.close) - 1; i >= 0; i-- {
		errs = append(errs, s.close[i]())
	}
	return errors.Join(errs...)
}

// open reads the rows, or takes the embedded pair, connects to the daemon, and removes what runs that died
// left there.
func (f *repairFlags) open(ctx context.Context, data string) (harness.Suite, error) {
	cfg, err := f.config()
	if err != nil {
		return nil, err
	}
	rows, err := repairRows(data)
	if err != nil {
		return nil, err
	}
	if f.listOnly {
		return swebench.New(nil, rows, cfg)
	}
	log := f.log
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	engine, err := swebench.OpenEngine(ctx, swebench.EngineConfig{Owner: swebench.LocalOwner(), Run: "rollout", Log: log})
	if err != nil {
		return nil, err
	}
	s := &repairSuite{close: []func() error{engine.Close}}
	if n, err := engine.ReapDead(ctx); err != nil {
		log.Warn("containers of runs that died could not be removed", "error", err)
	} else if n > 0 {
		log.Info("containers of runs that died were removed", "containers", n)
	}
	if f.evaluate {
		judge, err := eval.WithEngine(engine, eval.Config{
			Name: "rollout", Timeout: f.tests, Images: f.images, Limits: cfg.Limits, Relax: f.relaxed(), Now: time.Now, Log: log,
		})
		if err != nil {
			return nil, errors.Join(err, s.Close())
		}
		s.close = append(s.close, judge.Close)
		cfg.Judge = judge
	}
	if s.Suite, err = swebench.New(engine, rows, cfg); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	s.close = append(s.close, s.Suite.Close)
	return s, nil
}

// repairRows opens a dataset; "" is the embedded pair.
func repairRows(data string) (*swebench.Dataset, error) {
	if data == "" {
		return embedded.Dataset()
	}
	return swebench.OpenDataset(data)
}

// panel is all instances of the data.
func (f *repairFlags) panel(ctx context.Context, suite harness.Suite, data, split string) (harness.Panel, error) {
	tasks, err := suite.Tasks(ctx, split)
	if err != nil {
		return harness.Panel{}, err
	}
	name := swebench.Name
	if data == "" {
		name = "embedded-" + name
	}
	return harness.Panel{Name: name, Tasks: tasks}, nil
}

// formats are those of the chosen interface; open refuses one that there is not.
func (f *repairFlags) formats() agent.Formats {
	all := agent.DefaultFormats()
	if format, err := agent.SWEBenchFormat(f.face); err == nil {
		all[swebench.Name] = format
	}
	return all
}

// What a run of SWE-bench takes where nobody chose: containers are heavy, and repairs are long answers.
const (
	repairMaxTokens = "4096"
	minRepairs      = 2 // at a time
)

// settle sets flags that nobody chose to what suits containers: of a new run also those that it records.
func (f *repairFlags) settle(cmd *cobra.Command, fresh bool, processors int) error {
	values := map[string]string{"workers": fmt.Sprint(max(minRepairs, processors))}
	if fresh {
		values["max-tokens"] = repairMaxTokens
	}
	for name, value := range values {
		if flag := cmd.Flags().Lookup(name); flag != nil && !flag.Changed {
			if err := cmd.Flags().Set(name, value); err != nil {
				return err
			}
		}
	}
	return nil
}
