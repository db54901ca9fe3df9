package creditrun

import (
	"cmp"
	"math"
	"slices"

	"github.com/hindsightrl/harness/credit"
)

// Pair is a step's rows in two passes. Action flags the tokens of the action where a score knows them.
type Pair struct {
	Episode int64
	Index   int
	A, B    Row
	Action  []bool
}

// Side is what a comparison says about one pass, over the steps that both have.
type Side struct {
	Rows        int          `json:"rows"`
	Tokens      int          `json:"tokens"`
	MeanAbs     float64      `json:"mean_abs"`     // mean |Ã| over tokens
	Weights     credit.Stats `json:"weights"`      // Ã/A per token: all factors together; tokens with A = 0 have none
	Quantiles   []float64    `json:"quantiles"`    // of the same, at Quantiles
	ActionMass  float64      `json:"action_mass"`  // Σ|Ã| on action tokens / Σ|Ã|, over steps whose action is known
	ActionShare float64      `json:"action_share"` // their share of the tokens
}

// Quantiles are where Side's quantiles are taken.
var Quantiles = []float64{0.05, 0.25, 0.5, 0.75, 0.95}

// Change is how much the advantages of one step differ.
type Change struct {
	Episode int64   `json:"episode"`
	Index   int     `json:"step"`
	A       float64 `json:"a"` // mean token advantage; the row's where there are no tokens
	B       float64 `json:"b"`
	Mean    float64 `json:"mean"`  // mean |Ã_B − Ã_A| over tokens
	Token   int     `json:"token"` // the token that changed most; −1 without tokens
	Most    float64 `json:"most"`  // by how much
}

// Comparison sets two passes over one run against each other.
type Comparison struct {
	A          Side     `json:"a"`
	B          Side     `json:"b"`
	RankRows   float64  `json:"rank_rows"`   // Spearman's ρ of the rows' mean advantages; 0 where one side is constant
	RankTokens float64  `json:"rank_tokens"` // of the tokens' advantages
	Flips      int      `json:"flips"`       // rows whose base advantages have opposite signs
	Changed    []Change `json:"changed"`     // all steps, the most changed first
}

// Compare compares the rows of two passes over the same steps.
func Compare(pairs []Pair) Comparison {
	var c Comparison
	var a, b gatherer
	var rowsA, rowsB, tokensA, tokensB []float64
	for i := range pairs {
		p := &pairs[i]
		a.add(&p.A, p.Action)
		b.add(&p.B, p.Action)
		if p.A.Base*p.B.Base < 0 {
			c.Flips++
		}
		ch := changeOf(p)
		c.Changed = append(c.Changed, ch)
		rowsA, rowsB = append(rowsA, ch.A), append(rowsB, ch.B)
		if len(p.A.Tokens) == len(p.B.Tokens) {
			for j := range p.A.Tokens {
				tokensA, tokensB = append(tokensA, float64(p.A.Tokens[j])), append(tokensB, float64(p.B.Tokens[j]))
			}
		}
	}
	c.A, c.B = a.side(), b.side()
	c.RankRows, c.RankTokens = Spearman(rowsA, rowsB), Spearman(tokensA, tokensB)
	slices.SortStableFunc(c.Changed, func(x, y Change) int { return cmp.Compare(y.Mean, x.Mean) })
	return c
}

func changeOf(p *Pair) Change {
	c := Change{Episode: p.Episode, Index: p.Index, A: p.A.Base, B: p.B.Base, Token: -1}
	c.Mean = math.Abs(c.B - c.A)
	n := len(p.A.Tokens)
	if n == 0 || n != len(p.B.Tokens) {
		return c
	}
	c.A, c.B, c.Mean = 0, 0, 0
	for j := range n {
		a, b := float64(p.A.Tokens[j]), float64(p.B.Tokens[j])
		d := math.Abs(b - a)
		c.A, c.B, c.Mean = c.A+a, c.B+b, c.Mean+d
		if c.Token < 0 || d > c.Most {
			c.Token, c.Most = j, d
		}
	}
	c.A, c.B, c.Mean = c.A/float64(n), c.B/float64(n), c.Mean/float64(n)
	return c
}

// gatherer sums one side up.
type gatherer struct {
	rows, tokens, action, known int
	abs, mass, knownMass        float64
	weights                     []float64
}

func (g *gatherer) add(r *Row, action []bool) {
	g.rows++
	g.tokens += len(r.Tokens)
	g.weights = AppendWeights(g.weights, r)
	flagged := action != nil && len(action) == len(r.Tokens)
	for j, v := range r.Tokens {
		m := math.Abs(float64(v))
		g.abs += m
		if !flagged {
			continue
		}
		g.known++
		g.knownMass += m
		if action[j] {
			g.action++
			g.mass += m
		}
	}
}

func (g *gatherer) side() Side {
	s := Side{Rows: g.rows, Tokens: g.tokens, Weights: credit.Summarize(g.weights)}
	s.MeanAbs = g.abs / float64(max(g.tokens, 1))
	s.ActionShare = float64(g.action) / float64(max(g.known, 1))
	if g.knownMass > 0 {
		s.ActionMass = g.mass / g.knownMass
	}
	slices.Sort(g.weights)
	for _, q := range Quantiles {
		s.Quantiles = append(s.Quantiles, quantile(g.weights, q))
	}
	return s
}

// AppendWeights appends each token's advantage over its row's base advantage: the product of all
// factors. A row whose base advantage is 0 has none.
func AppendWeights(dst []float64, r *Row) []float64 {
	if r.Base == 0 {
		return dst
	}
	for _, v := range r.Tokens {
		dst = append(dst, float64(v)/r.Base)
	}
	return dst
}
