package credit

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

const (
	benchTokens = 512
	benchAction = benchTokens / 10
)

// benchRows draws rows of the given length of which a tenth is one action span, and a hindsight
// context everywhere. All rows' tokens lie in a few large arrays, as they come from the store.
func benchRows(rnd *rand.Rand, n, tokens int) []Row[float32] {
	student, teacher, out := make([]float32, n*tokens), make([]float32, n*tokens), make([]float32, n*tokens)
	spans, rows := make([]Span, n), make([]Row[float32], n)
	for i := range student {
		student[i] = -float32(rnd.ExpFloat64())
		teacher[i] = student[i] + float32(0.3*rnd.NormFloat64())
	}
	for i := range rows {
		start := rnd.IntN(tokens - tokens/10)
		spans[i] = Span{start, start + tokens/10}
		lo, hi := i*tokens, (i+1)*tokens
		rows[i] = Row[float32]{
			Group: i / 8, Trajectory: i, Advantage: rnd.NormFloat64(), Entropy: Exact(rnd.ExpFloat64()), Context: true,
			Student: student[lo:hi:hi], Teacher: teacher[lo:hi:hi], Out: out[lo:hi:hi], Action: spans[i : i+1 : i+1],
		}
	}
	return rows
}

func reportTokens(b *testing.B, rows int) {
	tokens := float64(b.N) * float64(rows) * benchTokens
	b.SetBytes(int64(rows) * benchTokens * 4)
	b.ReportMetric(tokens/b.Elapsed().Seconds()/1e6, "Mtokens/s")
}

const benchBatch = 2048

// BenchmarkCopy is the yardstick: one float32 copy of as many tokens.
func BenchmarkCopy(b *testing.B) {
	src, dst := make([]float32, benchBatch*benchTokens), make([]float32, benchBatch*benchTokens)
	for i := range src {
		src[i] = float32(i)
	}
	for b.Loop() {
		for r := 0; r < len(src); r += benchTokens {
			copy(dst[r:r+benchTokens], src[r:r+benchTokens])
		}
	}
	reportTokens(b, benchBatch)
}

// BenchmarkFusion is the full fusion of rows of 512 tokens of which a tenth are action tokens: base
// advantage, AEM or EAR, SERL.
func BenchmarkFusion(b *testing.B) {
	for _, response := range []ResponseStage{ResponseAEM, ResponseEAR, ResponseNone} {
		b.Run(string(response), func(b *testing.B) {
			rows, cfg := benchRows(rand.New(rand.NewPCG(1, 2)), benchBatch, benchTokens), DefaultFusion()
			cfg.Response = response
			b.ReportAllocs()
			for b.Loop() {
				if _, err := Fuse(rows, cfg); err != nil {
					b.Fatal(err)
				}
			}
			reportTokens(b, benchBatch)
		})
	}
}

// BenchmarkFusionFromEntropies also averages the token entropies of every row.
func BenchmarkFusionFromEntropies(b *testing.B) {
	rnd := rand.New(rand.NewPCG(1, 2))
	rows, cfg := benchRows(rnd, benchBatch, benchTokens), DefaultFusion()
	cfg.Response = ResponseAEM
	entropies := make([]float32, benchBatch*benchTokens)
	for i := range entropies {
		entropies[i] = float32(rnd.ExpFloat64())
	}
	for b.Loop() {
		for i := range rows {
			h, err := MeanEntropy(entropies[i*benchTokens:(i+1)*benchTokens], nil, nil, nil)
			if err != nil {
				b.Fatal(err)
			}
			rows[i].Entropy = h
		}
		if _, err := Fuse(rows, cfg); err != nil {
			b.Fatal(err)
		}
	}
	reportTokens(b, benchBatch)
}

// BenchmarkFusionMask gives the action as a mask instead of spans.
func BenchmarkFusionMask(b *testing.B) {
	rows, cfg := benchRows(rand.New(rand.NewPCG(1, 2)), benchBatch, benchTokens), DefaultFusion()
	cfg.Response = ResponseAEM
	for i := range rows {
		rows[i].ActionMask = make([]bool, benchTokens)
		for j := rows[i].Action[0].Start; j < rows[i].Action[0].End; j++ {
			rows[i].ActionMask[j] = true
		}
	}
	for b.Loop() {
		if _, err := Fuse(rows, cfg); err != nil {
			b.Fatal(err)
		}
	}
	reportTokens(b, benchBatch)
}

// benchBatchOf is a batch of n rows: groups of 8 trajectories of 25 steps over 40 observations.
func benchBatchOf(n int) *Batch {
	rnd := rand.New(rand.NewPCG(3, 4))
	b := &Batch{}
	for i := range n {
		b.Group, b.Trajectory, b.Step = append(b.Group, i/200), append(b.Trajectory, i/25), append(b.Step, i%25)
		b.Reward = append(b.Reward, float64(rnd.IntN(2)))
		b.Return = append(b.Return, float64(i/25%2))
		b.Anchor = append(b.Anchor, fmt.Sprintf("You are in room %d. You see a desk and a lamp.", rnd.IntN(40)))
	}
	return b
}

// BenchmarkEstimate shows that GiGPO and HGPO are linear in rows: ns/row stays where it is.
func BenchmarkEstimate(b *testing.B) {
	for _, name := range []Estimator{GRPO, GiGPO, HGPO} {
		for _, n := range []int{2000, 20000, 200000} {
			b.Run(fmt.Sprintf("%s/rows=%d", name, n), func(b *testing.B) {
				batch := benchBatchOf(n)
				for b.Loop() {
					if _, err := Estimate(batch, DefaultEstimator(name)); err != nil {
						b.Fatal(err)
					}
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/row")
			})
		}
	}
}
