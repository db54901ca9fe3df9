package gguf

import (
	"math"
	"math/rand"
	"slices"
	"testing"
)

func TestNumbersOfKnownDistributions(t *testing.T) {
	t.Parallel()
	inf := float32(math.Inf(-1))
	for _, tc := range []struct {
		name       string
		logits     []float32
		lse, nats  float64
		rankOfLast int32
	}{
		{"uniform", []float32{5, 5, 5, 5}, 5 + math.Log(4), math.Log(4), 1},
		{"certain", []float32{inf, 3, inf}, 3, 0, 2},
		{"large logits do not overflow", []float32{1000, 1000}, 1000 + math.Ln2, math.Ln2, 1},
		{"small logits do not underflow", []float32{-2000, -2000}, -2000 + math.Ln2, math.Ln2, 1},
		{"two to one", []float32{float32(math.Ln2), 0}, math.Log(3), math.Log(3) - 2.0/3*math.Ln2, 2},
	} {
		lse, nats := moments(tc.logits)
		// The inputs are float32, so log 2 is only known to 1e-8 there.
		if math.Abs(lse-tc.lse) > 1e-7 || math.Abs(nats-tc.nats) > 1e-7 {
			t.Errorf("%s: lse %v, entropy %v; want %v, %v", tc.name, lse, nats, tc.lse, tc.nats)
		}
		if r := rank(tc.logits, int32(len(tc.logits)-1)); r != tc.rankOfLast {
			t.Errorf("%s: rank %d, want %d", tc.name, r, tc.rankOfLast)
		}
	}
}

func TestNumbersThatAreNone(t *testing.T) {
	t.Parallel()
	nan, inf := float32(math.NaN()), float32(math.Inf(1))
	for _, logits := range [][]float32{nil, {1, nan}, {inf, 1}, {-inf, -inf}} {
		if lse, nats := moments(logits); !math.IsNaN(lse) || !math.IsNaN(nats) {
			t.Errorf("moments(%v) = %v, %v; want NaN", logits, lse, nats)
		}
	}
}

// The insertion and the sorting way give what sorting the whole vocabulary gives.
func TestTopLogprobsAgainstSorting(t *testing.T) {
	t.Parallel()
	const seed = 4
	r := rand.New(rand.NewSource(seed))
	for range 50 {
		logits := make([]float32, 1+r.Intn(600))
		for i := range logits {
			logits[i] = float32(r.Intn(40)) // with ties
		}
		lse, _ := moments(logits)
		ids := make([]int32, len(logits))
		for i := range ids {
			ids[i] = int32(i)
		}
		slices.SortStableFunc(ids, func(a, b int32) int { return int(logits[b] - logits[a]) })
		for _, n := range []int{0, 1, 5, sortAbove, sortAbove + 1, 1000} {
			top := topLogprobs(logits, lse, n)
			if len(top) != min(n, len(logits)) {
				t.Fatalf("seed %d: %d alternatives for n=%d, vocabulary %d", seed, len(top), n, len(logits))
			}
			for i, alt := range top {
				if alt.ID != ids[i] || alt.Logprob != float32(float64(logits[ids[i]])-lse) {
					t.Fatalf("seed %d: n=%d, place %d is %+v, want id %d", seed, n, i, alt, ids[i])
				}
			}
		}
	}
}

// The one pass gives what the definition gives.
func TestMomentsAgainstTheDefinition(t *testing.T) {
	t.Parallel()
	const seed = 9
	r := rand.New(rand.NewSource(seed))
	for range 200 {
		logits := make([]float32, 2+r.Intn(300))
		for i := range logits {
			logits[i] = float32(r.NormFloat64() * 5)
		}
		sum, want := 0.0, 0.0
		for _, x := range logits {
			sum += math.Exp(float64(x))
		}
		for _, x := range logits {
			p := math.Exp(float64(x)) / sum
			want -= p * math.Log(p)
		}
		lse, nats := moments(logits)
		// Sums of 300 terms of float64 are good to about 1e-13 of their size.
		if math.Abs(lse-math.Log(sum)) > 1e-11 || math.Abs(nats-want) > 1e-11 {
			t.Fatalf("seed %d: %v and %v; by definition %v and %v", seed, lse, nats, math.Log(sum), want)
		}
	}
}
