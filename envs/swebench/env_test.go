package swebench

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hindsightrl/harness"
	"github.com/hindsightrl/harness/envs/internal/container"
	"github.com/hindsightrl/harness/internal/errext"
)

// fakeBoxes start boxes that answer as a test says.
type fakeBoxes struct {
	images []string                                                                 // that are there
	exec   func(ctx context.Context, c container.Command) (container.Result, error) // of commands after the preparation
	setup  container.Result                                                         // of the preparation; zero is a success
	file   string                                                                   // what ReadFile returns
	broken error                                                                    // of everything but Exec
	specs  []container.Spec
	live   int
}

func (f *fakeBoxes) Find(_ context.Context, names []string) (string, error) {
	for _, n := range names {
		for _, have := range f.images {
			if n == have {
				return n, nil
			}
		}
	}
	return "", harness.FailFinal(harness.FailEnv, "find image", fmt.Errorf("%q: %w", names, ErrNoImage))
}

func (f *fakeBoxes) start(_ context.Context, spec container.Spec) (box, error) {
	f.specs = append(f.specs, spec)
	f.live++
	return &fakeBox{boxes: f}, nil
}

type fakeBox struct {
	boxes *fakeBoxes
	ready bool
	kills int
}

func (b *fakeBox) Exec(ctx context.Context, c container.Command) (container.Result, error) {
	if !b.ready {
		b.ready = true
		res := b.boxes.setup
		if res.Output == nil {
			res.Output = []byte(scrubMark + "done\n" + startMark + "abc def\n")
		}
		return res, ctx.Err()
	}
	if b.boxes.exec == nil {
		return container.Result{}, nil
	}
	return b.boxes.exec(ctx, c)
}

func (b *fakeBox) WriteFile(context.Context, string, []byte, int64) error { return b.boxes.broken }

func (b *fakeBox) ReadFile(context.Context, string, int64) ([]byte, error) {
	return []byte(b.boxes.file), b.boxes.broken
}

func (b *fakeBox) KillAll(context.Context) error {
	b.kills++
	return b.boxes.broken
}

func (b *fakeBox) Remove(context.Context) error {
	b.boxes.live--
	return nil
}

const fakeImage = "image:1"

var fakeInstance = Instance{
	ID: "owner__name-1", Repo: "owner/name", BaseCommit: "abc", ProblemStatement: "It is broken.", Hints: "Look at a.py.", Image: fakeImage,
	Patch: "diff --git a/a.py b/a.py\n--- a/a.py\n+++ b/a.py\n@@ -1 +1 @@\n-x\n+y\n", FailToPass: []string{"a"}, EvalScript: "true",
}

func fakeSuite(t *testing.T, b *fakeBoxes, cfg Config) *Suite {
	t.Helper()
	in := fakeInstance
	data, err := NewDataset([]*Instance{&in})
	if err != nil {
		t.Fatal(err)
	}
	if b.images == nil {
		b.images = []string{fakeImage}
	}
	s, err := newSuite(b, data, cfg)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// fakeEpisode opens an episode in a fake box.
func fakeEpisode(t *testing.T, b *fakeBoxes, cfg Config) *Env {
	t.Helper()
	env, err := fakeSuite(t, b, cfg).NewEnv(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := env.Reset(t.Context(), TaskOf(&fakeInstance)); err != nil {
		t.Fatal(err)
	}
	return env.(*Env)
}

func TestSuiteListsInstances(t *testing.T) {
	t.Parallel()
	s := fakeSuite(t, &fakeBoxes{}, Config{Relax: Relax{Network: "bridge"}, KeepHistory: true, Interface: Tools})
	tasks, err := s.Tasks(t.Context(), "")
	if err != nil || len(tasks) != 1 || tasks[0].Key() != "swebench/owner__name-1" || tasks[0].Type != "owner/name" || tasks[0].Split != "test" {
		t.Fatalf("tasks %+v, %v", tasks, err)
	}
	if _, err := s.Tasks(t.Context(), "dev"); err == nil || errext.Hint(err) == "" {
		t.Errorf("another split: %v", err)
	}
	want := map[string]string{
		"interface": "tools", "instances": "1", "command_timeout": "1m30s", "relaxed": "network=bridge", "future_history": "kept",
		"evaluated": "false", "limits": `{"Processes":0,"Memory":0,"CPUs":0,"Disk":0}`,
	}
	if d := cmp.Diff(want, s.Info()); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	if err := s.CheckTask(t.Context(), tasks[0]); err != nil {
		t.Error(err)
	}
	for name, change := range map[string]func(*harness.Task){
		"is not of swebench":          func(t *harness.Task) { t.Env = "webshop" },
		`no instance "owner__name-2"`: func(t *harness.Task) { t.ID = "owner__name-2" },
		"is another version":          func(t *harness.Task) { t.Hash = strings.Repeat("0", 64) },
	} {
		task := tasks[0]
		change(&task)
		if err := s.CheckTask(t.Context(), task); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

func TestSuiteWithoutAnEngineListsTasks(t *testing.T) {
	t.Parallel()
	in := fakeInstance
	data, err := NewDataset([]*Instance{&in})
	if err != nil {
		t.Fatal(err)
	}
	s, err := New(nil, data, Config{})
	if err != nil {
		t.Fatal(err)
	}
	tasks, err := s.Tasks(t.Context(), Split)
	if err != nil || len(tasks) != 1 {
		t.Fatalf("tasks %v, %v", tasks, err)
	}
	env, err := s.NewEnv(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := env.Reset(t.Context(), tasks[0]); !errors.Is(err, errNoEngine) || harness.KindOf(err) != harness.FailHarness {
		t.Errorf("reset: %v", err)
	}
	if _, err := s.boxes.start(t.Context(), container.Spec{}); !errors.Is(err, errNoEngine) {
		t.Errorf("start: %v", err)
	}
}

func TestConfigIsChecked(t *testing.T) {
	t.Parallel()
	for _, c := range []Config{
		{Interface: "voice"}, {Images: ImageConfig{Arch: "mips"}}, {StepTimeout: -1}, {SetupTimeout: -time.Second}, {Patch: PatchLimits{Total: -1}},
	} {
		if err := c.Validate(); err == nil {
			t.Errorf("%+v is taken", c)
		}
	}
	if _, err := newSuite(&fakeBoxes{}, &Dataset{}, Config{}); err == nil {
		t.Error("a dataset without instances is taken")
	}
}

func TestContainersAreStrictUnlessTold(t *testing.T) {
	t.Parallel()
	b := &fakeBoxes{}
	fakeEpisode(t, b, Config{Limits: Limits{Memory: 1 << 30}, Relax: Relax{Network: "bridge"}})
	fakeEpisode(t, b, Config{})
	if d := cmp.Diff(container.Spec{
		Image: fakeImage, Prefix: "hindsight.owner__name-1", WorkDir: "/testbed", Env: commandEnv,
		Limits: Limits{Memory: 1 << 30}, Relax: Relax{Network: "bridge"},
	}, b.specs[0]); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	if b.specs[1].Relax.Names() != nil || b.specs[1].Limits != (Limits{}) {
		t.Errorf("by default the container is %+v", b.specs[1])
	}
}

func TestResetFailsForGoodWhereTheImageIsWrong(t *testing.T) {
	t.Parallel()
	out := func(code int, text string) container.Result {
		return container.Result{ExitCode: code, Output: []byte(text)}
	}
	for name, c := range map[string]struct {
		setup container.Result
		want  string
	}{
		"no repository":    {out(3, "fatal: not a git repository\n"), "exit code 3: fatal: not a git repository"},
		"another commit":   {out(4, scrubMark+"wrong-base\n"), "its HEAD does not descend from the base commit abc"},
		"git fails":        {out(5, ""), "exit code 5"},
		"leaks":            {out(0, scrubMark+"ref refs/heads/fix\n"+scrubMark+"done\n"), "the repository still knows its future: ref refs/heads/fix"},
		"check cut":        {out(0, scrubMark+"ref x\n"), "did not finish"},
		"no state":         {out(0, scrubMark+"done\n"), "its state cannot be read"},
		"no end":           {container.Result{ExitCode: -1, TimedOut: true, Output: []byte("x")}, "it took longer than 10m0s"},
		"half a statement": {out(0, scrubMark+"done\n"+startMark+"abc\n"), "its state cannot be read"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := &fakeBoxes{setup: c.setup}
			env, err := fakeSuite(t, b, Config{}).NewEnv(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			_, err = env.Reset(t.Context(), TaskOf(&fakeInstance))
			var f *harness.Failure
			if !errors.As(err, &f) || f.Kind != harness.FailEnv || f.Retryable || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v", err)
			}
			if b.live != 0 {
				t.Errorf("%d containers are left", b.live)
			}
		})
	}
}

func TestRowsThatNobodyCanJudgeFailBeforeTheWork(t *testing.T) {
	t.Parallel()
	in := fakeInstance
	in.EvalScript = ""
	data, err := NewDataset([]*Instance{&in})
	if err != nil {
		t.Fatal(err)
	}
	b := &fakeBoxes{images: []string{fakeImage}}
	for _, c := range []struct {
		judge Judge
		want  error
	}{{stubJudge{}, ErrNoEvalScript}, {nil, nil}} {
		judge, want := c.judge, c.want
		s, err := newSuite(b, data, Config{Judge: judge})
		if err != nil {
			t.Fatal(err)
		}
		env, err := s.NewEnv(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		_, err = env.Reset(t.Context(), TaskOf(&in))
		if !errors.Is(err, want) || want != nil && (!strings.Contains(errext.Hint(err), "--evaluate=false") || len(b.specs) != 0) {
			t.Errorf("judge %v: %v, hint %q", judge, err, errext.Hint(err))
		}
		b.specs = nil
	}
}

func TestMissingImagesSayWhatToDo(t *testing.T) {
	t.Parallel()
	env, err := fakeSuite(t, &fakeBoxes{images: []string{"other:1"}}, Config{}).NewEnv(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	_, err = env.Reset(t.Context(), TaskOf(&fakeInstance))
	if !errors.Is(err, ErrNoImage) || !strings.HasPrefix(errext.Hint(err), "docker pull image:1") {
		t.Errorf("got %v, hint %q", err, errext.Hint(err))
	}
	if hint := imageHint([]string{EmbeddedImages + "x:1"}); hint != "build it: harness swebench images" {
		t.Errorf("hint %q", hint)
	}
}

func TestObservationsOfBash(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("é", 6000) + strings.Repeat("z", 6000)
	for name, c := range map[string]struct {
		res  container.Result
		want string
	}{
		"short":   {container.Result{Output: []byte("a\n")}, "<returncode>0</returncode>\n<output>\na\n</output>"},
		"failure": {container.Result{ExitCode: 2}, "<returncode>2</returncode>\n<output>\n</output>"},
		"time": {
			container.Result{ExitCode: -1, TimedOut: true, Output: []byte("so far")},
			"<exception>The command ran longer than 1m0s and was ended, with everything that ran beside it.</exception>\n<returncode>-1</returncode>\n<output>\nso far</output>",
		},
		"disk": {
			container.Result{ExitCode: -1, DiskFull: true},
			"<exception>The command was ended, with everything that ran beside it: it wrote more to the disk than it may.</exception>\n<returncode>-1</returncode>\n<output>\n</output>",
		},
		"9999 are short": {container.Result{Output: []byte(strings.Repeat("é", 9999))}, "<returncode>0</returncode>\n<output>\n" + strings.Repeat("é", 9999) + "</output>"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			env := fakeEpisode(t, &fakeBoxes{exec: func(context.Context, container.Command) (container.Result, error) { return c.res, nil }}, Config{})
			tr, err := env.Step(t.Context(), "ls")
			if err != nil || tr.Observation.Text != c.want || tr.Feedback != c.want || tr.Done {
				t.Errorf("got %q, %v", tr.Observation.Text, err)
			}
		})
	}
	for name, c := range map[string]struct {
		res                container.Result
		head, elided, tail string
	}{
		"characters": {container.Result{Output: []byte(long)}, strings.Repeat("é", 5000), "2000", strings.Repeat("z", 5000)},
		"10000":      {container.Result{Output: []byte(strings.Repeat("é", 2000) + strings.Repeat("z", 8000))}, strings.Repeat("é", 2000), "0", strings.Repeat("z", 5000)},
		"dropped":    {container.Result{Output: []byte("head"), Tail: []byte("tail"), Dropped: 1 << 20}, "head", fmt.Sprint(1<<20 + 8 - 10000), "headtail"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			env := fakeEpisode(t, &fakeBoxes{exec: func(context.Context, container.Command) (container.Result, error) { return c.res, nil }}, Config{})
			tr, err := env.Step(t.Context(), "ls")
			if err != nil {
				t.Fatal(err)
			}
			got := tr.Observation.Text
			if !strings.HasPrefix(got, "<returncode>0</returncode>\n<warning>\n") ||
				!strings.Contains(got, "<elided_chars>\n"+c.elided+" characters elided\n</elided_chars>") ||
				!strings.Contains(got, "<output_head>\n"+c.head) || !strings.HasSuffix(got, c.tail+"\n</output_tail>") {
				t.Errorf("got %.200q … %q", got, got[max(0, len(got)-200):])
			}
		})
	}
}

func TestMalformedTurnsAreAnswered(t *testing.T) {
	t.Parallel()
	env := fakeEpisode(t, &fakeBoxes{}, Config{})
	for action, want := range map[string]string{
		"# malformed response: 2 bash blocks where one belongs": "exactly one command block, and it held 2.",
		"a\x00b":                     "<exception>The command holds a NUL byte",
		strings.Repeat("x", 200_000): "<exception>The command has 200000 bytes",
	} {
		tr, err := env.Step(t.Context(), action)
		if err != nil || !strings.Contains(tr.Observation.Text, want) || tr.Done || tr.Reward != 0 {
			t.Errorf("%.40q: %.200q, %v", action, tr.Observation.Text, err)
		}
	}
	if first := tools(t, "no call"); !strings.HasPrefix(first, "\nYou forgot to use a function call") {
		t.Errorf("tools: %q", first)
	}
}

func tools(t *testing.T, action string) string {
	t.Helper()
	tr, err := fakeEpisode(t, &fakeBoxes{}, Config{Interface: Tools}).Step(t.Context(), action)
	if err != nil {
		t.Fatal(err)
	}
	return tr.Observation.Text
}

func TestHintsAreShownWhereAskedFor(t *testing.T) {
	t.Parallel()
	for hints, want := range map[bool]string{false: "It is broken.", true: "It is broken.\n\nComments on the issue:\n\nLook at a.py."} {
		tr, err := fakeEpisode(t, &fakeBoxes{}, Config{Hints: hints}).Step(t.Context(), "ls")
		if err != nil || tr.Observation.Task != want {
			t.Errorf("%v: %q, %v", hints, tr.Observation.Task, err)
		}
	}
}

// A container that is lost is a failure; one in which nothing can be started is emptied.
func TestCommandsThatCannotRun(t *testing.T) {
	t.Parallel()
	full := errors.New("cannot fork")
	b := &fakeBoxes{exec: func(context.Context, container.Command) (container.Result, error) { return container.Result{}, full }}
	env := fakeEpisode(t, b, Config{})
	tr, err := env.Step(t.Context(), "ls")
	if err != nil || !strings.Contains(tr.Observation.Text, "<exception>The command could not be started: too much was running.") || env.box.(*fakeBox).kills != 1 {
		t.Errorf("got %q, %v", tr.Observation.Text, err)
	}
	b.broken = errors.New("gone")
	if _, err := env.Step(t.Context(), "ls"); harness.KindOf(err) != harness.FailEnv || !errors.Is(err, full) {
		t.Errorf("got %v", err)
	}
	b.exec = func(context.Context, container.Command) (container.Result, error) {
		return container.Result{}, fmt.Errorf("%w: exit code 137", container.ErrDied)
	}
	if _, err := env.Step(t.Context(), "ls"); harness.KindOf(err) != harness.FailEnv || !errors.Is(err, container.ErrDied) {
		t.Errorf("got %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	b.exec = func(ctx context.Context, _ container.Command) (container.Result, error) {
		cancel()
		return container.Result{}, ctx.Err()
	}
	if _, err := env.Step(ctx, "ls"); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

// stubJudge says what it is told.
type stubJudge struct {
	j   Judgement
	err error
}

func (s stubJudge) Judge(context.Context, *Instance, string) (Judgement, error) { return s.j, s.err }

func TestEndings(t *testing.T) {
	t.Parallel()
	const diff = "diff --git a/a.py b/a.py\n--- a/a.py\n+++ b/a.py\n@@ -1 +1 @@\n-x\n+y"
	submit := []byte(SubmitLine + "\n")
	for name, c := range map[string]struct {
		judge    Judge
		output   []byte
		file     string
		reward   float64
		won      bool
		feedback string
		patch    string
	}{
		"resolved": {
			stubJudge{j: Judgement{Resolved: true, Status: "RESOLVED_FULL", FailToPass: Tally{Passed: 1}, Output: "PASSED a"}},
			submit, diff, 1, true,
			"The patch resolves the issue: 1 of 1 tests that had to be repaired pass, and 0 of 0 that had to stay.\n\nOutput of the tests:\nPASSED a", diff + "\n",
		},
		"not resolved": {
			stubJudge{j: Judgement{Status: "RESOLVED_NO", FailToPass: Tally{Failed: []string{"a"}}}},
			submit, diff, 0, false,
			"The patch does not resolve the issue: 0 of 1 tests that had to be repaired pass, and 0 of 0 that had to stay.\nStill failing: a", diff + "\n",
		},
		"not applied": {
			stubJudge{j: Judgement{Problem: "the patch does not apply"}}, submit, diff, 0, false, "The patch could not be evaluated: the patch does not apply", diff + "\n",
		},
		"no judge":  {nil, submit, diff, 0, false, "The patch was taken and not evaluated: its reward is 0 because nobody judged it.", diff + "\n"},
		"no patch":  {stubJudge{err: errors.New("asked")}, submit, "", 0, false, "There is no patch: no change of the repository was found.", ""},
		"its patch": {nil, append(submit[:len(submit):len(submit)], "warning: LF\n"+diff...), "not read", 0, false, "The patch was taken and not evaluated: its reward is 0 because nobody judged it.", diff + "\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := &fakeBoxes{file: c.file, exec: func(context.Context, container.Command) (container.Result, error) {
				return container.Result{Output: c.output}, nil
			}}
			env := fakeEpisode(t, b, Config{Judge: c.judge})
			tr, err := env.Step(t.Context(), "echo "+SubmitLine)
			if err != nil {
				t.Fatal(err)
			}
			if !tr.Done || tr.Won != c.won || tr.Reward != c.reward || !strings.HasSuffix(tr.Feedback, c.feedback) {
				t.Errorf("got %+v", tr)
			}
			e, err := env.Finish(t.Context())
			if err != nil || e.Reward != 0 || e.Won != c.won || e.Score != tr.Score || e.Feedback != "" || e.Artifacts[0].Content != c.patch {
				t.Errorf("ending %+v, %v", e, err)
			}
			if _, err := env.Step(t.Context(), "ls"); err == nil || b.live != 0 {
				t.Errorf("a step after the end: %v; %d containers", err, b.live)
			}
			if _, err := env.Advise(t.Context()); err == nil {
				t.Error("advice after the end")
			}
		})
	}
}

func TestFinishWithoutASubmission(t *testing.T) {
	t.Parallel()
	b := &fakeBoxes{file: "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n"}
	env := fakeEpisode(t, b, Config{Judge: stubJudge{j: Judgement{Resolved: true, Status: "RESOLVED_FULL"}}})
	for range 2 { // asked again it says the same
		e, err := env.Finish(t.Context())
		if err != nil || e.Reward != 1 || !e.Won || e.Artifacts[0].Content != b.file {
			t.Errorf("ending %+v, %v", e, err)
		}
	}
	env = fakeEpisode(t, b, Config{Judge: stubJudge{err: errors.New("the daemon is gone")}})
	if _, err := env.Finish(t.Context()); harness.KindOf(err) != harness.FailEnv {
		t.Errorf("got %v", err)
	}
	if _, err := new(Env).Finish(t.Context()); !errors.Is(err, errNoEpisode) {
		t.Errorf("got %v", err)
	}
}

func TestJudgementsAreScored(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		j    Judgement
		want float64
	}{
		{Judgement{}, 0},
		{Judgement{Resolved: true, Status: "RESOLVED_FULL"}, 1},
		{Judgement{Status: "RESOLVED_PARTIAL", FailToPass: Tally{Passed: 1, Failed: []string{"a"}}}, 0.5},
		{Judgement{Status: "RESOLVED_NO", FailToPass: Tally{Passed: 2}, PassToPass: Tally{Passed: 3, Failed: []string{"a"}}}, 0.75},
		{Judgement{Status: "RESOLVED_NO", FailToPass: Tally{Passed: 2}}, 0.99},
	} {
		if got := c.j.Score(); got != c.want {
			t.Errorf("%+v: %v, want %v", c.j, got, c.want)
		}
	}
	j := Judgement{Status: "RESOLVED_NO", PassToPass: Tally{Failed: strings.Fields(strings.Repeat("t ", 30))}}
	if s := j.Summary(); !strings.HasSuffix(s, "t, and 10 more") {
		t.Errorf("summary %q", s)
	}
	j.Output = "head" + strings.Repeat("x", 20000) + "tail\xff"
	if f := j.feedback(); !strings.Contains(f, "\nhead") || !strings.Contains(f, "[12009 characters left out]") || !strings.HasSuffix(f, "tail\uFFFD") {
		t.Errorf("feedback %.300q", f)
	}
}
