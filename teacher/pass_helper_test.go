package teacher_test

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/hindsightrl/harness"
	"github.com/hindsightrl/harness/agent"
	"github.com/hindsightrl/harness/llm"
	"github.com/hindsightrl/harness/llm/llmtest"
	"github.com/hindsightrl/harness/store"
	"github.com/hindsightrl/harness/teacher"
)

// engine is a teacher with exact numbers that counts what it is asked.
type engine struct {
	model   llmtest.Model
	context int
	noise   float64                         // added to every second score's first token
	short   bool                            // returns one value too few
	fail    func(call int) error            // nil: never
	render  func([]harness.Message) []int32 // nil: llmtest's
	spell   func(ids []int32) string        // nil: llmtest's

	mu      sync.Mutex
	calls   int
	renders int
	prefix  [][]int32
}

func (e *engine) Score(ctx context.Context, req llm.ScoreRequest) (llm.Score, error) {
	if err := ctx.Err(); err != nil {
		return llm.Score{}, err
	}
	e.mu.Lock()
	e.calls++
	call := e.calls
	e.prefix = append(e.prefix, req.Prefix)
	e.mu.Unlock()
	if e.fail != nil {
		if err := e.fail(call); err != nil {
			return llm.Score{}, err
		}
	}
	ids := slices.Clone(req.Prefix)
	var out []float32
	for _, id := range req.Continuation {
		out = append(out, e.model.Logprobs(ids)[id])
		ids = append(ids, id)
	}
	if e.noise > 0 && call%2 == 0 {
		out[0] -= float32(e.noise)
	}
	if e.short {
		out = out[1:]
	}
	return llm.Score{Logprobs: out, Calls: 1}, nil
}

func (e *engine) Render(_ context.Context, ms []harness.Message) ([]int32, error) {
	e.mu.Lock()
	e.renders++
	e.mu.Unlock()
	if e.render != nil {
		return e.render(ms), nil
	}
	return llmtest.Render(ms), nil
}

func (e *engine) Tokenize(_ context.Context, text string, special bool) ([]int32, error) {
	return llmtest.Tokenize(text, special), nil
}

func (e *engine) Detokenize(_ context.Context, ids []int32) (string, error) {
	if e.spell != nil {
		return e.spell(ids), nil
	}
	return llmtest.Decode(ids, true), nil
}

func (e *engine) identity() teacher.Identity {
	return teacher.Identity{Identity: llm.Identity{Engine: "refmodel", Model: "toy", VocabSize: llmtest.VocabSize(), ContextLength: e.context}}
}

// plan is a run to be made up.
type plan struct {
	tasks, group, steps int
	change              func(task, sample int, s *harness.Step)
	leave               int // episodes left open at the end
}

// makeRun writes a run with tokens of the toy model; every second sample is won.
func makeRun(t testing.TB, p plan) (*store.Store, store.Run) {
	t.Helper()
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	var mu sync.Mutex
	db, err := store.Open(t.Context(), filepath.Join(t.TempDir(), "ledger.db"), store.Config{Now: func() time.Time {
		mu.Lock()
		defer mu.Unlock()
		at = at.Add(time.Second)
		return at
	}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	panel := harness.Panel{Name: "panel"}
	for i := range p.tasks {
		panel.Tasks = append(panel.Tasks, harness.Task{Env: "alfworld", ID: fmt.Sprint("game", i)})
	}
	run, err := db.CreateRun(t.Context(), store.RunSpec{Name: "run", Panel: panel, GroupSize: p.group, Policy: "toy", CodeVersion: "v"})
	if err != nil {
		t.Fatal(err)
	}
	refs, err := db.Pending(t.Context(), run.ID)
	if err != nil {
		t.Fatal(err)
	}
	for _, ref := range refs[:len(refs)-p.leave] {
		record(t, db, run, ref, p)
	}
	return db, run
}

func record(t testing.TB, db *store.Store, run store.Run, ref harness.EpisodeRef, p plan) {
	t.Helper()
	rec := db.Recorder(run.ID)
	attempt, _, err := rec.Begin(t.Context(), ref)
	if err != nil {
		t.Fatal(err)
	}
	o := harness.Outcome{Stop: harness.StopMaxSteps, Steps: p.steps}
	next := []harness.Message{{Role: "user", Content: fmt.Sprintf("Task %d. You see a drawer.", ref.Group)}}
	anchor := "You see a drawer."
	for i := range p.steps {
		action := fmt.Sprintf("go to drawer %d", 1+(i+ref.Sample)%2)
		response := "<think>look</think><action>" + action + "</action>"
		s := harness.Step{
			Index: i, Prompt: next, Anchor: anchor, Response: response, Action: action, Valid: true, Spans: agent.ExactSpans(response),
			Feedback: "You arrive at drawer.", Privileged: "It is shut.",
		}
		s.Next = harness.Observation{Text: fmt.Sprintf("drawer %d.", i%2)}
		next = []harness.Message{{Role: "user", Content: fmt.Sprintf("Task %d, step %d. You see %s", ref.Group, i+1, s.Next.Text)}}
		anchor, s.NextPrompt = s.Next.Text, next
		if i == p.steps-1 && ref.Sample%2 == 1 {
			s.Won, s.Done, s.Reward, s.Score = true, true, 10, 1
		}
		s.Tokens = &harness.Tokens{PromptIDs: llmtest.Render(s.Prompt), IDs: append(llmtest.Tokenize(response, false), llmtest.EOS), Versions: nil}
		for range s.Tokens.IDs {
			s.Tokens.Versions = append(s.Tokens.Versions, int32(3+ref.Sample))
		}
		s.Tokens.Logprobs = exact(s.Tokens.PromptIDs, s.Tokens.IDs)
		if p.change != nil {
			p.change(ref.Group, ref.Sample, &s)
		}
		if err := rec.Step(t.Context(), attempt, s); err != nil {
			t.Fatal(err)
		}
		o.Reward += s.Reward
		o.Score, o.Won = s.Score, s.Won
	}
	if o.Won {
		o.Stop = harness.StopWon
	}
	if err := rec.Finish(t.Context(), attempt, o); err != nil {
		t.Fatal(err)
	}
}

func exact(prefix, ids []int32) []float32 {
	all := slices.Clone(prefix)
	var out []float32
	for _, id := range ids {
		out = append(out, (llmtest.Model{}).Logprobs(all)[id])
		all = append(all, id)
	}
	return out
}

func options(run store.Run, e *engine, modes ...teacher.Mode) teacher.Options {
	o := teacher.Options{RunID: run.ID, Teacher: e.identity(), PolicyVersion: -1, Concurrency: 4, Tolerance: -1}
	for _, m := range modes {
		o.Modes = append(o.Modes, teacher.DefaultConfig(m))
	}
	return o
}

func scoresOf(t *testing.T, db *store.Store, pass int64) []harness.StepScore {
	t.Helper()
	var out []harness.StepScore
	for s, err := range db.Scores(t.Context(), pass, store.ScoreFilter{}) {
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, s)
	}
	return out
}
