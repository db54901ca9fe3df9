package envdiff

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/hindsightrl/harness"
)

// Config says how games are played.
type Config struct {
	// Steps bounds the actions of a game; 0 means 30.
	Steps int
	// Seed decides the actions, together with the task.
	Seed int64
	// Expert is the share of actions that the native expert chooses, in [0, 1]; the others are drawn.
	Expert float64
	// Fill turns an entry of the list of admissible actions into an action, where entries have blanks:
	// word yields words that have to do with the task. nil takes entries as they are.
	Fill func(entry string, word func() string) string
	// Now tells how long either side takes; nil leaves the times 0.
	Now func() time.Time
}

// Difference is the first thing in which the two answered differently.
type Difference struct {
	Step     int    `json:"step"`   // 0 is the reset
	Action   string `json:"action"` // "" at the reset
	What     string `json:"what"`   // "observation", "admissible actions", …
	Native   string `json:"native"`
	Original string `json:"original"`
}

// Result is one game's comparison.
type Result struct {
	Task       harness.Task  `json:"task"`
	Steps      int           `json:"steps"` // actions that both took
	Won        bool          `json:"won"`
	Actions    []string      `json:"actions"`
	Difference *Difference   `json:"difference,omitempty"`
	Native     time.Duration `json:"native_ns"` // spent in the native environment, the reset included
	Original   time.Duration `json:"original_ns"`
}

// Play plays one task in both environments until the first difference, the end or the bound on steps. An
// error is one of an environment that broke, or ctx's.
func Play(ctx context.Context, native, original harness.Env, task harness.Task, cfg Config) (Result, error) {
	if cfg.Steps == 0 {
		cfg.Steps = 30
	}
	if cfg.Now == nil {
		cfg.Now = func() time.Time { return time.Time{} }
	}
	g := &game{native: native, original: original, cfg: cfg, res: Result{Task: task}}
	err := g.play(ctx, task)
	return g.res, err
}

type game struct {
	native, original harness.Env
	cfg              Config
	res              Result
}

func (g *game) play(ctx context.Context, task harness.Task) error {
	var want, got harness.Observation
	err := g.both(
		func() (err error) { want, err = g.native.Reset(ctx, task); return err },
		func() (err error) { got, err = g.original.Reset(ctx, task); return err })
	if err != nil {
		return fmt.Errorf("reset of %s: %w", task.Key(), err)
	}
	if g.res.Difference = observations(want, got); g.res.Difference != nil {
		return nil
	}
	actor := newActor(task, g.cfg, want.Task)
	for step := 1; step <= g.cfg.Steps; step++ {
		action, err := actor.next(ctx, g.native, want)
		if err != nil {
			return fmt.Errorf("step %d of %s: %w", step, task.Key(), err)
		}
		done, err := g.step(ctx, step, action, &want)
		if err != nil {
			return fmt.Errorf("step %d of %s, action %q: %w", step, task.Key(), action, err)
		}
		if done {
			return nil
		}
	}
	return nil
}

// step takes an action in both; now becomes the observation that both agree on.
func (g *game) step(ctx context.Context, step int, action string, now *harness.Observation) (done bool, err error) {
	var want, got harness.Transition
	err = g.both(
		func() (err error) { want, err = g.native.Step(ctx, action); return err },
		func() (err error) { got, err = g.original.Step(ctx, action); return err })
	if err != nil {
		return true, err
	}
	g.res.Actions = append(g.res.Actions, action)
	if d := transitions(want, got); d != nil {
		d.Step, d.Action = step, action
		g.res.Difference = d
		return true, nil
	}
	g.res.Steps, g.res.Won = step, want.Won
	*now = want.Observation
	return want.Done, nil
}

// both calls the two, one after the other, and adds up their times.
func (g *game) both(native, original func() error) error {
	begin := g.cfg.Now()
	if err := native(); err != nil {
		return fmt.Errorf("native: %w", err)
	}
	middle := g.cfg.Now()
	if err := original(); err != nil {
		return fmt.Errorf("original: %w", err)
	}
	g.res.Native += middle.Sub(begin)
	g.res.Original += g.cfg.Now().Sub(middle)
	return nil
}

// transitions compares all that an agent or a trainer gets from a step; what the environment explains
// privately is the native one's alone.
func transitions(want, got harness.Transition) *Difference {
	if d := observations(want.Observation, got.Observation); d != nil {
		return d
	}
	for _, f := range []struct {
		what      string
		want, got any
	}{
		{"reward", want.Reward, got.Reward},
		{"score", want.Score, got.Score},
		{"won", want.Won, got.Won},
		{"done", want.Done, got.Done},
	} {
		if f.want != f.got {
			return &Difference{What: f.what, Native: fmt.Sprint(f.want), Original: fmt.Sprint(f.got)}
		}
	}
	return nil
}

func observations(want, got harness.Observation) *Difference {
	switch {
	case want.Text != got.Text:
		return &Difference{What: "observation", Native: want.Text, Original: got.Text}
	case want.Task != got.Task:
		return &Difference{What: "task", Native: want.Task, Original: got.Task}
	case slices.Equal(want.Admissible, got.Admissible):
		return nil
	}
	d := &Difference{What: "admissible actions", Native: "(none)", Original: "(none)"}
	for i := range max(len(want.Admissible), len(got.Admissible)) {
		w, g := at(want.Admissible, i), at(got.Admissible, i)
		if w != g {
			d.What = fmt.Sprintf("admissible action %d", i+1)
			d.Native, d.Original = w, g
			break
		}
	}
	return d
}

func at(list []string, i int) string {
	if i < len(list) {
		return list[i]
	}
	return fmt.Sprintf("(there are %d)", len(list))
}

// errNoAction is returned where nothing can be drawn and the expert knows nothing.
var errNoAction = errors.New("no action is listed, and the expert knows none")
