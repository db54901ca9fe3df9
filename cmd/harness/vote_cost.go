package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/hindsightrl/harness/agent"
	"github.com/hindsightrl/harness/credit"
	"github.com/hindsightrl/harness/store"
)

// treeCost is what the responses of questions cost, in tokens and in the policy's time.
type treeCost struct {
	Responses int           `json:"responses"`
	Branches  int           `json:"branches"` // of these, such that grew out of another one
	Leaves    int           `json:"leaf_tokens"`
	Sampled   int           `json:"sampled_tokens"` // of the leaves' tokens, those that were sampled: a shared one once
	Shared    int           `json:"shared_tokens"`  // the others
	Reread    int           `json:"prefix_tokens"`  // prompt tokens and shared ones that branches began with: what a server's prefix cache can save
	Ratio     float64       `json:"ratio"`          // Sampled / Leaves
	Policy    time.Duration `json:"policy_ns"`      // time until the policy had answered, summed over responses
	Wall      time.Duration `json:"wall_ns"`        // from the first response's beginning to the last one's end

	began, ended time.Time
}

// add counts one response.
func (c *treeCost) add(a store.Answer) {
	c.Responses++
	c.Policy += a.PolicyTime
	c.span(a.Started, a.Finished)
	tokens := max(a.Tokens, 0)
	c.Leaves += tokens
	if a.Fork == nil {
		c.Sampled += tokens
		return
	}
	c.Branches++
	c.Shared += a.Fork.Token
	c.Sampled += tokens - a.Fork.Token
	c.Reread += a.Prompt + a.Fork.Token
}

// span widens the time that the responses took.
func (c *treeCost) span(began, ended time.Time) {
	if c.began.IsZero() || began.Before(c.began) {
		c.began = began
	}
	if ended.After(c.ended) {
		c.ended = ended
	}
	c.Wall = c.ended.Sub(c.began)
}

func (c *treeCost) join(o treeCost) {
	c.span(o.began, o.ended)
	c.Responses, c.Branches, c.Leaves, c.Sampled = c.Responses+o.Responses, c.Branches+o.Branches, c.Leaves+o.Leaves, c.Sampled+o.Sampled
	c.Shared, c.Reread, c.Policy = c.Shared+o.Shared, c.Reread+o.Reread, c.Policy+o.Policy
}

// finished fills in the ratio.
func (c treeCost) finished() treeCost {
	if c.Leaves > 0 {
		c.Ratio = float64(c.Sampled) / float64(c.Leaves)
	}
	return c
}

// lines says it in words; formula is what the tree's shape promises, 0 for no tree.
func (c treeCost) lines(formula float64) []string {
	if c.Leaves == 0 {
		return nil
	}
	took := fmt.Sprintf("time: %s from the first beginning to the last end; the policy was waited for %s in all", short(c.Wall), short(c.Policy))
	if c.Branches == 0 {
		return []string{fmt.Sprintf("cost: %s sampled for %s, each by itself", plural(c.Sampled, "token"), plural(c.Responses, "response")), took}
	}
	out := []string{fmt.Sprintf("cost: %s sampled for %s of %s, %.1f%%", plural(c.Sampled, "token"), plural(c.Leaves, "token"), plural(c.Responses, "leaf response"), 100*c.Ratio)}
	if formula > 0 {
		out[0] += fmt.Sprintf("; (1 + 0.5·B·N)/(1 + B·N) is %.1f%%", 100*formula)
	}
	return append(out, fmt.Sprintf("prefixes: %d branches began with %s of prompt and shared response", c.Branches, plural(c.Reread, "token")), took)
}

// etmrName is what --sampler takes for entropy-fork trees of answers.
const etmrName = "etmr"

// promisedRatio is the token ratio of a run's trees by the formula; 0 where it has none.
func promisedRatio(run store.Run) float64 {
	var config map[string]string
	if err := json.Unmarshal(run.Config, &config); err != nil || config["sampler"] != etmrName {
		return 0
	}
	shape := func(flag string, otherwise int) int {
		if n, err := strconv.Atoi(config[flag]); err == nil && n > 0 {
			return n
		}
		return otherwise
	}
	return credit.TreeTokenRatio(shape("forks", agent.DefaultETMRForks), shape("branches", agent.DefaultETMRBranches))
}

func sortedKeys[K cmp.Ordered, V any](m map[K]V) []K { return slices.Sorted(maps.Keys(m)) }
