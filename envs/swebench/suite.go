package swebench

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/hindsightrl/harness"
	"github.com/hindsightrl/harness/envs/internal/container"
	"github.com/hindsightrl/harness/envs/swebench/testlog"
	"github.com/hindsightrl/harness/internal/errext"
)

// Split is the split of a suite's tasks: rows do not name theirs.
const Split = "test"

// box is what an episode needs of a container.
type box interface {
	Exec(ctx context.Context, c container.Command) (container.Result, error)
	WriteFile(ctx context.Context, name string, content []byte, mode int64) error
	ReadFile(ctx context.Context, name string, limit int64) ([]byte, error)
	KillAll(ctx context.Context) error
	Remove(ctx context.Context) error
}

// boxes makes containers.
type boxes interface {
	Find(ctx context.Context, images []string) (string, error)
	start(ctx context.Context, spec container.Spec) (box, error)
}

// engineBoxes are a daemon's.
type engineBoxes struct{ *container.Engine }

func (e engineBoxes) start(ctx context.Context, spec container.Spec) (box, error) {
	c, err := e.Start(ctx, spec)
	if err != nil {
		return nil, err
	}
	return c, nil
}

// Suite is a dataset whose instances are worked on in containers. It is safe for concurrent use.
type Suite struct {
	cfg   Config
	data  *Dataset
	boxes boxes
	ready ready
}

var _ harness.Preparer = (*Suite)(nil)

// errNoEngine is returned for episodes of a suite that only lists tasks.
var errNoEngine = errors.New("the suite was opened without a container engine, to list tasks")

// noBoxes serve a suite without an engine.
type noBoxes struct{}

func (noBoxes) Find(context.Context, []string) (string, error) {
	return "", harness.FailFinal(harness.FailHarness, "find image", errNoEngine)
}

func (noBoxes) start(context.Context, container.Spec) (box, error) {
	return nil, harness.FailFinal(harness.FailHarness, "start container", errNoEngine)
}

// New makes a suite of a dataset's instances. The engine stays its owner's, who closes it; nil is enough
// to list tasks.
func New(engine *Engine, data *Dataset, cfg Config) (*Suite, error) {
	if engine == nil {
		return newSuite(noBoxes{}, data, cfg)
	}
	return newSuite(engineBoxes{engine}, data, cfg)
}

func newSuite(b boxes, data *Dataset, cfg Config) (*Suite, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	if len(data.Instances) == 0 {
		return nil, errors.New("open swebench: the dataset has no instance")
	}
	cfg = cfg.withDefaults()
	return &Suite{cfg: cfg, data: data, boxes: b, ready: ready{most: cfg.Ready}}, nil
}

// Name is "swebench".
func (s *Suite) Name() string { return Name }

// Tasks lists the instances in the dataset's order; the split is "test".
func (s *Suite) Tasks(ctx context.Context, split string) ([]harness.Task, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if split != "" && split != Split {
		return nil, errext.WithHint(fmt.Errorf("no split %q", split), "a dataset file is one split: choose the file with --data, and leave --split out")
	}
	tasks := make([]harness.Task, len(s.data.Instances))
	for i, in := range s.data.Instances {
		tasks[i] = TaskOf(in)
	}
	return tasks, nil
}

// TaskOf is the task of an instance: its id, its repository as the type, and a hash of all that decides
// what is asked and what counts as a repair.
func TaskOf(in *Instance) harness.Task {
	h := sha256.New()
	for _, part := range [...]string{
		in.ID, in.Repo, in.BaseCommit, in.ProblemStatement, in.TestPatch, in.EvalScript, in.LogParser, string(in.EvalType),
		strings.Join(in.FailToPass, "\x00"), strings.Join(in.PassToPass, "\x00"),
	} {
		fmt.Fprintf(h, "%d:%s", len(part), part)
	}
	return harness.Task{Env: Name, ID: in.ID, Split: Split, Type: in.Repo, Hash: hex.EncodeToString(h.Sum(nil))}
}

// CheckTask reports a task that the dataset does not have, or has in another version.
func (s *Suite) CheckTask(ctx context.Context, task harness.Task) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	_, err := s.instance(task)
	return err
}

func (s *Suite) instance(task harness.Task) (*Instance, error) {
	in := s.data.Get(task.ID)
	switch {
	case task.Env != Name:
		return nil, fmt.Errorf("task %s is not of %s", task.Key(), Name)
	case in == nil:
		return nil, fmt.Errorf("the dataset has no instance %q", task.ID)
	case task.Hash != "" && task.Hash != TaskOf(in).Hash:
		return nil, fmt.Errorf("instance %q of the dataset is another version than the task's", task.ID)
	}
	return in, nil
}

// playable is the instance of a task that an episode can be played of: one that can be judged, where it is to
// be. Better now than after the work.
func (s *Suite) playable(task harness.Task) (*Instance, error) {
	in, err := s.instance(task)
	if err != nil || s.cfg.Judge == nil {
		return in, err
	}
	if _, err := EvalScript(in, testlog.V502); err != nil {
		return nil, errext.WithHint(err, "use a data file of release 5, or let agents work without being judged: --evaluate=false")
	}
	return in, nil
}

// NewEnv opens an episode's environment. Its container comes with Reset.
func (s *Suite) NewEnv(ctx context.Context) (harness.Env, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return &Env{suite: s}, nil
}

// Info is what a run should record: how agents act, what containers may do, and what of the defaults was
// given up.
func (s *Suite) Info() map[string]string {
	c := s.cfg
	limits, _ := json.Marshal(c.Limits) // numbers
	info := map[string]string{
		"interface": string(c.Interface), "instances": fmt.Sprint(len(s.data.Instances)), "command_timeout": c.StepTimeout.String(),
		"limits": string(limits), "relaxed": strings.Join(c.Relax.Names(), " "),
		"future_history": "removed", "evaluated": fmt.Sprint(c.Judge != nil),
	}
	if c.KeepHistory {
		info["future_history"] = "kept"
	}
	return info
}
