package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/hindsightrl/harness/envs/swebench"
	"github.com/hindsightrl/harness/envs/swebench/eval"
	"github.com/hindsightrl/harness/envs/swebench/testlog"
	"github.com/hindsightrl/harness/internal/errext"
)

// evalCommand evaluates patches in containers.
type evalCommand struct {
	st stops
	g  *globals

	source evalSource
	grader string
	out    string
	runID  string

	workers   int
	repeats   int
	retries   int
	timeout   time.Duration
	maxLog    int
	images    swebench.ImageConfig
	relax     []string
	memory    float64
	cpus      float64
	disk      float64
	processes int64
	assets    string
	forget    bool
	room      float64
	asJSON    bool
	quiet     bool
}

func newSWEBenchEval(st stops, g *globals) *cobra.Command {
	c := &evalCommand{st: st, g: g}
	cmd := &cobra.Command{
		Use:   "eval [PREDICTIONS]",
		Short: "Evaluate patches: apply them in fresh containers, run the tests, grade the logs",
		Long: `eval evaluates the patches of a predictions file (.json or .jsonl, as the official harness takes it), the
dataset's own patches (the word gold), or those that the episodes of a run left (--run).

Each patch gets a fresh container of its instance's image. Logs and reports are written below --out in the
official layout, with a run report for each model. The same command again evaluates only what is missing:
what failed by the machine, and what depends on another patch, script, image, grader or limit than before.

Containers have no network, no capabilities and bounded resources. The official harness allows all of
that: --relax official does too, for verdicts that are to be compared.`,
		Example: `  harness swebench eval gold
  harness swebench eval preds.jsonl --data SWE-bench_Verified_test.parquet --workers 8 --relax official
  harness swebench eval --run nightly --grader 4.1.0
  harness swebench eval gold --instance hindsight__shiftplan-1 --repeats 5`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 1 {
				c.source.file = args[0]
			}
			return c.run(cmd)
		},
	}
	c.source.flags(cmd)
	f := cmd.Flags()
	f.StringVar(&c.grader, "grader", string(testlog.V502), "whose rules apply patches and grade logs: 5.0.2 or 4.1.0")
	f.StringVar(&c.out, "out", ".", "folder that gets logs/run_evaluation/… and the run reports")
	f.StringVar(&c.runID, "run-id", "", "name of the evaluation (default: that of the run, or of the predictions file)")
	f.IntVar(&c.workers, "workers", 4, "evaluations at a time")
	f.IntVar(&c.repeats, "repeats", 1, "run each patch's tests so often, to find tests that do not always come out alike")
	f.IntVar(&c.retries, "retries", 2, "how often an evaluation is tried again that the machine made fail")
	f.DurationVar(&c.timeout, "timeout", eval.DefaultTimeout, "end tests that take longer")
	f.IntVar(&c.maxLog, "max-log-mb", eval.DefaultMaxLog>>20, "output of the tests that can be graded, in MiB")
	f.StringVar(&c.images.Namespace, "image-namespace", "", "namespace of official images (default swebench); none = images built here")
	f.StringVar(&c.images.Tag, "image-tag", "", "tag of official images (default latest)")
	f.StringVar(&c.images.Arch, "image-arch", "", "architecture of official images: x86_64 (default) or arm64")
	f.StringSliceVar(&c.relax, "relax", nil, "limits of containers to give up: network=NAME, capability=NAME, new-privileges, unlimited, or official (all that the official harness allows)")
	f.Float64Var(&c.memory, "memory-gb", 0, "memory of a container, in GiB (default 8)")
	f.Float64Var(&c.cpus, "cpus", 0, "processors of a container (default 2)")
	f.Float64Var(&c.disk, "disk-gb", 0, "what a container may write, in GiB (default 10)")
	f.Int64Var(&c.processes, "processes", 0, "processes of a container (default 1024)")
	f.StringVar(&c.assets, "assets", "", "folder with the binary files that some rows only name: INSTANCE/PATH")
	f.BoolVar(&c.forget, "remove-images", false, "remove images that had to be pulled when their last patch is evaluated")
	f.Float64Var(&c.room, "min-free-gb", 8, "pull no image while less is free on the daemon's disk, in GiB")
	f.BoolVar(&c.asJSON, "json", false, "print the summary as JSON")
	f.BoolVar(&c.quiet, "quiet", false, "no progress")
	configurable(g, cmd)
	return cmd
}

func (c *evalCommand) run(cmd *cobra.Command) error {
	release, err := c.validate()
	if err != nil {
		return usageError(cmd, err)
	}
	config := c.config(release)
	if err := config.Validate(); err != nil {
		return usageError(cmd, err)
	}
	b, err := c.source.open(c.st.soft, c.g, cmd)
	if err != nil {
		return err
	}
	b.Root, b.RunID, b.Workers, b.Repeats, b.Forget = c.out, c.runID, c.workers, c.repeats, c.forget
	if b.RunID == "" {
		b.RunID = c.source.name
	}
	config.Name = b.RunID
	b.Progress = c.progress()
	e, err := eval.Open(c.st.hard, config)
	if err != nil {
		return err
	}
	sum, err := e.Run(c.st.soft, c.st.hard, b)
	if closeErr := e.Close(); closeErr != nil {
		c.g.log.Warn("containers were left behind; the next evaluation removes them", "error", closeErr)
	}
	if sum != nil {
		err = errors.Join(err, c.print(sum))
	}
	return c.verdict(sum, err)
}

func (c *evalCommand) validate() (testlog.Release, error) {
	switch {
	case c.workers < 1:
		return "", fmt.Errorf("--workers %d: want at least 1", c.workers)
	case c.repeats < 1:
		return "", fmt.Errorf("--repeats %d: want at least 1", c.repeats)
	case c.retries < 0 || c.maxLog < 1 || c.timeout <= 0:
		return "", errors.New("--retries cannot be negative; --max-log-mb and --timeout must be positive")
	case c.memory < 0 || c.cpus < 0 || c.disk < 0 || c.processes < 0 || c.room < 0:
		return "", errors.New("--memory-gb, --cpus, --disk-gb, --processes and --min-free-gb cannot be negative")
	}
	if err := c.source.validate(); err != nil {
		return "", err
	}
	if _, err := swebench.ImageName("x", c.images); err != nil {
		return "", fmt.Errorf("--image-arch: %w", err)
	}
	release, err := testlog.ParseRelease(c.grader)
	if err != nil {
		return "", fmt.Errorf("--grader: %w", err)
	}
	return release, nil
}

func (c *evalCommand) config(release testlog.Release) eval.Config {
	config := eval.Config{
		Release: release, Timeout: c.timeout, Retries: c.retries, MaxLog: c.maxLog << 20, Images: c.images, Relax: c.relax,
		Warm: c.workers, Now: c.g.now, Log: c.g.log,
		Limits: swebench.Limits{
			Processes: c.processes, Memory: int64(c.memory * (1 << 30)), CPUs: c.cpus, Disk: int64(c.disk * (1 << 30)),
		},
	}
	if config.PullRoom = int64(c.room * (1 << 30)); config.PullRoom == 0 {
		config.PullRoom = -1 // 0 is its default
	}
	if c.retries == 0 {
		config.Retries = -1 // 0 is its default
	}
	if c.assets != "" {
		config.Asset = func(_ context.Context, in *swebench.Instance, a swebench.Asset) ([]byte, error) {
			if !filepath.IsLocal(filepath.FromSlash(a.Path)) {
				return nil, fmt.Errorf("asset %q is outside of its folder", a.Path)
			}
			return os.ReadFile(filepath.Join(c.assets, in.ID, filepath.FromSlash(a.Path)))
		}
	}
	return config
}

// verdict is the command's error: what ended it early, or what the machine made fail. That patches are
// not resolved is none.
func (c *evalCommand) verdict(sum *eval.Summary, err error) error {
	if errors.Is(err, eval.ErrStopped) {
		return errext.WithCode(errext.WithHint(err, "the same command goes on from there"), exitInterrupted)
	}
	if err != nil || sum == nil {
		return err
	}
	n := sum.Count(eval.Infrastructure)
	if n == 0 {
		return nil
	}
	failed := fmt.Errorf("%s could not be made on this machine", plural(n, "evaluation"))
	hint := "the same command evaluates them anew"
	for _, m := range sum.Models {
		for _, o := range m.Outcomes {
			if o.Kind == eval.Infrastructure && o.Err != nil {
				if h := errext.Hint(o.Err); h != "" {
					hint = h + "; then the same command again"
				}
				return errext.WithHint(fmt.Errorf("%w, the first being %s: %w", failed, o.InstanceID, o.Err), hint)
			}
		}
	}
	return errext.WithHint(failed, hint)
}

// evalRunID makes a run id of a file's name.
func evalRunID(file string) string {
	base := filepath.Base(file)
	return strings.TrimSuffix(base, filepath.Ext(base))
}
