package feed

import (
	"fmt"
	"slices"
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
	if slices.ContainsFunc(steps, func(s harness.FeedStep) bool { return s.Fork != nil }) {
		return out, h.share(out, steps)
	}
	return out, nil
}

// share says of every token of a group's rows which part of it belongs to the row. The weights of a row that
// a fork cuts read the signs of its tokens: its parts may have different ones.
func (h *Header) share(rows []Row, steps []harness.FeedStep) error {
	n := len(rows)
	b := &credit.Batch{
		Group: make([]int, n), Trajectory: make([]int, n), Step: make([]int, n), Return: make([]float64, n), Tokens: make([]int, n), Fork: make([]credit.Fork, n),
	}
	for i := range steps {
		s := &steps[i]
		b.Trajectory[i], b.Step[i], b.Tokens[i], b.Fork[i] = int(s.Episode), s.Index, rows[i].Tokens(), credit.NoFork
		if f := s.Fork; f != nil {
			b.Fork[i] = credit.Fork{Parent: int(f.Parent), Step: f.Step, Token: f.Token}
		}
	}
	pieces, err := credit.Pieces(b)
	if err != nil {
		return fmt.Errorf("group %d: %w", steps[0].Group, err)
	}
	for i := range rows {
		r := &rows[i]
		if r.ResponseIDs == nil {
			continue
		}
		r.TokenShares = make(Floats, r.Tokens())
		for j, p := range pieces[i] {
			end := r.Tokens()
			if j+1 < len(pieces[i]) {
				end = min(end, pieces[i][j+1].From)
			}
			for k := p.From; k < end; k++ {
				r.TokenShares[k] = 1 / float32(p.Leaves)
			}
		}
		if r.Weights != nil {
			r.Weights = h.weights(r, r.Tokens())
		}
	}
	return nil
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
