package agent

import (
	"context"
	"errors"
	"fmt"

	"github.com/hindsightrl/harness"
)

// ArtifactRecorder is what a Recorder may be besides: it keeps what attempts leave. Environments that
// leave something need it.
type ArtifactRecorder interface {
	// Artifact keeps an artifact of an open attempt, in the place of an earlier one of that name. It
	// returns once durable.
	Artifact(ctx context.Context, attempt int64, a harness.Artifact) error
}

// errNoArtifacts is returned where an environment leaves something and nobody can keep it.
var errNoArtifacts = errors.New("the recorder keeps no artifacts")

// put hands a step over to the recorder. Of an environment that has the last word (harness.Finisher) the
// latest step is held until it is known whether it was the last one, for what the end brings belongs to
// it; a run that is stopped takes that step again when it is resumed.
func (a *attempt) put(ctx context.Context, s harness.Step) error {
	if _, ok := a.env.(harness.Finisher); !ok {
		return a.write(ctx, s)
	}
	if err := a.flush(ctx); err != nil {
		return err
	}
	a.held = &s
	return nil
}

// flush hands the held step over.
func (a *attempt) flush(ctx context.Context) error {
	if a.held == nil {
		return nil
	}
	s := *a.held
	a.held = nil
	return a.write(ctx, s)
}

func (a *attempt) write(ctx context.Context, s harness.Step) error {
	if err := a.cfg.Recorder.Step(ctx, a.id, s); err != nil {
		return recorderError{fmt.Errorf("step %d: %w", s.Index, err)}
	}
	return nil
}

// end lets the environment finish the episode and records what that brings.
func (a *attempt) end(ctx context.Context) error {
	f, ok := a.env.(harness.Finisher)
	if !ok {
		return nil
	}
	const op = "finish the episode"
	ending, err := guard(harness.FailEnv, op, func() (harness.Ending, error) { return f.Finish(ctx) })
	if err != nil {
		return err
	}
	if err := checkTransition(harness.Transition{Reward: ending.Reward, Score: ending.Score}); err != nil {
		return harness.Fail(harness.FailEnv, op, err)
	}
	if err := a.join(ending); err != nil {
		return harness.Fail(harness.FailEnv, op, err)
	}
	if err := a.flush(ctx); err != nil {
		return err
	}
	return a.keep(ctx, ending.Artifacts)
}

// join adds the ending to the last step.
func (a *attempt) join(e harness.Ending) error {
	s := a.held
	if s == nil {
		if e.Reward == 0 && e.Score == a.score && e.Won == a.won {
			return nil // no step, or nothing that one would have to carry
		}
		// Only a resumed attempt gets here: its last step is in the ledger as it was before the end.
		return errors.New("the episode ended without a step that could carry its reward")
	}
	tr := e.Join(harness.Transition{Reward: s.Reward, Feedback: s.Feedback, Privileged: s.Privileged})
	s.Reward, s.Score, s.Won, s.Feedback, s.Privileged = tr.Reward, tr.Score, tr.Won, tr.Feedback, tr.Privileged
	a.reward += e.Reward
	a.score, a.won = e.Score, e.Won
	return nil
}

func (a *attempt) keep(ctx context.Context, artifacts []harness.Artifact) error {
	if len(artifacts) == 0 {
		return nil
	}
	r, ok := a.cfg.Recorder.(ArtifactRecorder)
	if !ok {
		return recorderError{fmt.Errorf("artifact %q: %w", artifacts[0].Name, errNoArtifacts)}
	}
	for _, x := range artifacts {
		if err := r.Artifact(ctx, a.id, x); err != nil {
			return recorderError{fmt.Errorf("artifact %q: %w", x.Name, err)}
		}
	}
	return nil
}
