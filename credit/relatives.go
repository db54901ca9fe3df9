package credit

import "fmt"

// Reweight applies SERL's token weights to advantages that are given per token and writes the result
// to out: the reference's own interface, one row at a time. It is Fuse without its other stages.
// Source: OliverLeeXZ/SERL@5a2a85b:verl/trainer/ppo/core_algos.py:
// compute_serl_action_mask_reweighted_advantages.
func Reweight[F Float](rows []Row[F], cfg SERLConfig, update int) (*FusionResult, error) {
	f := DefaultFusion()
	f.SERL, f.Update = cfg, update
	return Fuse(rows, f)
}

// SDPO writes the token advantages of self-distillation policy optimisation on sampled tokens,
//
//	A_t = Δ_t = log π(y_t | history, Φ) − log π(y_t | history)
//
// the negative gradient coefficient of the reverse KL to the teacher at the sampled token. It knows no
// task reward: its sign is the teacher's opinion, not the outcome's, which is why it is a row of
// comparison here and not a stage of Fuse. Tokens outside mask (nil: none is outside) get 0. All
// slices have length T.
//
// Source: arXiv 2601.20802; lasgroup/SDPO@0e6d510:verl/trainer/ppo/core_algos.py:
// compute_self_distillation_loss, the branch without full logits.
func SDPO[F Float](out, student, teacher []F, mask []bool) error {
	t := len(out)
	switch {
	case len(student) != t:
		return fmt.Errorf("sdpo: %w", lengthError("student logp has", len(student), t))
	case len(teacher) != t:
		return fmt.Errorf("sdpo: %w", lengthError("teacher logp has", len(teacher), t))
	case mask != nil && len(mask) != t:
		return fmt.Errorf("sdpo: %w", lengthError("mask has", len(mask), t))
	}
	for j := range out {
		if mask != nil && !mask[j] {
			out[j] = 0
			continue
		}
		d := float64(teacher[j]) - float64(student[j])
		if !finite(d) {
			return fmt.Errorf("sdpo: token %d: student logp is %v, teacher logp is %v: %w", j, student[j], teacher[j], ErrNotFinite)
		}
		out[j] = F(d)
	}
	return nil
}
