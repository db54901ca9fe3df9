package store

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hindsightrl/harness"
	"github.com/hindsightrl/harness/internal/errext"
)

func TestRecordedStepsComeBackExactly(t *testing.T) {
	t.Parallel()
	s := newTest(t)
	run := testRun(t, s, 2, 2)
	refs := pending(t, s, run.ID)
	if len(refs) != 4 {
		t.Fatalf("got %d pending episodes, want 4", len(refs))
	}
	for i, ref := range refs {
		g := newGame(uint64(i), 50*(i%2))
		var want []harness.Step
		for range 5 {
			want = append(want, g.step())
		}
		if err := record(t, s.Recorder(run.ID), ref, want); err != nil {
			t.Fatal(err)
		}
		got, err := s.EpisodeSteps(t.Context(), ref.ID)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Fatalf("episode %d (-want +got):\n%s", i, d)
		}
	}
	clean(t, s)
}

// oddities are the strings and lists that a careless format would change.
type oddities struct{ r *rand.Rand }

func (o oddities) text() string {
	switch o.r.IntN(6) {
	case 0:
		return ""
	case 1:
		return "\x00\xff" + string(randomBytes(o.r, 40))
	case 2:
		return strings.Repeat("all work and no play ", o.r.IntN(200))
	}
	return []string{"look", "You see nothing.", "naïve", "'; DROP TABLE steps; --", "NULL"}[o.r.IntN(5)]
}

func (o oddities) list() []string {
	switch n := o.r.IntN(5); n {
	case 0:
		return nil
	case 1:
		return []string{}
	default:
		return slices.Repeat([]string{o.text(), o.text()}, n)
	}
}

func (o oddities) messages() []harness.Message {
	switch o.r.IntN(4) {
	case 0:
		return nil
	case 1:
		return []harness.Message{}
	}
	return []harness.Message{{Role: "system", Content: o.text()}, {Role: o.text(), Content: o.text()}}
}

func (o oddities) tokens() *harness.Tokens {
	if o.r.IntN(3) == 0 {
		return nil
	}
	n := o.r.IntN(40)
	ints := func(n int) []int32 {
		if o.r.IntN(4) == 0 {
			return nil
		}
		v := make([]int32, n)
		for i := range v {
			v[i] = int32(o.r.Uint32() >> (8 * o.r.IntN(4)))
		}
		return v
	}
	floats := func() []float32 {
		if o.r.IntN(3) == 0 {
			return nil
		}
		v := make([]float32, n)
		for i := range v {
			v[i] = []float32{0, float32(math.Inf(-1)), -1.5, float32(o.r.NormFloat64())}[o.r.IntN(4)]
		}
		return v
	}
	t := &harness.Tokens{IDs: ints(n), PromptIDs: ints(o.r.IntN(90)), TopK: o.r.IntN(3)}
	if t.IDs != nil {
		t.Logprobs, t.Entropies, t.EntropyLow, t.EntropyHigh, t.Versions = floats(), floats(), floats(), floats(), ints(n)
	}
	if o.r.IntN(2) == 0 {
		t.Meta = &harness.TokenMeta{Engine: o.text(), Model: "m", Temperature: o.r.Float64(), TopP: math.Inf(1), TopK: -1, Finish: o.text()}
	}
	return t
}

// after makes a step that shares parts with the step before, as any step may.
func (o oddities) after(prev harness.Step, index int) harness.Step {
	s := harness.Step{
		Index: index, Prompt: o.messages(), Response: o.text(), Action: o.text(), Valid: o.r.IntN(2) == 0, Anchor: o.text(), Admissible: o.list(),
		Feedback: o.text(), Privileged: o.text(), NextPrompt: o.messages(), Reward: o.r.NormFloat64(), Score: o.r.Float64(), Tokens: o.tokens(),
		Next: harness.Observation{Text: o.text(), Task: o.text(), Anchor: o.text(), Admissible: o.list()}, PolicyTime: -1, EnvTime: math.MaxInt64,
	}
	keep := func() bool { return o.r.IntN(2) == 0 }
	if keep() {
		s.Prompt = prev.NextPrompt
	}
	if keep() {
		s.Admissible, s.Anchor = prev.Next.Admissible, prev.Next.AnchorText()
	}
	if keep() {
		s.Next.Task, s.Next.Admissible = prev.Next.Task, s.Admissible
	}
	if keep() {
		s.NextPrompt = s.Prompt
	}
	if keep() {
		s.Feedback = s.Next.Text
	}
	if keep() && s.Tokens != nil && prev.Tokens != nil {
		s.Tokens.PromptIDs = append(slices.Clone(prev.Tokens.PromptIDs), 1, 2, 3)
	}
	switch o.r.IntN(3) {
	case 0:
		s.Spans = []harness.Span{}
	case 1:
		s.Spans = []harness.Span{{Start: 0, End: len(s.Response)}, {Start: len(s.Response), End: len(s.Response)}}
	}
	return s
}

func TestOddStepsComeBackExactly(t *testing.T) {
	t.Parallel()
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	o := oddities{rand.New(rand.NewPCG(seed, 3))}
	path := filepath.Join(t.TempDir(), "odd ?#%41.db")
	s, err := Open(t.Context(), path, Config{Now: testClock()})
	if err != nil {
		t.Fatal(err)
	}
	run := testRun(t, s, 40, 1)
	want := make(map[int64][]harness.Step)
	for _, ref := range pending(t, s, run.ID) {
		var st harness.Step
		for i := range 12 {
			st = o.after(st, i)
			want[ref.ID] = append(want[ref.ID], st)
		}
		if err := record(t, s.Recorder(run.ID), ref, want[ref.ID]); err != nil {
			t.Fatal(err)
		}
	}
	clean(t, s)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = openTest(t, path)
	for id, w := range want {
		got, err := s.EpisodeSteps(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(w, got); d != "" {
			t.Fatalf("episode %d (-want +got):\n%s", id, d)
		}
	}
}

func TestBeginReopensWhatWasLeftRunning(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "ledger.db")
	s, err := Open(t.Context(), path, Config{Now: testClock()})
	if err != nil {
		t.Fatal(err)
	}
	run := testRun(t, s, 1, 1)
	ref := pending(t, s, run.ID)[0]
	g := newGame(5, 30)
	id, _, err := s.Recorder(run.ID).Begin(t.Context(), ref)
	if err != nil {
		t.Fatal(err)
	}
	var want []harness.Step
	more := func(s *Store, n int) {
		for range n {
			st := g.step()
			want = append(want, st)
			if err := s.Recorder(run.ID).Step(t.Context(), id, st); err != nil {
				t.Fatal(err)
			}
		}
	}
	more(s, 3)
	if err := s.Close(); err != nil { // commits the step in flight
		t.Fatal(err)
	}

	s = openTest(t, path)
	for range 2 { // the second time within the same process, as after an interruption
		again, recorded, err := s.Recorder(run.ID).Begin(t.Context(), ref)
		if err != nil || again != id {
			t.Fatalf("attempt %d, want %d: %v", again, id, err)
		}
		if d := cmp.Diff(want, recorded); d != "" {
			t.Fatalf("recorded steps (-want +got):\n%s", d)
		}
		more(s, 2)
	}
	if err := s.Recorder(run.ID).Finish(t.Context(), id, outcome(want)); err != nil {
		t.Fatal(err)
	}
	got, err := s.EpisodeSteps(t.Context(), ref.ID)
	if d := cmp.Diff(want, got); err != nil || d != "" {
		t.Fatalf("%v (-want +got):\n%s", err, d)
	}
	clean(t, s)
}

func TestFailedAttemptIsFollowedByTheNext(t *testing.T) {
	t.Parallel()
	s := newTest(t)
	run := testRun(t, s, 1, 1)
	ref := pending(t, s, run.ID)[0]
	rec := s.Recorder(run.ID)
	var ids []int64
	for i, final := range []bool{false, true} {
		id, recorded, err := rec.Begin(t.Context(), ref)
		if err != nil || len(recorded) != 0 {
			t.Fatalf("attempt %d: %d steps, %v", i, len(recorded), err)
		}
		ids = append(ids, id)
		g := newGame(1, 0)
		if err := rec.Step(t.Context(), id, g.step()); err != nil {
			t.Fatal(err)
		}
		cause := &harness.Failure{Kind: harness.FailServer, Op: "step 1", Err: errors.New("gone \xff")}
		if err := rec.Fail(t.Context(), id, cause, final); err != nil {
			t.Fatal(err)
		}
		if n := len(pending(t, s, run.ID)); n != 1-i {
			t.Fatalf("%d episodes are open after attempt %d", n, i+1)
		}
	}
	e, err := s.Episode(t.Context(), ref.ID)
	if err != nil {
		t.Fatal(err)
	}
	want := Episode{EpisodeRef: ref, RunID: run.ID, Status: harness.StatusFailed, Attempt: ids[1], Failure: &FailureInfo{harness.FailServer, "step 1", "gone \xff"}}
	if d := cmp.Diff(want, e); d != "" {
		t.Errorf("episode (-want +got):\n%s", d)
	}
	attempts, err := s.Attempts(t.Context(), ref.ID)
	if err != nil || len(attempts) != 2 || attempts[1].Number != 2 || attempts[0].State != "failed" || attempts[0].Steps != 1 || attempts[0].Finished.IsZero() {
		t.Errorf("attempts %+v, %v", attempts, err)
	}
	counts, err := s.Failures(t.Context(), run.ID)
	if d := cmp.Diff([]FailureCount{{harness.FailServer, 1, 2}}, counts); err != nil || d != "" {
		t.Errorf("failures: %v\n%s", err, d)
	}
	failed, err := collect(s.FailedAttempts(t.Context(), run.ID))
	if err != nil || len(failed) != 2 || failed[1].ID != ids[1] {
		t.Errorf("failed attempts %+v, %v", failed, err)
	}
	clean(t, s)

	for kind, want := range map[harness.FailureKind]int{harness.FailEnv: 0, harness.FailServer: 1} {
		if n, err := s.RequeueFailed(t.Context(), run.ID, kind); err != nil || n != want {
			t.Errorf("requeue %s: %d, %v; want %d", kind, n, err, want)
		}
	}
	clean(t, s)
	g := newGame(1, 0)
	if err := record(t, rec, ref, []harness.Step{g.step()}); err != nil {
		t.Fatal(err)
	}
	if e, err := s.Episode(t.Context(), ref.ID); err != nil || e.Status != harness.StatusDone || e.Failure != nil || e.Outcome.Steps != 1 {
		t.Errorf("episode %+v, %v", e, err)
	}
	clean(t, s)
}

// Each refusal leaves the ledger sound and the attempt usable.
func TestRecorderRefuses(t *testing.T) {
	t.Parallel()
	s := newTest(t)
	run := testRun(t, s, 4, 1)
	other, err := s.CreateRun(t.Context(), RunSpec{Name: "other", Panel: testPanel(1), GroupSize: 1})
	if err != nil {
		t.Fatal(err)
	}
	refs := pending(t, s, run.ID)
	ctx, rec := t.Context(), s.Recorder(run.ID)
	if err := record(t, rec, refs[1], nil); err != nil {
		t.Fatal(err)
	}
	id, _, err := rec.Begin(ctx, refs[0])
	if err != nil {
		t.Fatal(err)
	}
	g := newGame(1, 10)
	first, second := g.step(), g.step()
	first.Valid, first.Reward, first.Score = false, 0.5, 0.25
	if err := rec.Step(ctx, id, first); err != nil {
		t.Fatal(err)
	}
	step := func(change func(*harness.Step)) func() error {
		return func() error {
			st := second
			change(&st)
			return rec.Step(ctx, id, st)
		}
	}
	finish := func(change func(*harness.Outcome)) func() error {
		return func() error {
			o := outcome([]harness.Step{first})
			change(&o)
			return rec.Finish(ctx, id, o)
		}
	}
	begin := func(rec *Recorder, ref harness.EpisodeRef) func() error {
		return func() error { _, _, err := rec.Begin(ctx, ref); return err }
	}
	tests := []struct {
		name string
		do   func() error
		want string
	}{
		{"index", step(func(s *harness.Step) { s.Index = 5 }), "record step 5 of attempt 2: step index is 5, the attempt's next is 1"},
		{"reward", step(func(s *harness.Step) { s.Reward = math.NaN() }), "reward NaN, score 0: not a number"},
		{"score", step(func(s *harness.Step) { s.Score = math.NaN() }), "reward 0, score NaN: not a number"},
		{"span", step(func(s *harness.Step) { s.Spans, s.Response = []harness.Span{{Start: 2, End: 5}}, "abc" }), "span [2, 5) is outside the response of 3 bytes"},
		{"tokens", step(func(s *harness.Step) { s.Tokens = &harness.Tokens{IDs: []int32{1}, Logprobs: []float32{1, 2}} }), "tokens: logprobs has 2 values for 1 ids"},
		{"sampler", step(func(s *harness.Step) {
			s.Tokens = &harness.Tokens{Meta: &harness.TokenMeta{Temperature: math.NaN()}}
		}), "tokens: sampler setting NaN: not a number"},
		{"size", step(func(s *harness.Step) { s.Privileged = strings.Repeat("x", maxBlob) }), fmt.Sprintf("bytes, the ledger takes %d", maxBlob)},
		{"attempt", func() error { return rec.Step(ctx, 99, second) }, "record step 1 of attempt 99: attempt 99 is not open: not in the ledger"},
		{"stop", finish(func(o *harness.Outcome) { o.Stop = "" }), "finish attempt 2: the outcome has no stop reason"},
		{"stop text", finish(func(o *harness.Outcome) { o.Stop = "\xff" }), `stop reason "\xff": not UTF-8 text without NUL bytes`},
		{"won", finish(func(o *harness.Outcome) { o.Stop = harness.StopWon }), "the episode stopped because it was won, and the outcome says that it was not"},
		{"steps", finish(func(o *harness.Outcome) { o.Steps = 7 }), "the outcome counts 7 steps, the ledger holds 1"},
		{"invalid", finish(func(o *harness.Outcome) { o.Invalid = 0 }), "the outcome counts 0 invalid steps, the ledger holds 1"},
		{"sum", finish(func(o *harness.Outcome) { o.Reward = 1 }), "the outcome's reward is 1, the steps' rewards add up to 0.5"},
		{"last score", finish(func(o *harness.Outcome) { o.Score = 1 }), "the outcome's score is 1, the last step's is 0.25"},
		{"finish unknown", func() error { return rec.Finish(ctx, 99, harness.Outcome{}) }, "finish attempt 99: attempt 99 is not open"},
		{"fail unknown", func() error { return rec.Fail(ctx, 99, nil, true) }, "fail attempt 99: attempt 99 is not open"},
		{"no failure", func() error { return rec.Fail(ctx, id, nil, true) }, "fail attempt 2: no failure given"},
		{"no kind", func() error { return rec.Fail(ctx, id, &harness.Failure{}, true) }, "the failure has no kind that can be stored"},
		{"episode", begin(rec, harness.EpisodeRef{ID: 99}), "episode 99: not in the ledger"},
		{"closed", begin(rec, refs[1]), "the episode is closed: it is done"},
		{"run", begin(s.Recorder(other.ID), refs[2]), "episode 3 belongs to run 1, the recorder to run 2"},
	}
	for _, tt := range tests {
		err := tt.do()
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: got %v, want %s", tt.name, err, tt.want)
			continue
		}
		want := harness.FailHarness
		if tt.name == "reward" || tt.name == "score" {
			want = harness.FailEnv
		}
		if f := (*harness.Failure)(nil); !errors.As(err, &f) || f.Kind != want || f.Retryable {
			t.Errorf("%s: got %#v, want a final failure of kind %s", tt.name, err, want)
		}
	}
	if err := begin(rec, refs[1])(); errext.Hint(err) != "requeue failed episodes to run them again" {
		t.Errorf("hint %q", errext.Hint(err))
	}
	if err := rec.Step(ctx, id, second); err != nil {
		t.Fatal(err)
	}
	if err := rec.Finish(ctx, id, outcome([]harness.Step{first, second})); err != nil {
		t.Fatal(err)
	}
	clean(t, s)
}

func TestLaterBeginTakesTheAttemptOver(t *testing.T) {
	t.Parallel()
	s := newTest(t)
	run := testRun(t, s, 1, 1)
	ref := pending(t, s, run.ID)[0]
	rec := s.Recorder(run.ID)
	id, _, err := rec.Begin(t.Context(), ref)
	if err != nil {
		t.Fatal(err)
	}
	old, err := s.attempt(id)
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := rec.Begin(t.Context(), ref); err != nil {
		t.Fatal(err)
	}
	st := newGame(1, 0).step()
	ran := func(*conn) error { t.Error("the old driver's call ran"); return nil }
	if err := old.do(t.Context(), s.w, ran); !errors.Is(err, ErrSuperseded) {
		t.Errorf("a call of the old driver: got %v, want %v", err, ErrSuperseded)
	}
	if err := rec.Step(t.Context(), id, st); err != nil {
		t.Error(err)
	}
}

func TestEndedContextIsNoFailure(t *testing.T) {
	t.Parallel()
	s := newTest(t)
	run := testRun(t, s, 1, 1)
	ref := pending(t, s, run.ID)[0]
	rec := s.Recorder(run.ID)
	id, _, err := rec.Begin(t.Context(), ref)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, _, beginErr := rec.Begin(ctx, ref)
	for name, err := range map[string]error{
		"begin":  beginErr,
		"finish": rec.Finish(ctx, id, harness.Outcome{Stop: harness.StopMaxSteps}),
		"step":   rec.Step(ctx, id, newGame(1, 0).step()),
	} {
		if f := (*harness.Failure)(nil); !errors.Is(err, context.Canceled) || errors.As(err, &f) {
			t.Errorf("%s: got %v, want the context's error and no failure", name, err)
		}
	}
	if err := rec.Step(t.Context(), id, newGame(1, 0).step()); err != nil {
		t.Errorf("a step after a refused one: %v", err)
	}
	if _, recorded, err := rec.Begin(t.Context(), ref); err != nil || len(recorded) != 1 {
		t.Errorf("%d steps, %v; want 1", len(recorded), err)
	}
}
