package credit

import "fmt"

// RatioLevel says over what a trainer forms its importance ratio π/π_old.
type RatioLevel string

// The levels.
const (
	RatioToken    RatioLevel = "token"
	RatioSequence RatioLevel = "sequence" // GSPO: exp of the mean log-ratio of a response
)

// Hints are what a policy loss needs to know beside the advantages. The loss itself runs in the
// trainer: they are exported with the batch, never applied here.
type Hints struct {
	Name     string     `json:"name"`
	Ratio    RatioLevel `json:"ratio"`
	ClipLow  float64    `json:"clip_low"` // ratios are clipped to [1−low, 1+high]
	ClipHigh float64    `json:"clip_high"`
	Loss     LossMode   `json:"loss"`
}

// HintsFor returns the published settings of a loss: "ppo" and "grpo" (arXiv 1707.06347, 2402.03300:
// ±0.2), "dr_grpo" (2503.20783), "dapo" (2503.14476: clip-higher, 0.2 below and 0.28 above,
// token-mean), "gspo" (2507.18071 §5.1: sequence ratio, 3e-4 below and 4e-4 above).
func HintsFor(name string) (Hints, error) {
	switch name {
	case "ppo":
		return Hints{name, RatioToken, 0.2, 0.2, TokenMean}, nil
	case "grpo":
		return Hints{name, RatioToken, 0.2, 0.2, SeqMeanTokenMean}, nil
	case "dr_grpo":
		return Hints{name, RatioToken, 0.2, 0.2, SeqSumNorm}, nil
	case "dapo":
		return Hints{name, RatioToken, 0.2, 0.28, TokenMean}, nil
	case "gspo":
		return Hints{name, RatioSequence, 3e-4, 4e-4, SeqMeanTokenMean}, nil
	}
	return Hints{}, fmt.Errorf("hints for %q are unknown, want ppo, grpo, dr_grpo, dapo or gspo: %w", name, ErrConfig)
}

// SequenceIDs numbers the sequence of every row for GSPO's ratio: each step row is a sequence of its
// own (ScopeRows, verl's reading), or all rows of a trajectory form one (ScopeTrajectories). Numbers
// are dense, in order of first appearance.
func SequenceIDs(b *Batch, scope Scope) ([]int, error) {
	l, err := newLayout(b)
	if err != nil {
		return nil, fmt.Errorf("number sequences: %w", err)
	}
	switch scope {
	case ScopeTrajectories:
		return l.traj, nil
	case ScopeRows:
		ids := make([]int, len(l.Group))
		for i := range ids {
			ids[i] = i
		}
		return ids, nil
	}
	return nil, fmt.Errorf("number sequences: scope %q is unknown, want %q or %q: %w", scope, ScopeRows, ScopeTrajectories, ErrConfig)
}
