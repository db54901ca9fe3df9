package harness

import "fmt"

// Fork says where an episode leaves its parent, the episode of the same group that it grew out of. Such
// an episode is a leaf: its steps before Step are the parent's, and so are the first Token response tokens
// of its own step Step. Episodes without a fork are roots; a root with its leaves is a tree.
type Fork struct {
	Parent int64 `json:"parent"` // ledger id of the episode, which is done
	Step   int   `json:"step"`   // index of the first step that is not the parent's
	Token  int   `json:"token"`  // index in that step's response of the first token that is not the parent's; 0 = the whole response is new
}

// String prints "episode 7, step 3, token 12".
func (f Fork) String() string {
	return fmt.Sprintf("episode %d, step %d, token %d", f.Parent, f.Step, f.Token)
}

// Validate reports a fork that no parent could have.
func (f Fork) Validate() error {
	switch {
	case f.Parent <= 0:
		return fmt.Errorf("fork at %v: it names no parent", f)
	case f.Step < 0 || f.Token < 0:
		return fmt.Errorf("fork at %v: neither can be negative", f)
	}
	return nil
}

// After reports whether f lies behind g on the same path: later in the same response, or in a later step.
func (f Fork) After(g Fork) bool {
	return f.Step > g.Step || f.Step == g.Step && f.Token > g.Token
}

// TreeEpisode is an episode of a group as a tree that grows there finds it.
type TreeEpisode struct {
	EpisodeRef
	Status    Status
	Attempted bool        // an attempt was made at it
	Fork      *Fork       // of its latest attempt; nil unless that is a leaf's
	Failed    FailureKind // "" unless it failed
}
