package agent

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"

	"github.com/hindsightrl/harness"
	"github.com/hindsightrl/harness/internal/errext"
	"github.com/hindsightrl/harness/llm"
)

// maxStack bounds the stack that a failure carries.
const maxStack = 8 << 10

// ask calls the policy, and again where the model server failed in a way that a repetition can mend.
// Every try draws the same random numbers. ctx bounds the calls, hard the record of those that failed.
func (a *attempt) ask(ctx, hard context.Context) (Answer, error) {
	op := fmt.Sprintf("step %d: ask the policy", a.steps)
	retry := a.cfg.Retry[harness.FailServer]
	waits := retry.backOff()
	prefix, err := a.branch.prefix(a.steps)
	if err != nil {
		return Answer{}, err
	}
	for try := 1; ; try++ {
		answer, err := guard(harness.FailHarness, op, func() (Answer, error) {
			t := a.turnNow()
			t.Prefix = prefix
			return a.cfg.Policy.Act(ctx, t)
		})
		if err == nil {
			return answer, a.checkAnswer(op, answer, prefix)
		}
		f := asFailure(err)
		if ctx.Err() != nil || errors.Is(err, llm.ErrContextLength) || f.Kind != harness.FailServer || !f.Retryable || try >= retry.Calls {
			return Answer{}, err
		}
		a.log.Warn("call failed, repeating it", logTurn, a.steps, "try", try, logError, err)
		if notes, ok := a.cfg.Recorder.(CallRecorder); ok {
			if err := notes.CallFailed(hard, a.id, a.steps, try, f); err != nil {
				return Answer{}, recorderError{fmt.Errorf("failed call of step %d: %w", a.steps, err)}
			}
		}
		a.counter.event(Event{Kind: EventCall, Episode: a.ref, Attempt: a.id, Steps: a.steps, Failure: f})
		if err := a.cfg.Sleep(ctx, waits.NextBackOff()); err != nil {
			return Answer{}, err
		}
	}
}

// turnNow is the turn that the policy is asked for, with its random stream at the beginning.
func (a *attempt) turnNow() Turn {
	task, sample := a.ref.Task, a.ref.Sample
	seed := harness.RoundSeed(a.cfg.RunSeed, a.ref.Round)
	t := Turn{
		Episode:     a.ref,
		Step:        a.steps,
		Prompt:      a.prompt,
		Task:        a.task,
		Observation: a.observation,
		Rand:        harness.Rand(seed, task, sample, a.steps, "policy"),
		CallSeed:    harness.CallSeed(seed, task, sample, a.steps),
		concrete:    a.format.Concrete,
		respond:     a.format.Respond,
	}
	if a.converses() {
		t.Earlier = a.last.Tokens
	}
	if adv, ok := a.env.(harness.Advisor); ok {
		t.Advisor = guardedAdvisor{adv}
	}
	return t
}

// checkAnswer refuses what could only be recorded cut or wrong.
func (a *attempt) checkAnswer(op string, answer Answer, prefix *Prefix) error {
	if n := len(answer.Response); n > a.cfg.MaxResponseBytes {
		err := fmt.Errorf("the response has %d bytes, more than the bound of %d", n, a.cfg.MaxResponseBytes)
		return errext.WithHint(harness.FailFinal(harness.FailBudget, op, err), "limit the response tokens, or raise the bound")
	}
	if err := answer.Tokens.Validate(); err != nil {
		return harness.FailFinal(harness.FailHarness, op, err)
	}
	if prefix != nil {
		if k := len(prefix.Tokens.IDs); answer.Tokens == nil || len(answer.Tokens.IDs) < k || !slices.Equal(answer.Tokens.IDs[:k], prefix.Tokens.IDs) {
			return harness.FailFinal(harness.FailAgent, op, errors.New("the policy does not go on from the tokens that it was given"))
		}
	}
	return nil
}

// guardedAdvisor makes a panicking expert the environment's failure, not the policy's.
type guardedAdvisor struct{ harness.Advisor }

func (g guardedAdvisor) Advise(ctx context.Context) (action string, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = panicked(harness.FailEnv, "ask the expert", p)
		}
	}()
	return g.Advisor.Advise(ctx)
}

// guard calls f, types its error as kind unless it has a type, and makes a panic a failure of that
// kind with its stack: no environment and no policy takes the run down with it.
func guard[T any](kind harness.FailureKind, op string, f func() (T, error)) (out T, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = panicked(kind, op, p)
		}
	}()
	out, err = f()
	return out, harness.Fail(kind, op, err)
}

// panicked is the failure for a recovered panic. Our own bugs come back the same way, environments may
// not.
func panicked(kind harness.FailureKind, op string, p any) error {
	stack := debug.Stack()
	err := fmt.Errorf("panic: %v\n%s", p, stack[:min(len(stack), maxStack)])
	return &harness.Failure{Kind: kind, Op: op, Retryable: kind == harness.FailEnv, Err: err}
}
