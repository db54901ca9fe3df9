package creditverify

import (
	"fmt"
	"math"

	"github.com/hindsightrl/harness/credit"
)

// entropyCase is one case of entropy_credit.json: float64.
type entropyCase struct {
	Group       []string   `json:"group"`
	Trajectory  []string   `json:"trajectory"`
	MeanEntropy []float64  `json:"mean_entropy"`
	Lambda      float64    `json:"lam"` // negative: the reverse ablation
	Epsilon     float64    `json:"eps"`
	MinRange    float64    `json:"min_range"`
	AlphaGroup  []float64  `json:"alpha_group"`
	AlphaTraj   []float64  `json:"alpha_trajectory_norm"`
	AlphaBatch  []float64  `json:"alpha_batch_norm"`
	Gamma       []float64  `json:"gamma_ear"`
	GammaHalf   []float64  `json:"gamma_ear_k05_c01"`
	Fused       *fusedCase `json:"fused"`
}

type fusedCase struct {
	Advantage    []float64   `json:"advantage"`
	Delta        [][]float64 `json:"delta"`
	ActionMask   [][]flag    `json:"action_mask"`
	ResponseMask [][]flag    `json:"response_mask"`
	TeacherMask  []flag      `json:"teacher_mask"`
	Lambda       float64     `json:"mixing_lambda"`
	DecaySteps   int         `json:"decay_steps"`
	Update       int         `json:"update_step"`
	Clip         float64     `json:"weight_clip"`
	Out          [][]float64 `json:"token_advantages"`
}

// flag is a mask's value, written as 0 or 1, 0.0 or 1.0.
type flag float64

func flags(xs []flag) []bool {
	out := make([]bool, len(xs))
	for i, x := range xs {
		out[i] = x != 0
	}
	return out
}

func (v *entropyCase) rows() credit.ResponseRows {
	r := credit.ResponseRows{Group: credit.IDs(v.Group), Trajectory: credit.IDs(v.Trajectory)}
	for _, h := range v.MeanEntropy {
		r.Entropy = append(r.Entropy, credit.Exact(h))
	}
	return r
}

func (v *entropyCase) aem(scope credit.EntropyScope) credit.AEMConfig {
	return credit.AEMConfig{
		Lambda: math.Abs(v.Lambda), Reverse: v.Lambda < 0, Epsilon: v.Epsilon, MinRange: v.MinRange, Scope: scope,
	}
}

func checkEntropy(raw []byte, c *comparer) error {
	var v entropyCase
	if err := decode(raw, &v); err != nil {
		return err
	}
	if err := sameLength(len(v.Group), map[string]int{
		"alpha_group": len(v.AlphaGroup), "alpha_trajectory_norm": len(v.AlphaTraj), "alpha_batch_norm": len(v.AlphaBatch),
		"gamma_ear": len(v.Gamma), "gamma_ear_k05_c01": len(v.GammaHalf),
	}); err != nil {
		return err
	}
	for scope, want := range map[credit.EntropyScope][]float64{
		credit.EntropyGroup: v.AlphaGroup, credit.EntropyTrajectory: v.AlphaTraj, credit.EntropyBatch: v.AlphaBatch,
	} {
		got, err := credit.AEM(v.rows(), v.aem(scope))
		if err != nil {
			return err
		}
		for i := range want {
			c.close64("AEM α by "+string(scope), i, got.Factor[i], want[i])
		}
	}
	for cfg, want := range map[credit.EARConfig][]float64{
		{Kappa: 1, Clip: 0.2}: v.Gamma, {Kappa: 0.5, Clip: 0.1}: v.GammaHalf,
	} {
		got, err := credit.EAR(v.rows(), cfg)
		if err != nil {
			return err
		}
		for i := range want {
			c.close64(fmt.Sprintf("EAR γ at κ=%v", cfg.Kappa), i, got.Factor[i], want[i])
		}
	}
	if v.Fused == nil {
		return nil
	}
	return v.checkFused(c)
}

func (v *entropyCase) checkFused(c *comparer) error {
	f := v.Fused
	if err := sameLength(len(v.Group), map[string]int{
		"advantage": len(f.Advantage), "delta": len(f.Delta), "action_mask": len(f.ActionMask),
		"response_mask": len(f.ResponseMask), "teacher_mask": len(f.TeacherMask), "token_advantages": len(f.Out),
	}); err != nil {
		return err
	}
	in := v.rows()
	rows := make([]credit.Row[float64], len(v.Group))
	for i := range rows {
		rows[i] = credit.Row[float64]{
			Group: in.Group[i], Trajectory: in.Trajectory[i], Entropy: in.Entropy[i], Advantage: f.Advantage[i],
			Context: f.TeacherMask[i] != 0, Student: make([]float64, len(f.Delta[i])), Teacher: f.Delta[i],
			ActionMask: flags(f.ActionMask[i]), Response: flags(f.ResponseMask[i]), Out: make([]float64, len(f.Delta[i])),
		}
	}
	cfg := credit.DefaultFusion()
	cfg.Response, cfg.AEM, cfg.Update = credit.ResponseAEM, v.aem(credit.EntropyGroup), f.Update
	cfg.SERL = credit.SERLConfig{Lambda: f.Lambda, DecaySteps: f.DecaySteps, Clip: f.Clip}
	if _, err := credit.Fuse(rows, cfg); err != nil {
		return err
	}
	for i := range rows {
		if err := sameLength(len(rows[i].Out), map[string]int{"token_advantages": len(f.Out[i])}); err != nil {
			return err
		}
		for t, got := range rows[i].Out {
			c.close64(fmt.Sprintf("fused token %d", t), i, got, f.Out[i][t])
		}
	}
	return nil
}
