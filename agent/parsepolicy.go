package agent

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/hindsightrl/harness/internal/errext"
	"github.com/hindsightrl/harness/internal/templatefile"
	"github.com/hindsightrl/harness/llm"
)

// DefaultPolicy is the policy of runs that name none: mostly the expert, so that there are successes,
// with mistakes to learn from.
const DefaultPolicy = "expert:0.3"

// PolicySpecs are the forms that ParsePolicy reads, with a line of explanation each.
var PolicySpecs = [][2]string{
	{"expert", "the environment's scripted expert"},
	{"expert:E", "the expert, with a share E in [0, 1] of random admissible actions in its place"},
	{"random", "admissible actions at random"},
	{"model", "a language model"},
}

// ModelPolicy is what the spec "model" needs.
type ModelPolicy struct {
	Generator   llm.Generator
	Sampling    llm.Sampling
	TopLogprobs int
}

// ParsePolicy builds a policy from its spec; the empty one means DefaultPolicy. m is used by "model"
// alone.
func ParsePolicy(spec string, m ModelPolicy) (Policy, error) {
	if spec == "" {
		spec = DefaultPolicy
	}
	name, arg, hasArg := strings.Cut(spec, ":")
	if hasArg && name != "expert" && templatefile.Misspelt(name, policyNames) == name {
		return nil, errext.WithHint(fmt.Errorf("policy %q: %s takes no argument", spec, name), fmt.Sprintf("write %q", name))
	}
	switch name {
	case "expert":
		return parseExpert(spec, arg, hasArg)
	case "random":
		return Random(), nil
	case "model":
		if m.Generator == nil {
			return nil, errext.WithHint(fmt.Errorf("policy %q: no model server is configured", spec), "name one, with its URL and model")
		}
		return Model(m.Generator, m.Sampling, m.TopLogprobs)
	}
	hint := "policies are expert, expert:E, random and model"
	if near := templatefile.Misspelt(name, policyNames); near != "" {
		hint = fmt.Sprintf("did you mean %q?", near)
	}
	return nil, errext.WithHint(fmt.Errorf("policy %q: no such policy", spec), hint)
}

var policyNames = []string{"expert", "random", "model"}

func parseExpert(spec, arg string, hasArg bool) (Policy, error) {
	share := 0.0
	if hasArg {
		var err error
		if share, err = strconv.ParseFloat(arg, 64); err != nil || !(share >= 0 && share <= 1) {
			return nil, errext.WithHint(fmt.Errorf("policy %q: %q is not a share between 0 and 1", spec, arg),
				fmt.Sprintf("for example %q", DefaultPolicy))
		}
	}
	return Expert(share)
}
