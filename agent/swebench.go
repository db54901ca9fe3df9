package agent

import (
	"fmt"

	"github.com/hindsightrl/harness"
	"github.com/hindsightrl/harness/internal/errext"
	"github.com/hindsightrl/harness/internal/sweaction"
)

// The interfaces of environments that repair repositories.
const (
	SWEBenchBash  = "bash"  // one bash block a turn, as mini-swe-agent has it
	SWEBenchTools = "tools" // one function call a turn, as R2E-Gym has it
)

// SWEBenchFormat returns the format of an interface. DefaultFormats has the bash one under "swebench";
// runs with the other replace it. Episodes are one growing chat: what an agent has read of a repository
// belongs to all that it does later.
func SWEBenchFormat(name string) (Format, error) {
	switch name {
	case SWEBenchBash:
		return swebenchBash, nil
	case SWEBenchTools:
		return swebenchTools, nil
	}
	return Format{}, errext.WithHint(fmt.Errorf("no interface %q", name), "there are bash and tools")
}

// The step limits are the scaffolds' own. Source: SWE-agent/mini-swe-agent@a83fcae8,
// R2E-Gym/R2E-Gym@69bc9535.
var (
	swebenchBash = Format{
		First:        "agent_swebench_first",
		Later:        "agent_swebench",
		Turn:         "agent_swebench_turn",
		MaxSteps:     250,
		Conversation: true,
		Project:      sweaction.Bash,
		Spans:        sweaction.BashSpans,
		Task:         swebenchTask,
		Observe:      swebenchObserve,
		Actions:      noActions,
		Respond:      respondBash,
	}
	swebenchTools = Format{
		First:        "agent_swebench_tools_first",
		Later:        "agent_swebench_tools",
		Turn:         "agent_swebench_tools_turn",
		MaxSteps:     50,
		Conversation: true,
		Project:      sweaction.Tools,
		Spans:        sweaction.ToolsSpans,
		Task:         swebenchTask,
		Observe:      swebenchObserve,
		Actions:      noActions,
		Respond:      func(thought, action string) string { return thought + "\n\n" + action },
	}
)

func swebenchTask(first harness.Observation) string { return first.Task }

func swebenchObserve(_ string, o harness.Observation) string { return o.Text }

// noActions prints nothing: every command is an action.
func noActions([]string) string { return "" }

func respondBash(thought, action string) string {
	return thought + "\n\n```bash\n" + action + "\n```"
}
