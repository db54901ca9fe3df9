package original_test

import (
	"context"
	"testing"

	"github.com/hindsightrl/harness"
	"github.com/hindsightrl/harness/envs/alfworld"
	"github.com/hindsightrl/harness/envs/alfworld/embedded"
	"github.com/hindsightrl/harness/envs/alfworld/original"
	"github.com/hindsightrl/harness/envs/envtest"
	"github.com/hindsightrl/harness/envs/internal/bridge/bridgetest"
)

// open starts the original with the embedded games.
func open(t *testing.T, cfg original.Config) (*original.Suite, *alfworld.Suite) {
	t.Helper()
	if cfg.Address == "" {
		cfg.Image = bridgetest.ALFWorld(t)
		cfg.Container.LockDir = t.TempDir()
	}
	native, err := embedded.Suite(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	s, err := original.New(t.Context(), native, cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s, native
}

func TestConformance(t *testing.T) {
	t.Parallel()
	s, native := open(t, original.Config{})
	tasks, err := native.Tasks(t.Context(), "train")
	if err != nil {
		t.Fatal(err)
	}
	newEnv := func(tb testing.TB) harness.Env {
		env, err := s.NewEnv(context.WithoutCancel(tb.Context()))
		if err != nil {
			tb.Fatal(err)
		}
		return env
	}
	envtest.RunWith(t, newEnv, tasks[0], envtest.Options{
		Steps: 4, UnknownTask: harness.Task{Env: alfworld.Name, ID: "train/no/such_game"},
	})
	t.Logf("recorded: %v", s.Info())
}
