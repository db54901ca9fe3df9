package teacher

import "github.com/hindsightrl/harness"

// Row is one step of one episode as contexts see it. Rows come in batch order: their index breaks ties
// and decides which trajectory of a group comes first, and may be any permutation of the steps.
type Row struct {
	Group   string // task group; rows of different groups never meet in a context
	Episode string // unique over all groups
	Step    int    // order within the episode

	Prompt     []harness.Message // what the agent saw; the last message with text is the prompt that a context is put behind
	Anchor     *string           // raw observation before the action; nil: the prompt's text stands in
	Response   string            // byte for byte
	Feedback   string            // immediate feedback; space alone means none
	Next       string            // text of the next observation (the next prompt); space alone means none
	Privileged string            // what only the environment knew; space alone means none

	Reward  float64  // of the step
	Return  *float64 // of the episode; nil: Reward stands in
	Success *bool    // whether the episode was solved; nil: Return >= Config.SuccessThreshold decides
	Valid   bool     // the response kept the format's rules; contexts do not depend on it

	Judged          string // judge's text about this trajectory; space alone means none
	JudgedOnSuccess string // the same, by a judge that also saw a successful trajectory of the task
	JudgeHadSuccess bool   // JudgedOnSuccess rests on a successful trajectory (there may have been none)
}
