package agent

import (
	"strings"

	"github.com/hindsightrl/harness"
	"github.com/hindsightrl/harness/internal/pystr"
)

// alfworldFormat prints what the reference prints, given the reference's templates.
// Source: OliverLeeXZ/SERL@5a2a85b agent_system/environments/env_manager.py:AlfWorldEnvironmentManager.
var alfworldFormat = Format{
	First:    "agent_alfworld_first",
	Later:    "agent_alfworld",
	Turn:     "agent_alfworld_turn",
	MaxSteps: 50,
	Project:  ProjectALFWorld,
	Spans:    ExactSpans,
	Task:     alfworldTask,
	Observe:  func(_ string, o harness.Observation) string { return o.Text },
	Actions:  alfworldActions,
}

// alfworldTask is what follows "Your task is to: " in the first observation, without the space around
// it but with its full stop; where the text does not say, the environment's own statement.
func alfworldTask(first harness.Observation) string {
	if _, task, ok := strings.Cut(first.Text, "Your task is to: "); ok {
		return pystr.Strip(task)
	}
	return first.Task
}

// alfworldActions prints the actions in single quotes, a newline and a space between them, without
// "help": it tells an agent nothing that the list does not.
func alfworldActions(admissible []string) string {
	var b strings.Builder
	for _, a := range admissible {
		if a == "help" {
			continue
		}
		if b.Len() > 0 {
			b.WriteString("\n ")
		}
		b.WriteByte('\'')
		b.WriteString(a)
		b.WriteByte('\'')
	}
	return b.String()
}
