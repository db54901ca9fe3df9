package swebench

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"

	"github.com/hindsightrl/harness"
	"github.com/hindsightrl/harness/envs/internal/container"
)

// countedBox counts itself; it may have died.
type countedBox struct {
	fakeBox
	live *atomic.Int32
	dead bool
}

func (b *countedBox) Remove(context.Context) error {
	b.live.Add(-1)
	return nil
}

func (b *countedBox) Alive(context.Context) error {
	if b.dead {
		return container.ErrDied
	}
	return nil
}

// TestReadyBoxesAreTakenOnce: one box an instance waits, it is taken once and by its instance alone, one that
// died or never came about is none, and what nobody takes is removed.
func TestReadyBoxesAreTakenOnce(t *testing.T) {
	t.Parallel()
	var live, opened atomic.Int32
	var r ready
	a, b, c := &Instance{ID: "a"}, &Instance{ID: "b"}, &Instance{ID: "c"}
	begin := func(in *Instance, dead bool, err error) {
		r.begin(in, func(context.Context) (box, baseline, error) {
			if opened.Add(1); err != nil {
				return nil, baseline{}, err
			}
			live.Add(1)
			return &countedBox{live: &live, dead: dead}, baseline{commit: in.ID}, nil
		})
	}
	take := func(in *Instance, want bool) {
		t.Helper()
		got, start, err := r.take(t.Context(), in)
		if err != nil || (got != nil) != want || want && start.commit != in.ID {
			t.Errorf("%s: box %v, baseline %v, %v", in.ID, got, start, err)
		}
		if got != nil {
			if err := got.Remove(t.Context()); err != nil {
				t.Error(err)
			}
		}
	}
	begin(a, false, nil)
	begin(a, false, nil) // one is enough
	take(b, false)
	take(a, true)
	take(a, false)
	if n := opened.Load(); n != 1 {
		t.Errorf("%d boxes were opened, want 1", n)
	}
	begin(a, true, nil)
	take(a, false) // it died while it waited
	begin(a, false, errors.New("no daemon"))
	take(a, false)
	begin(a, false, nil)
	begin(b, false, nil)
	begin(c, false, nil) // the oldest makes way
	take(a, false)
	take(b, true)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for range maxReady + 1 { // a start that nobody waits for is called off: it would never end
		for _, in := range []*Instance{a, b, c} {
			r.begin(in, func(ctx context.Context) (box, baseline, error) {
				<-ctx.Done()
				return nil, baseline{}, ctx.Err()
			})
		}
	}
	if _, _, err := r.take(ended, r.waiting[0].in); !errors.Is(err, context.Canceled) {
		t.Errorf("a take that is called off: %v", err)
	}
	if err := r.close(); err != nil {
		t.Error(err)
	}
	if n := live.Load(); n != 0 {
		t.Errorf("%d boxes are left", n)
	}
	before := opened.Load()
	begin(a, false, nil)
	take(a, false)
	if opened.Load() != before {
		t.Error("a box was prepared after the end")
	}
}

// TestPreparedEpisode: an episode whose container was prepared begins as any other does, and what keeps it
// from being prepared is its own Reset's error.
func TestPreparedEpisode(t *testing.T) {
	t.Parallel()
	b := &fakeBoxes{}
	s := fakeSuite(t, b, Config{})
	task := TaskOf(&fakeInstance)
	plain, err := s.NewEnv(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	want, err := plain.Reset(t.Context(), task)
	if err != nil {
		t.Fatal(err)
	}
	s.Prepare(task)
	env, err := s.NewEnv(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	got, err := env.Reset(t.Context(), task)
	if err != nil || got.Text != want.Text || got.Task != want.Task {
		t.Errorf("%+v, %v, want %+v", got, err, want)
	}
	if env.(*Env).start != plain.(*Env).start || len(b.specs) != 2 || b.live != 2 {
		t.Errorf("baselines %v and %v, %d started, %d live", env.(*Env).start, plain.(*Env).start, len(b.specs), b.live)
	}
	s.Prepare(harness.Task{Env: "other"}) // no task of the suite: Reset says so
	b.setup = container.Result{ExitCode: 4}
	s.Prepare(task)
	s.Settle() // the boxes are not made for two at a time
	if _, err := env.Reset(t.Context(), task); !errors.Is(err, ErrImage) {
		t.Errorf("an image that is not the instance's: %v", err)
	}
	if err := errors.Join(env.Close(), plain.Close(), s.Close()); err != nil || b.live != 0 {
		t.Errorf("%v, %d boxes are left", err, b.live)
	}
}
