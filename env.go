package harness

import "context"

// Observation is what an agent may see before it acts.
type Observation struct {
	Text       string   `json:"text"`                 // what the environment says, byte for byte
	Task       string   `json:"task,omitempty"`       // the instruction, where the environment states one
	Admissible []string `json:"admissible,omitempty"` // legal actions in the environment's own order; nil where it has no list
	Anchor     string   `json:"anchor,omitempty"`     // what makes two states "the same" for anchor groups; "" means Text
}

// AnchorText is the raw observation that anchor groups compare: Anchor, or Text where that is empty.
func (o Observation) AnchorText() string {
	if o.Anchor != "" {
		return o.Anchor
	}
	return o.Text
}

// Transition is an environment's answer to one action. An agent's mistake is an ordinary transition
// whose observation says so; only a broken environment is an error.
type Transition struct {
	Observation Observation `json:"observation"`
	Feedback    string      `json:"feedback,omitempty"`   // immediate feedback: what the environment answered to the action; "" = none
	Privileged  string      `json:"privileged,omitempty"` // what the environment knows and an agent never sees (why an action had no effect, …)
	Reward      float64     `json:"reward"`               // task reward of this step, in the environment's own unit
	Score       float64     `json:"score"`                // task score in [0, 1] so far
	Won         bool        `json:"won"`                  // the task is solved
	Done        bool        `json:"done"`                 // the environment takes no further action
}

// Env is one live episode's environment. One goroutine owns an Env; methods block until the
// environment has answered and return ctx's error when it ends first.
type Env interface {
	// Reset starts the task over and returns the first observation.
	Reset(ctx context.Context, task Task) (Observation, error)
	// Step applies one action. It may be called only after Reset.
	Step(ctx context.Context, action string) (Transition, error)
	// Close frees what the episode holds. A closed Env may be Reset only where its documentation says so.
	Close() error
}

// Snapshot is an opaque copy of an environment's state. It stays valid for the Env that made it, and
// for any Env of the same suite and task, however either moves on.
type Snapshot interface{ isSnapshot() }

// SnapshotBase is embedded by the types that adapters use as Snapshot.
type SnapshotBase struct{}

func (SnapshotBase) isSnapshot() {}

// Snapshotter is an Env whose state can be kept and put back in microseconds: it powers tree
// rollouts and counterfactual credit.
type Snapshotter interface {
	Env
	// Snapshot copies the current state.
	Snapshot() (Snapshot, error)
	// Restore puts back a state of the same task; the next Step continues from it.
	Restore(Snapshot) error
}

// Advisor is an Env with a scripted expert inside.
type Advisor interface {
	// Advise returns the expert's next action from the current state. It does not change the state.
	// An error means that the expert knows no way on from here.
	Advise(ctx context.Context) (string, error)
}

// Preparer is a Suite whose episodes take long to begin.
type Preparer interface {
	Suite
	// Prepare is told that an episode of a task is about to begin, of each one once and in their order, and
	// returns at once. It decides nothing: the episode begins the same way without it, only later.
	Prepare(task Task)
}

// Suite holds an environment's shared, read-only assets: it lists tasks and opens live episodes.
// Its methods are safe for concurrent use.
type Suite interface {
	// Name is the environment name that its tasks carry.
	Name() string
	// Tasks lists a split in a stable order. The empty split means all of them.
	Tasks(ctx context.Context, split string) ([]Task, error)
	// NewEnv opens a live episode's environment; the caller closes it.
	NewEnv(ctx context.Context) (Env, error)
}
