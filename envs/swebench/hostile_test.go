package swebench_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/hindsightrl/harness"
	"github.com/hindsightrl/harness/envs/swebench"
	"github.com/hindsightrl/harness/envs/swebench/embedded/embtest"
	"github.com/hindsightrl/harness/internal/errext"
)

// What an agent may do to its own container is an observation, and the episode goes on.
func TestHostileCommandsAreAnswered(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("it waits for time-outs")
	}
	env, _, _ := inContainer(t, 0, swebench.Config{ // a time that no other command here needs, on a slow machine either
		StepTimeout: 15 * time.Second, Limits: swebench.Limits{Processes: 256, Memory: 256 << 20, Disk: 64 << 20},
	})
	for _, c := range []struct{ name, command, want string }{
		{"echo", "echo fine", "<returncode>0</returncode>\n<output>\nfine\n</output>"},
		{"failure", "echo out; echo err >&2; exit 3", "<returncode>3</returncode>\n<output>\nout\nerr\n</output>"},
		{"endless output", "yes", "characters elided"},
		{"ignores the end", "trap '' TERM INT HUP; while :; do sleep 1; done", "<exception>The command ran longer than 15s and was ended"},
		{"leaves sessions", "setsid sleep 1000 & setsid nohup sleep 1000 & sleep 1000", "<returncode>-1</returncode>"},
		{"kills its shell", "kill -9 $$", "<returncode>137</returncode>"},
		{"kills everything", "kill -9 -1", "<returncode>"},
		{"leaves processes behind", "for i in $(seq 100); do sleep 1000 & done", "<returncode>"},
		{"after them", "echo still here", "<returncode>"},
		{"memory", "python3 -c 'x = bytearray(1 << 30)'", "<returncode>137</returncode>"},
		{"bytes", `printf '\xff\xfeab\0c'`, "\uFFFDab\x00c"},
		{"network", "python3 -c 'import socket; socket.create_connection((\"192.0.2.1\", 80), 2)' 2>&1 | tail -1", "OSError: [Errno 101]"},
		{"capabilities", "mount -t tmpfs none /mnt", "<returncode>32</returncode>"},
		{"no bash", "PATH=/nowhere git status", "<returncode>127</returncode>"},
		{
			"the future", "git log --all --format=%s; git tag; git remote; git reflog; git cat-file --batch-all-objects --batch-check | grep -c commit",
			"<output>\nWrite it\nSay what it is\nv0.1.0\nv0.2.0\n2\n</output>",
		},
	} {
		if got := step(t, env, c.command).Observation.Text; !strings.Contains(got, c.want) {
			t.Errorf("%s: %.500q has no %q", c.name, got, c.want)
		}
	}
	step(t, env, "echo x >> README.md")
	if patch := artifact(t, finish(t, env), swebench.FilePatch); !strings.HasSuffix(patch, "+x\n") {
		t.Errorf("the patch is %q", patch)
	}
}

// A command that forks forever is ended with all that it started, or with its container where nothing can
// be started in it to end it. The one is an answer, the other a failure of the environment, and neither
// hangs.
func TestForksForever(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("it waits for time-outs")
	}
	env, _, _ := inContainer(t, 0, swebench.Config{StepTimeout: 5 * time.Second, Limits: swebench.Limits{Processes: 64}})
	for range 2 {
		tr, err := env.Step(t.Context(), "f() { f | f & }; f; sleep 1000")
		switch {
		case harness.KindOf(err) == harness.FailEnv && err != nil:
			return
		case err != nil:
			t.Fatal(err)
		case !strings.Contains(tr.Observation.Text, "<exception>The command "):
			t.Errorf("answered with %q", tr.Observation.Text)
		}
	}
	if e, err := env.Finish(t.Context()); err == nil && artifact(t, e, swebench.FilePatch) != "" {
		t.Errorf("ending %+v", e)
	}
}

func TestContainersThatDieFailTheEnvironment(t *testing.T) {
	t.Parallel()
	env, task, first := inContainer(t, 0, swebench.Config{})
	step(t, env, "echo x > new")
	if n, err := embtest.Engine(t).Reap(t.Context(), func(string) bool { return false }); err != nil || n != 1 {
		t.Fatalf("%d containers removed behind the environment's back, %v", n, err)
	}
	for what, err := range map[string]error{
		"step":   func() error { _, err := env.Step(t.Context(), "ls"); return err }(),
		"finish": func() error { _, err := env.Finish(t.Context()); return err }(),
	} {
		if harness.KindOf(err) != harness.FailEnv {
			t.Errorf("%s in a container that is gone: %v", what, err)
		}
	}
	if again, err := env.Reset(t.Context(), task); err != nil || again.Text != first.Text {
		t.Errorf("reset: %v", err)
	}
	if got := step(t, env, "git status --porcelain").Observation.Text; !strings.Contains(got, "<output>\n</output>") {
		t.Errorf("a second episode sees the first one's files: %q", got)
	}
}

func TestMissingImagesAreFinalFailures(t *testing.T) {
	t.Parallel()
	engine, data := embtest.Open(t)
	in := *data.Instances[0]
	in.Image = "hindsight/swebench.none:absent"
	other, err := swebench.NewDataset([]*swebench.Instance{&in})
	if err != nil {
		t.Fatal(err)
	}
	s, err := swebench.New(engine, other, swebench.Config{Images: swebench.ImageConfig{Namespace: "none"}})
	if err != nil {
		t.Fatal(err)
	}
	env, err := s.NewEnv(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	_, err = env.Reset(t.Context(), swebench.TaskOf(&in))
	var f *harness.Failure
	if !errors.As(err, &f) || f.Kind != harness.FailEnv || !strings.Contains(err.Error(), "hindsight/swebench.none:absent") || errext.Hint(err) == "" {
		t.Errorf("got %v, hint %q", err, errext.Hint(err))
	}
	if _, err := env.Step(t.Context(), "ls"); err == nil {
		t.Error("a step without an episode gives no error")
	}
	if err := env.Close(); err != nil {
		t.Error(err)
	}
}
