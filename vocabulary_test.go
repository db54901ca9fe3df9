package harness_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/hindsightrl/harness"
)

func TestPanelHashCoversIdentityAndOrder(t *testing.T) {
	t.Parallel()
	a := harness.Task{Env: "alfworld", ID: "x", Hash: "1"}
	b := harness.Task{Env: "alfworld", ID: "y", Hash: "2"}
	base := harness.Panel{Name: "p", Tasks: []harness.Task{a, b}}
	if got := (harness.Panel{Name: "other", Tasks: base.Tasks}).Hash(); got != base.Hash() {
		t.Error("the name changed the hash")
	}
	changed := b
	changed.Hash = "3"
	for name, p := range map[string]harness.Panel{
		"order":   {Tasks: []harness.Task{b, a}},
		"content": {Tasks: []harness.Task{a, changed}},
		"length":  {Tasks: []harness.Task{a}},
		"fields":  {Tasks: []harness.Task{{Env: "alfworldx", ID: "", Hash: "1"}, b}},
	} {
		if p.Hash() == base.Hash() {
			t.Errorf("%s: equal hash", name)
		}
	}
}

func TestPanelValidateNamesTheTask(t *testing.T) {
	t.Parallel()
	ok := harness.Task{Env: "alfworld", ID: "x"}
	for _, c := range []struct {
		tasks []harness.Task
		want  string
	}{
		{nil, `panel "p": no tasks`},
		{[]harness.Task{ok, {Env: "alfworld"}}, "task 1"},
		{[]harness.Task{ok, {ID: "z"}}, `task "z": no environment named`},
		{[]harness.Task{ok, ok}, "task 1 repeats task 0 (alfworld/x)"},
	} {
		err := harness.Panel{Name: "p", Tasks: c.tasks}.Validate()
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("got %v, want %q", err, c.want)
		}
	}
	seeded := ok
	seeded.Seed = 1
	if err := (harness.Panel{Name: "p", Tasks: []harness.Task{ok, seeded}}).Validate(); err != nil {
		t.Errorf("one task under two seeds is two tasks: %v", err)
	}
}

func TestTokensValidateGivesBothLengths(t *testing.T) {
	t.Parallel()
	tok := &harness.Tokens{IDs: []int32{1, 2}, Logprobs: []float32{-1}}
	if err := tok.Validate(); err == nil || err.Error() != "tokens: logprobs has 1 values for 2 ids" {
		t.Errorf("got %v", err)
	}
	tok.Logprobs = nil
	if err := tok.Validate(); err != nil {
		t.Errorf("an absent column is fine: %v", err)
	}
	if err := (*harness.Tokens)(nil).Validate(); err != nil {
		t.Errorf("no tokens: %v", err)
	}
}

func TestTokenSpansCoverTheResponse(t *testing.T) {
	t.Parallel()
	tok := &harness.Tokens{IDs: []int32{1, 2, 3}, Lengths: []int32{2, 3, 0}}
	got, err := tok.Spans("go on")
	if err != nil || len(got) != 3 || got[1] != (harness.Span{Start: 2, End: 5}) || got[2] != (harness.Span{Start: 5, End: 5}) {
		t.Errorf("got %v, %v", got, err)
	}
	if _, err := tok.Spans("gone"); err == nil || err.Error() != "tokens: 3 of them printed 5 bytes, the response has 4" {
		t.Errorf("got %v", err)
	}
	tok.Lengths = []int32{6, -1, 0}
	if _, err := tok.Spans("go on"); err == nil || err.Error() != "tokens: token 1 printed -1 bytes" {
		t.Errorf("got %v", err)
	}
	for _, unknown := range []*harness.Tokens{nil, {IDs: []int32{1}}} {
		if got, err := unknown.Spans("go on"); got != nil || err != nil {
			t.Errorf("unknown lengths: %v, %v", got, err)
		}
	}
}

func TestFailureKeepsItsKindThroughWrapping(t *testing.T) {
	t.Parallel()
	cause := errors.New("connection refused")
	err := fmt.Errorf("episode 3: %w", harness.Fail(harness.FailServer, "generate", cause))
	if got := harness.KindOf(err); got != harness.FailServer {
		t.Errorf("KindOf = %s", got)
	}
	if again := harness.Fail(harness.FailEnv, "step", err); harness.KindOf(again) != harness.FailServer {
		t.Error("an outer Fail changed the kind")
	}
	if !errors.Is(err, cause) {
		t.Error("cause lost")
	}
	if harness.KindOf(cause) != harness.FailHarness {
		t.Error("an untyped error must be ours")
	}
	if harness.Fail(harness.FailEnv, "x", nil) != nil || harness.FailFinal(harness.FailEnv, "x", nil) != nil {
		t.Error("nil became a failure")
	}
	var f *harness.Failure
	if !errors.As(harness.FailFinal(harness.FailBudget, "tokens", cause), &f) || f.Retryable {
		t.Error("FailFinal is retryable")
	}
}

func TestRandDependsOnEveryArgumentAndNothingElse(t *testing.T) {
	t.Parallel()
	task := harness.Task{Env: "alfworld", ID: "x"}
	first := func(seed int64, task harness.Task, sample, step int, purpose string) uint64 {
		return harness.Rand(seed, task, sample, step, purpose).Uint64()
	}
	base := first(1, task, 2, 3, "policy")
	if base != first(1, task, 2, 3, "policy") {
		t.Fatal("not repeatable")
	}
	other := task
	other.ID = "y"
	for name, got := range map[string]uint64{
		"seed":    first(2, task, 2, 3, "policy"),
		"task":    first(1, other, 2, 3, "policy"),
		"sample":  first(1, task, 3, 3, "policy"),
		"step":    first(1, task, 2, 4, "policy"),
		"purpose": first(1, task, 2, 3, "other"),
	} {
		if got == base {
			t.Errorf("%s does not count", name)
		}
	}
	if s := harness.CallSeed(1, task, 2, 3); s < 0 || s > 1<<31 || s == harness.CallSeed(1, task, 2, 4) {
		t.Errorf("CallSeed = %d", s)
	}
}

func TestAnchorTextFallsBackToTheObservation(t *testing.T) {
	t.Parallel()
	if got := (harness.Observation{Text: "t"}).AnchorText(); got != "t" {
		t.Errorf("got %q", got)
	}
	if got := (harness.Observation{Text: "t", Anchor: "a"}).AnchorText(); got != "a" {
		t.Errorf("got %q", got)
	}
}
