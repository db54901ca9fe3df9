package creditrun

import (
	"errors"
	"fmt"
	"slices"

	"github.com/hindsightrl/harness/credit"
	"github.com/hindsightrl/harness/internal/difflib"
)

// Step is one step of a closed episode as credit needs it.
type Step struct {
	ID      int64 // of the step in the ledger
	Episode int64
	Group   int
	Sample  int
	Index   int     // turn number
	Return  float64 // the episode's summed reward
	Task    float64 // the episode's score by its task's own measure, in [0, 1]
	Won     bool    // the episode solved its task
	Reward  float64 // the step's
	Valid   bool    // the response kept the format's rules
	Anchor  string  // observation before the action
	Tokens  int     // T, the response's tokens; −1: the policy gave none

	Entropies   []float32 // T, nats; nil where the policy gave none
	EntropyLow  []float32 // T, bounds; both nil where Entropies are exact
	EntropyHigh []float32

	Fork *credit.Fork // of the episode, Parent being an episode's id; nil: it is a root

	Score *Score // nil: the scoring pass has none for this step

	Answer  *Answer // what the episode answered, on its last step; nil: it was no question
	Version int32   // policy version of the episode's response; −1 = unknown
}

// Answer is how an episode answered a question.
type Answer struct {
	Text  string // "" where there was none in the response
	Known bool   // the environment knows the answer, and has paid for a right one
}

// Score is what a teacher made of a step's response.
type Score struct {
	Student []float32 // T log-probabilities without the hindsight context, nats
	Teacher []float32 // T with it
	Action  []bool    // T flags: the token belongs to the action
}

// hasTokens reports whether the step can carry token advantages.
func (s *Step) hasTokens() bool { return s.Tokens >= 0 }

// entropy is the response's mean token entropy.
func (s *Step) entropy() (credit.Interval, error) {
	h, err := credit.MeanEntropy(s.Entropies, s.EntropyLow, s.EntropyHigh, nil)
	if err != nil {
		return h, fmt.Errorf("episode %d, step %d: %w", s.Episode, s.Index, err)
	}
	return h, nil
}

// batch lays the steps out for an estimator. Token counts are part of it only where every step has
// them: an estimator that needs them then says that they are absent.
func batch(steps []Step) *credit.Batch {
	n := len(steps)
	b := &credit.Batch{
		Group: make([]int, n), Trajectory: make([]int, n), Step: make([]int, n), Return: make([]float64, n),
		Reward: make([]float64, n), Anchor: make([]string, n), Valid: make([]bool, n), Tokens: make([]int, n),
		Similar: difflib.Similar,
	}
	if slices.ContainsFunc(steps, func(s Step) bool { return s.Fork != nil }) {
		b.Fork = make([]credit.Fork, n)
	}
	for i := range steps {
		s := &steps[i]
		if b.Fork != nil {
			b.Fork[i] = credit.NoFork
			if s.Fork != nil {
				b.Fork[i] = *s.Fork
			}
		}
		b.Group[i], b.Trajectory[i], b.Step[i] = s.Group, int(s.Episode), s.Index
		b.Return[i], b.Reward[i], b.Anchor[i], b.Valid[i] = s.Return, s.Reward, s.Anchor, s.Valid
		if b.Tokens != nil {
			b.Tokens[i] = s.Tokens
		}
		if !s.hasTokens() {
			b.Tokens = nil
		}
	}
	return b
}

// Errors that a caller explains with the name of its own flags and files.
var (
	// ErrNoScores: a token stage is to run and no step has a score.
	ErrNoScores = errors.New("no step has a score")
	// ErrNoEntropies: a response stage is to run and a response has tokens without entropies.
	ErrNoEntropies = errors.New("the response has tokens and no entropies")
	// ErrNoSignal: every group was left out by the filter.
	ErrNoSignal = errors.New("no group carries a signal")
	// ErrNoSteps: there is nothing to give credit to.
	ErrNoSteps = errors.New("no steps of finished episodes")
)
