package swebench

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hindsightrl/harness"
	"github.com/hindsightrl/harness/agent"
	"github.com/hindsightrl/harness/envs/internal/container"
)

// What BenchmarkGroup pretends: a start as the embedded images have it on a quiet machine, and calls of a small
// model. Both wait and do not compute.
const (
	pretendedStart = 690 * time.Millisecond
	pretendedCall  = 300 * time.Millisecond
)

// slowBoxes take as long as containers to start.
type slowBoxes struct {
	fakeBoxes
	live atomic.Int32
}

func (s *slowBoxes) start(ctx context.Context, _ container.Spec) (box, error) {
	select {
	case <-time.After(pretendedStart):
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	s.live.Add(1)
	return &countedBox{fakeBox: fakeBox{boxes: &fakeBoxes{}}, live: &s.live}, nil
}

// forgets is a ledger that keeps nothing.
type forgets struct{}

func (forgets) Begin(context.Context, harness.EpisodeRef) (int64, []harness.Step, error) {
	return 1, nil, nil
}
func (forgets) Step(context.Context, int64, harness.Step) error           { return nil }
func (forgets) Finish(context.Context, int64, harness.Outcome) error      { return nil }
func (forgets) Fail(context.Context, int64, *harness.Failure, bool) error { return nil }

func (forgets) Artifact(context.Context, int64, harness.Artifact) error { return nil }

// BenchmarkGroup plays a group of 32 episodes of one task, of three to six turns, with eight workers. Where no
// container is prepared, each episode waits for its start.
func BenchmarkGroup(b *testing.B) {
	const episodes, workers = 32, 8
	policy := agent.PolicyFunc(func(_ context.Context, t agent.Turn) (agent.Answer, error) {
		time.Sleep(pretendedCall)
		return agent.Answer{Response: "look\n```bash\nls\n```", Finished: t.Step == 2+t.Episode.Sample%4}, nil
	})
	for _, ready := range []int{NoReady, 1, 2, DefaultReady, workers} {
		b.Run(fmt.Sprintf("ready=%d", max(0, ready)), func(b *testing.B) {
			in := fakeInstance
			data, err := NewDataset([]*Instance{&in})
			if err != nil {
				b.Fatal(err)
			}
			boxes := &slowBoxes{fakeBoxes: fakeBoxes{images: []string{fakeImage}}}
			s, err := newSuite(boxes, data, Config{Ready: ready})
			if err != nil {
				b.Fatal(err)
			}
			var refs []harness.EpisodeRef
			for i := range episodes {
				refs = append(refs, harness.EpisodeRef{Task: TaskOf(&in), Sample: i})
			}
			cfg := agent.Config{Suites: map[string]harness.Suite{Name: s}, Policy: policy, Recorder: forgets{}, Workers: workers}
			for b.Loop() {
				if stats, err := agent.Run(b.Context(), b.Context(), refs, cfg); err != nil || stats.Done != episodes {
					b.Fatal(stats, err)
				}
			}
			if err := s.Close(); err != nil || boxes.live.Load() != 0 {
				b.Errorf("%v, %d boxes are left", err, boxes.live.Load())
			}
		})
	}
}
