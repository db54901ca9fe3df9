package agent

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"slices"
	"time"

	"github.com/hindsightrl/harness"
	"github.com/hindsightrl/harness/internal/errext"
	"github.com/hindsightrl/harness/llm"
)

// errTimeUp is the cause with which a step in flight is given up when the time budget is over.
var errTimeUp = errors.New("the episode's time is over")

// attempt is one try at an episode: one environment, one history. One goroutine owns it.
type attempt struct {
	*episode
	id     int64
	format Format
	env    harness.Env

	task        string // as the prompts name it
	observation harness.Observation
	prompt      []harness.Message
	history     []Past
	last        harness.Step  // the step before; zero at the beginning
	held        *harness.Step // not recorded yet: see put

	// What has happened so far.
	steps, invalid, tokens int
	reward, score          float64
	won, done              bool

	spent time.Duration // time of the steps before a resumption
	began time.Time
}

// play runs the attempt from its recorded steps to its end and says why it ended. An error is a
// recorderError, a *harness.Failure, or whatever was on the way when the run was stopped.
func (a *attempt) play(ctx context.Context, recorded []harness.Step) (stop harness.StopReason, err error) {
	suite, err := a.cfg.suite(a.ref.Task)
	if err != nil {
		return "", harness.FailFinal(harness.FailAgent, "open the environment", err)
	}
	if a.env, err = guard(harness.FailEnv, "open the environment", func() (harness.Env, error) { return suite.NewEnv(ctx) }); err != nil {
		return "", err
	}
	defer func() {
		if _, err := guard(harness.FailEnv, "close the environment", func() (struct{}, error) { return struct{}{}, a.env.Close() }); err != nil {
			a.log.Warn("close the environment", slog.Int64(logAttempt, a.id), slog.Any(logError, err))
		}
	}()
	if err := a.start(ctx, recorded); err != nil {
		return "", err
	}
	a.began = a.cfg.now()
	if stop, err = a.stepOn(ctx); err == nil {
		err = a.end(ctx)
	}
	if err != nil && ctx.Err() == nil { // a failed attempt keeps its steps
		if unrecorded := a.flush(ctx); unrecorded != nil {
			return "", unrecorded
		}
	}
	return stop, err
}

// stepOn takes steps until the episode is over.
func (a *attempt) stepOn(ctx context.Context) (stop harness.StopReason, err error) {
	for {
		if stop := a.over(); stop != "" {
			return stop, nil
		}
		if stop, err := a.step(ctx); stop != "" || err != nil {
			return stop, err
		}
	}
}

// start resets the environment and brings it to where the recorded steps ended.
func (a *attempt) start(ctx context.Context, recorded []harness.Step) error {
	if state := a.branch.state(len(recorded)); state != nil {
		if err := a.restore(ctx, recorded, state); err != nil {
			return err
		}
		return a.goOn(recorded)
	}
	r := replayer{env: a.env, format: a.format, visit: func(before harness.Observation, s harness.Step) {
		a.account(before, s)
		a.spent += s.PolicyTime + s.EnvTime
	}}
	first, diff, err := r.run(ctx, a.ref.Task, recorded)
	switch {
	case err != nil:
		return err
	case !diff.Equal():
		return harness.Fail(harness.FailEnv, "go on from the recorded steps", fmt.Errorf("the environment answers otherwise than before: %s", diff))
	}
	if len(recorded) == 0 {
		a.observation, a.task = first, a.format.Task(first)
	}
	return a.goOn(recorded)
}

// goOn renders the prompt that follows recorded steps, and makes sure that it is the recorded one.
func (a *attempt) goOn(recorded []harness.Step) error {
	if err := a.render(); err != nil {
		return err
	}
	if n := len(recorded); n > 0 && !slices.Equal(a.prompt, recorded[n-1].NextPrompt) {
		err := errors.New("the prompt that follows differs from the recorded one: templates, history or format are not those that the episode began with")
		return errext.WithHint(harness.FailFinal(harness.FailAgent, "go on from the recorded steps", err), "resume with the run's own configuration")
	}
	return nil
}

// account takes a step, recorded or new, into the attempt's state.
func (a *attempt) account(before harness.Observation, s harness.Step) {
	if s.Index == 0 {
		a.task = a.format.Task(before)
	}
	a.branch.note(a.env, s, a.log)
	a.history = append(a.history, Past{a.format.Observe(a.task, before), s.Action})
	a.observation, a.last = s.Next, s
	a.steps++
	if !s.Valid {
		a.invalid++
	}
	if s.Tokens != nil {
		a.tokens += len(s.Tokens.IDs)
	}
	a.reward += s.Reward
	a.score, a.won, a.done = s.Score, s.Won, s.Done
}

// over says whether the state after the last step ends the episode.
func (a *attempt) over() harness.StopReason {
	limit := a.cfg.MaxSteps
	if limit == 0 {
		limit = a.format.MaxSteps
	}
	budget := a.cfg.Budget
	switch {
	case a.won:
		return harness.StopWon
	case a.done:
		return harness.StopDone
	case a.steps >= limit:
		return harness.StopMaxSteps
	case budget.Tokens > 0 && a.tokens >= budget.Tokens, budget.Time > 0 && a.elapsed() >= budget.Time:
		return harness.StopBudget
	}
	return ""
}

// elapsed is the time that the episode took: that of the recorded steps, and since then.
func (a *attempt) elapsed() time.Duration { return a.spent + a.cfg.now().Sub(a.began) }

// outcome sums the attempt up.
func (a *attempt) outcome(stop harness.StopReason) harness.Outcome {
	return harness.Outcome{Stop: stop, Won: a.won, Reward: a.reward, Score: a.score, Steps: a.steps, Invalid: a.invalid}
}

// render makes the prompt for the state after the last step.
func (a *attempt) render() error {
	scene := Scene{Task: a.task, History: a.history, Window: a.cfg.History, Observation: a.observation}
	var prompt []harness.Message
	var err error
	if a.converses() && a.steps > 0 {
		prompt, err = a.format.Continue(a.cfg.Templates, a.last.Prompt, a.last.Response, scene)
	} else {
		prompt, err = a.format.Prompt(a.cfg.Templates, scene)
	}
	a.prompt = prompt
	return harness.FailFinal(harness.FailAgent, fmt.Sprintf("render the prompt of step %d", a.steps), err)
}

// converses reports whether the episode is one growing chat.
func (a *attempt) converses() bool { return a.cfg.Conversation || a.format.Conversation }

// step takes one step and records it. stop says that the episode ended without it.
func (a *attempt) step(hard context.Context) (stop harness.StopReason, err error) {
	ctx := hard
	if limit := a.cfg.Budget.Time; limit > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, limit-a.elapsed(), errTimeUp)
		defer cancel()
	}
	stop, err = a.turn(ctx, hard)
	if err != nil && hard.Err() == nil && errors.Is(context.Cause(ctx), errTimeUp) && !errors.As(err, new(recorderError)) {
		return harness.StopBudget, nil
	}
	return stop, err
}

// turn asks the policy, acts, and records. ctx bounds the policy and the environment, hard the record.
func (a *attempt) turn(ctx, hard context.Context) (stop harness.StopReason, err error) {
	t0 := a.cfg.now()
	answer, err := a.ask(ctx, hard)
	switch {
	case errors.Is(err, llm.ErrContextLength) && a.steps == 0:
		return "", neverFits(err)
	case errors.Is(err, llm.ErrContextLength):
		return harness.StopContext, nil
	case err != nil:
		return "", err
	case answer.Finished:
		return harness.StopFinished, nil
	}
	t1 := a.cfg.now()
	before := a.observation
	s := harness.Step{
		Index:      a.steps,
		Prompt:     a.prompt,
		Response:   answer.Response,
		Spans:      a.format.Spans(answer.Response),
		Anchor:     a.format.anchor(a.task, before),
		Admissible: before.Admissible,
		Tokens:     answer.Tokens,
		PolicyTime: t1.Sub(t0),
	}
	s.Action, s.Valid = a.format.Project(answer.Response)
	tr, err := guard(harness.FailEnv, fmt.Sprintf("step %d", a.steps), func() (harness.Transition, error) {
		return a.env.Step(ctx, s.Action)
	})
	if err != nil {
		return "", err
	}
	if err := checkTransition(tr); err != nil {
		return "", harness.Fail(harness.FailEnv, fmt.Sprintf("step %d", a.steps), err)
	}
	s.EnvTime = a.cfg.now().Sub(t1)
	s.Feedback, s.Privileged, s.Next = tr.Feedback, tr.Privileged, tr.Observation
	s.Reward, s.Score, s.Won, s.Done = tr.Reward, tr.Score, tr.Won, tr.Done
	return "", a.record(hard, before, s, answer)
}

// neverFits types a first prompt that is too long. Nothing was played, so there is nothing that a
// reward of 0 could be for: the run's own configuration cannot work with this model.
func neverFits(err error) error {
	if f := (*harness.Failure)(nil); errors.As(err, &f) {
		err = f.Err // not the server's failure
	}
	err = &harness.Failure{Kind: harness.FailAgent, Op: "step 0: ask the policy", Err: err}
	return errext.WithHint(err, "shorten the prompts (--templates compact, --history 0) or the responses (--max-tokens), or serve the model with a longer context")
}

// record takes the step into the state, renders the prompt that follows, and hands it over.
func (a *attempt) record(ctx context.Context, before harness.Observation, s harness.Step, answer Answer) error {
	a.account(before, s)
	tokens := answer.Usage.CompletionTokens
	if answer.Tokens != nil {
		tokens = len(answer.Tokens.IDs) - a.branch.given(s.Index)
	} else {
		a.tokens += max(0, tokens)
	}
	if err := a.render(); err != nil {
		return err
	}
	s.NextPrompt = a.prompt
	if err := a.put(ctx, s); err != nil {
		return err
	}
	a.log.Debug("step", slog.Int(logTurn, s.Index), slog.String("action", s.Action), slog.Bool("valid", s.Valid), slog.Float64("reward", s.Reward))
	a.counter.step(Event{Kind: EventStep, Episode: a.ref, Attempt: a.id, Steps: a.steps}, max(0, tokens))
	return nil
}

// checkTransition refuses numbers that cannot be a reward or a score: they would poison every mean.
func checkTransition(tr harness.Transition) error {
	if math.IsNaN(tr.Reward) || math.IsInf(tr.Reward, 0) {
		return fmt.Errorf("the environment gave a reward of %v", tr.Reward)
	}
	if !(tr.Score >= 0 && tr.Score <= 1) {
		return fmt.Errorf("the environment gave a score of %v, outside [0, 1]", tr.Score)
	}
	return nil
}
