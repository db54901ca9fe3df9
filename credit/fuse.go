package credit

import (
	"fmt"
	"math"
)

// Fuse writes every row's token advantages,
//
//	Ã_t = A · f · ((1−λ_k) + λ_k·w_t)
//
// A the base advantage (clipped to ±β where set), f the response's factor α (AEM) or γ (EAR), w_t the
// token's weight (SERL on action tokens, RLSD on all) in rows that have a hindsight context; absent
// stages are 1. f > 0 and w > 0, so the weight reads the sign that the task reward gave, and the
// order of the stages does not matter.
//
// Tokens outside Response get 0. Student and teacher values are read at weighted tokens only. Fuse
// allocates per call, not per row: a few slices of length B for the response stage and the report.
// On an error the contents of Out are undefined.
func Fuse[F Float](rows []Row[F], cfg FusionConfig) (*FusionResult, error) {
	if err := cfg.Validate(); err != nil {
		return nil, fmt.Errorf("fuse: %w", err)
	}
	for i := range rows {
		if err := rows[i].validate(cfg); err != nil {
			return nil, fmt.Errorf("fuse: row %d: %w", i, err)
		}
	}
	res := &FusionResult{Config: cfg}
	m, err := responseStage(rows, cfg)
	if err != nil {
		return nil, fmt.Errorf("fuse: %w", err)
	}
	f := fuser{cfg: cfg, kernel: newKernel(cfg.SERL.LambdaAt(cfg.Update), cfg.SERL.Clip), weigh: cfg.Token != TokenNone}
	for i := range rows {
		factor := 1.0
		if m != nil {
			factor = m.Factor[i]
		}
		if err := fuseRow(&rows[i], factor, &f); err != nil {
			return nil, fmt.Errorf("fuse: row %d: %w", i, err)
		}
	}
	f.report(res, len(rows), m)
	return res, nil
}

// validate checks shapes and the numbers that belong to the row as a whole.
func (r *Row[F]) validate(cfg FusionConfig) error {
	if !finite(r.Advantage) {
		return fmt.Errorf("advantage is %v: %w", r.Advantage, ErrNotFinite)
	}
	t := len(r.Out)
	if r.PerToken != nil && len(r.PerToken) != t {
		return lengthError("per-token advantages have", len(r.PerToken), t)
	}
	if r.Response != nil && len(r.Response) != t {
		return lengthError("response mask has", len(r.Response), t)
	}
	if cfg.Token == TokenNone || !r.Context {
		return nil
	}
	if len(r.Student) != t {
		return lengthError("student logp has", len(r.Student), t)
	}
	if len(r.Teacher) != t {
		return lengthError("teacher logp has", len(r.Teacher), t)
	}
	if r.ActionMask != nil && len(r.ActionMask) != t {
		return lengthError("action mask has", len(r.ActionMask), t)
	}
	end := 0
	for _, s := range r.Action {
		if s.Start < end || s.End < s.Start || s.End > t {
			return fmt.Errorf("action span [%d, %d) after %d in %d tokens: %w", s.Start, s.End, end, t, ErrLength)
		}
		end = s.End
	}
	return nil
}

func lengthError(what string, got, tokens int) error {
	return fmt.Errorf("%s %d tokens, out has %d: %w", what, got, tokens, ErrLength)
}

// responseStage computes the response factors; nil where no such stage runs.
func responseStage[F Float](rows []Row[F], cfg FusionConfig) (*Modulation, error) {
	if cfg.Response == ResponseNone {
		return nil, nil
	}
	in := ResponseRows{Group: make([]int, len(rows)), Entropy: make([]Interval, len(rows))}
	for i := range rows {
		in.Group[i], in.Entropy[i] = rows[i].Group, rows[i].Entropy
	}
	if cfg.Response == ResponseEAR {
		return EAR(in, cfg.EAR)
	}
	if cfg.AEM.Scope == EntropyTrajectory {
		in.Trajectory = make([]int, len(rows))
		for i := range rows {
			in.Trajectory[i] = rows[i].Trajectory
		}
	}
	return AEM(in, cfg.AEM)
}

// fuser carries one Fuse call's settings and counts.
type fuser struct {
	cfg        FusionConfig
	kernel     *kernel
	weigh      bool // a token stage runs
	base, out  accumulator
	clipped    int // base advantages that Adv-Clip changed
	weights    tally
	signBroken int
}

// fuseRow fills one row. Rows with one advantage and no response mask, nearly all of them, are a fill
// and a few weighted spans; the others take the plain way through every token.
func fuseRow[F Float](r *Row[F], factor float64, f *fuser) error {
	if r.PerToken != nil || r.Response != nil {
		return fusePlain(r, factor, f)
	}
	base := f.clip(r.Advantage)
	f.base.add(base, 1)
	a := base * factor
	fill(r.Out, F(a))
	t := newSpanTally()
	if f.weigh && r.Context {
		f.weights.rows++
		f.weights.candidates += len(r.Out)
		weighRow(r, a, f, &t)
		if !finite(t.abs) {
			return r.findNotFinite(f.cfg.Token)
		}
	}
	countRow(r.Out, base, a, &t, f)
	return nil
}

// weighRow runs the token stage over a filled row.
func weighRow[F Float](r *Row[F], a float64, f *fuser, t *spanTally) {
	sign := signOf(a)
	weigh := func(s Span) {
		weightSpan(r.Out[s.Start:s.End], r.Student[s.Start:s.End], r.Teacher[s.Start:s.End], a, sign, f.kernel, t)
	}
	switch {
	case f.cfg.Token == TokenRLSD:
		weigh(Span{0, len(r.Out)})
	case r.ActionMask != nil:
		for s := nextSpan(r.ActionMask, 0); s.Start < s.End; s = nextSpan(r.ActionMask, s.End) {
			weigh(s)
		}
	default:
		for _, s := range r.Action {
			weigh(s)
		}
	}
}

// clip is Adv-Clip, counted.
func (f *fuser) clip(a float64) float64 {
	if f.cfg.AdvClip > 0 && math.Abs(a) > f.cfg.AdvClip {
		f.clipped++
		return math.Copysign(f.cfg.AdvClip, a)
	}
	return a
}

// countRow adds a filled row's numbers to the report. A token's advantage is monotone in its weight,
// so the row's extreme weights give its extreme advantages, and if the smallest one kept the sign, all
// did: no second pass over the tokens.
func countRow[F Float](out []F, base, a float64, t *spanTally, f *fuser) {
	rest := len(out) - t.n
	if rest > 0 {
		f.out.add(a, rest)
	}
	if t.n == 0 {
		f.checkSign(base, float64(F(a)), rest)
		return
	}
	lambda := f.kernel.lambda
	least, greatest := f.kernel.weight(t.loX), f.kernel.weight(t.hiX)
	x, y := a*((1-lambda)+lambda*least), a*((1-lambda)+lambda*greatest)
	f.out.addRange(a*((1-lambda)*float64(t.n)+lambda*t.sum), min(x, y), max(x, y), t.n)
	f.weights.add(t, least, greatest)
	if sameSign(base, float64(F(x))) && sameSign(base, float64(F(y))) && sameSign(base, float64(F(a))) {
		return
	}
	for _, v := range out { // some token underflowed: count which
		f.checkSign(base, float64(v), 1)
	}
}

func (t *tally) add(s *spanTally, least, greatest float64) {
	t.weight.addRange(s.sum, least, greatest, s.n)
	t.deltaAbs += s.abs
	t.clipped += s.clipped
}

func (f *fuser) checkSign(base, got float64, tokens int) {
	if !sameSign(base, got) {
		f.signBroken += tokens
	}
}

func sameSign(a, b float64) bool { return signOf(a) == signOf(b) }

// findNotFinite names the weighted token whose log-probabilities are not finite.
func (r *Row[F]) findNotFinite(stage TokenStage) error {
	next := 0
	for j := range r.Out {
		for next < len(r.Action) && r.Action[next].End <= j {
			next++
		}
		if !r.selected(j, next, stage) {
			continue
		}
		if err := r.checkToken(j); err != nil {
			return err
		}
	}
	return fmt.Errorf("log-probabilities are finite and the sum of their differences is not: %w", ErrNotFinite)
}

func (r *Row[F]) checkToken(j int) error {
	if s, t := float64(r.Student[j]), float64(r.Teacher[j]); !finite(t - s) {
		return fmt.Errorf("token %d: student logp is %v, teacher logp is %v: %w", j, s, t, ErrNotFinite)
	}
	return nil
}
