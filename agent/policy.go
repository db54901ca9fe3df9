package agent

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/hindsightrl/harness"
	"github.com/hindsightrl/harness/llm"
)

// Policy answers prompts. Implementations are safe for concurrent use by different episodes, and
// their answers depend on the turn (and a model) alone, so that the schedule never shows in them.
type Policy interface {
	// Act blocks until it has a response. It returns ctx's error when that ends first. A
	// *harness.Failure is retried as its kind deserves; any other error counts as a bug of ours.
	Act(ctx context.Context, t Turn) (Answer, error)
}

// Turn is one step of one episode as a policy sees it.
type Turn struct {
	Episode     harness.EpisodeRef
	Step        int // 0-based
	Prompt      []harness.Message
	Task        string // the task as the prompts name it
	Observation harness.Observation
	Rand        *rand.Rand      // this turn's random stream
	CallSeed    int64           // this turn's seed for model servers
	Advisor     harness.Advisor // the environment's scripted expert; nil where it has none
	Earlier     *harness.Tokens // tokens of the turn that Prompt continues; nil outside conversations
	Prefix      *Prefix         // how the response begins, where that is given: in trees; else nil

	concrete func(action, task string, r *rand.Rand) string
	respond  func(thought, action string) string
}

// Respond writes an action as a response of the environment's format.
func (t Turn) Respond(thought, action string) string {
	if t.respond == nil {
		return Respond(thought, action)
	}
	return t.respond(thought, action)
}

// Concrete fills the blank of an admissible action ("search[<your query>]") from the task's words.
func (t Turn) Concrete(action string) string {
	if t.concrete == nil {
		return action
	}
	return t.concrete(action, t.Task, t.Rand)
}

// Answer is a policy's response.
type Answer struct {
	Response string          // byte for byte
	Tokens   *harness.Tokens // nil where the policy gave none
	Usage    llm.Usage       // as the server counts; zero for policies without a server
	Latency  time.Duration   // of the call that succeeded; 0 where it was not measured
	Finished bool            // the policy declares the episode finished; nothing is sent to the environment
}

// Respond writes an action in the response format that most environments have, as a model would.
func Respond(thought, action string) string {
	return openThink + thought + closeThink + openAction + action + closeAction
}

// PolicyFunc makes a Policy of a function.
type PolicyFunc func(ctx context.Context, t Turn) (Answer, error)

// Act calls f.
func (f PolicyFunc) Act(ctx context.Context, t Turn) (Answer, error) { return f(ctx, t) }

// Fixed answers step n with the n-th response and declares the episode finished after the last.
func Fixed(responses ...string) Policy {
	return PolicyFunc(func(ctx context.Context, t Turn) (Answer, error) {
		if err := ctx.Err(); err != nil {
			return Answer{}, err
		}
		if t.Step >= len(responses) {
			return Answer{Finished: true}, nil
		}
		return Answer{Response: responses[t.Step]}, nil
	})
}
