package credit

import (
	"fmt"
	"math"
)

// ResponseStage names the modulation of a whole response.
type ResponseStage string

// The response stages.
const (
	ResponseNone ResponseStage = "none"
	ResponseAEM  ResponseStage = "aem"
	ResponseEAR  ResponseStage = "ear"
)

// TokenStage names the weighting of single tokens.
type TokenStage string

// The token stages. RLSD is SERL's weight on every response token instead of the action's.
const (
	TokenNone TokenStage = "none"
	TokenSERL TokenStage = "serl"
	TokenRLSD TokenStage = "rlsd"
)

// FusionConfig names the stages between a base advantage and a token's, in the order in which they
// run. Each is optional.
type FusionConfig struct {
	AdvClip  float64       `json:"adv_clip"` // β: clip base advantages to ±β; 0 = off
	Response ResponseStage `json:"response"` // AEM α or EAR γ, one factor per response
	Token    TokenStage    `json:"token"`    // SERL or RLSD weight, one factor per token
	AEM      AEMConfig     `json:"aem"`      // read where Response is aem
	EAR      EARConfig     `json:"ear"`      // read where Response is ear
	SERL     SERLConfig    `json:"serl"`     // read where Token is serl or rlsd
	Update   int           `json:"update"`   // k >= 0: the trainer's update number, for λ_k
}

// DefaultFusion returns SERL weights at update 0 and no other stage, with default parameters for all.
func DefaultFusion() FusionConfig {
	return FusionConfig{
		Response: ResponseNone, Token: TokenSERL, AEM: DefaultAEM(), EAR: DefaultEAR(), SERL: DefaultSERL(),
	}
}

// Validate reports the first setting outside its range (ErrConfig). Stages that do not run are not
// looked at.
func (c FusionConfig) Validate() error {
	if err := checkRange("adv_clip", c.AdvClip, 0, math.Inf(1)); err != nil {
		return err
	}
	if c.Update < 0 {
		return fmt.Errorf("update is %d, want >= 0: %w", c.Update, ErrConfig)
	}
	switch c.Response {
	case ResponseNone:
	case ResponseAEM:
		if err := c.AEM.Validate(); err != nil {
			return err
		}
	case ResponseEAR:
		if err := c.EAR.Validate(); err != nil {
			return err
		}
	default:
		return fmt.Errorf("response stage %q is unknown, want %q, %q or %q: %w", c.Response, ResponseNone, ResponseAEM, ResponseEAR, ErrConfig)
	}
	switch c.Token {
	case TokenNone:
		return nil
	case TokenSERL, TokenRLSD:
		return c.SERL.Validate()
	}
	return fmt.Errorf("token stage %q is unknown, want %q, %q or %q: %w", c.Token, TokenNone, TokenSERL, TokenRLSD, ErrConfig)
}

// Span is a half-open range of a row's token positions.
type Span struct {
	Start int `json:"start"`
	End   int `json:"end"`
}

// AppendSpans appends the runs of true in mask to dst, in order.
func AppendSpans(dst []Span, mask []bool) []Span {
	for s := nextSpan(mask, 0); s.Start < s.End; s = nextSpan(mask, s.End) {
		dst = append(dst, s)
	}
	return dst
}

// nextSpan finds the first run of true at or after from; an empty span where there is none.
func nextSpan(mask []bool, from int) Span {
	for from < len(mask) && !mask[from] {
		from++
	}
	end := from
	for end < len(mask) && mask[end] {
		end++
	}
	return Span{from, end}
}

// Row is one response on its way through Fuse. T is the length of Out.
type Row[F Float] struct {
	Group      int      // responses of one group share it
	Trajectory int      // read where AEM's scope is the trajectory
	Advantage  float64  // base advantage of every token
	PerToken   []F      // T base advantages that replace Advantage (GAE); nil = none
	Entropy    Interval // H̄; read by the response stages
	Context    bool     // the row has a hindsight context: token weights apply
	Student    []F      // T log-probabilities without the context; nil where Context is false
	Teacher    []F      // T log-probabilities with it; nil where Context is false
	Action     []Span   // action tokens, ascending and disjoint; ActionMask wins where both are given
	ActionMask []bool   // T flags; nil = use Action
	Response   []bool   // T flags: the token belongs to the policy; others get 0; nil = all do
	Out        []F      // T token advantages: written
}

// Stage reports what one stage did.
type Stage struct {
	Name      string  `json:"name"`
	Rows      int     `json:"rows"`       // rows it could change
	Tokens    int     `json:"tokens"`     // tokens it could change; 0 for stages that work on rows
	Stats     Stats   `json:"stats"`      // of the stage's own numbers: advantages, factors, weights
	ClipShare float64 `json:"clip_share"` // share of those numbers at a clip bound
}

// FusionResult says which stages ran, in order, and how the result came out.
type FusionResult struct {
	Config     FusionConfig `json:"config"`
	Stages     []Stage      `json:"stages"`      // "advantage", then those that ran, then "tokens": the result
	Factor     []float64    `json:"factor"`      // B response factors α or γ; nil where no response stage ran
	SERL       SERLStats    `json:"serl"`        // zero where no token stage ran
	Inexact    int          `json:"inexact"`     // responses whose entropy is known by bounds only
	Undecided  int          `json:"undecided"`   // responses whose entropy bounds allow a factor above 1 and one below 1
	SignBroken int          `json:"sign_broken"` // tokens whose advantage lost the sign of their base advantage; 0 unless a value underflows
}
