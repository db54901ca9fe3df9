package feed

import (
	"time"

	"github.com/hindsightrl/harness"
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
