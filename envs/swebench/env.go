package swebench

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/hindsightrl/harness"
	"github.com/hindsightrl/harness/internal/errext"
)

// Env is one episode: an instance's repository in a container of its own. It may be Reset after Close.
type Env struct {
	suite *Suite
	in    *Instance
	box   box      // nil between episodes
	start baseline // what the patch is a difference to
	over  *harness.Ending
	undo  map[string][]string // of the file editor: earlier contents by path
	taken []string            // actions so far
	plan  *plan               // of the expert; nil until it is asked
}

var (
	_ harness.Finisher = (*Env)(nil)
	_ harness.Advisor  = (*Env)(nil)
)

var errNoEpisode = errors.New("no episode is under way: call Reset first")

// Reset starts a fresh container of the instance's image and removes what the repository knows of its
// future, unless the suite has prepared one. The first observation says where things are; the task is the issue.
func (e *Env) Reset(ctx context.Context, task harness.Task) (harness.Observation, error) {
	if err := ctx.Err(); err != nil {
		return harness.Observation{}, err
	}
	in, err := e.suite.playable(task)
	if err != nil {
		return harness.Observation{}, harness.FailFinal(harness.FailEnv, "reset", err)
	}
	if err := e.Close(); err != nil {
		return harness.Observation{}, err
	}
	b, start, err := e.suite.ready.take(ctx, in)
	if err == nil && b == nil {
		b, start, err = e.suite.open(ctx, in)
	}
	if err != nil {
		return harness.Observation{}, err
	}
	e.in, e.box, e.start, e.over, e.plan, e.taken, e.undo = in, b, start, nil, nil, nil, map[string][]string{}
	return e.observe(fmt.Sprintf("The repository %s is in %s, at the commit that the issue was reported for.", in.Repo, WorkDir)), nil
}

// EmbeddedImages begins the names of images that this project builds itself.
const EmbeddedImages = "hindsight/swebench."

// imageFailure says what to do about an image that is not there.
func imageFailure(in *Instance, names []string, err error) error {
	if !errors.Is(err, ErrNoImage) {
		return err
	}
	return errext.WithHint(fmt.Errorf("instance %s: %w", in.ID, err), imageHint(names))
}

func imageHint(names []string) string {
	if strings.HasPrefix(names[0], EmbeddedImages) {
		return "build it: harness swebench images"
	}
	return "docker pull " + names[0] + ", or say where images are with --image-namespace and --image-tag"
}

// Step takes one action; see Interface for their forms. Whatever an agent says is answered; only a
// container or a daemon that fails is an error. The step that submits is the last one: it takes the patch
// and has it judged.
func (e *Env) Step(ctx context.Context, action string) (harness.Transition, error) {
	switch {
	case ctx.Err() != nil:
		return harness.Transition{}, ctx.Err()
	case e.over != nil:
		return harness.Transition{}, errors.New("the episode is over: call Reset first")
	case e.box == nil:
		return harness.Transition{}, errNoEpisode
	}
	var text string
	var submitted *submission
	var err error
	if e.suite.cfg.Interface == Tools {
		text, submitted, err = e.useTool(ctx, action)
	} else {
		text, submitted, err = e.runBash(ctx, action)
	}
	if err != nil {
		return harness.Transition{}, err
	}
	if e.taken = append(e.taken, action); e.plan != nil {
		e.plan.took(action)
	}
	tr := harness.Transition{Observation: e.observe(text), Feedback: text}
	if submitted == nil {
		return tr, nil
	}
	ending, err := e.end(ctx, submitted)
	if err != nil {
		return harness.Transition{}, err
	}
	tr.Reward, tr.Score, tr.Won, tr.Done = ending.Reward, ending.Score, ending.Won, true
	if ending.Feedback != "" {
		tr.Feedback += "\n\n" + ending.Feedback
	}
	tr.Privileged = ending.Privileged
	// What the step has is not the end's any more; the artifacts are.
	e.over = &harness.Ending{Score: ending.Score, Won: ending.Won, Artifacts: ending.Artifacts}
	return tr, nil
}

// observe is an observation of the issue. Every text is an anchor: equal outputs are equal states as far
// as an agent can tell.
func (e *Env) observe(text string) harness.Observation {
	task := e.in.ProblemStatement
	if e.suite.cfg.Hints && e.in.Hints != "" {
		task += "\n\nComments on the issue:\n\n" + e.in.Hints
	}
	return harness.Observation{Text: text, Task: task}
}

// Finish takes the patch and has it judged, unless the agent has submitted already. The container is
// removed first: the judge needs the machine.
func (e *Env) Finish(ctx context.Context) (harness.Ending, error) {
	switch {
	case e.over != nil:
		return *e.over, nil
	case e.box == nil:
		return harness.Ending{}, errNoEpisode
	}
	ending, err := e.end(ctx, &submission{})
	if err == nil {
		e.over = &ending
	}
	return ending, err
}

// Close removes the container.
func (e *Env) Close() error {
	b := e.box
	e.box, e.in, e.over = nil, nil, nil
	if b == nil {
		return nil
	}
	return b.Remove(context.Background())
}

// submission is an agent's word that it is done.
type submission struct {
	text string // what it printed with it, where a patch is to be found; "" is nothing
}
