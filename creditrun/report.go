package creditrun

import "github.com/hindsightrl/harness/credit"

// Report says which stages ran, on how many rows, and how the numbers came out.
type Report struct {
	Groups     int              `json:"groups"`
	Episodes   int              `json:"episodes"`
	Rows       int              `json:"rows"`
	TextRows   int              `json:"text_rows"` // rows without tokens: they have a row advantage only
	Tokens     int              `json:"tokens"`
	Singles    int              `json:"singles"`     // groups of one number: they keep their raw score
	Flat       int              `json:"flat"`        // groups of equal scores: no signal
	Anchors    int              `json:"anchors"`     // anchor clusters or contexts; 0 where the estimator has none
	LoneRows   int              `json:"lone_rows"`   // rows alone at their anchor
	Invalid    int              `json:"invalid"`     // rows that paid the invalid-action penalty
	Stages     []credit.Stage   `json:"stages"`      // the estimator, then those that ran, then "tokens"
	SERL       credit.SERLStats `json:"serl"`        // zero where no token stage ran
	Inexact    int              `json:"inexact"`     // responses whose entropy is known by bounds only
	Undecided  int              `json:"undecided"`   // of those, such whose factor may lie on either side of 1
	SignBroken int              `json:"sign_broken"` // tokens whose advantage lost the base advantage's sign

	Filtered []credit.Verdict `json:"filtered,omitempty"` // groups that filter_groups left out, with the reason; counted nowhere else

	Votes    []GroupVote `json:"votes,omitempty"`    // of each group; absent where no vote was held
	Training []Training  `json:"training,omitempty"` // by policy version; absent without a vote and a response stage
}

func newReport(steps []Step, base *credit.Advantages, fused int) Report {
	episodes := map[int64]bool{}
	r := Report{
		Groups: base.Groups, Rows: len(steps), TextRows: len(steps) - fused, Singles: base.Singles, Flat: base.Flat,
		Anchors: base.Anchors, LoneRows: base.LoneRows, Invalid: base.Invalid,
	}
	for i := range steps {
		episodes[steps[i].Episode] = true
		r.Tokens += max(steps[i].Tokens, 0)
	}
	r.Episodes = len(episodes)
	r.Stages = []credit.Stage{{
		Name: string(base.Config.Name), Rows: len(steps), Stats: base.Stats, ClipShare: base.ClipShare,
	}}
	return r
}

// fused adds what credit.Fuse reports. Its first stage is the base advantage again, of the rows that
// have tokens.
func (r *Report) fused(f *credit.FusionResult) {
	r.Stages = append(r.Stages, f.Stages[1:]...)
	r.SERL, r.Inexact, r.Undecided, r.SignBroken = f.SERL, f.Inexact, f.Undecided, f.SignBroken
}
