package credit

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

func TestVote(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		class   []int
		want    Ballot
		rewards []float64
	}{
		"majority":     {[]int{0, 1, 0, 0}, Ballot{4, 0, 2, 0, 0, 3, 1, 0.75}, []float64{1, 0, 1, 1}},
		"second":       {[]int{0, 1, 1}, Ballot{3, 0, 2, 1, 1, 2, 1, 2.0 / 3}, []float64{0, 1, 1}},
		"tie":          {[]int{7, 3, 3, 7}, Ballot{4, 0, 2, 7, 0, 2, 2, 0.5}, []float64{1, 0, 0, 1}},
		"late tie":     {[]int{5, 3, 3, 7, 7}, Ballot{5, 0, 3, 3, 1, 2, 2, 0.4}, []float64{0, 1, 1, 0, 0}},
		"all differ":   {[]int{2, 1, 0}, Ballot{3, 0, 3, 2, 0, 1, 3, 1.0 / 3}, []float64{1, 0, 0}},
		"abstentions":  {[]int{-1, 4, -1, -1}, Ballot{4, 3, 1, 4, 1, 1, 1, 0.25}, []float64{0, 1, 0, 0}},
		"nobody":       {[]int{-1, -1}, Ballot{2, 2, 0, -1, -1, 0, 0, 0}, []float64{0, 0}},
		"no responses": {nil, Ballot{0, 0, 0, -1, -1, 0, 0, 0}, []float64{}},
		"one":          {[]int{9}, Ballot{1, 0, 1, 9, 0, 1, 1, 1}, []float64{1}},
	} {
		got, err := Vote(c.class)
		if err != nil || got != c.want {
			t.Errorf("%s: %+v, %v, want %+v", name, got, err, c.want)
		}
		if r := got.Rewards(c.class); !slices.Equal(r, c.rewards) {
			t.Errorf("%s: rewards %v, want %v", name, r, c.rewards)
		}
	}
	if _, err := Vote([]int{0, -2}); !errors.Is(err, ErrConfig) {
		t.Errorf("class -2: %v", err)
	}
}

// TestVoteProperties: the winner has the most votes; numbering does not matter; the order decides ties
// alone.
func TestVoteProperties(t *testing.T) {
	t.Parallel()
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 5))
		class := make([]int, 1+r.IntN(40))
		count := map[int]int{}
		for i := range class {
			class[i] = r.IntN(6) - 1
			if class[i] >= 0 {
				count[class[i]]++
			}
		}
		b, err := Vote(class)
		if err != nil {
			t.Fatal(err)
		}
		most, tied := 0, 0
		for _, n := range count {
			most = max(most, n)
		}
		for _, n := range count {
			if n == most {
				tied++
			}
		}
		if b.Votes != most || b.Classes != len(count) || most > 0 && b.Tied != tied {
			t.Fatalf("seed %d: %v: %+v, want %d votes of %d classes, %d of them tied", seed, class, b, most, len(count), tied)
		}
		sum := 0.0
		for _, x := range b.Rewards(class) {
			sum += x
		}
		if int(sum) != b.Votes {
			t.Fatalf("seed %d: %v votes, rewards add up to %v", seed, b.Votes, sum)
		}
		renamed := make([]int, len(class))
		for i, k := range class {
			if renamed[i] = -1; k >= 0 {
				renamed[i] = 100 - k
			}
		}
		if o, err := Vote(renamed); err != nil || o.First != b.First || o.Votes != b.Votes || o.Tied != b.Tied {
			t.Fatalf("seed %d: under other numbers %+v, before %+v, %v", seed, o, b, err)
		}
	}
}

func TestEntropyReward(t *testing.T) {
	t.Parallel()
	if got := EntropyReward(Exact(0.5), 8, false); got != -0.5 {
		t.Errorf("RENT: %v", got)
	}
	if got := EntropyReward(Exact(0.5), 8, true); got != -4 {
		t.Errorf("EM-RL: %v", got)
	}
	if got := EntropyReward(Exact(0), 0, true); got != 0 || math.Signbit(got) {
		t.Errorf("no tokens: %v", got)
	}
}

// TestTreeTokenRatio: the formula's own examples. A branch beside the trunk shares half of it on average,
// so the ratio is 1 only where nothing branches.
func TestTreeTokenRatio(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		forks, branches int
		want            float64
	}{{2, 2, 0.6}, {2, 0, 1}, {0, 2, 1}, {1, 1, 0.75}, {4, 4, 9.0 / 17}} {
		if got := TreeTokenRatio(c.forks, c.branches); math.Abs(got-c.want) > 1e-15 {
			t.Errorf("N = %d, B = %d: %v, want %v", c.forks, c.branches, got, c.want)
		}
	}
}

// TestEARExamples: the seed examples of entropy-aware reweighting. The most and the least certain of them
// are at the bounds of the clip.
func TestEARExamples(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ entropies, want []float64 }{
		"seed":  {[]float64{0.4, 0.6, 0.7, 0.5}, []float64{1.2, 0.909, 0.8, 1.091}},
		"equal": {[]float64{0.3, 0.3, 0.3}, []float64{1, 1, 1}},
		"zero":  {[]float64{0, 0}, []float64{1, 1}},
	} {
		rows := ResponseRows{}
		for _, h := range c.entropies {
			rows.Group, rows.Entropy = append(rows.Group, 0), append(rows.Entropy, Exact(h))
		}
		m, err := EAR(rows, DefaultEAR())
		if err != nil {
			t.Fatal(err)
		}
		for i, got := range m.Factor {
			if math.Abs(got-c.want[i]) > 5e-4 {
				t.Errorf("%s: γ of %v is %v, want %v", name, c.entropies[i], got, c.want[i])
			}
		}
	}
}
