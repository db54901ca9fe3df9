package serve

import (
	"context"
	"errors"
	"fmt"
	"math/rand"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/hindsightrl/harness/llm"
)

func TestGateHonoursItsCallers(t *testing.T) {
	t.Parallel()
	w := newWeights(&fake{}, "0")
	if err := w.pause(t.Context(), "keep"); err != nil {
		t.Fatal(err)
	}
	gone := errors.New("gone")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(gone)
	if _, err := w.enter(ctx, "", false); !errors.Is(err, gone) {
		t.Errorf("enter while paused: %v", err)
	}
	l, err := w.enter(t.Context(), "", true)
	if err != nil {
		t.Fatalf("work that samples nothing: %v", err)
	}
	if err := w.pause(ctx, "wait"); !errors.Is(err, gone) {
		t.Errorf("a pause that is given up: %v", err)
	}
	if err := w.swap(ctx, "", func(context.Context) (llm.Model, error) { return &fake{}, nil }); !errors.Is(err, gone) {
		t.Errorf("a swap that is given up: %v", err)
	}
	l.leave()
	w.resume()
	if l, err = w.enter(t.Context(), "", false); err != nil {
		t.Fatalf("after resume: %v", err)
	}
	l.leave()
}

// Whatever comes in whatever order: nobody uses a closed model, nobody holds two, all come to an end,
// and labels never go back.
func TestGateUnderRandomTraffic(t *testing.T) {
	t.Parallel()
	const seed, steps = 12, 60
	r := rand.New(rand.NewSource(seed))
	w := newWeights(&fake{name: "0"}, "0")
	var users, trainer sync.WaitGroup
	stop := make(chan struct{})
	var uses atomic.Int64
	for range 4 {
		users.Go(func() {
			last := ""
			for {
				select {
				case <-stop:
					return
				default:
				}
				l, err := w.enter(t.Context(), "u", false)
				if err != nil {
					t.Error(err)
					return
				}
				for range 3 {
					version, err := l.hold()
					if err != nil {
						if why := context.Cause(l.ctx); !errors.Is(why, errAborted) && !errors.Is(why, errSwapped) {
							t.Errorf("seed %d: thrown out because of %v", seed, why)
						}
						break
					}
					if l.model.(*fake).closed.Load() {
						t.Errorf("seed %d: the model in use is closed", seed)
					}
					if len(version) < len(last) || len(version) == len(last) && version < last {
						t.Errorf("seed %d: version %s after %s", seed, version, last)
					}
					last = version
					uses.Add(1)
				}
				l.leave()
			}
		})
	}
	modes := []string{"abort", "wait", "keep"}
	trainer.Go(func() {
		for i := range steps {
			if err := w.pause(t.Context(), modes[r.Intn(3)]); err != nil {
				t.Error(err)
			}
			if r.Intn(2) == 0 {
				if err := w.swap(t.Context(), "", func(context.Context) (llm.Model, error) { return &fake{name: fmt.Sprint(i)}, nil }); err != nil {
					t.Error(err)
				}
			}
			w.setVersion(fmt.Sprint(i + 1))
			before := uses.Load()
			w.resume()
			for uses.Load() == before { // the users go on
				if err := w.idleOnce(t.Context()); err != nil {
					t.Error(err)
				}
			}
		}
	})
	trainer.Wait()
	close(stop)
	users.Wait()
	if version, paused, _ := w.state(); version != fmt.Sprint(steps) || paused || len(w.leases) != 0 {
		t.Errorf("seed %d: version %s, paused %v, %d leases left", seed, version, paused, len(w.leases))
	}
}

// idleOnce waits for one change of the gate.
func (w *weights) idleOnce(ctx context.Context) error {
	w.mu.Lock()
	changed := w.changed
	w.mu.Unlock()
	select {
	case <-changed:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// BenchmarkChat measures what a request costs beside the model's work.
func BenchmarkChat(b *testing.B) {
	s, err := New(&fake{script: "a short answer"}, Config{})
	if err != nil {
		b.Fatal(err)
	}
	body := `{"messages":[{"role":"user","content":"x"}],"logprobs":true,"top_logprobs":2,"return_token_ids":true}`
	for b.Loop() {
		if status, reply := serveOnce(b, s, "/v1/chat/completions", body); status != 200 {
			b.Fatalf("%d %s", status, reply)
		}
	}
}
