package credit

import (
	"fmt"
	"math"
	"slices"
)

// Estimator names a base-advantage estimator.
type Estimator string

// The group estimators. PPO's GAE works per token on values that a trainer supplies: see GAE.
const (
	GRPO        Estimator = "grpo"
	DrGRPO      Estimator = "dr_grpo"
	RLOO        Estimator = "rloo"
	ReinforcePP Estimator = "reinforce_pp_baseline"
	GiGPO       Estimator = "gigpo"
	HGPO        Estimator = "hgpo"
	Tree        Estimator = "tree"
)

// Estimators lists the group estimators in the order of their documentation.
func Estimators() []Estimator {
	return []Estimator{GRPO, DrGRPO, RLOO, ReinforcePP, GiGPO, HGPO, Tree}
}

// Scope says what a group's statistics run over.
type Scope string

// The scopes. Over rows, a long trajectory weighs more; that is the reference trainers' default.
const (
	ScopeRows         Scope = "rows"         // every step row counts
	ScopeTrajectories Scope = "trajectories" // the first row of each trajectory stands for it
)

// Norm says how GiGPO and HGPO scale the deviations from a group's mean.
type Norm string

// The normalisations.
const (
	NormMean    Norm = "mean"     // x − mean
	NormMeanStd Norm = "mean_std" // (x − mean)/(std + ε)
)

// EstimatorConfig selects and parametrises an estimator. DefaultEstimator fills it with the
// reference trainers' values; fields that an estimator does not use are ignored.
type EstimatorConfig struct {
	Name             Estimator `json:"name"`
	Scope            Scope     `json:"scope"`               // of group statistics; in GiGPO and HGPO, of the episode part
	Epsilon          float64   `json:"epsilon"`             // added to a std before dividing; > 0
	Gamma            float64   `json:"gamma"`               // step discount of GiGPO and HGPO, in [0, 1]
	Norm             Norm      `json:"norm"`                // GiGPO and HGPO
	StepWeight       float64   `json:"step_weight"`         // ω >= 0: weight of GiGPO's anchor part, of the tree estimator's fork part
	AnchorSimilarity float64   `json:"anchor_similarity"`   // GiGPO: 0 = equal observations, else threshold in (0, 1)
	History          int       `json:"history"`             // HGPO's K >= 0: longest history compared, in earlier steps
	LengthAlpha      float64   `json:"length_alpha"`        // HGPO: weight (k+1)^α of a context of k observations
	BaseGroup        bool      `json:"base_group"`          // HGPO: the episode part joins in with k = 0
	InvalidPenalty   float64   `json:"invalid_penalty"`     // taken off rows whose response was invalid; 0 = off
	AdvClip          float64   `json:"adv_clip"`            // β: clip advantages to ±β; 0 = off
	ForkOnly         bool      `json:"fork_only,omitempty"` // tree: leave the episode part out
}

// DefaultEstimator returns the reference trainers' settings for one estimator.
func DefaultEstimator(name Estimator) EstimatorConfig {
	c := EstimatorConfig{
		Name: name, Scope: ScopeRows, Epsilon: 1e-6, Gamma: 0.95, Norm: NormMean,
		StepWeight: 1, History: 2, LengthAlpha: 1,
	}
	switch name {
	case HGPO:
		c.Norm = NormMeanStd
	case Tree:
		c.Scope = ScopeTrajectories // a long past that many leaves share would outweigh them
	}
	return c
}

// Validate reports the first setting outside its range (ErrConfig).
func (c EstimatorConfig) Validate() error {
	switch {
	case !slices.Contains(Estimators(), c.Name):
		return fmt.Errorf("estimator %q is unknown, want one of %q: %w", c.Name, Estimators(), ErrConfig)
	case c.Scope != ScopeRows && c.Scope != ScopeTrajectories:
		return fmt.Errorf("scope %q is unknown, want %q or %q: %w", c.Scope, ScopeRows, ScopeTrajectories, ErrConfig)
	case c.Norm != NormMean && c.Norm != NormMeanStd:
		return fmt.Errorf("norm %q is unknown, want %q or %q: %w", c.Norm, NormMean, NormMeanStd, ErrConfig)
	case !(c.Epsilon > 0) || !finite(c.Epsilon):
		return fmt.Errorf("epsilon is %v, want a finite number > 0: %w", c.Epsilon, ErrConfig)
	case c.AnchorSimilarity != 0 && !(c.AnchorSimilarity > 0 && c.AnchorSimilarity < 1):
		return fmt.Errorf("anchor_similarity is %v, want 0 (exact) or a number in (0, 1): %w", c.AnchorSimilarity, ErrConfig)
	case c.History < 0:
		return fmt.Errorf("history is %d, want >= 0: %w", c.History, ErrConfig)
	}
	inf := math.Inf(1)
	for _, r := range []struct {
		name      string
		x, lo, hi float64
	}{
		{"gamma", c.Gamma, 0, 1},
		{"step_weight", c.StepWeight, 0, inf},
		{"length_alpha", c.LengthAlpha, 0, inf},
		{"invalid_penalty", c.InvalidPenalty, 0, inf},
		{"adv_clip", c.AdvClip, 0, inf},
	} {
		if err := checkRange(r.name, r.x, r.lo, r.hi); err != nil {
			return err
		}
	}
	return nil
}

// Advantages are one advantage per row and what a reader of the result wants to know about them.
type Advantages struct {
	Config    EstimatorConfig `json:"config"`     // as run: the scope is part of the result
	Values    []float64       `json:"values"`     // B advantages, in row order
	Stats     Stats           `json:"stats"`      // of Values
	Groups    int             `json:"groups"`     // number of groups
	Singles   int             `json:"singles"`    // groups whose statistics ran over one number: they keep their raw score
	Flat      int             `json:"flat"`       // groups of two or more equal scores: no signal
	Anchors   int             `json:"anchors"`    // anchor clusters (GiGPO), contexts (HGPO), forks (tree); 0 elsewhere
	LoneRows  int             `json:"lone_rows"`  // rows alone in their anchor cluster, in all their contexts, at their fork
	Invalid   int             `json:"invalid"`    // rows that paid the invalid-action penalty
	ClipShare float64         `json:"clip_share"` // share of rows that Adv-Clip changed
	Pieces    [][]Piece       `json:"-"`          // B rows' runs of tokens with one advantage; the last one's is in Values. nil: one run each

	overflow bool
}

// Estimate computes the base advantage of every row of b.
func Estimate(b *Batch, cfg EstimatorConfig) (*Advantages, error) {
	if err := cfg.Validate(); err != nil {
		return nil, fmt.Errorf("estimate advantages: %w", err)
	}
	l, err := newLayout(b)
	if err != nil {
		return nil, fmt.Errorf("estimate %s advantages: %w", cfg.Name, err)
	}
	r := &Advantages{Config: cfg, Groups: l.groups.len()}
	for _, ok := range b.Valid {
		if !ok && cfg.InvalidPenalty > 0 {
			r.Invalid++
		}
	}
	if err := l.estimate(cfg, r); err != nil {
		return nil, fmt.Errorf("estimate %s advantages: %w", cfg.Name, err)
	}
	if r.overflow {
		return nil, fmt.Errorf("estimate %s advantages: rewards are so large that a variance overflows: %w", cfg.Name, ErrNotFinite)
	}
	if cfg.AdvClip > 0 {
		r.ClipShare = ClipAdvantages(r.Values, cfg.AdvClip)
		for _, row := range r.Pieces {
			for j := range row {
				row[j].Value = max(min(row[j].Value, cfg.AdvClip), -cfg.AdvClip)
			}
		}
	}
	if err := checkFinite("advantage", r.Values); err != nil {
		return nil, fmt.Errorf("estimate %s advantages: %w", cfg.Name, err)
	}
	r.Stats = Summarize(r.Values)
	return r, nil
}

func (l *layout) estimate(cfg EstimatorConfig, r *Advantages) error {
	scores := l.penalized(l.Return, cfg.InvalidPenalty)
	switch cfg.Name {
	case GRPO:
		r.Values = l.grouped(scores, cfg, NormMeanStd, r)
	case DrGRPO:
		r.Values = l.grouped(scores, cfg, NormMean, r)
	case RLOO:
		r.Values = l.leaveOneOut(scores, cfg, r)
	case ReinforcePP:
		return l.reinforcePP(scores, cfg, r)
	case GiGPO:
		return l.gigpo(scores, cfg, r)
	case HGPO:
		return l.hgpo(scores, cfg, r)
	case Tree:
		return l.treed(scores, cfg, r)
	}
	return nil
}

// ClipAdvantages clips each advantage to [−β, β] in place and returns the share that changed.
// Adv-Clip; β = 2 is the usual setting, 0 turns it off.
func ClipAdvantages(adv []float64, beta float64) float64 {
	if beta <= 0 || len(adv) == 0 {
		return 0
	}
	clipped := 0
	for i, a := range adv {
		if math.Abs(a) > beta {
			adv[i] = math.Copysign(beta, a)
			clipped++
		}
	}
	return float64(clipped) / float64(len(adv))
}
