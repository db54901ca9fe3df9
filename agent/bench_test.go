package agent

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/hindsightrl/harness"
)

// discard is a Recorder that keeps nothing.
type discard struct{}

func (discard) Begin(context.Context, harness.EpisodeRef) (int64, []harness.Step, error) {
	return 1, nil, nil
}
func (discard) Step(context.Context, int64, harness.Step) error           { return nil }
func (discard) Finish(context.Context, int64, harness.Outcome) error      { return nil }
func (discard) Fail(context.Context, int64, *harness.Failure, bool) error { return nil }

// kitchen is an environment of ALFWorld's size of text that costs nothing itself.
type kitchen struct{ corridor }

func (k *kitchen) NewEnv(context.Context) (harness.Env, error) { return kitchenEnv{}, nil }

type kitchenEnv struct{}

var kitchenView = harness.Observation{
	Text:       "-= Welcome =-\n\n" + strings.Repeat("You see a cabinet 1. ", 40) + "\n\nYour task is to: put a mug in a cabinet.",
	Admissible: strings.Split(strings.Repeat("go to cabinet 1,", 60)+"look,help", ","),
}

func (kitchenEnv) Reset(context.Context, harness.Task) (harness.Observation, error) {
	return kitchenView, nil
}

func (kitchenEnv) Step(context.Context, string) (harness.Transition, error) {
	return harness.Transition{Observation: kitchenView}, nil
}
func (kitchenEnv) Close() error { return nil }

// BenchmarkStep is the loop's own cost of a step: prompt, projection, spans, book-keeping.
func BenchmarkStep(b *testing.B) {
	response := "<think>" + strings.Repeat("The mug may be in a cabinet. ", 40) + "</think><action>go to cabinet 1</action>"
	policy := PolicyFunc(func(context.Context, Turn) (Answer, error) { return Answer{Response: response}, nil })
	for _, workers := range []int{1, 64} {
		b.Run(fmt.Sprintf("workers=%d", workers), func(b *testing.B) {
			cfg := Config{Suites: map[string]harness.Suite{"alfworld": &kitchen{}}, Policy: policy, Recorder: discard{}, Workers: workers}
			var refs []harness.EpisodeRef
			for i := 0; i < b.N; i += 50 {
				refs = append(refs, harness.EpisodeRef{Sample: i, Task: harness.Task{Env: "alfworld", ID: "a"}})
			}
			b.ReportAllocs()
			b.ResetTimer()
			stats, err := Run(b.Context(), b.Context(), refs, cfg)
			if err != nil || stats.Steps < b.N {
				b.Fatal(stats, err)
			}
		})
	}
}

func BenchmarkProject(b *testing.B) {
	response := "<think>" + strings.Repeat("The mug may be in a cabinet. ", 40) + "</think><action>go to cabinet 1</action>"
	b.SetBytes(int64(len(response)))
	b.ReportAllocs()
	for b.Loop() {
		if _, valid := ProjectALFWorld(response); !valid {
			b.Fatal("invalid")
		}
	}
}
