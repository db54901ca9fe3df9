package original

import (
	"context"
	"fmt"

	"github.com/hindsightrl/harness"
	"github.com/hindsightrl/harness/envs/alfworld"
	"github.com/hindsightrl/harness/envs/internal/bridge"
)

// Config says where the original runs: Address and Token, or Image.
type Config = bridge.Config

// Image is the name that docs/originals.md gives the image.
const Image = "hindsight/alfworld"

// Suite plays a native suite's tasks in the original. It is safe for concurrent use.
type Suite struct {
	native *alfworld.Suite
	bridge *bridge.Bridge
}

var _ harness.Suite = (*Suite)(nil)

// New starts or finds the original. The caller closes the suite.
func New(ctx context.Context, native *alfworld.Suite, cfg Config) (*Suite, error) {
	cfg.Environment = alfworld.Name
	b, err := bridge.Open(ctx, cfg)
	if err != nil {
		return nil, err
	}
	return &Suite{native: native, bridge: b}, nil
}

// With plays another native suite's tasks in the same original. Only the suite that New made is closed.
func (s *Suite) With(native *alfworld.Suite) *Suite { return &Suite{native: native, bridge: s.bridge} }

// Name is "alfworld".
func (s *Suite) Name() string { return s.native.Name() }

// Tasks lists the native suite's tasks.
func (s *Suite) Tasks(ctx context.Context, split string) ([]harness.Task, error) {
	return s.native.Tasks(ctx, split)
}

// Skipped lists what the native suite leaves out, by the original's own filter.
func (s *Suite) Skipped(ctx context.Context, split string) ([]alfworld.Skip, error) {
	return s.native.Skipped(ctx, split)
}

// CheckTask says whether the data holds a task.
func (s *Suite) CheckTask(ctx context.Context, task harness.Task) error {
	return s.native.CheckTask(ctx, task)
}

// Info is what a run should record: where the original ran, and the versions of its packages.
func (s *Suite) Info() map[string]string { return s.bridge.Info() }

// NewEnv opens an environment. It takes a session of the original when it is first reset.
func (s *Suite) NewEnv(ctx context.Context) (harness.Env, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return &Env{suite: s}, nil
}

// Close ends the original, if the suite has started it.
func (s *Suite) Close() error {
	if err := s.bridge.Close(); err != nil {
		return fmt.Errorf("close the original ALFWorld: %w", err)
	}
	return nil
}
