package creditrun

import (
	"fmt"

	"github.com/hindsightrl/harness/credit"
)

// SharedTokens says how tokens count that several leaves of a tree share.
type SharedTokens string

// The ways to count.
const (
	SharedLeaf SharedTokens = "leaf" // in each leaf's row
	SharedOnce SharedTokens = "once" // once: each of n rows takes one n-th of its advantage
)

// validate reports an unknown way (credit.ErrConfig).
func (s SharedTokens) validate() error {
	if s != "" && s != SharedLeaf && s != SharedOnce {
		return fmt.Errorf("shared is %q, want %q or %q: %w", string(s), SharedLeaf, SharedOnce, credit.ErrConfig)
	}
	return nil
}

// cuts are the runs of tokens with one base advantage of every row, shares of shared tokens taken; nil
// where each row is one run that counts in full.
func cuts(b *credit.Batch, base *credit.Advantages, shared SharedTokens) ([][]credit.Piece, error) {
	pieces := base.Pieces
	if shared == SharedOnce && b.Fork != nil {
		own, err := credit.Pieces(b)
		if err != nil {
			return nil, err
		}
		for i := range own {
			for j := range own[i] {
				p := &own[i][j]
				p.Value = base.Values[i]
				if pieces != nil {
					p.Value = pieces[i][j].Value // cut at the same places
				}
				p.Value /= float64(p.Leaves)
			}
		}
		pieces = own
	}
	return pieces, nil
}

// perToken spreads the runs of a row over its tokens; nil where its base advantage is that of all.
func perToken(pieces []credit.Piece, base float64, tokens int) []float32 {
	if len(pieces) == 0 || len(pieces) == 1 && pieces[0].Value == base {
		return nil
	}
	out := make([]float32, tokens)
	for j, p := range pieces {
		end := tokens
		if j+1 < len(pieces) {
			end = min(end, pieces[j+1].From)
		}
		for k := p.From; k < end; k++ {
			out[k] = float32(p.Value)
		}
	}
	return out
}
