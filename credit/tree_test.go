package credit

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// grownBatch makes a batch of random trees: every trajectory's rows, shared ones among them.
func grownBatch(r *rand.Rand, groups, perGroup int) *Batch {
	b := &Batch{Step: []int{}, Tokens: []int{}, Valid: []bool{}, Fork: []Fork{}}
	traj := 0
	for g := range groups {
		type leaf struct {
			id     int
			fork   Fork
			tokens []int // of each step
		}
		var leaves []leaf
		for n := range perGroup {
			l := leaf{id: traj, fork: NoFork}
			traj++
			if n > 0 && r.IntN(4) > 0 {
				p := leaves[r.IntN(len(leaves))]
				for range 20 {
					f := Fork{Parent: p.id, Step: r.IntN(len(p.tokens))}
					f.Token = r.IntN(p.tokens[f.Step])
					if p.fork.Parent < 0 && comparePlaces(f, NoFork) > 0 || comparePlaces(f, p.fork) > 0 {
						l.fork, l.tokens = f, slices.Clone(p.tokens[:f.Step])
						break
					}
				}
			}
			own := 1 + r.IntN(3)
			for range own {
				l.tokens = append(l.tokens, 2+r.IntN(6))
			}
			if f := l.fork; f.Parent >= 0 {
				l.tokens[f.Step] = max(l.tokens[f.Step], f.Token+1)
			}
			leaves = append(leaves, l)
			ret := []float64{0, 0, 10, r.NormFloat64()}[r.IntN(4)]
			for i, t := range l.tokens {
				b.Group, b.Trajectory, b.Step = append(b.Group, g), append(b.Trajectory, l.id), append(b.Step, i)
				b.Return, b.Tokens, b.Fork = append(b.Return, ret), append(b.Tokens, t), append(b.Fork, l.fork)
				b.Valid = append(b.Valid, r.IntN(5) > 0)
			}
		}
	}
	return b
}

// naiveTree is the tree estimator's fork part by looking at every token of every trajectory: the
// trajectories that hold it, and those that part from them at the fork behind which it stands.
type naiveTree struct {
	b      *Batch
	fork   map[int]Fork
	ret    map[int]float64
	group  map[int]int
	tokens map[int]map[int]int // trajectory → step → tokens
}

func newNaiveTree(b *Batch) *naiveTree {
	n := &naiveTree{b, map[int]Fork{}, map[int]float64{}, map[int]int{}, map[int]map[int]int{}}
	for i, t := range b.Trajectory {
		n.fork[t], n.ret[t], n.group[t] = b.Fork[i], b.Return[i], b.Group[i]
		if n.tokens[t] == nil {
			n.tokens[t] = map[int]int{}
		}
		n.tokens[t][b.Step[i]] = b.Tokens[i]
	}
	return n
}

// owner is the trajectory that sampled a token of t's path.
func (n *naiveTree) owner(t, step, token int) int {
	for n.fork[t].Parent >= 0 && n.fork[t].before(step, token) {
		t = n.fork[t].Parent
	}
	return t
}

// holders are the trajectories of the group that hold the very token.
func (n *naiveTree) holders(t, step, token int) []int {
	var out []int
	for o := range n.fork {
		if k, ok := n.tokens[o][step]; ok && token < k && n.group[o] == n.group[t] && n.owner(o, step, token) == n.owner(t, step, token) {
			out = append(out, o)
		}
	}
	slices.Sort(out)
	return out
}

func (n *naiveTree) value(holders []int) float64 {
	sum := 0.0
	for _, o := range holders {
		sum += n.ret[o]
	}
	return sum / float64(len(holders))
}

// local is V − mean V of the family of a token's segment, or divided by its deviation.
func (n *naiveTree) local(t, step, token int, norm Norm, eps float64) (leaves int, a float64) {
	held := n.holders(t, step, token)
	// Back to the first token that the same trajectories hold.
	s, k := step, token
	for {
		ps, pk := s, k-1
		if k == 0 {
			if s == 0 {
				break
			}
			ps, pk = s-1, n.tokens[t][s-1]-1
		}
		if !slices.Equal(n.holders(t, ps, pk), held) {
			break
		}
		s, k = ps, pk
	}
	// The trajectories that have the same past before it, by what they hold at it.
	var past []int
	switch {
	case s == 0 && k == 0:
		for o := range n.fork {
			if n.group[o] == n.group[t] {
				past = append(past, o)
			}
		}
	case k == 0:
		past = n.holders(t, s-1, n.tokens[t][s-1]-1)
	default:
		past = n.holders(t, s, k-1)
	}
	var values []float64
	seen := map[string]bool{}
	for _, o := range past {
		if _, ok := n.tokens[o][s]; !ok || k >= n.tokens[o][s] {
			continue
		}
		h := n.holders(o, s, k)
		if key := fmt.Sprint(h); !seen[key] {
			seen[key] = true
			values = append(values, n.value(h))
		}
	}
	if len(values) < 2 {
		return len(held), 0
	}
	mean, ss := 0.0, 0.0
	for _, v := range values {
		mean += v / float64(len(values))
	}
	for _, v := range values {
		ss += (v - mean) * (v - mean)
	}
	div := 1.0
	if norm == NormMeanStd {
		div = math.Sqrt(ss/float64(len(values)-1)) + eps
	}
	return len(held), (n.value(held) - mean) / div
}

func TestTreeAgreesWithLookingAtEveryToken(t *testing.T) {
	t.Parallel()
	for seed := range uint64(40) {
		r := rand.New(rand.NewPCG(seed, 5))
		b := grownBatch(r, 1+r.IntN(3), 2+r.IntN(7))
		cfg := DefaultEstimator(Tree)
		cfg.Norm, cfg.StepWeight, cfg.ForkOnly = []Norm{NormMean, NormMeanStd}[seed%2], 0.5+r.Float64(), seed%3 == 0
		cfg.Epsilon = 1e-3
		got, err := Estimate(b, cfg)
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		episode := cfg
		episode.Name = DrGRPO
		if cfg.Norm == NormMeanStd {
			episode.Name = GRPO
		}
		base, err := Estimate(b, episode)
		if err != nil {
			t.Fatal(err)
		}
		cut, err := Pieces(b)
		if err != nil {
			t.Fatal(err)
		}
		naive := newNaiveTree(b)
		for i := range b.Group {
			for k := range b.Tokens[i] {
				at := 0
				for at+1 < len(got.Pieces[i]) && got.Pieces[i][at+1].From <= k {
					at++
				}
				leaves, want := naive.local(b.Trajectory[i], b.Step[i], k, cfg.Norm, cfg.Epsilon)
				want *= cfg.StepWeight
				if !cfg.ForkOnly {
					want += base.Values[i]
				}
				p := got.Pieces[i][at]
				if math.Abs(p.Value-want) > 1e-9*max(1, math.Abs(want)) || p.Leaves != leaves || cut[i][at].Leaves != leaves || cut[i][at].From != p.From {
					t.Fatalf("seed %d, row %d, token %d: %+v, want %v of %d leaves (%+v)", seed, i, k, p, want, leaves, cut[i])
				}
			}
			if last := got.Pieces[i][len(got.Pieces[i])-1]; last.Value != got.Values[i] {
				t.Fatalf("seed %d, row %d: the row has %v, its last piece %v", seed, i, got.Values[i], last.Value)
			}
		}
	}
}

// A tree by hand: root R (10) forks at step 1, token 2, into B (0) and C (4); C forks at step 2 into D (0).
//
//	segment             leaves   V          family           A^F
//	R up to the fork    R B C D  3.5        the root alone   0
//	R behind it         R        10         R B C: mean 4    6
//	B                   B        0                           −4
//	C up to its fork    C D      2                           −2
//	C behind it         C        4          C D: mean 2      2
//	D                   D        0                           −2
func TestTreeByHand(t *testing.T) {
	t.Parallel()
	b := &Batch{}
	row := func(traj, step, tokens int, ret float64, f Fork) {
		b.Group, b.Trajectory, b.Step = append(b.Group, 0), append(b.Trajectory, traj), append(b.Step, step)
		b.Tokens, b.Return, b.Fork = append(b.Tokens, tokens), append(b.Return, ret), append(b.Fork, f)
	}
	atR, atC := Fork{Parent: 0, Step: 1, Token: 2}, Fork{Parent: 2, Step: 2}
	row(0, 0, 3, 10, NoFork)
	row(0, 1, 5, 10, NoFork)
	row(1, 0, 3, 0, atR)
	row(1, 1, 4, 0, atR)
	row(2, 0, 3, 4, atR)
	row(2, 1, 4, 4, atR)
	row(2, 2, 2, 4, atR)
	row(3, 0, 3, 0, atC)
	row(3, 1, 4, 0, atC)
	row(3, 2, 2, 0, atC)
	cfg := DefaultEstimator(Tree)
	cfg.ForkOnly = true
	got, err := Estimate(b, cfg)
	if err != nil {
		t.Fatal(err)
	}
	shared := Piece{From: 0, Leaves: 4}
	rRest, bRest := Piece{From: 2, Leaves: 1, Value: 6}, Piece{From: 2, Leaves: 1, Value: -4}
	cRest, cd := Piece{From: 2, Leaves: 2, Value: -2}, func(v float64) []Piece { return []Piece{{From: 0, Leaves: 1, Value: v}} }
	want := [][]Piece{
		{shared},
		{shared, rRest},
		{shared},
		{shared, bRest},
		{shared},
		{shared, cRest},
		cd(2),
		{shared},
		{shared, cRest},
		cd(-2),
	}
	for i := range want {
		if !slices.Equal(got.Pieces[i], want[i]) {
			t.Errorf("row %d: %+v, want %+v", i, got.Pieces[i], want[i])
		}
	}
	if got.Anchors != 3 || got.LoneRows != 4 {
		t.Errorf("%d families and %d lone rows, want 3 and 4", got.Anchors, got.LoneRows)
	}
}

// Without forks the fork part is Dr.GRPO's; the order of the rows does not matter.
func TestTreeWithoutForksAndInAnyOrder(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2))
	b := grownBatch(r, 2, 5)
	perm := r.Perm(len(b.Group))
	q := &Batch{}
	for _, i := range perm {
		q.Group, q.Trajectory, q.Step = append(q.Group, b.Group[i]), append(q.Trajectory, b.Trajectory[i]), append(q.Step, b.Step[i])
		q.Return, q.Tokens, q.Fork = append(q.Return, b.Return[i]), append(q.Tokens, b.Tokens[i]), append(q.Fork, b.Fork[i])
		q.Valid = append(q.Valid, b.Valid[i])
	}
	cfg := DefaultEstimator(Tree)
	cfg.AdvClip = 3
	one, err := Estimate(b, cfg)
	if err != nil {
		t.Fatal(err)
	}
	two, err := Estimate(q, cfg)
	if err != nil {
		t.Fatal(err)
	}
	for j, i := range perm {
		if math.Abs(one.Values[i]-two.Values[j]) > 1e-12 || math.Abs(one.Values[i]) > 3 {
			t.Errorf("row %d: %v, and %v in another order", i, one.Values[i], two.Values[j])
		}
	}
	b.Fork, cfg.ForkOnly, cfg.AdvClip, b.Valid = nil, true, 0, nil
	flat, err := Estimate(b, cfg)
	if err != nil {
		t.Fatal(err)
	}
	cfg.Name = DrGRPO
	plain, err := Estimate(b, cfg)
	if err != nil {
		t.Fatal(err)
	}
	for i := range flat.Values {
		if math.Abs(flat.Values[i]-plain.Values[i]) > 1e-12 {
			t.Errorf("row %d: %v, Dr.GRPO %v", i, flat.Values[i], plain.Values[i])
		}
	}
	if p, err := Pieces(b); p != nil || err != nil {
		t.Errorf("pieces of a batch without forks: %v, %v", p, err)
	}
}

func TestTreesThatCannotBe(t *testing.T) {
	t.Parallel()
	for want, forks := range map[string][]Fork{
		"forks off trajectory 9":           {NoFork, {Parent: 9}, {Parent: 9}},
		"has two forks":                    {NoFork, {Parent: 0}, {Parent: 0, Step: 1}},
		"go round in a circle":             {{Parent: 1}, {Parent: 0}, {Parent: 0}},
		"forks off trajectory 0 at step -": {NoFork, {Parent: 0, Step: -1}, {Parent: 0, Step: -1}},
		"fork has 2 values":                {NoFork, NoFork},
	} {
		b := &Batch{Group: []int{0, 0, 0}, Trajectory: []int{0, 1, 1}, Step: []int{0, 0, 1}, Return: []float64{1, 2, 2}, Fork: forks}
		_, err := Estimate(b, DefaultEstimator(Tree))
		_, err2 := Pieces(b)
		if err == nil || err2 == nil || !strings.Contains(err.Error(), want) && want[:4] != "fork" || !errors.Is(err, ErrConfig) && !errors.Is(err, ErrLength) {
			t.Errorf("%v: got %v and %v, want %s", forks, err, err2, want)
		}
	}
}

func BenchmarkTree(b *testing.B) {
	batch := grownBatch(rand.New(rand.NewPCG(1, 1)), 64, 60)
	cfg := DefaultEstimator(Tree)
	b.ReportMetric(float64(len(batch.Group)), "rows")
	for b.Loop() {
		if _, err := Estimate(batch, cfg); err != nil {
			b.Fatal(err)
		}
	}
}
