package ngram

import (
	"math"
	"math/rand/v2"
	"testing"
)

const size = 40 // vocabulary of the tests

// sample returns a table over random texts, and the texts.
func sample(tb testing.TB, seed uint64, prune uint32) (*Table, [][]int32) {
	tb.Helper()
	r := rand.New(rand.NewPCG(seed, 2))
	var c Counts
	var texts [][]int32
	for range 30 {
		seq := make([]int32, 1+r.IntN(30))
		for i := range seq {
			seq[i] = int32(r.IntN(4) * r.IntN(5)) // skewed, with gaps
		}
		texts = append(texts, seq)
		c.Add(seq)
	}
	if prune > 1 {
		c.Prune(1, prune)
	}
	m, err := Load(c.Encode(), size)
	if err != nil {
		tb.Fatal(err)
	}
	return m, texts
}

// naiveProb is the formula of Table written out over the counts.
func naiveProb(texts [][]int32, h []int32, w int32) float64 {
	n, distinct, c := 0.0, map[int32]bool{}, 0.0
	for _, seq := range texts {
		for i := len(h); i < len(seq); i++ {
			if equal(seq[i-len(h):i], h) {
				n++
				distinct[seq[i]] = true
				if seq[i] == w {
					c++
				}
			}
		}
	}
	low := 1.0 / size
	if len(h) > 0 {
		low = naiveProb(texts, h[1:], w)
	}
	if n == 0 {
		return low
	}
	return max(c-Discount, 0)/n + Discount*float64(len(distinct))/n*low
}

func equal(a, b []int32) bool {
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}

func TestProbabilitiesFollowTheFormula(t *testing.T) {
	t.Parallel()
	m, texts := sample(t, 1, 0)
	for _, seq := range texts[:10] {
		var c Context
		for i, id := range seq {
			for w := range int32(size) {
				want := naiveProb(texts, seq[max(0, i-Order):i], w)
				if got := m.Prob(&c, w); math.Abs(got-want) > 1e-15 {
					t.Fatalf("P(%d | %v) = %g, by the formula %g", w, seq[max(0, i-Order):i], got, want)
				}
			}
			m.Push(&c, id)
		}
	}
}

func TestSumsAndEntropies(t *testing.T) {
	t.Parallel()
	for prune := range uint32(4) {
		m, texts := sample(t, 7, prune)
		dense := make([]float64, size)
		for _, seq := range texts {
			var c Context
			for i := range seq {
				m.Seek(&c, seq[:i])
				m.Fill(&c, dense)
				sum, sumLog, peak := 0.0, 0.0, 0.0
				for w, p := range dense {
					if got := m.Prob(&c, int32(w)); got != p {
						t.Fatalf("prune %d: P(%d) is %g alone and %g in the whole distribution", prune, w, got, p)
					}
					sum += p
					sumLog += p * math.Log(p)
					peak = max(peak, p)
				}
				if math.Abs(sum-1) > 1e-13 || math.Abs(sumLog-m.SumLog(&c)) > 1e-12 || math.Abs(peak-m.Peak(&c)) > 0 {
					t.Fatalf("prune %d: sum 1%+.2g, Σ P ln P %g against %g, peak %g against %g", prune, sum-1, m.SumLog(&c), sumLog, m.Peak(&c), peak)
				}
			}
		}
	}
}

// Seek and Push arrive at the same place.
func TestSeekIsPush(t *testing.T) {
	t.Parallel()
	m, texts := sample(t, 3, 2)
	for _, seq := range texts {
		var c, s Context
		for i, id := range seq {
			m.Push(&c, id)
			m.Seek(&s, seq[:i+1])
			if c != s {
				t.Fatalf("after %v: %+v by steps, %+v at once", seq[:i+1], c, s)
			}
		}
	}
}

func TestSampleFollowsProb(t *testing.T) {
	t.Parallel()
	m, texts := sample(t, 5, 0)
	var c Context
	m.Seek(&c, texts[0][:min(2, len(texts[0]))])
	r := rand.New(rand.NewPCG(1, 9))
	const n = 200_000
	var count [size]float64
	for range n {
		count[m.Sample(&c, r.Float64)]++
	}
	chi, bins := 0.0, 0.0
	for w := range count {
		if ex := m.Prob(&c, int32(w)) * n; ex >= 5 {
			chi += (count[w] - ex) * (count[w] - ex) / ex
			bins++
		}
	}
	if limit := bins + 5*math.Sqrt(2*bins); chi > limit {
		t.Errorf("chi-squared %.1f over %.0f tokens, bound %.1f", chi, bins, limit)
	}
}

func TestBrokenTables(t *testing.T) {
	t.Parallel()
	var c Counts
	c.Add([]int32{1, 2, 3})
	good := c.Encode()
	for n := range good {
		if _, err := Load(good[:n], size); err == nil {
			t.Errorf("the first %d of %d bytes load", n, len(good))
		}
	}
	if _, err := Load(append(good, 0), size); err == nil {
		t.Error("a byte too many loads")
	}
	if _, err := Load(good, 3); err == nil {
		t.Error("token 3 of a vocabulary of 3 loads")
	}
}

func FuzzLoad(f *testing.F) {
	var c Counts
	c.Add([]int32{1, 2, 1, 2, 3})
	f.Add(c.Encode())
	f.Add([]byte{1, 0, 1, 0})
	f.Fuzz(func(t *testing.T, data []byte) {
		m, err := decode(data, size)
		if err == nil && len(m.start) != len(m.token)+1 {
			t.Fatalf("%d starts for %d nodes", len(m.start), len(m.token))
		}
	})
}
