package harness

import (
	"errors"
	"time"
)

// LeaseState is where a lease of the feed stands.
//
//	held ─► acked      the consumer has the groups for good
//	  ├───► returned   the consumer gave them back: they can be leased again at once
//	  └───► expired    its time was over when somebody else asked for groups: they can be leased again
//
// Only a held lease can change. An acknowledgement that comes after the time is over, and before anybody
// took the groups back, still counts.
type LeaseState string

// The states of a lease.
const (
	LeaseHeld     LeaseState = "held"
	LeaseAcked    LeaseState = "acked"
	LeaseReturned LeaseState = "returned"
	LeaseExpired  LeaseState = "expired"
)

// Conditions of the feed that callers branch on.
var (
	ErrLeaseUnknown     = errors.New("no such lease")
	ErrLeaseClosed      = errors.New("the lease is not held any more")
	ErrVersionBackwards = errors.New("policy versions only go up")
)

// Passes that a FeedSpec can name beside a ledger id.
const (
	PassNewest = int64(0)  // the run's newest credit pass at the time of each lease; the scores that it read
	PassNone   = int64(-1) // none: the columns that it would fill are absent
)

// FeedSpec names a feed: the finished groups of a run on their way to a trainer. Each group reaches the
// consumers of one feed once; a feed of another name hands out all groups again.
type FeedSpec struct {
	RunID  int64
	Name   string
	Credit int64 // credit pass, PassNewest or PassNone
	Score  int64 // teacher pass, PassNewest (the one that the credit pass read) or PassNone
}

// LeaseRequest asks for a batch of groups.
type LeaseRequest struct {
	ID       string        // made up by the consumer, never used twice for two batches: asking again gives the same lease
	Consumer string        // who asks, for people to read
	Groups   int           // at most so many groups, at least 1
	Min      int           // none at all where fewer groups are ready; 0 = 1
	Tokens   int           // stop before so many prompt and response tokens, except for the first group; 0 = no bound
	TTL      time.Duration // how long the groups are held without a word
}

// Lease is a batch of groups that a consumer holds or held.
type Lease struct {
	ID       string
	Consumer string
	State    LeaseState
	Expires  time.Time // UTC, millisecond
	Credit   int64     // the credit pass behind its numbers; 0 = none
	Score    int64     // the teacher pass; 0 = none
	Groups   []FeedGroup

	// Lapsed are the leases whose time was over and whose groups the request for this one made ready.
	Lapsed []Lease
}

// FeedGroup is a group of a lease.
type FeedGroup struct {
	Index        int `json:"group"` // of the task in the run
	Rows         int `json:"rows"`  // steps of its done episodes
	Tokens       int `json:"tokens"`
	PromptTokens int `json:"prompt_tokens"`
}

// FeedStep is a step of a done episode as the ledger hands it to the feed. What the ledger does not have
// is nil.
type FeedStep struct {
	StepID  int64
	Episode int64
	Group   int
	Sample  int
	Index   int
	Task    Task
	Reward  float64 // the step's
	Score   float64 // the task's after the step
	Won     bool
	Valid   bool
	Fork    *Fork   // of the episode; nil unless it is a leaf
	Shared  int     // leading response tokens that an ancestor sampled; all of them in a shared step
	Outcome Outcome // the episode's; its number of steps is not read
	Tokens  *Tokens
	Scored  *StepScore // student and teacher without their keys
	Credit  *StepCredit

	// Action marks the response tokens of the action, from the bytes that each token printed; nil where
	// the ledger does not have those.
	Action []bool
}

// StepCredit is what a credit pass made of a step.
type StepCredit struct {
	Base   float64   // base advantage of every token
	Factor float64   // α or γ of the response; 1 where no such stage ran
	Tokens []float32 // T final token advantages; nil: the policy gave no tokens
}

// FeedCounts say where the groups of a feed are. Every group is counted in one of the first seven.
type FeedCounts struct {
	Open     int   `json:"open"`     // an episode has not finished
	Waiting  int   `json:"waiting"`  // finished, and the credit pass does not have it yet
	Ready    int   `json:"ready"`    // can be leased
	Held     int   `json:"held"`     // leased, among them those whose time is over
	Acked    int   `json:"acked"`    // delivered
	Empty    int   `json:"empty"`    // finished without a step to hand over
	Dropped  int   `json:"dropped"`  // given up: too stale, or without a signal
	Rows     int64 `json:"rows"`     // steps delivered
	Tokens   int64 `json:"tokens"`   // response tokens delivered
	Returned int   `json:"returned"` // leases that were given back
	Expired  int   `json:"expired"`  // leases that ran out
	More     bool  `json:"more"`     // the run gets further groups
}

// Last reports that what is ready is all that there will be, unless leases come back.
func (c FeedCounts) Last() bool { return !c.More && c.Open+c.Waiting == 0 }

// Drained reports that every group was delivered and no other can come.
func (c FeedCounts) Drained() bool { return !c.More && c.Open+c.Waiting+c.Ready+c.Held == 0 }
