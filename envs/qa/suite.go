package qa

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hindsightrl/harness"
	"github.com/hindsightrl/harness/internal/answer"
	"github.com/hindsightrl/harness/internal/errext"
)

// Config configures a Suite. Start from DefaultConfig.
type Config struct {
	Rules  answer.Rules // when two answers are the same
	Reward float64      // for a right answer; a wrong one gets 0
}

// DefaultConfig compares answers by meaning and pays 1 for a right one.
func DefaultConfig() Config { return Config{Rules: answer.DefaultRules(), Reward: 1} }

// Validate reports a setting that cannot work. Negated comparisons also catch NaN.
func (c Config) Validate() error {
	if !(c.Rules.Tolerance >= 0 && c.Rules.Tolerance < 1) {
		return fmt.Errorf("qa: tolerance %v, want a number in [0, 1)", c.Rules.Tolerance)
	}
	if !(c.Reward > 0) {
		return fmt.Errorf("qa: reward %v, want more than 0", c.Reward)
	}
	return nil
}

// Suite holds questions. It is immutable and safe for concurrent use.
type Suite struct {
	cfg       Config
	questions []Question
	byID      map[string]int
}

var _ harness.Suite = (*Suite)(nil)

// New reads a JSONL file, or all .jsonl and .json files of a folder, in the order of their names.
func New(ctx context.Context, name string, cfg Config) (*Suite, error) {
	info, err := os.Stat(name)
	if err != nil {
		return nil, errext.WithHint(fmt.Errorf("open questions: %w", err), "--data takes a JSONL file with a question a line, or a folder of them")
	}
	if info.IsDir() {
		return NewFS(ctx, os.DirFS(name), cfg)
	}
	return NewFS(ctx, os.DirFS(filepath.Dir(name)), cfg, filepath.Base(name))
}

// NewFS reads files of a file system: those named, or all .jsonl and .json files in its root.
func NewFS(ctx context.Context, fsys fs.FS, cfg Config, names ...string) (*Suite, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	if len(names) == 0 {
		for _, pattern := range []string{"*.jsonl", "*.json"} {
			found, err := fs.Glob(fsys, pattern)
			if err != nil {
				return nil, fmt.Errorf("list questions: %w", err)
			}
			names = append(names, found...)
		}
		slices.Sort(names)
	}
	s := &Suite{cfg: cfg, byID: map[string]int{}}
	for _, name := range names {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if err := s.read(fsys, name); err != nil {
			return nil, err
		}
	}
	if len(s.questions) == 0 {
		return nil, errext.WithHint(errors.New("open questions: there are none"), "--data takes a JSONL file with a question a line, or a folder of them")
	}
	return s, nil
}

func (s *Suite) read(fsys fs.FS, name string) error {
	data, err := fs.ReadFile(fsys, name)
	if err != nil {
		return fmt.Errorf("open questions: %w", err)
	}
	questions, err := Read(strings.TrimSuffix(path.Base(name), path.Ext(name)), data)
	if err != nil {
		return err
	}
	for _, q := range questions {
		if _, dup := s.byID[q.ID]; dup {
			return errext.WithHint(fmt.Errorf("open questions: two files have a question %q", q.ID), "give the files different names")
		}
		s.byID[q.ID] = len(s.questions)
		s.questions = append(s.questions, q)
	}
	return nil
}

// Name is "qa".
func (s *Suite) Name() string { return Name }

// Tasks lists the questions of a split in the files' order; the empty split means all. A split that no
// question has is an error that names those there are.
func (s *Suite) Tasks(ctx context.Context, split string) ([]harness.Task, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	var out []harness.Task
	for i := range s.questions {
		if split == "" || s.questions[i].Split == split {
			out = append(out, s.questions[i].task())
		}
	}
	if len(out) == 0 {
		return nil, errext.WithHint(fmt.Errorf("no question is of split %q", split), "there are "+strings.Join(s.Splits(), ", "))
	}
	return out, nil
}

// Splits lists the splits in the order in which they appear.
func (s *Suite) Splits() []string {
	var out []string
	for i := range s.questions {
		if !slices.Contains(out, s.questions[i].Split) {
			out = append(out, s.questions[i].Split)
		}
	}
	return out
}

// Question returns the question of a task.
func (s *Suite) Question(task harness.Task) (*Question, error) {
	if task.Env != Name {
		return nil, fmt.Errorf("qa: task %s belongs to another environment", task.Key())
	}
	i, ok := s.byID[task.ID]
	if !ok {
		return nil, fmt.Errorf("qa: no question %q", task.ID)
	}
	q := &s.questions[i]
	if task.Hash != "" && task.Hash != q.task().Hash {
		return nil, errext.WithHint(fmt.Errorf("qa: question %q is not the one that was recorded: its text, options or answer changed", task.ID),
			"use the file that the run began with")
	}
	return q, nil
}

// CheckTask reports a task that these questions do not hold.
func (s *Suite) CheckTask(_ context.Context, task harness.Task) error {
	_, err := s.Question(task)
	return err
}

// NewEnv opens an environment.
func (s *Suite) NewEnv(ctx context.Context) (harness.Env, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return &Env{suite: s}, nil
}
