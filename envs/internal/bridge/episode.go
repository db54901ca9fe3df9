package bridge

import (
	"context"
	"errors"
	"fmt"

	"github.com/hindsightrl/harness"
)

// Episode is an environment's episode in a session of the original, beside a native episode that takes
// the same actions, for its expert's advice. The zero value is one that was not reset. One goroutine
// uses it at a time.
type Episode struct {
	session *Session
	native  harness.Suite
	task    harness.Task
	taken   []string

	guide harness.Env // begun when advice is first asked for
	shown int         // actions that it has taken
}

// Reset starts an episode, in a new session where there is none that can be used.
func (e *Episode) Reset(ctx context.Context, b *Bridge, native harness.Suite, task harness.Task, request map[string]any) (Answer, error) {
	if e.session != nil && !e.session.Usable() {
		_ = e.session.Close() // it has ended already
		e.session = nil
	}
	if e.session == nil {
		s, err := b.Dial(ctx)
		if err != nil {
			return Answer{}, err
		}
		e.session = s
	}
	if err := e.dismiss(); err != nil {
		return Answer{}, err
	}
	e.native, e.task, e.taken = native, task, nil
	return e.session.Reset(ctx, request)
}

// Step takes an action.
func (e *Episode) Step(ctx context.Context, action string) (Answer, error) {
	if e.session == nil {
		return Answer{}, errNotBegun
	}
	a, err := e.session.Step(ctx, action)
	if err == nil {
		e.taken = append(e.taken, action)
	}
	return a, err
}

// Advise returns the native expert's next action.
func (e *Episode) Advise(ctx context.Context) (string, error) {
	if err := ctx.Err(); err != nil {
		return "", err
	}
	if e.session == nil || e.native == nil {
		return "", errNotBegun
	}
	if e.guide == nil {
		env, err := e.native.NewEnv(ctx)
		if err != nil {
			return "", err
		}
		if _, err := env.Reset(ctx, e.task); err != nil {
			return "", errors.Join(err, env.Close())
		}
		e.guide, e.shown = env, 0
	}
	for ; e.shown < len(e.taken); e.shown++ {
		if _, err := e.guide.Step(ctx, e.taken[e.shown]); err != nil {
			return "", err
		}
	}
	expert, ok := e.guide.(harness.Advisor)
	if !ok {
		return "", fmt.Errorf("the native %s has no expert", e.native.Name())
	}
	return expert.Advise(ctx)
}

func (e *Episode) dismiss() error {
	if e.guide == nil {
		return nil
	}
	guide := e.guide
	e.guide = nil
	return guide.Close()
}

// Close ends the session. It may be reset again.
func (e *Episode) Close() error {
	err := e.dismiss()
	if e.session != nil {
		_ = e.session.Close() // what is left of it at the server ends with the connection
	}
	*e = Episode{}
	return err
}
