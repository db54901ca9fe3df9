package agent

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hindsightrl/harness"
	"github.com/hindsightrl/harness/internal/errext"
)

// leftOpen runs an episode to its end and gives a recorder that holds its first n steps in an open
// attempt, as an interrupted process leaves it.
func leftOpen(t *testing.T, r harness.EpisodeRef, n int) (*memory, *memory) {
	t.Helper()
	cfg, done := quick(t, &corridor{}, noise(false))
	cfg.MaxSteps = 8
	if _, err := runOne(t, r, cfg); err != nil {
		t.Fatal(err)
	}
	rec := newMemory()
	id, _, err := rec.Begin(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range done.of(t, r).attempts[0].steps[:n] {
		if err := rec.Step(t.Context(), id, s); err != nil {
			t.Fatal(err)
		}
	}
	return done, rec
}

func TestResumeAtEveryStep(t *testing.T) {
	t.Parallel()
	for n := 0; n <= 8; n++ { // 8: only the outcome is missing
		want, rec := leftOpen(t, ref(9, 0), n)
		env := &corridor{}
		cfg, _ := quick(t, env, noise(false))
		cfg.MaxSteps, cfg.Recorder = 8, rec
		if _, err := runOne(t, ref(9, 0), cfg); err != nil {
			t.Fatal(err)
		}
		sameEpisodes(t, want, rec)
		if k := rec.of(t, ref(9, 0)); len(k.attempts) != 1 || env.opened != 1 {
			t.Errorf("resumed at step %d: %d attempts, %d environments", n, len(k.attempts), env.opened)
		}
	}
}

// An environment that answers otherwise than it did is broken: the attempt fails and a new one starts.
func TestResumeInAnotherWorldStartsOver(t *testing.T) {
	t.Parallel()
	_, rec := leftOpen(t, ref(9, 0), 5)
	env := &corridor{change: func(n, step int, tr *harness.Transition) {
		if n == 1 && step == 3 {
			tr.Observation.Text += " "
		}
	}}
	cfg, _ := quick(t, env, noise(false))
	cfg.MaxSteps, cfg.Recorder = 8, rec
	o, err := runOne(t, ref(9, 0), cfg)
	if err != nil || o.Steps != 8 {
		t.Fatal(o, err)
	}
	k := rec.of(t, ref(9, 0))
	if len(k.attempts) != 2 || len(k.attempts[0].steps) != 5 {
		t.Fatalf("kept %+v", k)
	}
	f := k.attempts[0].failure
	if f == nil || f.Kind != harness.FailEnv || !strings.Contains(f.Error(), "the environment answers otherwise than before: step 3, next.text, byte") {
		t.Errorf("failure %v", f)
	}
}

// Other templates than those that an episode began with are refused, with the remedy.
func TestResumeUnderOtherTemplatesIsRefused(t *testing.T) {
	t.Parallel()
	_, rec := leftOpen(t, ref(9, 0), 3)
	cfg, _ := quick(t, &corridor{}, noise(false))
	cfg.MaxSteps, cfg.Recorder, cfg.History = 8, rec, NoHistory
	_, err := runOne(t, ref(9, 0), cfg)
	if harness.KindOf(err) != harness.FailAgent || errext.Hint(err) != "resume with the run's own configuration" {
		t.Errorf("error %v (hint %q)", err, errext.Hint(err))
	}
}

func TestReplay(t *testing.T) {
	t.Parallel()
	done, _ := leftOpen(t, ref(9, 0), 0)
	steps := done.of(t, ref(9, 0)).attempts[0].steps
	for _, c := range []struct {
		name string
		edit func(s []harness.Step)
		want Diff
	}{
		{"equal", func([]harness.Step) {}, Diff{}},
		{"index", func(s []harness.Step) { s[2].Index = 3 }, Diff{2, "index", "2", "3"}},
		{"anchor", func(s []harness.Step) { s[0].Anchor = "x" }, Diff{0, "anchor", "You are at 0.", "x"}},
		{"admissible", func(s []harness.Step) { s[1].Admissible = []string{"left"} }, Diff{1, "admissible", "left\nright\nwait", "left"}},
		{"feedback", func(s []harness.Step) { s[4].Feedback += "!" }, Diff{4, "feedback", steps[4].Feedback, steps[4].Feedback + "!"}},
		{"privileged", func(s []harness.Step) { s[4].Privileged = "p" }, Diff{4, "privileged", "", "p"}},
		{"text", func(s []harness.Step) { s[4].Next.Text = "" }, Diff{4, "next.text", steps[4].Next.Text, ""}},
		{"task", func(s []harness.Step) { s[4].Next.Task = "" }, Diff{4, "next.task", "reach 9", ""}},
		{"next anchor", func(s []harness.Step) { s[4].Next.Anchor = "a" }, Diff{4, "next.anchor", "", "a"}},
		{"next admissible", func(s []harness.Step) { s[4].Next.Admissible = nil }, Diff{4, "next.admissible", "left\nright\nwait", ""}},
		{"reward", func(s []harness.Step) { s[7].Reward = 0.5 }, Diff{7, "reward", "0.25", "0.5"}},
		{"score", func(s []harness.Step) { s[7].Score = 0.5 }, Diff{7, "score", "0", "0.5"}},
		{"won", func(s []harness.Step) { s[7].Won = true }, Diff{7, "won", "false", "true"}},
		{"done", func(s []harness.Step) { s[7].Done = true }, Diff{7, "done", "false", "true"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			edited := append([]harness.Step(nil), steps...)
			c.edit(edited)
			env, err := (&corridor{}).NewEnv(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			got, err := Replay(t.Context(), env, ref(9, 0).Task, edited)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
			if got.Equal() != (c.name == "equal") {
				t.Errorf("Equal() = %v", got.Equal())
			}
		})
	}
}

func TestReplayOfABrokenEnvironment(t *testing.T) {
	t.Parallel()
	hung := errors.New("hung")
	done, _ := leftOpen(t, ref(9, 0), 0)
	steps := done.of(t, ref(9, 0)).attempts[0].steps
	for name, suite := range map[string]*corridor{
		"reset": {onReset: until(99, hung)},
		"step":  {change: func(_, step int, _ *harness.Transition) { _ = mustNot(step == 2) }},
	} {
		env, err := suite.NewEnv(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := Replay(t.Context(), env, ref(9, 0).Task, steps); harness.KindOf(err) != harness.FailEnv {
			t.Errorf("%s: error %v", name, err)
		}
	}
}

func TestDiffString(t *testing.T) {
	t.Parallel()
	d := Diff{3, "next.text", strings.Repeat("a", 50) + "b" + strings.Repeat("c", 90), strings.Repeat("a", 50)}
	want := `step 3, next.text, byte 50: got "` + strings.Repeat("a", 20) + "b" + strings.Repeat("c", 59) + `", recorded "` + strings.Repeat("a", 20) + `"`
	if got := d.String(); got != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
	if got := (Diff{}).String(); got != "no difference" {
		t.Errorf("got %s", got)
	}
}
