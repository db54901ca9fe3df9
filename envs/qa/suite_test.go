package qa

import (
	"errors"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/hindsightrl/harness"
	"github.com/hindsightrl/harness/envs/envtest"
	"github.com/hindsightrl/harness/internal/answer"
	"github.com/hindsightrl/harness/internal/errext"
)

func files(pairs ...string) fstest.MapFS {
	out := fstest.MapFS{}
	for i := 0; i < len(pairs); i += 2 {
		out[pairs[i]] = &fstest.MapFile{Data: []byte(pairs[i+1])}
	}
	return out
}

func suite(t testing.TB, pairs ...string) *Suite {
	t.Helper()
	s, err := NewFS(t.Context(), files(pairs...), DefaultConfig())
	if err != nil {
		t.Fatal(err)
	}
	return s
}

const (
	known   = `{"id":"k","question":"What is 1/2 + 1/4?","answer":"3/4"}`
	unknown = `{"id":"u","question":"Is P = NP?"}`
	options = `{"id":"o","question":"Which is even?","options":["5","8","9","8.0"],"answer":"B"}`
)

func TestConformance(t *testing.T) {
	t.Parallel()
	s := suite(t, "f.jsonl", known+"\n"+unknown)
	envtest.RunWith(t, func(tb testing.TB) harness.Env {
		env, err := s.NewEnv(tb.Context())
		if err != nil {
			tb.Fatal(err)
		}
		return env
	}, harness.Task{Env: Name, ID: "f/k"}, envtest.Options{
		Actions: []string{"3/4", "0.75", "yes", "17"}, Steps: 1, UnknownTask: harness.Task{Env: Name, ID: "f/none"},
	})
}

// ask answers a question and returns what the environment made of it.
func ask(t *testing.T, s *Suite, id, action string) harness.Transition {
	t.Helper()
	env, err := s.NewEnv(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := env.Reset(t.Context(), harness.Task{Env: Name, ID: id}); err != nil {
		t.Fatal(err)
	}
	tr, err := env.Step(t.Context(), action)
	if err != nil {
		t.Fatal(err)
	}
	if !tr.Done {
		t.Errorf("%s is not done after an answer", id)
	}
	again, err := env.Step(t.Context(), action)
	if err != nil || again.Reward != 0 || again.Won != tr.Won || !again.Done {
		t.Errorf("%s answered again: %+v, %v", id, again, err)
	}
	return tr
}

func TestStep(t *testing.T) {
	t.Parallel()
	s := suite(t, "f.jsonl", known+"\n"+unknown+"\n"+options)
	for _, c := range []struct {
		id, action, feedback, reference string
		reward                          float64
	}{
		{"f/k", "0.75", sayRight, "3/4", 1},
		{"f/k", `\frac{3}{4}`, sayRight, "3/4", 1},
		{"f/k", "0.7", sayWrong, "3/4", 0},
		{"f/k", "", sayNothing, "3/4", 0},
		{"f/u", "yes", sayTaken, "", 0},
		{"f/u", "", sayNothing, "", 0},
		{"f/o", "(B)", sayRight, "B", 1},
		{"f/o", "b", sayRight, "B", 1},
		{"f/o", "5", sayWrong, "B", 0},
		{"f/o", "9", sayWrong, "B", 0},
	} {
		tr := ask(t, s, c.id, c.action)
		reference, isKnown := Reference(tr.Privileged)
		if tr.Feedback != c.feedback || tr.Reward != c.reward || tr.Won != (c.reward == 1) || reference != c.reference || isKnown != (c.reference != "") {
			t.Errorf("%s, %q: %+v, want %q and %v", c.id, c.action, tr, c.feedback, c.reward)
		}
		if strings.Contains(tr.Observation.Text+tr.Feedback, "3/4") {
			t.Errorf("%s: the observation tells the answer: %+v", c.id, tr)
		}
	}
}

// TestAmbiguousOption: an answer that two options equal is no letter.
func TestAmbiguousOption(t *testing.T) {
	t.Parallel()
	if tr := ask(t, suite(t, "f.jsonl", options), "f/o", "8"); tr.Won {
		t.Errorf("8 is option B and option D, and was taken for right: %+v", tr)
	}
}

func TestExact(t *testing.T) {
	t.Parallel()
	s, err := NewFS(t.Context(), files("f.jsonl", known+"\n"+options), Config{Rules: answer.Rules{Exact: true}, Reward: 2})
	if err != nil {
		t.Fatal(err)
	}
	if tr := ask(t, s, "f/k", "0.75"); tr.Won {
		t.Error("0.75 is not exactly 3/4")
	}
	if tr := ask(t, s, "f/k", " 3/4 "); !tr.Won || tr.Reward != 2 {
		t.Errorf("3/4 is exactly 3/4: %+v", tr)
	}
	if tr := ask(t, s, "f/o", "8"); tr.Won {
		t.Error("the option's text is not exactly its letter")
	}
}

func TestTasks(t *testing.T) {
	t.Parallel()
	s := suite(t, "b.jsonl", known, "a.json", "["+unknown+"]", "notes.txt", "no question")
	all, err := s.Tasks(t.Context(), "")
	if err != nil || len(all) != 2 || all[0].ID != "a/u" || all[1].ID != "b/k" {
		t.Fatalf("tasks %+v, %v", all, err)
	}
	if one, err := s.Tasks(t.Context(), "b"); err != nil || len(one) != 1 || one[0] != all[1] {
		t.Errorf("split b: %+v, %v", one, err)
	}
	if _, err := s.Tasks(t.Context(), "c"); err == nil || errext.Hint(err) != "there are a, b" {
		t.Errorf("split c: %v (%s)", err, errext.Hint(err))
	}
	if err := s.CheckTask(t.Context(), all[0]); err != nil {
		t.Error(err)
	}
	changed := all[0]
	changed.Hash = "0000"
	if err := s.CheckTask(t.Context(), changed); err == nil || !strings.Contains(err.Error(), "not the one that was recorded") {
		t.Errorf("a changed question: %v", err)
	}
	if err := s.CheckTask(t.Context(), harness.Task{Env: "alfworld", ID: "a/u"}); err == nil {
		t.Error("another environment's task was taken")
	}
	if all[0].Hash == all[1].Hash || len(all[0].Hash) != 64 {
		t.Errorf("hashes %q, %q", all[0].Hash, all[1].Hash)
	}
}

func TestNewErrors(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		files fstest.MapFS
		cfg   Config
		want  string
	}{
		"no files":  {files(), DefaultConfig(), "there are none"},
		"empty":     {files("a.jsonl", "\n"), DefaultConfig(), "there are none"},
		"bad":       {files("a.jsonl", "x"), DefaultConfig(), `"a", line 1`},
		"twins":     {files("a.jsonl", known, "a.json", "["+known+"]"), DefaultConfig(), `two files have a question "a/k"`},
		"tolerance": {files("a.jsonl", known), Config{Rules: answer.Rules{Tolerance: -1}, Reward: 1}, "tolerance -1"},
		"reward":    {files("a.jsonl", known), Config{}, "reward 0"},
	} {
		if _, err := NewFS(t.Context(), c.files, c.cfg); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
	if _, err := New(t.Context(), t.TempDir()+"/none.jsonl", DefaultConfig()); err == nil || errext.Hint(err) == "" {
		t.Errorf("a file that is not there: %v", err)
	}
	if _, err := New(t.Context(), t.TempDir(), DefaultConfig()); err == nil {
		t.Error("an empty folder is no error")
	}
}

// TestUnknownAnswer: nobody advises what nobody knows.
func TestUnknownAnswer(t *testing.T) {
	t.Parallel()
	s := suite(t, "f.jsonl", unknown)
	env, err := s.NewEnv(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := env.(harness.Advisor).Advise(t.Context()); !errors.Is(err, errNotReset) {
		t.Errorf("advice before the question: %v", err)
	}
	if _, err := env.Reset(t.Context(), harness.Task{Env: Name, ID: "f/u"}); err != nil {
		t.Fatal(err)
	}
	if a, err := env.(harness.Advisor).Advise(t.Context()); err == nil {
		t.Errorf("the answer nobody knows is %q", a)
	}
}

func TestSnapshotOfAnotherQuestion(t *testing.T) {
	t.Parallel()
	s := suite(t, "f.jsonl", known+"\n"+unknown)
	var envs [2]harness.Snapshotter
	for i, id := range []string{"f/k", "f/u"} {
		env, err := s.NewEnv(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := env.Reset(t.Context(), harness.Task{Env: Name, ID: id}); err != nil {
			t.Fatal(err)
		}
		envs[i] = env.(harness.Snapshotter)
	}
	snap, err := envs[0].Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	if err := envs[1].Restore(snap); err == nil {
		t.Error("the snapshot of another question was taken")
	}
	if _, err := envs[0].Step(t.Context(), "3/4"); err != nil {
		t.Fatal(err)
	}
	if err := envs[0].Restore(snap); err != nil {
		t.Fatal(err)
	}
	if tr, err := envs[0].Step(t.Context(), "1"); err != nil || tr.Won {
		t.Errorf("after going back: %+v, %v", tr, err)
	}
}
