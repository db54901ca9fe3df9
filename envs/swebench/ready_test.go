package swebench

import (
	"context"
	"errors"
	"slices"
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

// readyTest counts the boxes that a ready opens.
type readyTest struct {
	*testing.T
	r            ready
	live, opened atomic.Int32
}

func (t *readyTest) begin(in *Instance, dead bool, err error) {
	t.r.begin(in, func(context.Context) (box, baseline, error) {
		if t.opened.Add(1); err != nil {
			return nil, baseline{}, err
		}
		t.live.Add(1)
		return &countedBox{live: &t.live, dead: dead}, baseline{commit: in.ID}, nil
	})
}

// never begins a box whose start ends when it is called off alone.
func (t *readyTest) never(in *Instance) {
	t.r.begin(in, func(ctx context.Context) (box, baseline, error) {
		<-ctx.Done()
		return nil, baseline{}, ctx.Err()
	})
}

func (t *readyTest) take(in *Instance, want bool) {
	t.Helper()
	got, start, err := t.r.take(t.Context(), in)
	if err != nil || (got != nil) != want || want && start.commit != in.ID {
		t.Errorf("%s: box %v, baseline %v, %v", in.ID, got, start, err)
	}
	if got != nil {
		if err := got.Remove(t.Context()); err != nil {
			t.Error(err)
		}
	}
}

// left are the ids of what waits, and of what is wanted.
func (t *readyTest) left() (waiting, wanted []string) {
	t.r.mu.Lock()
	defer t.r.mu.Unlock()
	for _, w := range t.r.waiting {
		waiting = append(waiting, w.in.ID)
	}
	for _, w := range t.r.wanted {
		wanted = append(wanted, w.in.ID)
	}
	return waiting, wanted
}

func (t *readyTest) end() {
	t.Helper()
	if err := t.r.close(); err != nil {
		t.Error(err)
	}
	if n := t.live.Load(); n != 0 {
		t.Errorf("%d boxes are left", n)
	}
}

// TestReadyBoxesAreTakenOnce: each box is taken once and by its instance alone, one that died or never came
// about is none, and what nobody takes is removed.
func TestReadyBoxesAreTakenOnce(t *testing.T) {
	t.Parallel()
	rt := &readyTest{T: t, r: ready{most: 3}}
	a, b := &Instance{ID: "a"}, &Instance{ID: "b"}
	rt.begin(a, false, nil)
	rt.begin(a, false, nil)
	rt.take(b, false)
	rt.take(a, true)
	rt.take(a, true)
	rt.take(a, false)
	if n := rt.opened.Load(); n != 2 {
		t.Errorf("%d boxes were opened, want 2", n)
	}
	rt.begin(a, true, nil)
	rt.take(a, false) // it died while it waited
	rt.begin(a, false, errors.New("no daemon"))
	rt.take(a, false)
	rt.begin(b, false, nil)
	rt.never(a) // a start that nobody waits for is called off: it would never end
	rt.never(a)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := rt.r.take(ended, a); !errors.Is(err, context.Canceled) {
		t.Errorf("a take that is called off: %v", err)
	}
	rt.end()
	before := rt.opened.Load()
	rt.begin(a, false, nil)
	rt.take(a, false)
	if rt.opened.Load() != before {
		t.Error("a box was prepared after the end")
	}
}

// TestReadyBoxesAreBounded: no more wait than may, the next one is begun when one is taken, and an episode that
// came too early for its box leaves it to none.
func TestReadyBoxesAreBounded(t *testing.T) {
	t.Parallel()
	rt := &readyTest{T: t, r: ready{most: 2}}
	a, b, c := &Instance{ID: "a"}, &Instance{ID: "b"}, &Instance{ID: "c"}
	check := func(waiting, wanted []string) {
		t.Helper()
		gotWaiting, gotWanted := rt.left()
		if !slices.Equal(gotWaiting, waiting) || !slices.Equal(gotWanted, wanted) {
			t.Errorf("%v wait and %v are wanted, want %v and %v", gotWaiting, gotWanted, waiting, wanted)
		}
	}
	for _, in := range []*Instance{a, b, c, a, c} {
		rt.begin(in, false, nil)
	}
	check([]string{"a", "b"}, []string{"c", "a", "c"})
	rt.take(c, false) // it starts its own
	check([]string{"a", "b"}, []string{"a", "c"})
	rt.take(b, true)
	check([]string{"a", "a"}, []string{"c"})
	rt.take(a, true)
	check([]string{"a", "c"}, nil)
	rt.take(a, true)
	rt.take(c, true)
	check(nil, nil)

	rt.never(a)
	rt.begin(a, false, nil)
	<-rt.r.waiting[1].done
	rt.take(a, true) // the one that is there, not the one that is on its way
	check([]string{"a"}, nil)
	for range 5 {
		rt.begin(b, false, nil)
	}
	rt.end()
	check(nil, nil)

	none := &readyTest{T: t, r: ready{most: NoReady}}
	none.begin(a, false, nil)
	none.take(a, false)
	if none.opened.Load() != 0 {
		t.Error("a box was prepared where none may wait")
	}
	none.end()
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
