package agent

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/hindsightrl/harness"
)

// Diff is the first difference between recorded steps and what an environment answers now.
type Diff struct {
	Step  int    // 0-based index of the recorded step
	Field string // field of harness.Step, e.g. "next.text"; "" = no difference
	Got   string // now
	Want  string // recorded
}

// Equal reports that there is no difference.
func (d Diff) Equal() bool { return d.Field == "" }

// String prints the difference around the first byte that differs.
func (d Diff) String() string {
	if d.Equal() {
		return "no difference"
	}
	at := 0
	for at < len(d.Got) && at < len(d.Want) && d.Got[at] == d.Want[at] {
		at++
	}
	return fmt.Sprintf("step %d, %s, byte %d: got %q, recorded %q", d.Step, d.Field, at, around(d.Got, at), around(d.Want, at))
}

func around(s string, at int) string {
	const before, after = 20, 60
	return s[max(0, at-before):min(len(s), at+after)]
}

// Replay resets env to the task, takes the recorded actions again, and compares byte for byte what
// the environment answers. An error means that the environment broke (a *harness.Failure) or that ctx
// ended; a difference is none.
func Replay(ctx context.Context, env harness.Env, task harness.Task, steps []harness.Step) (Diff, error) {
	return DefaultFormats().Replay(ctx, env, task, steps)
}

// Replay is the function Replay under these formats.
func (f Formats) Replay(ctx context.Context, env harness.Env, task harness.Task, steps []harness.Step) (Diff, error) {
	r := replayer{env: env, format: f.For(task.Env), whole: true}
	_, diff, err := r.run(ctx, task, steps)
	return diff, err
}

// replayer takes recorded actions in an environment.
type replayer struct {
	env    harness.Env
	format Format
	visit  func(before harness.Observation, s harness.Step) // called for each equal step; may be nil
	whole  bool                                             // the last step ended the episode, and has what its end brought
}

// run returns the first observation and the first difference.
func (r replayer) run(ctx context.Context, task harness.Task, steps []harness.Step) (first harness.Observation, d Diff, err error) {
	first, err = guard(harness.FailEnv, "reset", func() (harness.Observation, error) { return r.env.Reset(ctx, task) })
	if err != nil {
		return first, d, err
	}
	name := r.format.Task(first)
	before := first
	for i, want := range steps {
		got := want
		got.Anchor, got.Admissible = r.format.anchor(name, before), before.Admissible
		if d := compare(i, got, want); !d.Equal() {
			return first, d, nil
		}
		tr, err := guard(harness.FailEnv, fmt.Sprintf("repeat step %d", i), func() (harness.Transition, error) {
			return r.env.Step(ctx, want.Action)
		})
		if err == nil && r.whole && i == len(steps)-1 {
			tr, err = finished(ctx, r.env, tr)
		}
		if err != nil {
			return first, d, err
		}
		got.Feedback, got.Privileged, got.Next = tr.Feedback, tr.Privileged, tr.Observation
		got.Reward, got.Score, got.Won, got.Done = tr.Reward, tr.Score, tr.Won, tr.Done
		if d := compare(i, got, want); !d.Equal() {
			return first, d, nil
		}
		if r.visit != nil {
			r.visit(before, want)
		}
		before = tr.Observation
	}
	return first, d, nil
}

// finished adds what the episode's end brings to the last step's transition.
func finished(ctx context.Context, env harness.Env, tr harness.Transition) (harness.Transition, error) {
	f, ok := env.(harness.Finisher)
	if !ok {
		return tr, nil
	}
	e, err := guard(harness.FailEnv, "finish the episode", func() (harness.Ending, error) { return f.Finish(ctx) })
	if err != nil {
		return tr, err
	}
	return e.Join(tr), nil
}

// compare looks at what an environment answers, in the order of harness.Step.
func compare(i int, got, want harness.Step) Diff {
	float := func(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }
	for _, f := range []struct{ field, got, want string }{
		{"index", strconv.Itoa(i), strconv.Itoa(want.Index)},
		{"anchor", got.Anchor, want.Anchor},
		{"feedback", got.Feedback, want.Feedback},
		{"privileged", got.Privileged, want.Privileged},
		{"next.text", got.Next.Text, want.Next.Text},
		{"next.task", got.Next.Task, want.Next.Task},
		{"next.anchor", got.Next.Anchor, want.Next.Anchor},
		{"reward", float(got.Reward), float(want.Reward)},
		{"score", float(got.Score), float(want.Score)},
		{"won", strconv.FormatBool(got.Won), strconv.FormatBool(want.Won)},
		{"done", strconv.FormatBool(got.Done), strconv.FormatBool(want.Done)},
	} {
		if f.got != f.want {
			return Diff{i, f.field, f.got, f.want}
		}
	}
	if !slices.Equal(got.Admissible, want.Admissible) {
		return Diff{i, "admissible", strings.Join(got.Admissible, "\n"), strings.Join(want.Admissible, "\n")}
	}
	if !slices.Equal(got.Next.Admissible, want.Next.Admissible) {
		return Diff{i, "next.admissible", strings.Join(got.Next.Admissible, "\n"), strings.Join(want.Next.Admissible, "\n")}
	}
	return Diff{}
}
