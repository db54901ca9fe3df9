package agent

import (
	"errors"
	"fmt"

	"github.com/hindsightrl/harness"
)

// ForkAt says at which place of an uncertain step the tree forks.
type ForkAt string

// The places.
const (
	ForkAtToken    ForkAt = "token"    // before the most uncertain token: siblings share the response up to it
	ForkAtResponse ForkAt = "response" // where the response begins: siblings share the prompt
)

// ForkFrom says which episodes of a tree further ones grow out of.
type ForkFrom string

// The choices.
const (
	ForkFromRoot ForkFrom = "root" // the root alone: all of its forks at once
	ForkFromAny  ForkFrom = "any"  // any finished one: forks one after the other, each at the most uncertain place of the tree so far
)

// Defaults of TreeConfig.
const (
	DefaultTreeForks    = 2
	DefaultTreeBranches = 2
)

// TreeConfig says how the episodes of a group grow out of one another. A group has Trees·(1 + Forks·Branches)
// places: sample m·(1+Forks·Branches) is the root of tree m, and the Branches samples of its fork n follow
// from the (1+n·Branches)-th place after it. The zero value of a field is its default.
type TreeConfig struct {
	Trees    int      // roots per group; 0 = 1
	Forks    int      // forks per tree; 0 = DefaultTreeForks
	Branches int      // further episodes per fork; 0 = DefaultTreeBranches
	Choose   Chooser  // where to fork; nil = the zero Uncertain
	From     ForkFrom // "" = ForkFromRoot
	// Tokens bounds what a tree generates: response tokens of its finished episodes, shared ones counted once.
	// A fork is made only where its branches, each taken to be as long as what their parent has from there,
	// stay within it. 0 = no bound.
	Tokens int
}

// Validate reports the first value that cannot work.
func (c TreeConfig) Validate() error {
	switch {
	case c.Trees < 0 || c.Forks < 0 || c.Branches < 0 || c.Tokens < 0:
		return fmt.Errorf("tree config: %d trees, %d forks, %d branches and a budget of %d tokens: none can be negative", c.Trees, c.Forks, c.Branches, c.Tokens)
	case c.From != "" && c.From != ForkFromRoot && c.From != ForkFromAny:
		return fmt.Errorf("tree config: forks from %q: want %s or %s", c.From, ForkFromRoot, ForkFromAny)
	}
	if u, ok := c.Choose.(Uncertain); ok {
		return u.Validate()
	}
	return nil
}

func (c TreeConfig) withDefaults() TreeConfig {
	if c.Trees == 0 {
		c.Trees = 1
	}
	if c.Forks == 0 {
		c.Forks = DefaultTreeForks
	}
	if c.Branches == 0 {
		c.Branches = DefaultTreeBranches
	}
	if c.Choose == nil {
		c.Choose = Uncertain{}
	}
	if c.From == "" {
		c.From = ForkFromRoot
	}
	return c
}

// leaves is the number of places of one tree.
func (c TreeConfig) leaves() int { return 1 + c.Forks*c.Branches }

// GroupSize is the number of places of a group: Trees·(1 + Forks·Branches).
func (c TreeConfig) GroupSize() int {
	c = c.withDefaults()
	return c.Trees * c.leaves()
}

// inOrder reports whether forks wait for the branches of the forks before them.
func (c TreeConfig) inOrder() bool { return c.From == ForkFromAny || c.Tokens > 0 }

// Grown is a finished episode of a tree, as choosers see it: of its steps, those before Fork.Step and the
// first Fork.Token response tokens of that one belong to its ancestors.
type Grown struct {
	Ref   harness.EpisodeRef
	Fork  *harness.Fork // nil: the root
	Steps []harness.Step
}

// Own reports whether a response token is the episode's own rather than an ancestor's.
func (g *Grown) Own(step, token int) bool {
	return g.Fork == nil || step > g.Fork.Step || step == g.Fork.Step && token >= g.Fork.Token
}

// rest is the number of response tokens that a branch would generate if it were as long as g is.
func (g *Grown) rest(f harness.Fork) int {
	n := 0
	for i := f.Step; i < len(g.Steps); i++ {
		if t := g.Steps[i].Tokens; t != nil {
			n += len(t.IDs)
		}
	}
	return n - f.Token
}

// generated is the number of response tokens that the episode cost.
func (g *Grown) generated() int {
	if g.Fork == nil {
		return g.rest(harness.Fork{})
	}
	return g.rest(*g.Fork)
}

// Place is where a tree may fork.
type Place struct {
	Episode int // index among the episodes that were asked about
	Step    int
	Token   int
	Entropy float64 // nats; what made the place
}

// Chooser picks places to fork. Implementations depend on their arguments alone and are safe for
// concurrent use: an interrupted tree is asked again.
type Chooser interface {
	// Places lists places of finished episodes, the best first, all of them their episodes' own tokens behind
	// the fork that made them. taken are the forks that the tree has.
	Places(episodes []Grown, taken []harness.Fork) []Place
	// Token reports whether it forks inside responses.
	Token() bool
}

// ErrNoTrees is returned for an environment whose state cannot be kept and put back.
var ErrNoTrees = errors.New("trees need an environment whose state can be kept and put back")
