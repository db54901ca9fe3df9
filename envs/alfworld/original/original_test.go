package original_test

import (
	"context"
	"slices"
	"sync/atomic"
	"testing"

	"golang.org/x/sync/errgroup"

	"github.com/hindsightrl/harness"
	"github.com/hindsightrl/harness/envs/alfworld"
	"github.com/hindsightrl/harness/envs/alfworld/embedded"
	"github.com/hindsightrl/harness/envs/alfworld/original"
	"github.com/hindsightrl/harness/envs/envdiff"
	"github.com/hindsightrl/harness/envs/envtest"
	"github.com/hindsightrl/harness/envs/originaltest"
	"github.com/hindsightrl/harness/internal/testutil"
)

// open starts the original with the embedded games.
func open(t *testing.T, cfg original.Config) (*original.Suite, *alfworld.Suite) {
	t.Helper()
	if cfg.Address == "" {
		cfg.Image = originaltest.ALFWorld(t)
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

// The native engine answers as the original does, byte for byte: fourteen of ALFWorld's own games, of
// every type, and six generated ones.
func TestDifferences(t *testing.T) {
	t.Parallel()
	s, native := open(t, original.Config{})
	compare(t, s, native, "train", 6)
	data := testutil.Shared(t, "data/alfworld/games-2.1.2.tar.xz")
	real, err := alfworld.New(t.Context(), data, alfworld.Config{})
	if err != nil {
		t.Fatal(err)
	}
	compare(t, s.With(real), real, "valid_unseen", 14)
}

// compare plays n games of a split on both sides, spread over the types.
func compare(t *testing.T, s *original.Suite, native *alfworld.Suite, split string, n int) {
	t.Helper()
	tasks, err := native.Tasks(t.Context(), split)
	if err != nil {
		t.Fatal(err)
	}
	byType := map[string]int{}
	var chosen []harness.Task
	for most := 1; len(chosen) < n; most++ {
		for _, task := range tasks {
			if byType[task.Type] == most-1 && len(chosen) < n && !slices.Contains(chosen, task) {
				chosen = append(chosen, task)
				byType[task.Type]++
			}
		}
	}
	eg, ctx := errgroup.WithContext(t.Context())
	eg.SetLimit(2)
	var steps, won atomic.Int64
	for _, task := range chosen {
		eg.Go(func() error {
			a, err := native.NewEnv(ctx)
			if err != nil {
				return err
			}
			defer a.Close()
			b, err := s.NewEnv(ctx)
			if err != nil {
				return err
			}
			defer b.Close()
			res, err := envdiff.Play(ctx, a, b, task, envdiff.Config{Seed: 1, Steps: 12, Expert: 0.6})
			if err != nil {
				return err
			}
			if d := res.Difference; d != nil {
				t.Errorf("%s, step %d, %q: %s\nnative   %q\noriginal %q", task.ID, d.Step, d.Action, d.What, d.Native, d.Original)
			}
			steps.Add(int64(res.Steps))
			if res.Won {
				won.Add(1)
			}
			return nil
		})
	}
	if err := eg.Wait(); err != nil {
		t.Fatal(err)
	}
	t.Logf("%s: %d games, %d steps, %d won", split, len(chosen), steps.Load(), won.Load())
}
