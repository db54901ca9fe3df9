package swebench_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hindsightrl/harness"
	"github.com/hindsightrl/harness/envs/swebench"
	"github.com/hindsightrl/harness/envs/swebench/embedded/embtest"
)

// inContainer opens an episode of the n-th embedded instance.
func inContainer(t *testing.T, n int, cfg swebench.Config) (*swebench.Env, harness.Task, harness.Observation) {
	t.Helper()
	engine, data := embtest.Open(t)
	s, err := swebench.New(engine, data, cfg)
	if err != nil {
		t.Fatal(err)
	}
	env, err := s.NewEnv(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := env.Close(); err != nil {
			t.Error(err)
		}
	})
	task := swebench.TaskOf(data.Instances[n])
	first, err := env.Reset(t.Context(), task)
	if err != nil {
		t.Fatal(err)
	}
	return env.(*swebench.Env), task, first
}

func step(t *testing.T, env harness.Env, action string) harness.Transition {
	t.Helper()
	tr, err := env.Step(t.Context(), action)
	if err != nil {
		t.Fatalf("%.80q: %v", action, err)
	}
	return tr
}

func artifact(t *testing.T, e harness.Ending, name string) string {
	t.Helper()
	for _, a := range e.Artifacts {
		if a.Name == name {
			return a.Content
		}
	}
	t.Fatalf("no artifact %s among %v", name, e.Artifacts)
	return ""
}

func finish(t *testing.T, env *swebench.Env) harness.Ending {
	t.Helper()
	e, err := env.Finish(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func TestExpertRepairsInContainers(t *testing.T) {
	t.Parallel()
	for n, id := range []string{"hindsight__shiftplan-1", "hindsight__pathmatch-2"} {
		for _, i := range []swebench.Interface{swebench.Bash, swebench.Tools} {
			t.Run(id+" by "+string(i), func(t *testing.T) {
				t.Parallel()
				if testing.Short() && n+len(i) != len(swebench.Bash) {
					t.Skip("one will do in a hurry")
				}
				judge := &fakeJudge{verdict: swebench.Judgement{Resolved: true, Status: "RESOLVED_FULL", Output: "PASSED"}}
				env, _, _ := inContainer(t, n, swebench.Config{Interface: i, Judge: judge})
				var tr harness.Transition
				for !tr.Done {
					action, err := env.Advise(t.Context())
					if err != nil {
						t.Fatal(err)
					}
					tr = step(t, env, action)
					t.Logf("%s\n=>\n%s", action, tr.Observation.Text)
				}
				if !tr.Won || tr.Reward != 1 || tr.Score != 1 || !strings.Contains(tr.Feedback, "PASSED") {
					t.Errorf("last transition %+v", tr)
				}
				e := finish(t, env)
				patch := artifact(t, e, swebench.FilePatch)
				if e.Reward != 0 || patch != judge.patch || !sameChanges(patch, judge.in.Patch) {
					t.Errorf("ending %+v\npatch:\n%s", e, patch)
				}
			})
		}
	}
}

// sameChanges compares what is added and removed by file.
func sameChanges(a, b string) bool {
	changes := func(patch string) string {
		var out []string
		for _, line := range strings.Split(patch, "\n") {
			if strings.HasPrefix(line, "+") || strings.HasPrefix(line, "-") {
				out = append(out, line)
			}
		}
		return strings.Join(out, "\n")
	}
	return changes(a) == changes(b)
}

type fakeJudge struct {
	verdict swebench.Judgement
	err     error
	in      *swebench.Instance
	patch   string
}

func (j *fakeJudge) Judge(_ context.Context, in *swebench.Instance, patch string) (swebench.Judgement, error) {
	j.in, j.patch = in, patch
	return j.verdict, j.err
}

// TestPreparedContainerIsFresh: containers that are prepared ahead hide the future and know nothing of
// earlier episodes, one that died while it waited is replaced, and none is left at the end.
func TestPreparedContainerIsFresh(t *testing.T) {
	t.Parallel()
	engine, data := embtest.Open(t)
	s, err := swebench.New(engine, data, swebench.Config{})
	if err != nil {
		t.Fatal(err)
	}
	task := swebench.TaskOf(data.Instances[0])
	const look = "git log --all --oneline; git status --short; ls -a / /tmp; cat /etc/passwd"
	var first string
	for episode := range 3 {
		s.Prepare(task)
		env, err := s.NewEnv(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := env.Reset(t.Context(), task); err != nil {
			t.Fatal(err)
		}
		s.Prepare(task) // the next one comes while this one works
		seen := step(t, env, look).Observation.Text
		if episode == 0 {
			if first = seen; !strings.Contains(seen, "root:") {
				t.Errorf("it sees %s", seen)
			}
		} else if seen != first {
			t.Errorf("episode %d sees\n%s\nthe first one saw\n%s", episode, seen, first)
		}
		step(t, env, "echo left > /tmp/left; echo left > left.txt; git add -A; git -c user.name=x -c user.email=x@x commit -qm left; echo x >> /etc/passwd")
		if err := env.Close(); err != nil {
			t.Error(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

// TestGroupsArePrepared: the episodes of one task have a container each, none of which knows of another, and
// whether what was prepared is taken, waits or is on its way when the suite is closed, nothing is left.
func TestGroupsArePrepared(t *testing.T) {
	t.Parallel()
	engine, data := embtest.Open(t)
	left := func() {
		t.Helper()
		if n, err := engine.Reap(t.Context(), func(string) bool { return false }); err != nil || n != 0 {
			t.Errorf("%d containers were left, %v", n, err)
		}
	}
	const group, spare = 3, 2
	task := swebench.TaskOf(data.Instances[0])
	s, err := swebench.New(engine, data, swebench.Config{Ready: group})
	if err != nil {
		t.Fatal(err)
	}
	for range group + spare {
		s.Prepare(task)
	}
	var envs []harness.Env
	hosts := map[string]bool{}
	for i := range group {
		env, err := s.NewEnv(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := env.Reset(t.Context(), task); err != nil {
			t.Fatal(err)
		}
		envs = append(envs, env)
		seen := step(t, env, "cat /proc/sys/kernel/hostname; ls /tmp; git status --short").Observation.Text
		if strings.Contains(seen, "left") {
			t.Errorf("episode %d sees what another one left: %s", i, seen)
		}
		hosts[seen] = true
		step(t, env, fmt.Sprintf("echo left > /tmp/left%d; echo left > left.txt", i))
	}
	if len(hosts) != group {
		t.Errorf("%d episodes are in %d containers: %v", group, len(hosts), hosts)
	}
	s.Settle() // the spare ones wait
	for _, env := range envs {
		if err := env.Close(); err != nil {
			t.Error(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	left()
	if s, err = swebench.New(engine, data, swebench.Config{Ready: group}); err != nil {
		t.Fatal(err)
	}
	for range group + spare {
		s.Prepare(task)
	}
	if err := s.Close(); err != nil { // as after an interrupt
		t.Error(err)
	}
	left()
}

// BenchmarkReset is the start of an episode, and the start of one that was prepared while another worked.
func BenchmarkReset(b *testing.B) {
	engine, data := embtest.Open(b)
	s, err := swebench.New(engine, data, swebench.Config{})
	if err != nil {
		b.Fatal(err)
	}
	task := swebench.TaskOf(data.Instances[0])
	env, err := s.NewEnv(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	times := map[bool][]time.Duration{}
	for b.Loop() {
		for _, ahead := range []bool{false, true} { // in turn, so that what else the machine does falls on both alike
			if ahead {
				s.Prepare(task)
				s.Settle()
			}
			began := time.Now()
			if _, err := env.Reset(b.Context(), task); err != nil {
				b.Fatal(err)
			}
			times[ahead] = append(times[ahead], time.Since(began))
			if err := env.Close(); err != nil {
				b.Fatal(err)
			}
		}
	}
	for ahead, name := range map[bool]string{false: "ms-cold", true: "ms-prepared"} {
		all := times[ahead]
		slices.Sort(all)
		b.ReportMetric(float64(all[len(all)/2].Microseconds())/1000, name)
	}
	if err := s.Close(); err != nil {
		b.Error(err)
	}
}
