package harness

import "strconv"

// StopReason says why an episode ended. It is data: no stop reason is an error, and none changes
// the reward.
type StopReason string

// The ways in which an episode ends.
const (
	StopWon      StopReason = "won"       // the environment says the task is solved
	StopDone     StopReason = "done"      // the environment ended the episode unsolved
	StopMaxSteps StopReason = "max_steps" // the step limit was reached
	StopFinished StopReason = "finished"  // the agent declared itself finished
	StopBudget   StopReason = "budget"    // a token, cost or time budget ran out
	StopContext  StopReason = "context"   // the next prompt does not fit the model's context
)

// Status is where an episode stands in the ledger.
//
//	pending ─► running ─► done
//	   ▲          │ ├───► failed   (attempts used up; no reward)
//	   └──────────┘ └───► running  (the next attempt)
//	  (the run was stopped; resumed later)
type Status string

// The states of an episode.
const (
	StatusPending Status = "pending"
	StatusRunning Status = "running"
	StatusDone    Status = "done"
	StatusFailed  Status = "failed"
)

// EpisodeRef names an episode inside a run: sample Sample of group Group, which is the run's
// Group-th task. All randomness of the episode derives from (run seed, task, sample).
type EpisodeRef struct {
	ID     int64 `json:"id"`              // ledger id
	Group  int   `json:"group"`           // 0-based, in the run: index of the task in the run's panel, plus the panel's size for each round before
	Round  int   `json:"round,omitempty"` // how often the run took its panel before
	Sample int   `json:"sample"`          // 0-based index within the group
	Task   Task  `json:"task"`
}

// String prints "group.sample task".
func (e EpisodeRef) String() string {
	return strconv.Itoa(e.Group) + "." + strconv.Itoa(e.Sample) + " " + e.Task.Key()
}

// Outcome is how an episode ended. It exists only for episodes that ran to an end: a failed episode
// has a Failure and no Outcome.
type Outcome struct {
	Stop    StopReason `json:"stop"`
	Won     bool       `json:"won"`
	Reward  float64    `json:"reward"`  // sum of the steps' rewards
	Score   float64    `json:"score"`   // last task score, in [0, 1]
	Steps   int        `json:"steps"`   // number of steps
	Invalid int        `json:"invalid"` // steps whose response broke the format's rules
}
