package store

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/hindsightrl/harness"
)

func TestCreateRunKeepsItsSpec(t *testing.T) {
	t.Parallel()
	s := newTest(t)
	spec := RunSpec{
		Name: "first", Panel: testPanel(3), GroupSize: 2, Seed: -9, Policy: "model m at temperature 1", CodeVersion: "abc",
		Config: json.RawMessage(`{"a": [1,  2]}`), Info: json.RawMessage(`{"assets":"f00"}`),
	}
	run, err := s.CreateRun(t.Context(), spec)
	if err != nil {
		t.Fatal(err)
	}
	want := Run{
		ID: 1, Name: "first", State: RunCreated, Created: time.Date(2026, 1, 2, 3, 4, 6, 0, time.UTC), PanelName: "panel", PanelHash: spec.Panel.Hash(),
		GroupSize: 2, Seed: -9, Policy: spec.Policy, CodeVersion: "abc", Config: spec.Config, Info: spec.Info,
	}
	if d := cmp.Diff(want, run); d != "" {
		t.Errorf("run (-want +got):\n%s", d)
	}
	var refs []harness.EpisodeRef
	for i, task := range spec.Panel.Tasks {
		for k := range 2 {
			refs = append(refs, harness.EpisodeRef{ID: int64(2*i + k + 1), Group: i, Sample: k, Task: task})
		}
	}
	if d := cmp.Diff(refs, pending(t, s, run.ID)); d != "" {
		t.Errorf("episodes (-want +got):\n%s", d)
	}
	_, err = s.CreateRun(t.Context(), spec)
	refused(t, err, ErrRunExists, `create run "first": a run of this name exists`, "resume it, or choose another name")
	spec.Name, spec.Config, spec.Info = "second", nil, nil
	second, err := s.CreateRun(t.Context(), spec)
	if err != nil || string(second.Config) != "{}" || string(second.Info) != "{}" {
		t.Fatalf("%+v, %v", second, err)
	}
	for name, want := range map[string]int64{"first": 1, "second": 2, "": 2} {
		if got, err := s.RunByName(t.Context(), name); err != nil || got.ID != want {
			t.Errorf("run %q: %d, %v; want %d", name, got.ID, err, want)
		}
	}
	clean(t, s)
}

func TestRunSpecNamesWhatCannotRun(t *testing.T) {
	t.Parallel()
	s := newTest(t)
	for want, change := range map[string]func(*RunSpec){
		"the run has no name":                                   func(r *RunSpec) { r.Name = "" },
		"group size 0: want at least 1":                         func(r *RunSpec) { r.GroupSize = 0 },
		`panel "panel": no tasks`:                               func(r *RunSpec) { r.Panel.Tasks = nil },
		`run name "\xff": not UTF-8 text without NUL bytes`:     func(r *RunSpec) { r.Name = "\xff" },
		`panel name "\x00": not UTF-8 text without NUL bytes`:   func(r *RunSpec) { r.Panel.Name = "\x00" },
		`policy "\xff": not UTF-8 text without NUL bytes`:       func(r *RunSpec) { r.Policy = "\xff" },
		`code version "\xff": not UTF-8 text without NUL bytes`: func(r *RunSpec) { r.CodeVersion = "\xff" },
		`task 1 "a\xff": not UTF-8 text without NUL bytes`:      func(r *RunSpec) { r.Panel.Tasks[1].Type = "a\xff" },
		"config is not valid JSON":                              func(r *RunSpec) { r.Config = json.RawMessage("{") },
		"info is not valid JSON":                                func(r *RunSpec) { r.Info = json.RawMessage("") },
	} {
		spec := RunSpec{Name: "x", Panel: testPanel(2), GroupSize: 1}
		change(&spec)
		if _, err := s.CreateRun(t.Context(), spec); err == nil || !strings.HasSuffix(err.Error(), ": "+want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

func TestWhatIsNotThereIsNamed(t *testing.T) {
	t.Parallel()
	s := newTest(t)
	_, err := s.RunByName(t.Context(), "nightly")
	refused(t, err, ErrNotFound, `read run "nightly": not in the ledger`, "list the runs")
	_, err = s.Run(t.Context(), 7)
	refused(t, err, ErrNotFound, "read run 7: not in the ledger", "list the runs")
	_, err = s.Episode(t.Context(), 7)
	refused(t, err, ErrNotFound, "read episode 7: not in the ledger", "list the episodes")
	_, err = s.EpisodeSteps(t.Context(), 7)
	refused(t, err, ErrNotFound, "read steps of episode 7: not in the ledger", "list the episodes")
	if err := s.SetRunState(t.Context(), 7, RunRunning, ""); !errors.Is(err, ErrNotFound) || err.Error() != "set run 7 to running: not in the ledger" {
		t.Errorf("got %v", err)
	}
	if err := s.AddFeedback(t.Context(), Feedback{Attempt: 3, Step: 4, Source: "judge"}); !errors.Is(err, ErrNotFound) || !strings.Contains(err.Error(), "step 4 of attempt 3") {
		t.Errorf("got %v", err)
	}
	testRun(t, s, 1, 1)
	if steps, err := s.EpisodeSteps(t.Context(), 1); err != nil || steps != nil {
		t.Errorf("a pending episode: %v, %v", steps, err)
	}
}

func TestRunStatesAreLogged(t *testing.T) {
	t.Parallel()
	s := newTest(t)
	run := testRun(t, s, 1, 1)
	for i, step := range []struct {
		to  RunState
		err string
	}{
		{RunDone, "set run 1 to done: a run that is created cannot become done"},
		{RunRunning, ""},
		{RunRunning, ""}, // the process before was killed
		{RunInterrupted, ""},
		{RunInterrupted, "set run 1 to interrupted: a run that is interrupted cannot become interrupted"},
		{RunRunning, ""},
		{RunDone, ""},
		{RunRunning, ""},
		{RunCreated, "set run 1 to created: a run that is running cannot become created"},
	} {
		err := s.SetRunState(t.Context(), run.ID, step.to, "why\xff")
		if got := fmt.Sprint(err); (step.err == "" && err != nil) || (step.err != "" && got != step.err) {
			t.Errorf("move %d: got %v, want %s", i, err, step.err)
		}
	}
	if err := s.AddEvent(t.Context(), Event{RunID: run.ID, EpisodeID: 1, Kind: "note"}); err != nil {
		t.Fatal(err)
	}
	events, err := collect(s.Events(t.Context(), run.ID))
	if err != nil {
		t.Fatal(err)
	}
	var kinds []EventKind
	for _, e := range events {
		kinds = append(kinds, e.Kind)
	}
	want := []EventKind{EventCreated, EventStarted, EventResumed, EventInterrupted, EventResumed, EventDone, EventResumed, "note"}
	if d := cmp.Diff(want, kinds); d != "" {
		t.Errorf("kinds (-want +got):\n%s", d)
	}
	if e := events[3]; e.Message != "why\xff" || e.At.IsZero() || e.EpisodeID != 0 || events[7].EpisodeID != 1 {
		t.Errorf("event %+v", e)
	}
}

func TestSummaryCountsByEnvironmentAndType(t *testing.T) {
	t.Parallel()
	s := newTest(t)
	run := testRun(t, s, 4, 2) // types pick, heat, pick, heat
	rec := s.Recorder(run.ID)
	for i, ref := range pending(t, s, run.ID)[:5] {
		id, _, err := rec.Begin(t.Context(), ref)
		if err != nil {
			t.Fatal(err)
		}
		if i == 4 {
			continue // left running
		}
		g := newGame(uint64(i), 0)
		a, b := g.step(), g.step()
		if i < 2 { // two won episodes of type pick, the second with an invalid step
			b.Reward, b.Score, b.Won, b.Done, a.Valid = 10, 1, true, true, i == 0
		}
		for _, st := range []harness.Step{a, b} {
			if err := rec.Step(t.Context(), id, st); err != nil {
				t.Fatal(err)
			}
		}
		if i == 3 {
			err = rec.Fail(t.Context(), id, &harness.Failure{Kind: harness.FailEnv, Op: "x"}, true)
		} else {
			err = rec.Finish(t.Context(), id, outcome([]harness.Step{a, b}))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	got, err := s.Summary(t.Context(), run.ID)
	want := []SummaryRow{
		{"alfworld", "heat", Counts{Episodes: 4, Pending: 2, Done: 1, Failed: 1, Steps: 2, MeanSteps: 2}, map[harness.StopReason]int{harness.StopMaxSteps: 1}},
		{
			"alfworld", "pick",
			Counts{Episodes: 4, Pending: 1, Running: 1, Done: 2, Won: 2, Steps: 4, MeanReward: 10, MeanScore: 1, MeanSteps: 2, Invalid: 0.25},
			map[harness.StopReason]int{harness.StopWon: 2},
		},
	}
	if d := cmp.Diff(want, got); err != nil || d != "" {
		t.Errorf("%v (-want +got):\n%s", err, d)
	}
	if _, err := s.CreateRun(t.Context(), RunSpec{Name: "empty", Panel: testPanel(1), GroupSize: 1}); err != nil {
		t.Fatal(err)
	}
	runs, err := s.Runs(t.Context())
	if err != nil || len(runs) != 2 || runs[0].Name != "run" || runs[0].Done != 3 || runs[0].Pending != 3 || runs[1].Pending != 1 {
		t.Errorf("%+v, %v", runs, err)
	}
	if rate := runs[0].SuccessRate(); rate != 2.0/3 || runs[1].SuccessRate() != 0 {
		t.Errorf("success rate %v", rate)
	}
	one := 1
	for name, tt := range map[string]struct {
		f    Filter
		want []int64
	}{
		"all":    {Filter{}, []int64{1, 2, 3, 4, 5, 6, 7, 8}},
		"status": {Filter{Status: []harness.Status{harness.StatusFailed, harness.StatusRunning}}, []int64{4, 5}},
		"kind":   {Filter{Kind: harness.FailEnv}, []int64{4}},
		"type":   {Filter{Env: "alfworld", Type: "heat"}, []int64{3, 4, 7, 8}},
		"env":    {Filter{Env: "webshop"}, nil},
		"group":  {Filter{Group: &one}, []int64{3, 4}},
	} {
		var ids []int64
		for e, err := range s.Episodes(t.Context(), run.ID, tt.f) {
			if err != nil {
				t.Fatal(err)
			}
			ids = append(ids, e.ID)
		}
		if d := cmp.Diff(tt.want, ids); d != "" {
			t.Errorf("%s (-want +got):\n%s", name, d)
		}
	}
	clean(t, s)
}

func TestFeedbackIsKeptBesideItsStep(t *testing.T) {
	t.Parallel()
	s := newTest(t)
	run := testRun(t, s, 1, 1)
	ref := pending(t, s, run.ID)[0]
	g := newGame(1, 0)
	if err := record(t, s.Recorder(run.ID), ref, []harness.Step{g.step(), g.step()}); err != nil {
		t.Fatal(err)
	}
	long := strings.Repeat("You should have opened the fridge. ", 50)
	for _, batch := range [][]Feedback{
		{{Attempt: 1, Step: 1, Source: "judge", Text: "bad \xff"}, {Attempt: 1, Step: 0, Source: "peer", Text: long}},
		{{Attempt: 1, Step: 1, Source: "judge", Text: "good"}},
	} {
		if err := s.AddFeedback(t.Context(), batch...); err != nil {
			t.Fatal(err)
		}
	}
	got, err := collect(s.Feedback(t.Context(), 1))
	if err != nil || len(got) != 2 || got[0].Text != long || got[1].Text != "good" || got[1].Step != 1 || got[1].At.IsZero() {
		t.Errorf("%+v, %v", got, err)
	}
	if err := s.AddFeedback(t.Context(), Feedback{Attempt: 1}); err == nil || err.Error() != "add feedback: no source named" {
		t.Errorf("got %v", err)
	}
	if err := s.AddFeedback(t.Context(), Feedback{Attempt: 1, Source: "\xff"}); err == nil || !strings.Contains(err.Error(), `feedback source "\xff"`) {
		t.Errorf("got %v", err)
	}
	clean(t, s)
}

// A stream may be read twice, and left early.
func TestStreamsCanBeReadTwice(t *testing.T) {
	t.Parallel()
	s := newTest(t)
	run := testRun(t, s, 1, 1)
	g := newGame(1, 10)
	want := []harness.Step{g.step(), g.step(), g.step()}
	if err := record(t, s.Recorder(run.ID), pending(t, s, run.ID)[0], want); err != nil {
		t.Fatal(err)
	}
	stream := s.Steps(t.Context(), 1)
	for st, err := range stream {
		if err != nil || st.Index != 0 {
			t.Fatalf("step %d, %v", st.Index, err)
		}
		break
	}
	for range 2 {
		got, err := collect(stream)
		if d := cmp.Diff(want, got); err != nil || d != "" {
			t.Errorf("%v (-want +got):\n%s", err, d)
		}
	}
}

func TestDumpIsAFunctionOfWhatHappened(t *testing.T) {
	t.Parallel()
	a, b := newTest(t), newTest(t)
	for i, s := range []*Store{a, b} {
		if err := plan(t.Context(), s, 1+7*i, func(int64, int) {}); err != nil {
			t.Fatal(err)
		}
	}
	x := dump(t, a, "plan")
	if y := dump(t, b, "plan"); x != y {
		t.Errorf("1 worker and 8 differ:\n%s", firstDifference(x, y))
	}
	for _, want := range []string{
		"episode group=0 sample=0 task=\"alfworld/game-0\" status=\"done\"\noutcome stop=\"max_steps\" won=false reward=0 score=0 steps=9 invalid=0\nstep index=0 ",
		"status=\"failed\"\nfailure kind=\"environment\" op=\"step 4\" message=\"broken\"\nstep index=0 ",
		"\n tokens prompt=[]int32{", "\n meta value={Engine:vllm ",
	} {
		if !strings.Contains(x, want) {
			t.Errorf("the dump lacks %q", want)
		}
	}
	if err := a.AddFeedback(t.Context(), Feedback{Attempt: 1, Source: "x"}); err != nil || dump(t, a, "plan") != x {
		t.Errorf("feedback changed the dump: %v", err)
	}
	if err := a.DumpCanonical(t.Context(), 1, broken{}); err == nil || err.Error() != "dump run 1: no room" {
		t.Errorf("got %v", err)
	}
}

type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, errors.New("no room") }
