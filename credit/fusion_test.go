package credit

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/hindsightrl/harness/internal/almost"
)

// randomRows draws rows with every combination of what a row may carry.
func randomRows[F Float](rnd *rand.Rand, n int) []Row[F] {
	rows := make([]Row[F], n)
	for i := range rows {
		t := rnd.IntN(40)
		r := &rows[i]
		*r = Row[F]{
			Group: i / 4, Trajectory: i / 2, Advantage: []float64{0, 1, -1, rnd.NormFloat64()}[rnd.IntN(4)],
			Entropy: Exact(rnd.ExpFloat64()), Context: rnd.IntN(4) > 0, Out: make([]F, t),
		}
		for range t {
			s := -rnd.ExpFloat64()
			r.Student, r.Teacher = append(r.Student, F(s)), append(r.Teacher, F(s+rnd.NormFloat64()*0.3))
			r.ActionMask = append(r.ActionMask, rnd.IntN(3) == 0)
		}
		if rnd.IntN(2) == 0 {
			r.Action, r.ActionMask = AppendSpans(nil, r.ActionMask), nil
		}
		if rnd.IntN(4) == 0 {
			for range t {
				r.Response = append(r.Response, rnd.IntN(5) > 0)
			}
		}
		if rnd.IntN(4) == 0 {
			for range t {
				r.PerToken = append(r.PerToken, F(rnd.NormFloat64()))
			}
		}
	}
	return rows
}

// fuseTwin is the formula, token by token.
func fuseTwin[F Float](rows []Row[F], cfg FusionConfig, factor []float64) [][]float64 {
	lambda := cfg.SERL.LambdaAt(cfg.Update)
	out := make([][]float64, len(rows))
	for i, r := range rows {
		action := r.ActionMask
		if action == nil {
			action = make([]bool, len(r.Out))
			for _, s := range r.Action {
				for j := s.Start; j < s.End; j++ {
					action[j] = true
				}
			}
		}
		out[i] = make([]float64, len(r.Out))
		for j := range r.Out {
			if r.Response != nil && !r.Response[j] {
				continue
			}
			a := r.Advantage
			if r.PerToken != nil {
				a = float64(r.PerToken[j])
			}
			if cfg.AdvClip > 0 {
				a = math.Max(-cfg.AdvClip, math.Min(cfg.AdvClip, a))
			}
			a *= factor[i]
			if r.Context && (cfg.Token == TokenRLSD || cfg.Token == TokenSERL && action[j]) {
				w := SERLWeight(signOf(a), float64(r.Teacher[j])-float64(r.Student[j]), cfg.SERL.Clip)
				a *= (1 - lambda) + lambda*w
			}
			out[i][j] = a
		}
	}
	return out
}

func factorsOf(t *testing.T, rows []ResponseRows, cfg FusionConfig) []float64 {
	t.Helper()
	out := make([]float64, len(rows[0].Group))
	for i := range out {
		out[i] = 1
	}
	var m *Modulation
	var err error
	switch cfg.Response {
	case ResponseAEM:
		m, err = AEM(rows[0], cfg.AEM)
	case ResponseEAR:
		m, err = EAR(rows[0], cfg.EAR)
	default:
		return out
	}
	if err != nil {
		t.Fatal(err)
	}
	return m.Factor
}

func responsesOf[F Float](rows []Row[F]) []ResponseRows {
	var r ResponseRows
	for _, row := range rows {
		r.Group, r.Trajectory = append(r.Group, row.Group), append(r.Trajectory, row.Trajectory)
		r.Entropy = append(r.Entropy, row.Entropy)
	}
	return []ResponseRows{r}
}

func fusionConfigs(rnd *rand.Rand) []FusionConfig {
	var out []FusionConfig
	for _, response := range []ResponseStage{ResponseNone, ResponseAEM, ResponseEAR} {
		for _, token := range []TokenStage{TokenNone, TokenSERL, TokenRLSD} {
			for _, clip := range []float64{0, 0.2, 0.259, 0.5, 1, 3} {
				c := DefaultFusion()
				c.Response, c.Token, c.SERL.Clip, c.Update = response, token, clip, rnd.IntN(60)
				c.AdvClip = []float64{0, 0.5}[rnd.IntN(2)]
				c.AEM.Scope = []EntropyScope{EntropyGroup, EntropyTrajectory}[rnd.IntN(2)]
				out = append(out, c)
			}
		}
	}
	return out
}

func testFuseTwin[F Float](t *testing.T, tolerance float64) {
	rnd := newRand(t)
	for range 5 {
		for _, cfg := range fusionConfigs(rnd) {
			rows := randomRows[F](rnd, 24)
			res, err := Fuse(rows, cfg)
			if err != nil {
				t.Fatal(err)
			}
			want := fuseTwin(rows, cfg, factorsOf(t, responsesOf(rows), cfg))
			for i, row := range rows {
				for j, got := range row.Out {
					if !almost.Equal(float64(got), want[i][j], tolerance, 0) {
						t.Fatalf("%+v: row %d, token %d: got %v, want %v", cfg, i, j, got, want[i][j])
					}
				}
			}
			checkReport(t, res, rows, want)
		}
	}
}

// TestFuseTwin: the fast pass equals the formula: to one rounding in float32, to 1e-12 in float64.
func TestFuseTwin(t *testing.T) {
	t.Parallel()
	t.Run("float32", func(t *testing.T) { t.Parallel(); testFuseTwin[float32](t, 1.0/(1<<23)) })
	t.Run("float64", func(t *testing.T) { t.Parallel(); testFuseTwin[float64](t, 1e-12) })
}

// checkReport recounts the result's totals from its tokens.
func checkReport[F Float](t *testing.T, res *FusionResult, rows []Row[F], want [][]float64) {
	t.Helper()
	var all accumulator
	for i, r := range rows {
		for j := range r.Out {
			if r.Response == nil || r.Response[j] {
				all.add(want[i][j], 1)
			}
		}
	}
	last, s := res.Stages[len(res.Stages)-1], all.stats()
	if last.Name != "tokens" || last.Tokens != s.N || res.SignBroken != 0 {
		t.Fatalf("%+v, %d signs broken, want %d tokens and 0", last, res.SignBroken, s.N)
	}
	for _, c := range [][2]float64{{last.Stats.Mean, s.Mean}, {last.Stats.Min, s.Min}, {last.Stats.Max, s.Max}} {
		if !almost.Equal(c[0], c[1], 1e-6, 1e-7) {
			t.Fatalf("stats %+v, want %+v", last.Stats, s)
		}
	}
}

// TestFuseSERLStats recounts the weights.
func TestFuseSERLStats(t *testing.T) {
	t.Parallel()
	rnd := newRand(t)
	for _, clip := range []float64{0, 0.1, 0.2, 0.7, 1} {
		rows := randomRows[float64](rnd, 30)
		cfg := DefaultFusion()
		cfg.SERL.Clip = clip
		res, err := Fuse(rows, cfg)
		if err != nil {
			t.Fatal(err)
		}
		var weights accumulator
		abs, clipped, candidates := 0.0, 0, 0
		for _, r := range rows {
			mask := slices.Clone(r.ActionMask)
			if mask == nil {
				mask = make([]bool, len(r.Out))
			}
			for _, s := range r.Action {
				for j := s.Start; j < s.End; j++ {
					mask[j] = true
				}
			}
			for j := range r.Out {
				if !r.Context || r.Response != nil && !r.Response[j] {
					continue
				}
				candidates++
				if !mask[j] {
					continue
				}
				a := r.Advantage
				if r.PerToken != nil {
					a = r.PerToken[j]
				}
				d := r.Teacher[j] - r.Student[j]
				w := SERLWeight(signOf(a), d, clip)
				weights.add(w, 1)
				abs += math.Abs(d)
				if w <= 1-clip+1e-6 || w >= 1+clip-1e-6 {
					clipped++
				}
			}
		}
		n := float64(weights.n)
		want := SERLStats{
			Lambda: 0.5, Weight: weights.stats(), DeltaAbsMean: abs / n, Rows: res.SERL.Rows, Candidates: candidates,
			ClippedShare: float64(clipped) / n, SelectedShare: n / float64(candidates),
		}
		got := res.SERL
		if !almost.Equal(got.Weight.Mean, want.Weight.Mean, 1e-12, 0) || !almost.Equal(got.DeltaAbsMean, want.DeltaAbsMean, 1e-12, 0) ||
			!almost.Equal(got.Weight.Min, want.Weight.Min, 1e-14, 0) || !almost.Equal(got.Weight.Max, want.Weight.Max, 1e-14, 0) {
			t.Errorf("c = %v: %+v, want %+v", clip, got, want)
		}
		got.Weight, got.DeltaAbsMean = want.Weight, want.DeltaAbsMean
		got.Weight.N = res.SERL.Weight.N
		if got != want {
			t.Errorf("c = %v: %+v, want %+v", clip, got, want)
		}
	}
}

// TestNothingToWeigh: λ = 0, equal log-probabilities, no context, or an update past the decay leave
// the base advantage as it is, to the bit.
func TestNothingToWeigh(t *testing.T) {
	t.Parallel()
	rnd := newRand(t)
	for name, change := range map[string]func(*FusionConfig, []Row[float64]){
		"lambda 0":   func(c *FusionConfig, _ []Row[float64]) { c.SERL.Lambda = 0 },
		"decayed":    func(c *FusionConfig, _ []Row[float64]) { c.Update = 50 },
		"no context": func(_ *FusionConfig, rows []Row[float64]) { eachRow(rows, func(r *Row[float64]) { r.Context = false }) },
		"zero deltas": func(_ *FusionConfig, rows []Row[float64]) {
			eachRow(rows, func(r *Row[float64]) { r.Teacher = r.Student })
		},
		"clip 0":   func(c *FusionConfig, _ []Row[float64]) { c.SERL.Clip = 0 },
		"no stage": func(c *FusionConfig, _ []Row[float64]) { c.Token = TokenNone },
	} {
		rows, cfg := randomRows[float64](rnd, 20), DefaultFusion()
		change(&cfg, rows)
		if _, err := Fuse(rows, cfg); err != nil {
			t.Fatal(err)
		}
		for i, r := range rows {
			for j, got := range r.Out {
				want := r.Advantage
				if r.PerToken != nil {
					want = r.PerToken[j]
				}
				if r.Response != nil && !r.Response[j] {
					want = 0
				}
				if got != want {
					t.Errorf("%s: row %d, token %d: %v, want the base %v", name, i, j, got, want)
				}
			}
		}
	}
}

func eachRow(rows []Row[float64], f func(*Row[float64])) {
	for i := range rows {
		f(&rows[i])
	}
}

// TestStageOrder: entropy first or weights first, the result is the same; so is one pass or two.
func TestStageOrder(t *testing.T) {
	t.Parallel()
	rnd := newRand(t)
	for _, response := range []ResponseStage{ResponseAEM, ResponseEAR} {
		rows := randomRows[float64](rnd, 24)
		both := DefaultFusion()
		both.Response = response
		if _, err := Fuse(rows, both); err != nil {
			t.Fatal(err)
		}
		var once [][]float64
		for _, r := range rows {
			once = append(once, slices.Clone(r.Out))
		}
		token, entropy := both, both
		token.Response, entropy.Token = ResponseNone, TokenNone
		for _, order := range [][2]FusionConfig{{entropy, token}, {token, entropy}} {
			if _, err := Fuse(rows, order[0]); err != nil {
				t.Fatal(err)
			}
			second := slices.Clone(rows)
			for i := range second {
				second[i].PerToken, second[i].Out = rows[i].Out, make([]float64, len(rows[i].Out))
			}
			if _, err := Fuse(second, order[1]); err != nil {
				t.Fatal(err)
			}
			for i, r := range second {
				sameFloats(t, string(response), r.Out, once[i], 1e-12)
			}
		}
	}
}

// TestPermutationOfFusedRows: each row's tokens do not depend on where the row stands.
func TestPermutationOfFusedRows(t *testing.T) {
	t.Parallel()
	rnd := newRand(t)
	rows, cfg := randomRows[float64](rnd, 24), DefaultFusion()
	cfg.Response = ResponseAEM
	if _, err := Fuse(rows, cfg); err != nil {
		t.Fatal(err)
	}
	moved := make([]Row[float64], len(rows))
	order := rnd.Perm(len(rows))
	for i, j := range order {
		moved[i] = rows[j]
		moved[i].Out = make([]float64, len(rows[j].Out))
	}
	if _, err := Fuse(moved, cfg); err != nil {
		t.Fatal(err)
	}
	for i, j := range order {
		sameFloats(t, "moved row", moved[i].Out, rows[j].Out, 1e-12)
	}
}

func TestStagesAreNamed(t *testing.T) {
	t.Parallel()
	rows := []Row[float32]{
		{Group: 1, Advantage: 3, Entropy: Exact(0.5), Out: make([]float32, 4)},
		{
			Group: 1, Advantage: -1, Entropy: Exact(1.5), Out: make([]float32, 4), Context: true,
			Student: []float32{-1, -1, -1, -1}, Teacher: []float32{-1, -9, -1, -1}, Action: []Span{{1, 3}},
		},
	}
	cfg := DefaultFusion()
	cfg.AdvClip, cfg.Response = 2, ResponseEAR
	res, err := Fuse(rows, cfg)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, s := range res.Stages {
		names = append(names, s.Name)
	}
	if want := []string{"advantage", "ear", "serl", "tokens"}; !slices.Equal(names, want) {
		t.Fatalf("stages %v, want %v", names, want)
	}
	base, ear, serl, tokens := res.Stages[0], res.Stages[1], res.Stages[2], res.Stages[3]
	if base.Rows != 2 || base.Stats != (Stats{2, 0.5, -1, 2}) || base.ClipShare != 0.5 {
		t.Errorf("advantage: %+v", base)
	}
	// m = 1: γ = 1.5 and 0.5, both clipped.
	if ear.Rows != 2 || ear.Stats != (Stats{2, 1, 0.8, 1.2}) || ear.ClipShare != 1 {
		t.Errorf("ear: %+v", ear)
	}
	// sign −1, Δ −8: the teacher finds the token unlikely, the outcome was bad: weight 1 + c.
	if serl.Rows != 1 || serl.Tokens != 2 || serl.Stats.Min != 1 || serl.Stats.Max != 1.2 || serl.ClipShare != 0.5 {
		t.Errorf("serl: %+v", serl)
	}
	if tokens.Tokens != 8 || !almost.Equal(tokens.Stats.Max, 2.4, 1e-12, 0) || !almost.Equal(tokens.Stats.Min, -0.88, 1e-12, 0) {
		t.Errorf("tokens: %+v", tokens)
	}
	if len(res.Factor) != 2 || res.SERL.Rows != 1 || res.SERL.Candidates != 4 || res.SERL.SelectedShare != 0.5 {
		t.Errorf("%+v", res)
	}
}

// TestSignBroken: an advantage that underflows in float32 has lost its sign, and is counted.
func TestSignBroken(t *testing.T) {
	t.Parallel()
	tiny := 1.2e-45 // rounds to the least float32; a bit less rounds to 0 or stays
	rows := []Row[float32]{
		{Advantage: 1e-60, Out: make([]float32, 5)},
		{
			Advantage: tiny * 0.6, Out: make([]float32, 3), Context: true,
			Student: make([]float32, 3), Teacher: []float32{0, -9, 9}, Action: []Span{{1, 3}},
		},
		{Advantage: -1, Out: make([]float32, 2), Response: []bool{true, false}},
	}
	cfg := DefaultFusion()
	cfg.SERL.Lambda = 1
	res, err := Fuse(rows, cfg)
	if err != nil {
		t.Fatal(err)
	}
	want := 5
	for _, x := range rows[1].Out {
		if x == 0 {
			want++
		}
	}
	if res.SignBroken != want || want < 6 || want > 7 {
		t.Errorf("%d signs broken, want %d (row 1: %v)", res.SignBroken, want, rows[1].Out)
	}
}

// TestFuseAllocations: the number of allocations does not grow with the number of rows.
func TestFuseAllocations(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 1))
	cfg := DefaultFusion()
	cfg.Response = ResponseAEM
	count := func(n int) float64 {
		rows := benchRows(rnd, n, 64)
		return testing.AllocsPerRun(5, func() {
			if _, err := Fuse(rows, cfg); err != nil {
				t.Fatal(err)
			}
		})
	}
	if few, many := count(256), count(2048); many > few {
		t.Errorf("%v allocations for 256 rows, %v for 2048", few, many)
	}
}
