package credit

import "fmt"

// fusePlain is fuseRow for rows with per-token advantages or masks: one token after the other.
func fusePlain[F Float](r *Row[F], factor float64, f *fuser) error {
	one := newSpanTally()
	base := f.clip(r.Advantage)
	if r.PerToken == nil {
		f.base.add(base, 1)
	}
	weigh := f.weigh && r.Context
	if weigh {
		f.weights.rows++
	}
	next := 0 // first span that does not end before the token
	for j := range r.Out {
		if r.Response != nil && !r.Response[j] {
			r.Out[j] = 0
			continue
		}
		if r.PerToken != nil {
			if base = float64(r.PerToken[j]); !finite(base) {
				return fmt.Errorf("token %d: advantage is %v: %w", j, base, ErrNotFinite)
			}
			base = f.clip(base)
			f.base.add(base, 1)
		}
		a := base * factor
		r.Out[j] = F(a)
		if weigh {
			f.weights.candidates++
			for r.ActionMask == nil && next < len(r.Action) && r.Action[next].End <= j {
				next++
			}
			if r.selected(j, next, f.cfg.Token) {
				if err := r.checkToken(j); err != nil {
					return err
				}
				weightSpan(r.Out[j:j+1], r.Student[j:j+1], r.Teacher[j:j+1], a, signOf(a), f.kernel, &one)
			}
		}
		f.out.add(float64(r.Out[j]), 1)
		f.checkSign(base, float64(r.Out[j]), 1)
	}
	if one.n > 0 {
		f.weights.add(&one, f.kernel.weight(one.loX), f.kernel.weight(one.hiX))
	}
	return nil
}

// selected reports whether the token stage weighs token j; next is the first span that ends after j.
func (r *Row[F]) selected(j, next int, stage TokenStage) bool {
	switch {
	case stage == TokenRLSD:
		return true
	case r.ActionMask != nil:
		return r.ActionMask[j]
	}
	return next < len(r.Action) && r.Action[next].Start <= j
}

// report writes the stages and totals of a finished pass.
func (f *fuser) report(res *FusionResult, rows int, m *Modulation) {
	share := func(n, of int) float64 { return float64(n) / float64(max(of, 1)) }
	res.Stages = append(res.Stages, Stage{
		Name: "advantage", Rows: rows, Stats: f.base.stats(), ClipShare: share(f.clipped, f.base.n),
	})
	if m != nil {
		res.Factor, res.Inexact, res.Undecided = m.Factor, m.Inexact, m.Undecided
		res.Stages = append(res.Stages, Stage{
			Name: string(f.cfg.Response), Rows: m.Modulated, Stats: m.Stats, ClipShare: share(m.Clipped, rows),
		})
	}
	if f.weigh {
		res.SERL = f.weights.stats(f.kernel.lambda)
		res.Stages = append(res.Stages, Stage{
			Name: string(f.cfg.Token), Rows: res.SERL.Rows, Tokens: res.SERL.Weight.N, Stats: res.SERL.Weight, ClipShare: res.SERL.ClippedShare,
		})
	}
	res.SignBroken = f.signBroken
	res.Stages = append(res.Stages, Stage{Name: "tokens", Rows: rows, Tokens: f.out.n, Stats: f.out.stats()})
}
