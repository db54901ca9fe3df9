package swebench_test

import (
	"testing"

	"github.com/hindsightrl/harness"
	"github.com/hindsightrl/harness/envs/envtest"
	"github.com/hindsightrl/harness/envs/swebench"
	"github.com/hindsightrl/harness/envs/swebench/embedded/embtest"
)

func TestConformance(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("it starts some twenty containers")
	}
	for _, i := range []swebench.Interface{swebench.Bash, swebench.Tools} {
		t.Run(string(i), func(t *testing.T) {
			t.Parallel()
			engine, data := embtest.Open(t)
			s, err := swebench.New(engine, data, swebench.Config{Interface: i, Judge: &fakeJudge{verdict: swebench.Judgement{Resolved: true, Status: "RESOLVED_FULL"}}})
			if err != nil {
				t.Fatal(err)
			}
			open := func(t testing.TB) harness.Env {
				env, err := s.NewEnv(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				return env
			}
			actions := []string{"ls", "cat README.md", "echo x >> README.md", "git diff", "exit 3", "rm -f README.md"}
			if i == swebench.Tools {
				for j, command := range actions {
					actions[j] = call("execute_bash", "cmd", command)
				}
				actions = append(actions, edit("command", "view", "path", "/testbed/README.md"), "no call at all")
			}
			envtest.RunWith(t, open, swebench.TaskOf(data.Instances[0]), envtest.Options{
				Actions: actions, Steps: 4, UnknownTask: harness.Task{Env: swebench.Name, ID: "nobody__nothing-1"},
			})
		})
	}
}
