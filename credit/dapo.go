package credit

import "fmt"

// DropReason says why dynamic sampling rejects a group; "" keeps it.
type DropReason string

// The reasons.
const (
	Kept       DropReason = ""
	DropEqual  DropReason = "equal_returns"     // all trajectories returned the same: every advantage is 0
	DropSingle DropReason = "single_trajectory" // nothing to compare with
)

// Verdict is dynamic sampling's decision about one group.
type Verdict struct {
	Group        int        `json:"group"` // as the batch numbers it
	Rows         int        `json:"rows"`
	Trajectories int        `json:"trajectories"`
	Returns      Stats      `json:"returns"` // or what else was judged: the mean over trajectories' first rows, the extremes over all rows
	Reason       DropReason `json:"reason"`
}

// Keep reports whether the group stays.
func (v Verdict) Keep() bool { return v.Reason == Kept }

// String says what was decided and why.
func (v Verdict) String() string {
	switch v.Reason {
	case DropEqual:
		return fmt.Sprintf("group %d dropped: all %d trajectories returned %v", v.Group, v.Trajectories, v.Returns.Mean)
	case DropSingle:
		return fmt.Sprintf("group %d dropped: it has one trajectory", v.Group)
	}
	return fmt.Sprintf("group %d kept: %d trajectories returned %v to %v", v.Group, v.Trajectories, v.Returns.Min, v.Returns.Max)
}

// DynamicSampling judges every group of b, in order of first appearance: groups whose trajectories
// all have the same return carry no signal and are to be replaced by fresh ones. Groups of one
// trajectory stay where keepSingles is set, as verl's recipe has it.
//
// Sources: DAPO, arXiv 2503.14476 eq. 11; OliverLeeXZ/SERL@5a2a85b:recipe/dapo/dapo_ray_trainer.py,
// agent_system/multi_turn_rollout/utils.py:filter_group_data.
func DynamicSampling(b *Batch, keepSingles bool) ([]Verdict, error) {
	return DynamicSamplingOf(b, b.Return, keepSingles)
}

// DynamicSamplingOf is DynamicSampling by another number than the return: one value per row of b, finite.
// A group is dropped where all its rows have the same. Where every row of a trajectory has its
// trajectory's value, that is the rule for trajectories.
func DynamicSamplingOf(b *Batch, values []float64, keepSingles bool) ([]Verdict, error) {
	l, err := newLayout(b)
	if err != nil {
		return nil, fmt.Errorf("sample dynamically: %w", err)
	}
	if err = checkLength("values", len(values), len(b.Group)); err == nil {
		err = checkFinite("value", values)
	}
	if err != nil {
		return nil, fmt.Errorf("sample dynamically: %w", err)
	}
	trajectories := l.sample(ScopeTrajectories)
	out := make([]Verdict, l.groups.len())
	for k := range out {
		var all, firsts accumulator
		for _, i := range l.groups.of(k) {
			all.add(values[i], 1)
		}
		for _, i := range trajectories.of(k) {
			firsts.add(values[i], 1)
		}
		v := Verdict{Group: l.Group[l.groups.first(k)], Rows: all.n, Trajectories: firsts.n, Returns: firsts.stats()}
		v.Returns.Min, v.Returns.Max = all.min, all.max
		switch {
		case firsts.n == 1 && !keepSingles:
			v.Reason = DropSingle
		case firsts.n > 1 && all.min == all.max:
			v.Reason = DropEqual
			v.Returns.Mean = all.min
		}
		out[k] = v
	}
	return out, nil
}

// Overlong is DAPO's soft punishment of long responses.
type Overlong struct {
	MaxTokens int     `json:"max_tokens"` // L_max: longest response
	Buffer    int     `json:"buffer"`     // L_cache: tokens before L_max over which the penalty grows
	Factor    float64 `json:"factor"`     // penalty at L_max; 1 in the paper
}

// Validate reports a buffer outside (0, MaxTokens] or a negative factor (ErrConfig).
func (o Overlong) Validate() error {
	if o.Buffer <= 0 || o.Buffer > o.MaxTokens {
		return fmt.Errorf("overlong.buffer is %d, want a number in [1, %d]: %w", o.Buffer, o.MaxTokens, ErrConfig)
	}
	if !finite(o.Factor) || o.Factor < 0 {
		return fmt.Errorf("overlong.factor is %v, want a finite number >= 0: %w", o.Factor, ErrConfig)
	}
	return nil
}

// Penalty is what a response of the given length adds to its reward: 0 up to L_max − L_cache, then
// linearly down to −Factor at L_max, and −Factor beyond. Sources: arXiv 2503.14476 eq. 13;
// OliverLeeXZ/SERL@5a2a85b:verl/workers/reward_manager/dapo.py.
func (o Overlong) Penalty(tokens int) float64 {
	exceed := float64(tokens-(o.MaxTokens-o.Buffer)) / float64(o.Buffer)
	return -o.Factor * min(max(exceed, 0), 1)
}

// LossMode says how token losses become one number.
type LossMode string

// The modes, named as verl names them (agg_loss).
const (
	TokenMean        LossMode = "token-mean"              // DAPO: every token of the batch weighs the same
	SeqMeanTokenMean LossMode = "seq-mean-token-mean"     // GRPO, GSPO: every response weighs the same
	SeqMeanTokenSum  LossMode = "seq-mean-token-sum"      // long responses weigh more
	SeqSumNorm       LossMode = "seq-mean-token-sum-norm" // Dr.GRPO: token sums over a constant length
)

// LossWeights returns one weight per row such that Σ_rows weight·Σ_t loss_t is the batch loss in the
// given mode. tokens holds the rows' response lengths; maxTokens, the constant length, is read in
// SeqSumNorm only. Rows without tokens weigh 0 where the mode divides by their length.
// Source: OliverLeeXZ/SERL@5a2a85b:verl/trainer/ppo/core_algos.py:agg_loss.
func LossWeights(tokens []int, mode LossMode, maxTokens int) ([]float64, error) {
	out, total, rows := make([]float64, len(tokens)), 0, float64(len(tokens))
	for i, t := range tokens {
		if t < 0 {
			return nil, fmt.Errorf("weigh losses: row %d: %d tokens: %w", i, t, ErrConfig)
		}
		total += t
	}
	if mode == SeqSumNorm && maxTokens <= 0 {
		return nil, fmt.Errorf("weigh losses: constant length is %d, want > 0: %w", maxTokens, ErrConfig)
	}
	for i, t := range tokens {
		switch mode {
		case TokenMean:
			out[i] = 1 / float64(max(total, 1))
		case SeqMeanTokenMean:
			if t > 0 {
				out[i] = 1 / (rows * float64(t))
			}
		case SeqMeanTokenSum:
			out[i] = 1 / rows
		case SeqSumNorm:
			out[i] = 1 / float64(maxTokens)
		default:
			return nil, fmt.Errorf("weigh losses: mode %q is unknown: %w", mode, ErrConfig)
		}
	}
	return out, nil
}
