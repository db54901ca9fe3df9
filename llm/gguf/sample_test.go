package gguf

import (
	"math"
	"slices"
	"testing"

	"github.com/hindsightrl/harness/llm"
)

func seeded(s llm.Sampling, seed int64) llm.Sampling {
	s.Seed = &seed
	return s
}

// draws returns how often each token came in n draws.
func draws(s llm.Sampling, logits []float32, n int) []int {
	p, count := newSampler(s), make([]int, len(logits))
	for range n {
		count[p.sample(logits)]++
	}
	return count
}

func TestSamplerFollowsTheDistribution(t *testing.T) {
	t.Parallel()
	logits := []float32{0, float32(math.Log(2)), float32(math.Log(5)), float32(math.Inf(-1))}
	for _, tc := range []struct {
		name string
		s    llm.Sampling
		want []float64
	}{
		{"neutral", llm.Sampling{Temperature: 1, TopP: 1}, []float64{.125, .25, .625, 0}},
		{"top-p 0 is off", llm.Sampling{Temperature: 1}, []float64{.125, .25, .625, 0}},
		{"temperature 1/2 squares", llm.Sampling{Temperature: .5}, []float64{1. / 30, 4. / 30, 25. / 30, 0}},
		{"top-k", llm.Sampling{Temperature: 1, TopK: 2}, []float64{0, 2. / 7, 5. / 7, 0}},
		{"top-k above the vocabulary", llm.Sampling{Temperature: 1, TopK: 9}, []float64{.125, .25, .625, 0}},
		{"top-p keeps the token that crosses", llm.Sampling{Temperature: 1, TopP: .7}, []float64{0, 2. / 7, 5. / 7, 0}},
		{"top-p at one token", llm.Sampling{Temperature: 1, TopP: .6}, []float64{0, 0, 1, 0}},
		{"min-p", llm.Sampling{Temperature: 1, MinP: .3}, []float64{0, 2. / 7, 5. / 7, 0}},
		{"greedy", llm.Sampling{}, []float64{0, 0, 1, 0}},
	} {
		const n = 40000
		for id, c := range draws(seeded(tc.s, 1), logits, n) {
			// Four standard deviations of a frequency of 1/2 in 40000 draws are 0.01.
			if got := float64(c) / n; math.Abs(got-tc.want[id]) > 0.01 || (c > 0) != (tc.want[id] > 0) {
				t.Errorf("%s: token %d came with frequency %v, want %v", tc.name, id, got, tc.want[id])
			}
		}
	}
}

func TestSamplerIsDecidedByItsSeed(t *testing.T) {
	t.Parallel()
	logits := make([]float32, 100)
	s := llm.Sampling{Temperature: 1, TopP: .9, TopK: 50}
	series := func(seed int64) (ids []int32) {
		p := newSampler(seeded(s, seed))
		for range 50 {
			ids = append(ids, p.sample(logits))
		}
		return ids
	}
	if !slices.Equal(series(3), series(3)) {
		t.Error("one seed gave two series")
	}
	if slices.Equal(series(3), series(4)) || slices.Equal(series(-1), series(1)) {
		t.Error("two seeds gave one series")
	}
}

func TestSamplerWithNothingLeft(t *testing.T) {
	t.Parallel()
	inf := float32(math.Inf(-1))
	for _, temperature := range []float64{0, 1} {
		if id := newSampler(llm.Sampling{Temperature: temperature}).sample([]float32{inf, inf}); id != -1 {
			t.Errorf("temperature %v drew %d from nothing", temperature, id)
		}
	}
}
