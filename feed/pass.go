package feed

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"

	"github.com/hindsightrl/harness/credit"
)

// Sequences says which rows share a sequence-level ratio (GSPO).
type Sequences string

// The sequences.
const (
	SequenceStep    Sequences = "step"    // each row is a sequence of its own
	SequenceEpisode Sequences = "episode" // all rows of an episode are one
)

// Pass says how the numbers of a batch came about. It is the same for all its rows and travels once, as
// JSON, beside them.
type Pass struct {
	Run        string               `json:"run"`
	ConfigHash string               `json:"config_hash"`           // of everything that decides the numbers: ConfigHash
	Credit     string               `json:"credit,omitempty"`      // key of the credit pass; "" = none
	Score      string               `json:"score,omitempty"`       // key of the teacher pass; "" = none
	Estimator  credit.Estimator     `json:"estimator,omitempty"`   // of the base advantage
	Reward     string               `json:"reward,omitempty"`      // where the credit pass had its rewards from (creditrun.RewardSource); "" without one
	Response   credit.ResponseStage `json:"response"`              // what Factor is: none, aem (α) or ear (γ)
	Token      credit.TokenStage    `json:"token"`                 // what Weights are: none, serl or rlsd
	SERL       *credit.SERLConfig   `json:"serl,omitempty"`        // where Token is not none
	Update     int                  `json:"update,omitempty"`      // the trainer's update that the pass was made for
	Lambda     float64              `json:"lambda"`                // λ_k that the weights were blended with; 0 without a token stage
	Hints      *credit.Hints        `json:"hints,omitempty"`       // aggregation, ratio and clip range for the policy loss
	Sequences  Sequences            `json:"sequences"`             // what sequence_id numbers
	LossLength int                  `json:"loss_length,omitempty"` // constant length of Dr.GRPO's aggregation; 0 = not said
	PassID     int64                `json:"credit_id,omitempty"`   // ledger id of the credit pass
	Shared     string               `json:"shared,omitempty"`      // "once": the advantages of shared tokens hold their shares already
}

// RewardEnvironment says that the rewards are what the environment paid.
const RewardEnvironment = "environment"

// paidByEnvironment reports whether the groups are compared by what the environment paid. Rewards that a credit
// pass made (votes, certainties) are not in the ledger.
func (p *Pass) paidByEnvironment() bool { return p.Reward == "" || p.Reward == RewardEnvironment }

// weights are the clipped token weights w of the row: SERL's on action tokens of a row with a hindsight
// context, RLSD's on all of its tokens, 1 elsewhere; nil where no token stage ran. They repeat the
// arithmetic of the pass (credit.Fuse) on its own inputs:
//
//	Ã = A·f·((1−λ) + λ·w)
func (p *Pass) weights(r *Row, tokens int) Floats {
	if p.Token == "" || p.Token == credit.TokenNone || p.SERL == nil {
		return nil
	}
	w := make(Floats, tokens)
	for i := range w {
		w[i] = 1
	}
	if r.ContextMask == nil || !*r.ContextMask || len(r.TeacherLogprobs) != tokens || len(r.StudentLogprobs) != tokens {
		return w
	}
	sign := signOf(*r.BaseAdvantage)
	for i := range w {
		if r.TokenShares != nil && len(r.Advantages) == tokens {
			sign = signOf(float64(r.Advantages[i])) // a fork inside the response may turn it
		}
		if p.Token == credit.TokenRLSD || i < len(r.ActionMask) && r.ActionMask[i] == 1 {
			w[i] = float32(credit.SERLWeight(sign, float64(r.TeacherLogprobs[i])-float64(r.StudentLogprobs[i]), p.SERL.Clip))
		}
	}
	return w
}

func signOf(a float64) float64 {
	switch {
	case a > 0:
		return 1
	case a < 0:
		return -1
	}
	return 0
}

// ConfigHash is the hash of the parts of a configuration, in order: the run's settings and assets, the
// keys of the passes, the loss hints. Equal hashes mean rows made in the same way.
func ConfigHash(parts ...string) string {
	h := sha256.New()
	for _, p := range parts {
		fmt.Fprintf(h, "%d:", len(p))
		io.WriteString(h, p) //nolint:errcheck // a hash does not fail
	}
	return hex.EncodeToString(h.Sum(nil))
}
