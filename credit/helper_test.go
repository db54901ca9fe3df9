package credit

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/hindsightrl/harness/internal/almost"
)

// newRand returns a fresh random stream and prints its seed where the test fails.
func newRand(t *testing.T) *rand.Rand {
	t.Helper()
	seed := rand.Uint64()
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("random seed %d", seed)
		}
	})
	return rand.New(rand.NewPCG(seed, 0))
}

// randomBatch draws groups of trajectories of unequal lengths, with few distinct rewards and
// observations, so that ties and shared contexts occur.
func randomBatch(rnd *rand.Rand) *Batch {
	b := &Batch{}
	traj := 100
	for g := range 1 + rnd.IntN(4) {
		for range 1 + rnd.IntN(6) {
			traj++
			steps, total := 1+rnd.IntN(6), 0.0
			for s := range steps {
				b.Group = append(b.Group, g*7)
				b.Trajectory = append(b.Trajectory, traj)
				b.Step = append(b.Step, s)
				b.Anchor = append(b.Anchor, fmt.Sprintf("room %d", rnd.IntN(3)))
				b.Tokens = append(b.Tokens, 1+rnd.IntN(40))
				b.Valid = append(b.Valid, rnd.IntN(5) > 0)
				r := []float64{0, 0, 0.25, 1, 10}[rnd.IntN(5)]
				b.Reward = append(b.Reward, r)
				total += r
			}
			for range steps {
				b.Return = append(b.Return, total)
			}
		}
	}
	return b
}

// permuted returns b with its rows in another order: row i of the result is row order[i] of b.
func (b *Batch) permuted(order []int) *Batch {
	p := &Batch{Similar: b.Similar}
	for _, i := range order {
		p.Group = append(p.Group, b.Group[i])
		p.Trajectory = append(p.Trajectory, b.Trajectory[i])
		p.Step = append(p.Step, b.Step[i])
		p.Return = append(p.Return, b.Return[i])
		p.Reward = append(p.Reward, b.Reward[i])
		p.Anchor = append(p.Anchor, b.Anchor[i])
		p.Tokens = append(p.Tokens, b.Tokens[i])
		p.Valid = append(p.Valid, b.Valid[i])
	}
	return p
}

// configs lists every estimator in every variant.
func configs() []EstimatorConfig {
	var out []EstimatorConfig
	for _, name := range Estimators() {
		for _, scope := range []Scope{ScopeRows, ScopeTrajectories} {
			for _, norm := range []Norm{NormMean, NormMeanStd} {
				for _, penalty := range []float64{0, 0.1} {
					c := DefaultEstimator(name)
					c.Scope, c.Norm, c.InvalidPenalty = scope, norm, penalty
					c.BaseGroup = norm == NormMean
					out = append(out, c)
				}
			}
		}
	}
	return out
}

func (c EstimatorConfig) label() string {
	return fmt.Sprintf("%s/%s/%s/penalty %v", c.Name, c.Scope, c.Norm, c.InvalidPenalty)
}

func mustEstimate(t *testing.T, b *Batch, c EstimatorConfig) *Advantages {
	t.Helper()
	r, err := Estimate(b, c)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// sameFloats compares slices. 1e-9 leaves room for divisions by a std of 1e-6 or more, which blow up
// the rounding of a sum taken in another order by that much.
func sameFloats(t *testing.T, what string, got, want []float64, tolerance float64) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%s: %d values, want %d", what, len(got), len(want))
	}
	for i := range got {
		if !almost.Equal(got[i], want[i], tolerance, tolerance) {
			t.Fatalf("%s, row %d: got %v, want %v", what, i, got[i], want[i])
		}
	}
}

func maxAbs(xs []float64) float64 {
	top := 0.0
	for _, x := range xs {
		top = math.Max(top, math.Abs(x))
	}
	return top
}
