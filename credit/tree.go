package credit

import (
	"fmt"
	"math"
	"slices"
)

// Fork says where a trajectory leaves its parent: its steps before Step, and the first Token response tokens
// of its own step Step, are the parent's, row for row and token for token.
type Fork struct {
	Parent int // trajectory number in the batch; −1: it has none
	Step   int
	Token  int // 0: its whole response at Step is its own
}

// NoFork is the fork of a root.
var NoFork = Fork{Parent: -1}

// before reports whether the place (step, token) lies before the fork's.
func (f Fork) before(step, token int) bool {
	return step < f.Step || step == f.Step && token < f.Token
}

// Piece is a run of a row's tokens that the same trajectories of the group hold. A row has one piece, or
// several where a tree forks inside its response.
type Piece struct {
	From   int     // first token
	Leaves int     // trajectories that hold it, at least 1
	Value  float64 // advantage of its tokens; 0 from Pieces
}

// segment is a stretch of a trajectory between two forks: from where it leaves its parent, or from a place
// where others leave it, to the next such place.
type segment struct {
	start  Fork    // place; its Parent is not read
	leaves int     // trajectories through it
	sum    float64 // of their returns
	family int     // segments that begin at the same place after the same past share one; −1: none to compare with
}

// tree is a batch's forks, sorted out.
type tree struct {
	l        *layout
	fork     []Fork  // of each dense trajectory; Parent is dense
	children [][]int // dense trajectories
	group    []int   // of each dense trajectory
	step     []int   // of each row
	segments [][]segment
	families []moments // of each family's values: its segments' mean returns
}

// newTree lays the forks out. Batch.Fork must be the same on each row of a trajectory, name a parent of the
// same group, and make no circle.
func (l *layout) newTree() (*tree, error) {
	n := l.trajs.len()
	t := &tree{l: l, fork: make([]Fork, n), children: make([][]int, n), group: make([]int, n), segments: make([][]segment, n)}
	t.step = l.Step
	if t.step == nil {
		t.step = make([]int, len(l.Group))
		for k := range n {
			for j, i := range l.trajs.of(k) {
				t.step[i] = j
			}
		}
	}
	number := make(map[int]int, n)
	for k := range n {
		i := l.trajs.first(k)
		number[l.Trajectory[i]], t.group[k] = k, l.group[i]
	}
	for k := range n {
		if l.Fork == nil {
			t.fork[k] = NoFork
			continue
		}
		f := l.Fork[l.trajs.first(k)]
		for _, i := range l.trajs.of(k) {
			if l.Fork[i] != f {
				return nil, fmt.Errorf("trajectory %d has two forks: %w", l.Trajectory[i], ErrConfig)
			}
		}
		if f.Parent >= 0 {
			p, ok := number[f.Parent]
			if !ok || t.group[p] != t.group[k] || f.Step < 0 || f.Token < 0 {
				return nil, fmt.Errorf("trajectory %d forks off trajectory %d at step %d, token %d, which its group does not have: %w",
					l.Trajectory[l.trajs.first(k)], f.Parent, f.Step, f.Token, ErrConfig)
			}
			f.Parent = p
			t.children[p] = append(t.children[p], k)
		} else {
			f = NoFork
		}
		t.fork[k] = f
	}
	return t, t.grow()
}

// grow cuts the trajectories into segments, children before parents, and gathers the families.
func (t *tree) grow() error {
	done := 0
	var visit func(k int)
	visit = func(k int) {
		done++
		for _, c := range t.children[k] {
			visit(c)
		}
		t.cut(k)
	}
	for k, f := range t.fork {
		if f.Parent < 0 {
			visit(k)
		}
	}
	if done != len(t.fork) {
		return fmt.Errorf("the forks of %d trajectories go round in a circle: %w", len(t.fork)-done, ErrConfig)
	}
	t.meet()
	return nil
}

// cut makes the segments of trajectory k: its return counts in all of them, and a child's leaves in those
// before the place where it leaves.
func (t *tree) cut(k int) {
	places := []Fork{t.fork[k]}
	for _, c := range t.children[k] {
		places = append(places, t.fork[c])
	}
	slices.SortStableFunc(places[1:], comparePlaces)
	places = slices.CompactFunc(places, func(a, b Fork) bool { return comparePlaces(a, b) == 0 && b.Parent == k && a.Parent == k })
	segs := make([]segment, len(places))
	own := t.l.Return[t.l.trajs.first(k)]
	for j := range segs {
		segs[j] = segment{start: places[j], leaves: 1, sum: own, family: -1}
	}
	for _, c := range t.children[k] {
		first := t.segments[c][0]
		for j := range segs {
			if j == 0 || comparePlaces(segs[j].start, t.fork[c]) < 0 {
				segs[j].leaves += first.leaves
				segs[j].sum += first.sum
			}
		}
	}
	t.segments[k] = segs
}

func comparePlaces(a, b Fork) int {
	if a.Step != b.Step {
		return a.Step - b.Step
	}
	return a.Token - b.Token
}

// meet makes a family of the roots of each group, and one of the segments that begin at each fork.
func (t *tree) meet() {
	values := map[int][]float64{}
	join := func(family int, s *segment) {
		s.family = family
		values[family] = append(values[family], s.sum/float64(s.leaves))
	}
	roots := map[int]int{}
	next := 0
	for k := range t.fork {
		if t.fork[k].Parent >= 0 {
			continue
		}
		f, ok := roots[t.group[k]]
		if !ok {
			f = next
			roots[t.group[k]] = f
			next++
		}
		join(f, &t.segments[k][0])
	}
	for k := range t.fork {
		for j := 1; j < len(t.segments[k]); j++ {
			s := &t.segments[k][j]
			join(next, s)
			for _, c := range t.children[k] {
				if comparePlaces(t.fork[c], s.start) == 0 {
					join(next, &t.segments[c][0])
				}
			}
			next++
		}
	}
	t.families = make([]moments, next)
	for f, v := range values {
		rows := make([]int, len(v))
		for i := range rows {
			rows[i] = i
		}
		t.families[f] = momentsOf(v, rows)
	}
}

// at finds the segment that holds a place of trajectory k's path.
func (t *tree) at(k, step, token int) *segment {
	for t.fork[k].Parent >= 0 && t.fork[k].before(step, token) {
		k = t.fork[k].Parent
	}
	segs := t.segments[k]
	j := len(segs) - 1
	for j > 0 && segs[j].start.before(step, token) {
		j--
	}
	return &segs[j]
}

// pieces cuts row i, of trajectory k, at the forks inside its response.
func (t *tree) pieces(i, k int, visit func(from int, s *segment)) {
	step, tokens := t.step[i], math.MaxInt
	if t.l.Tokens != nil {
		tokens = t.l.Tokens[i]
	}
	cuts := []int{0}
	for p := k; p >= 0; p = t.fork[p].Parent {
		for _, f := range append([]Fork{t.fork[p]}, placesOf(t.segments[p])...) {
			if f.Step == step && f.Token > 0 && f.Token < tokens {
				cuts = append(cuts, f.Token)
			}
		}
	}
	slices.Sort(cuts)
	var last *segment
	for _, c := range slices.Compact(cuts) {
		if s := t.at(k, step, c); s != last {
			visit(c, s)
			last = s
		}
	}
}

func placesOf(segs []segment) []Fork {
	out := make([]Fork, 0, len(segs))
	for _, s := range segs[1:] {
		out = append(out, s.start)
	}
	return out
}

// Pieces cuts every row of a batch with forks into runs of tokens that the same trajectories hold, and
// counts those: a token that n of them hold stands in n rows, and counts once where each weighs it by 1/n.
// It returns nil for a batch without forks. Batch.Tokens, where given, bounds the cuts.
func Pieces(b *Batch) ([][]Piece, error) {
	if b.Fork == nil {
		return nil, nil
	}
	l, err := newLayout(b)
	if err != nil {
		return nil, fmt.Errorf("cut trees: %w", err)
	}
	t, err := l.newTree()
	if err != nil {
		return nil, fmt.Errorf("cut trees: %w", err)
	}
	out := make([][]Piece, len(b.Group))
	for i := range out {
		t.pieces(i, l.traj[i], func(from int, s *segment) { out[i] = append(out[i], Piece{From: from, Leaves: s.leaves}) })
	}
	return out, nil
}

// treed adds a part that compares the continuations of each fork with one another:
//
//	A_t = A^E + ω·A^F_t        A^F = V − mean V        V = mean return of the leaves behind the segment
//
// A^E is the group-relative advantage of the episode return (grouped). A segment is a stretch between two
// forks; those that begin at one fork (the parent's own way on, and each branch) are a family, as are the
// roots of a group, and the mean is the family's. With NormMeanStd the deviation is divided by the family's
// unbiased std + ε. A segment without siblings gets 0. Tokens before a fork inside a response belong to the
// segment before it: such rows get Pieces. ForkOnly leaves A^E out.
//
// A family's parts sum to 0 over its segments, so they say nothing about the past that these share. Without
// forks every trajectory is a root, and A^F is the Dr.GRPO advantage over trajectories.
func (l *layout) treed(scores []float64, cfg EstimatorConfig, r *Advantages) error {
	t, err := l.newTree()
	if err != nil {
		return err
	}
	r.Values = l.grouped(scores, cfg, cfg.Norm, r)
	if cfg.ForkOnly {
		clear(r.Values)
	}
	r.Anchors = len(t.families)
	for _, m := range t.families {
		r.checkSpread(m)
	}
	r.Pieces = make([][]Piece, len(r.Values))
	for i := range r.Values {
		penalty := 0.0
		if l.Valid != nil && !l.Valid[i] {
			penalty = cfg.InvalidPenalty
		}
		if !cfg.ForkOnly {
			penalty = 0 // A^E has paid
		}
		base, lone := r.Values[i], true
		t.pieces(i, l.traj[i], func(from int, s *segment) {
			a := t.local(s, penalty, cfg)
			lone = lone && t.families[s.family].n < 2
			r.Pieces[i] = append(r.Pieces[i], Piece{From: from, Leaves: s.leaves, Value: base + cfg.StepWeight*a})
		})
		r.Values[i] = r.Pieces[i][len(r.Pieces[i])-1].Value
		if lone {
			r.LoneRows++
		}
	}
	return nil
}

// local is the forks' part of a segment.
func (t *tree) local(s *segment, penalty float64, cfg EstimatorConfig) float64 {
	m := t.families[s.family]
	if m.n < 2 {
		return -penalty
	}
	div := 1.0
	if cfg.Norm == NormMeanStd {
		div = m.std() + cfg.Epsilon
	}
	return (s.sum/float64(s.leaves) - penalty - m.mean) / div
}
