package envtest

import (
	"context"

	"github.com/hindsightrl/harness"
)

// FakeSuite lists counting tasks and opens Fakes. It counts what is opened and closed, so that tests
// can look for leaks.
type FakeSuite struct {
	cfg    FakeConfig
	tasks  []harness.Task
	shared counters
}

var _ harness.Suite = (*FakeSuite)(nil)

// NewFakeSuite has one task per goal, in split "train".
func NewFakeSuite(cfg FakeConfig, goals ...int) *FakeSuite {
	s := &FakeSuite{cfg: cfg}
	for _, g := range goals {
		s.tasks = append(s.tasks, FakeTask(g))
	}
	return s
}

// Name is FakeName.
func (s *FakeSuite) Name() string { return FakeName }

// Tasks lists the tasks of a split.
func (s *FakeSuite) Tasks(ctx context.Context, split string) ([]harness.Task, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if split != "" && split != "train" {
		return nil, nil
	}
	return append([]harness.Task(nil), s.tasks...), nil
}

// NewEnv opens a Fake, with a Finish where the suite's configuration has one.
func (s *FakeSuite) NewEnv(ctx context.Context) (harness.Env, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	f := newFake(s.cfg, &s.shared)
	if s.cfg.OnFinish != nil {
		return finishingFake{f}, nil
	}
	return f, nil
}

// Resets counts the calls of Reset over all environments of the suite.
func (s *FakeSuite) Resets() int { return int(s.shared.resets.Load()) }

// Steps counts the calls of Step.
func (s *FakeSuite) Steps() int { return int(s.shared.steps.Load()) }

// Opened counts the environments opened.
func (s *FakeSuite) Opened() int { return int(s.shared.opened.Load()) }

// Closed counts the environments closed.
func (s *FakeSuite) Closed() int { return int(s.shared.closed.Load()) }
