package feed

import (
	"time"

	"github.com/hindsightrl/harness"
	"github.com/hindsightrl/harness/credit"
)

// Format numbers the row and the header. It goes up when a field changes its meaning.
const Format = 1

// Header is what a batch says about itself. It comes before the rows.
type Header struct {
	Format        int                 `json:"format"`
	Lease         string              `json:"lease,omitempty"` // to acknowledge the batch by; "" in an export
	Expires       time.Time           `json:"expires,omitzero"`
	Rows          int                 `json:"rows"`
	Tokens        int                 `json:"tokens"` // response tokens
	PromptTokens  int                 `json:"prompt_tokens"`
	PolicyVersion int32               `json:"policy_version"` // the newest that a trainer posted; −1 = none
	Groups        []harness.FeedGroup `json:"groups"`
	Pass
}

// LossWeight is what a row of so many response tokens weighs in the loss of the whole batch: the loss is the
// sum over rows of weight · Σ_tokens, in the aggregation of the hints. nil without hints, and where the
// aggregation needs a constant length that nobody gave. Source: credit.LossWeights.
func (h *Header) LossWeight(tokens int) *float64 {
	if h.Hints == nil {
		return nil
	}
	w := 0.0
	switch h.Hints.Loss {
	case credit.TokenMean:
		w = 1 / float64(max(h.Tokens, 1))
	case credit.SeqMeanTokenMean:
		if tokens > 0 {
			w = 1 / (float64(h.Rows) * float64(tokens))
		}
	case credit.SeqMeanTokenSum:
		w = 1 / float64(h.Rows)
	case credit.SeqSumNorm:
		if h.LossLength <= 0 {
			return nil
		}
		w = 1 / float64(h.LossLength)
	default:
		return nil
	}
	return &w
}

// RowsOf lays the steps of a group of the batch out.
func (h *Header) RowsOf(steps []harness.FeedStep) ([]Row, error) {
	out := make([]Row, len(steps))
	for i := range steps {
		var err error
		if out[i], err = NewRow(&steps[i], &h.Pass); err != nil {
			return nil, err
		}
		out[i].LossWeight = h.LossWeight(out[i].Tokens())
	}
	return out, nil
}

// NewHeader describes a lease.
func NewHeader(lease harness.Lease, p *Pass, version int32) *Header {
	h := &Header{
		Format: Format, Lease: lease.ID, Expires: lease.Expires, Groups: lease.Groups, PolicyVersion: version, Pass: *p,
	}
	for _, g := range lease.Groups {
		h.Rows, h.Tokens, h.PromptTokens = h.Rows+g.Rows, h.Tokens+g.Tokens, h.PromptTokens+g.PromptTokens
	}
	return h
}
