package creditverify

import (
	"fmt"

	"github.com/hindsightrl/harness/credit"
)

// serlCase is one case of serl_weights.json: float32.
type serlCase struct {
	Config struct {
		Lambda     float64 `json:"mixing_lambda"`
		DecaySteps int     `json:"lambda_decay_steps"`
		Clip       float64 `json:"weight_clip"`
	} `json:"config"`
	Update       int                `json:"update_step"`
	Advantages   [][]float64        `json:"advantages"`
	Student      [][]float64        `json:"student_logprobs"`
	Teacher      [][]float64        `json:"teacher_logprobs"`
	ResponseMask [][]flag           `json:"response_mask"`
	SERLMask     []flag             `json:"serl_mask"`
	ActionMask   [][]flag           `json:"action_mask"`
	Out          [][]float64        `json:"token_advantages"`
	Metrics      map[string]float64 `json:"metrics"`
}

func checkSERL(raw []byte, c *comparer) error {
	var v serlCase
	if err := decode(raw, &v); err != nil {
		return err
	}
	if err := sameLength(len(v.Advantages), map[string]int{
		"student_logprobs": len(v.Student), "teacher_logprobs": len(v.Teacher), "response_mask": len(v.ResponseMask),
		"serl_mask": len(v.SERLMask), "action_mask": len(v.ActionMask), "token_advantages": len(v.Out),
	}); err != nil {
		return err
	}
	rows := make([]credit.Row[float64], len(v.Advantages))
	for i := range rows {
		rows[i] = credit.Row[float64]{
			PerToken: v.Advantages[i], Context: v.SERLMask[i] != 0, Student: v.Student[i],
			Teacher: v.Teacher[i], ActionMask: flags(v.ActionMask[i]), Response: flags(v.ResponseMask[i]),
			Out: make([]float64, len(v.Advantages[i])),
		}
	}
	res, err := credit.Reweight(rows, credit.SERLConfig{Lambda: v.Config.Lambda, DecaySteps: v.Config.DecaySteps, Clip: v.Config.Clip}, v.Update)
	if err != nil {
		return err
	}
	for i := range rows {
		if err := sameLength(len(rows[i].Out), map[string]int{"token_advantages": len(v.Out[i])}); err != nil {
			return err
		}
		for t, got := range rows[i].Out {
			c.close32(fmt.Sprintf("token %d", t), i, got, v.Out[i][t], 0)
		}
	}
	v.checkMetrics(res.SERL, c)
	return nil
}

func (v *serlCase) checkMetrics(s credit.SERLStats, c *comparer) {
	empty, weight := 0.0, s.Weight
	if s.Empty() {
		// The original reports neutral weights where it selected nothing.
		empty, weight = 1, credit.Stats{Mean: 1, Min: 1, Max: 1}
	}
	const prefix = "serl_action_mask/"
	got := map[string]float64{
		"effective_lambda": s.Lambda, "weight_mean": weight.Mean, "weight_max": weight.Max, "weight_min": weight.Min,
		"delta_abs_mean": s.DeltaAbsMean, "candidate_fraction": s.SelectedShare, "selected_fraction": s.SelectedShare,
		"clipped_fraction": s.ClippedShare, "empty_target_batch": empty,
	}
	for name, want := range v.Metrics {
		key, ok := name, false
		if len(name) > len(prefix) && name[:len(prefix)] == prefix {
			key = name[len(prefix):]
		}
		var x float64
		if x, ok = got[key]; !ok {
			c.mismatches++
			c.report("metric " + name + " is not known")
			continue
		}
		c.close32("metric "+name, 0, x, want, 0)
	}
}
