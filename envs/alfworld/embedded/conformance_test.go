package embedded_test

import (
	"testing"

	"github.com/hindsightrl/harness"
	"github.com/hindsightrl/harness/envs/alfworld/embedded"
	"github.com/hindsightrl/harness/envs/envtest"
)

// One embedded game of each task keeps the contract of environments.
func TestConformance(t *testing.T) {
	t.Parallel()
	p, err := embedded.Panel(t.Context(), "valid_seen")
	if err != nil {
		t.Fatal(err)
	}
	suite, err := embedded.Suite(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	done := map[string]bool{}
	for _, task := range p.Tasks {
		if done[task.Type] {
			continue
		}
		done[task.Type] = true
		t.Run(task.Type, func(t *testing.T) {
			envtest.Run(t, func(tb testing.TB) harness.Env {
				env, err := suite.NewEnv(t.Context())
				if err != nil {
					tb.Fatal(err)
				}
				return env
			}, task)
		})
	}
}
