package agent

import (
	"cmp"
	"context"
	"log/slog"
	"slices"

	"github.com/hindsightrl/harness"
)

// Why a tree ends before it has all of its forks.
const (
	reasonCertain = "no place is left where the policy was uncertain enough"
	reasonBudget  = "the token budget of the tree is spent"
)

// fork finds where fork n is: where its recorded branches say, else where the chooser does. reason says why
// there is none.
func (t *growth) fork(n int) (parent *place, fork harness.Fork, reason string) {
	byID := map[int64]*place{}
	for _, p := range t.places {
		byID[p.ID] = p
	}
	for _, p := range t.branches(n) {
		if p.Fork != nil && byID[p.Fork.Parent] != nil {
			return byID[p.Fork.Parent], *p.Fork, ""
		}
	}
	grown, spent := t.finished(n)
	places := t.tree.Choose.Places(grown, t.taken)
	for _, at := range places {
		g := &grown[at.Episode]
		f := harness.Fork{Parent: g.Ref.ID, Step: at.Step, Token: at.Token}
		if b := t.tree.Tokens; b > 0 && spent+t.tree.Branches*g.rest(f) > b {
			continue
		}
		return byID[g.Ref.ID], f, ""
	}
	if len(places) > 0 {
		return nil, harness.Fork{}, reasonBudget
	}
	return nil, harness.Fork{}, reasonCertain
}

// finished lists the done episodes that fork n may leave, by sample, and the tokens that the tree generated
// for the forks before it.
func (t *growth) finished(n int) (grown []Grown, spent int) {
	for k, p := range t.places {
		if p.grown == nil || k > n*t.tree.Branches {
			continue
		}
		spent += p.grown.generated()
		if k == 0 || t.tree.From == ForkFromAny {
			grown = append(grown, *p.grown)
		}
	}
	slices.SortFunc(grown, func(a, b Grown) int { return cmp.Compare(a.Ref.Sample, b.Ref.Sample) })
	return grown, spent
}

// branch is what an episode of a tree has beside other episodes. A nil branch has nothing.
type branch struct {
	fork   *harness.Fork // nil: the root
	parent *Grown
	states []harness.Snapshot // the parent's

	// What the episode leaves.
	steps  []harness.Step
	kept   []harness.Snapshot // before each step and after the last
	done   bool
	failed harness.FailureKind
}

// begin opens an attempt.
func (e *episode) begin(hard context.Context) (id int64, recorded []harness.Step, err error) {
	if e.branch != nil {
		e.branch.steps, e.branch.kept = nil, nil
	}
	if e.branch != nil && e.branch.fork != nil {
		rec := e.cfg.Recorder.(TreeRecorder) //nolint:forcetypeassert // RunTrees has made sure
		return rec.BeginLeaf(hard, e.ref, *e.branch.fork)
	}
	return e.cfg.Recorder.Begin(hard, e.ref)
}

// prefix is how the response of a step begins; nil where all of it is the policy's to say.
func (b *branch) prefix(step int) (*Prefix, error) {
	if b == nil || b.fork == nil || step != b.fork.Step || b.fork.Token == 0 {
		return nil, nil
	}
	p, err := CutPrefix(&b.parent.Steps[step], b.fork.Token)
	return p, harness.FailFinal(harness.FailAgent, "fork", err)
}

// given is the number of response tokens of a step that are an ancestor's.
func (b *branch) given(step int) int {
	if b == nil || b.fork == nil || step != b.fork.Step {
		return 0
	}
	return b.fork.Token
}

// state is the environment's state where an attempt with so many recorded steps goes on; nil where none was
// kept: the actions are taken again then.
func (b *branch) state(recorded int) harness.Snapshot {
	if b == nil || b.fork == nil || recorded != b.fork.Step || recorded >= len(b.states) {
		return nil
	}
	return b.states[recorded]
}

// note keeps a step that was taken, and the state behind it.
func (b *branch) note(env harness.Env, s harness.Step, log *slog.Logger) {
	if b == nil {
		return
	}
	if s.Index == 0 {
		b.kept = []harness.Snapshot{nil} // a fork before the first step needs no state
	}
	b.steps = append(b.steps, s)
	after := s.Index + 1
	if b.fork != nil && after <= b.fork.Step && after < len(b.states) && b.states[after] != nil {
		b.kept = append(b.kept, b.states[after])
		return
	}
	var state harness.Snapshot
	if snap, ok := env.(harness.Snapshotter); ok {
		var err error
		if state, err = snap.Snapshot(); err != nil {
			log.Warn("no snapshot: branches take the actions again", slog.Int(logTurn, s.Index), slog.Any(logError, err))
			state = nil
		}
	}
	b.kept = append(b.kept, state)
}

// restore brings the attempt to where its shared steps ended: it takes them as they are recorded, and puts
// the environment's state behind them back.
func (a *attempt) restore(ctx context.Context, recorded []harness.Step, state harness.Snapshot) error {
	first, err := guard(harness.FailEnv, "reset", func() (harness.Observation, error) { return a.env.Reset(ctx, a.ref.Task) })
	if err != nil {
		return err
	}
	before := first
	for _, s := range recorded {
		a.account(before, s)
		before = s.Next
	}
	_, err = guard(harness.FailEnv, "restore", func() (struct{}, error) {
		return struct{}{}, a.env.(harness.Snapshotter).Restore(state) //nolint:forcetypeassert // it made snapshots
	})
	return err
}
