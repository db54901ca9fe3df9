package agent_test

import (
	"context"
	"testing"

	"github.com/hindsightrl/harness"
	"github.com/hindsightrl/harness/agent"
	"github.com/hindsightrl/harness/envs/envtest"
)

// nothing is a Recorder that keeps nothing.
type nothing struct{}

func (nothing) Begin(context.Context, harness.EpisodeRef) (int64, []harness.Step, error) {
	return 1, nil, nil
}
func (nothing) Step(context.Context, int64, harness.Step) error           { return nil }
func (nothing) Finish(context.Context, int64, harness.Outcome) error      { return nil }
func (nothing) Fail(context.Context, int64, *harness.Failure, bool) error { return nil }

// The default policy solves most of the fake environment's tasks, and every environment is closed.
func TestDefaultPolicyOnTheFake(t *testing.T) {
	t.Parallel()
	suite := envtest.NewFakeSuite(envtest.FakeConfig{}, 1, 2, 3)
	tasks, err := suite.Tasks(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	var refs []harness.EpisodeRef
	for g, task := range tasks {
		for s := range 20 {
			refs = append(refs, harness.EpisodeRef{Group: g, Sample: s, Task: task})
		}
	}
	policy, err := agent.ParsePolicy("", agent.ModelPolicy{})
	if err != nil {
		t.Fatal(err)
	}
	cfg := agent.Config{Suites: map[string]harness.Suite{suite.Name(): suite}, Policy: policy, Recorder: nothing{}}
	stats, err := agent.Run(t.Context(), t.Context(), refs, cfg)
	if err != nil || stats.Done != len(refs) || stats.Won < len(refs)*9/10 {
		t.Errorf("stats %+v, %v", stats, err)
	}
	if suite.Opened() != len(refs) || suite.Closed() != len(refs) || suite.Steps() != stats.Steps {
		t.Errorf("%d opened, %d closed, %d steps", suite.Opened(), suite.Closed(), suite.Steps())
	}
}

// BenchmarkFake is a step with the smallest environment: what the loop costs at least.
func BenchmarkFake(b *testing.B) {
	suite := envtest.NewFakeSuite(envtest.FakeConfig{}, 1)
	tasks, err := suite.Tasks(b.Context(), "")
	if err != nil {
		b.Fatal(err)
	}
	const steps = 50
	policy := agent.PolicyFunc(func(context.Context, agent.Turn) (agent.Answer, error) {
		return agent.Answer{Response: "<think>on</think><action>look</action>"}, nil
	})
	cfg := agent.Config{Suites: map[string]harness.Suite{suite.Name(): suite}, Policy: policy, Recorder: nothing{}, MaxSteps: steps}
	var refs []harness.EpisodeRef
	for i := 0; i < b.N; i += steps {
		refs = append(refs, harness.EpisodeRef{Sample: i, Task: tasks[0]})
	}
	b.ReportAllocs()
	b.ResetTimer()
	if stats, err := agent.Run(b.Context(), b.Context(), refs, cfg); err != nil || stats.Steps < b.N {
		b.Fatal(stats, err)
	}
}
