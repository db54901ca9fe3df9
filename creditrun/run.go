package creditrun

import (
	"fmt"

	"github.com/hindsightrl/harness/credit"
)

// Row is the credit of one step.
type Row struct {
	Step    int64        // ledger id
	Base    float64      // base advantage, Adv-Clip applied
	Factor  float64      // AEM's α or EAR's γ; 1 where none ran or the step has no tokens
	Tokens  []float32    // T token advantages; nil: the policy gave no tokens, Base is all there is
	Weights credit.Stats // clipped weights of the weighted tokens; N = 0 where none was
	Clipped int          // weighted tokens at a clip bound
}

// Result is the credit of a run's steps, in their order. Steps of groups that the configuration's filter
// leaves out have none: Report.Filtered says which those are.
type Result struct {
	Rows   []Row
	Report Report
}

// Run gives credit to the steps of a run's closed episodes. The steps of an episode need not be in
// order. Errors name the episode and the step.
func Run(steps []Step, cfg Config) (*Result, error) {
	if err := cfg.Validate(); err != nil {
		return nil, fmt.Errorf("give credit: %w", err)
	}
	if len(steps) == 0 {
		return nil, fmt.Errorf("give credit: %w", ErrNoSteps)
	}
	steps, votes, err := rewarded(steps, cfg.Reward)
	if err != nil {
		return nil, fmt.Errorf("give credit: %w", err)
	}
	steps, dropped, err := filtered(steps, cfg)
	if err != nil {
		return nil, fmt.Errorf("give credit: %w", err)
	}
	laidOut := batch(steps)
	base, err := credit.Estimate(laidOut, cfg.Estimator)
	if err != nil {
		return nil, fmt.Errorf("give credit: %w", err)
	}
	pieces, err := cuts(laidOut, base, cfg.Shared)
	if err != nil {
		return nil, fmt.Errorf("give credit: %w", err)
	}
	res := &Result{Rows: make([]Row, len(steps))}
	rows, at, err := fusionRows(steps, base.Values, pieces, cfg)
	if err != nil {
		return nil, fmt.Errorf("give credit: %w", err)
	}
	for i := range steps {
		res.Rows[i] = Row{Step: steps[i].ID, Base: base.Values[i], Factor: 1}
	}
	res.Report = newReport(steps, base, len(rows))
	res.Report.Votes, res.Report.Filtered = votes, dropped
	if len(rows) == 0 { // text alone: no later stage has anything to work on
		res.Report.Training = trainingOf(steps, res.Rows, votes, cfg)
		return res, nil
	}
	fused, err := credit.Fuse(rows, cfg.fusion())
	if err != nil {
		return nil, fmt.Errorf("give credit: %w", err)
	}
	for j, i := range at {
		r := &res.Rows[i]
		r.Tokens = rows[j].Out
		if fused.Factor != nil {
			r.Factor = fused.Factor[j]
		}
		r.weigh(&rows[j], cfg)
	}
	res.Report.fused(fused)
	res.Report.Training = trainingOf(steps, res.Rows, votes, cfg)
	return res, nil
}

// fusionRows lays out the steps that have tokens, and tells which steps they are.
func fusionRows(steps []Step, base []float64, pieces [][]credit.Piece, cfg Config) (rows []credit.Row[float32], at []int, err error) {
	tokens, scored := 0, 0
	for i := range steps {
		tokens += max(steps[i].Tokens, 0)
		if steps[i].Score != nil {
			scored++
		}
	}
	out := make([]float32, tokens)
	for i := range steps {
		s := &steps[i]
		if !s.hasTokens() {
			continue
		}
		r := credit.Row[float32]{Group: s.Group, Trajectory: int(s.Episode), Advantage: base[i]}
		r.Out, out = out[:s.Tokens:s.Tokens], out[s.Tokens:]
		if pieces != nil {
			r.PerToken = perToken(pieces[i], base[i], s.Tokens)
		}
		if cfg.Response != credit.ResponseNone {
			if s.Entropies == nil && s.Tokens > 0 {
				return nil, nil, fmt.Errorf("stage %s: episode %d, step %d: %w", cfg.Response, s.Episode, s.Index, ErrNoEntropies)
			}
			if r.Entropy, err = s.entropy(); err != nil {
				return nil, nil, err
			}
		}
		if s.Score != nil && cfg.Token != credit.TokenNone {
			r.Context, r.Student, r.Teacher = true, s.Score.Student, s.Score.Teacher
			r.Action = credit.AppendSpans(nil, s.Score.Action)
			if err := checkScore(s); err != nil {
				return nil, nil, err
			}
		}
		rows, at = append(rows, r), append(at, i)
	}
	if cfg.Token != credit.TokenNone && scored == 0 && len(rows) > 0 {
		return nil, nil, fmt.Errorf("stage %s: %w", cfg.Token, ErrNoScores)
	}
	return rows, at, nil
}

// checkScore reports a score that belongs to other tokens.
func checkScore(s *Step) error {
	for _, c := range []struct {
		name string
		got  int
	}{{"student log-probabilities", len(s.Score.Student)}, {"teacher log-probabilities", len(s.Score.Teacher)}, {"action flags", len(s.Score.Action)}} {
		if c.got != s.Tokens {
			return fmt.Errorf("episode %d, step %d: the score has %d %s, the response has %d tokens: %w",
				s.Episode, s.Index, c.got, c.name, s.Tokens, credit.ErrLength)
		}
	}
	return nil
}

// weigh gathers the row's weights: Fuse reports them for all rows together.
func (r *Row) weigh(row *credit.Row[float32], cfg Config) {
	if cfg.Token == credit.TokenNone || !row.Context {
		return
	}
	spans := row.Action
	if cfg.Token == credit.TokenRLSD {
		spans = []credit.Span{{Start: 0, End: len(row.Out)}}
	}
	sign, c := signOf(row.Advantage), cfg.SERL.Clip
	var weights []float64
	for _, s := range spans {
		for j := s.Start; j < s.End; j++ {
			if row.PerToken != nil {
				sign = signOf(float64(row.PerToken[j]))
			}
			w := credit.SERLWeight(sign, float64(row.Teacher[j])-float64(row.Student[j]), c)
			if w <= 1-c+clipMargin || w >= 1+c-clipMargin {
				r.Clipped++
			}
			weights = append(weights, w)
		}
	}
	r.Weights = credit.Summarize(weights)
}

// clipMargin is how close to a bound a weight counts as clipped, as in package credit.
const clipMargin = 1e-6

func signOf(x float64) float64 {
	switch {
	case x > 0:
		return 1
	case x < 0:
		return -1
	}
	return 0
}
