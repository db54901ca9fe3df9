package agent

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"golang.org/x/sync/errgroup"

	"github.com/hindsightrl/harness"
	"github.com/hindsightrl/harness/internal/errext"
)

// TreeRecorder is a Recorder for trees.
type TreeRecorder interface {
	Recorder
	// BeginLeaf is Begin for an episode that grows out of a done one of its group: recorded starts with the
	// parent's steps before the fork.
	BeginLeaf(ctx context.Context, ep harness.EpisodeRef, fork harness.Fork) (attempt int64, recorded []harness.Step, err error)
	// Unused gives planned episodes up that no attempt was made at.
	Unused(ctx context.Context, refs []harness.EpisodeRef, reason string) error
	// Tree lists the episodes of a group.
	Tree(ctx context.Context, group int) ([]harness.TreeEpisode, error)
	// Steps reads the steps of a done episode.
	Steps(ctx context.Context, episode int64) ([]harness.Step, error)
}

// RunTrees is Run for episodes that grow out of one another. refs are the open episodes of whole groups, each
// of tree.GroupSize places; Config.Recorder must be a TreeRecorder, the policy a Brancher, and the
// environments Snapshotters. Of each tree, the root is played first. Then the tree forks where the chooser
// says, and a branch goes on from the environment's state and, inside a response, from its first tokens.
// What a tree becomes depends on the run seed, the task and the samples alone.
//
// An episode that fails leaves the finished ones standing; a root that fails takes the rest of its tree
// with it. Places that no fork was found for are given up, and Stats counts them.
func RunTrees(soft, hard context.Context, refs []harness.EpisodeRef, cfg Config, tree TreeConfig) (Stats, error) {
	cfg, tree = cfg.withDefaults(), tree.withDefaults()
	f := &forest{cfg: cfg, tree: tree, counter: newCounter(len(refs), cfg.OnEvent), soft: soft, slots: make(chan struct{}, cfg.Workers)}
	if err := errors.Join(cfg.Validate(), tree.Validate()); err != nil {
		return f.counter.stats, err
	}
	rec, ok := cfg.Recorder.(TreeRecorder)
	if !ok {
		return f.counter.stats, errors.New("the recorder keeps no trees")
	}
	f.rec = rec
	tasks := make([]harness.Task, len(refs))
	for i, ref := range refs {
		tasks[i] = ref.Task
	}
	if err := CheckTrees(hard, cfg.Policy, cfg.Suites, tasks, tree.Choose.Token()); err != nil {
		return f.counter.stats, err
	}
	g, ctx := errgroup.WithContext(hard)
	g.SetLimit(cfg.Workers)
	f.hard = ctx
	type key struct{ group, tree int }
	begun := map[key]bool{}
	for _, ref := range refs {
		k := key{ref.Group, ref.Sample / tree.leaves()}
		if begun[k] {
			continue
		}
		begun[k] = true
		g.Go(func() error { return f.grow(k.group, k.tree) })
	}
	err := g.Wait()
	if err == nil && f.counter.stats.Left > 0 {
		err = errext.WithHint(ErrStopped, "resume the run to finish the rest")
	}
	return f.counter.stats, err
}

// CheckTrees says why trees cannot be grown with a policy in the environments of tasks: ErrNoTrees for an
// environment, or what the policy lacks. tokens asks for forks inside responses. It opens an environment
// and asks the policy for a few tokens.
func CheckTrees(ctx context.Context, policy Policy, suites map[string]harness.Suite, tasks []harness.Task, tokens bool) error {
	seen := map[string]bool{}
	for _, t := range tasks {
		if seen[t.Env] {
			continue
		}
		seen[t.Env] = true
		suite, err := Config{Suites: suites}.suite(t)
		if err != nil {
			return err
		}
		env, err := suite.NewEnv(ctx)
		if err != nil {
			return fmt.Errorf("open an environment of %s: %w", t.Env, err)
		}
		_, ok := env.(harness.Snapshotter)
		if err := env.Close(); err != nil {
			return fmt.Errorf("close an environment of %s: %w", t.Env, err)
		}
		if !ok {
			return fmt.Errorf("%w: that of %s is in a container, a browser or another process, where it cannot be copied", ErrNoTrees, t.Env)
		}
	}
	b, ok := policy.(Brancher)
	if !ok {
		return errext.WithHint(errors.New("trees need a policy with token entropies: this one gives no tokens, so nothing says where it is uncertain"),
			"use a model: --policy refmodel, gguf:FILE, or a server that gives token log-probabilities")
	}
	return b.CanBranch(ctx, tokens)
}

// forest is all trees of a run.
type forest struct {
	cfg        Config
	tree       TreeConfig
	rec        TreeRecorder
	counter    *counter
	soft, hard context.Context //nolint:containedctx // both end with the call that made the forest
	slots      chan struct{}   // one per episode that may run
}

// place is a place of a tree, with the episode that takes it.
type place struct {
	harness.TreeEpisode
	grown  *Grown             // nil unless the episode is done
	states []harness.Snapshot // before each step and after the last; nil where it was not kept
	left   bool               // the run was stopped before the episode ended
}

func (p *place) open() bool {
	return p.Status == harness.StatusPending || p.Status == harness.StatusRunning
}

// growth is one tree.
type growth struct {
	*forest
	places map[int]*place // by their number within the tree; those that were given up are absent
	taken  []harness.Fork // forks so far
}

// grow plays what is left of a tree.
func (f *forest) grow(group, number int) error {
	all, err := f.rec.Tree(f.hard, group)
	if err != nil {
		return f.broken(err)
	}
	t := &growth{forest: f, places: map[int]*place{}}
	n := f.tree.leaves()
	for _, e := range all {
		if e.Sample/n == number {
			t.places[e.Sample%n] = &place{TreeEpisode: e}
		}
	}
	root := t.places[0]
	if root == nil {
		return fmt.Errorf("group %d has no root of tree %d", group, number)
	}
	if root.open() {
		if err := t.play(root, nil, nil); err != nil {
			return err
		}
	}
	switch {
	case root.left:
		return t.leaveOpen()
	case root.Status == harness.StatusFailed:
		return t.cutOff(root.Failed)
	}
	step := 1
	if !f.tree.inOrder() {
		step = f.tree.Forks
	}
	for n := 0; n < f.tree.Forks; n += step {
		if goOn, err := t.forks(n, n+step); err != nil || !goOn {
			return err
		}
	}
	return nil
}

// forks plays the branches of forks from to (exclusive); false means that the tree is at its end.
func (t *growth) forks(from, to int) (goOn bool, err error) {
	if err := t.load(); err != nil {
		return false, t.broken(err)
	}
	goOn = true
	var plays []func() error
	for n := from; n < to; n++ {
		parent, fork, reason := t.fork(n)
		if reason != "" {
			if err := t.giveUp(n, reason); err != nil {
				return false, err
			}
			goOn, to = false, n
			break
		}
		t.taken = append(t.taken, fork)
		for _, p := range t.branches(n) {
			if p.open() {
				plays = append(plays, func() error { return t.play(p, parent, &fork) })
			}
		}
	}
	var g errgroup.Group
	for _, play := range plays {
		g.Go(play)
	}
	if err := g.Wait(); err != nil {
		return false, err
	}
	for n := from; n < to; n++ {
		for _, p := range t.branches(n) {
			if p.left {
				return false, t.leaveOpen()
			}
		}
	}
	return goOn, nil
}

// branches are the places of fork n.
func (t *growth) branches(n int) []*place {
	var out []*place
	for b := range t.tree.Branches {
		if p := t.places[1+n*t.tree.Branches+b]; p != nil {
			out = append(out, p)
		}
	}
	return out
}

// load reads the steps of done episodes that another process played.
func (t *growth) load() error {
	for _, p := range t.places {
		if p.Status != harness.StatusDone || p.grown != nil {
			continue
		}
		steps, err := t.rec.Steps(t.hard, p.ID)
		if err != nil {
			return err
		}
		p.grown = &Grown{Ref: p.EpisodeRef, Fork: p.Fork, Steps: steps}
	}
	return nil
}

// play runs one episode and takes what it left into its place.
func (t *growth) play(p, parent *place, fork *harness.Fork) error {
	select {
	case t.slots <- struct{}{}:
		defer func() { <-t.slots }()
	case <-t.soft.Done(): // the episode says that it was left
	case <-t.hard.Done():
	}
	b := &branch{fork: fork}
	if parent != nil {
		b.parent, b.states = parent.grown, parent.states
	}
	e := newEpisode(p.EpisodeRef, t.cfg, t.counter)
	e.branch = b
	if err := e.run(t.soft, t.hard); err != nil {
		return err
	}
	p.Attempted, p.Fork = true, fork
	switch {
	case b.failed != "":
		p.Status, p.Failed = harness.StatusFailed, b.failed
	case b.done:
		p.Status = harness.StatusDone
		p.grown = &Grown{Ref: p.EpisodeRef, Fork: fork, Steps: b.steps}
		p.states = b.kept
	default:
		p.left = true
	}
	return nil
}

// leaveOpen says of every open episode of the tree that it was left.
func (t *growth) leaveOpen() error {
	for n := range t.tree.leaves() {
		if p := t.places[n]; p != nil && p.open() && !p.left {
			t.counter.event(Event{Kind: EventLeft, Episode: p.EpisodeRef})
		}
	}
	return nil
}

// cutOff closes the open episodes of a tree whose root failed: they fail as it did, so that they are
// queued again together with it.
func (t *growth) cutOff(kind harness.FailureKind) error {
	return t.close(1, &harness.Failure{Kind: kind, Op: "grow the tree", Err: errors.New("its root failed")})
}

// giveUp ends a tree before fork n. Episodes that were never tried leave the group; those that were have
// failed.
func (t *growth) giveUp(n int, reason string) error {
	first := 1 + n*t.tree.Branches
	var refs []harness.EpisodeRef
	for k := first; k < t.tree.leaves(); k++ {
		if p := t.places[k]; p != nil && p.open() && !p.Attempted {
			refs = append(refs, p.EpisodeRef)
			delete(t.places, k)
		}
	}
	if len(refs) > 0 {
		t.cfg.Log.Info("tree ends early", slog.Int("places", len(refs)), slog.String("reason", reason), slog.String(logEpisode, refs[0].String()))
	}
	if err := t.rec.Unused(t.hard, refs, reason); err != nil {
		return t.broken(err)
	}
	for _, ref := range refs {
		t.counter.event(Event{Kind: EventUnused, Episode: ref})
	}
	return t.close(first, &harness.Failure{Kind: harness.FailBudget, Op: "grow the tree", Err: errors.New(reason)})
}

// close fails the open episodes from place number first on.
func (t *growth) close(first int, f *harness.Failure) error {
	for k := first; k < t.tree.leaves(); k++ {
		p := t.places[k]
		if p == nil || !p.open() {
			continue
		}
		id, _, err := t.rec.Begin(t.hard, p.EpisodeRef)
		if err == nil {
			err = t.rec.Fail(t.hard, id, f, true)
		}
		if err != nil {
			return t.broken(err)
		}
		p.Status, p.Failed = harness.StatusFailed, f.Kind
		t.counter.event(Event{Kind: EventFailed, Episode: p.EpisodeRef, Attempt: id, Failure: f})
	}
	return nil
}

// broken ends the run with the recorder's error, or leaves the tree where the error only says that the run
// was stopped.
func (t *growth) broken(err error) error {
	if t.hard.Err() != nil {
		return t.leaveOpen()
	}
	return err
}

func (f *forest) broken(err error) error {
	if f.hard.Err() != nil {
		return nil
	}
	return err
}
