package household

import (
	"fmt"
	"strings"
)

// Turn is one past step.
type Turn struct{ Observation, Action string }

// Prompt words a step as an agent would see it: the last two turns, the observation, the commands.
func (g *Game) Prompt(past []Turn, observation string) string {
	var b strings.Builder
	b.WriteString("You are at home in a simulated household and act by short text commands.")
	if len(past) > 0 {
		fmt.Fprintf(&b, " What you have to achieve: %s\n\n%d commands are behind you. The last %d, each with what you saw before it:\n",
			g.Task, len(past), min(2, len(past)))
		for i, t := range past[max(0, len(past)-2):] {
			n := max(0, len(past)-2) + i + 1
			fmt.Fprintf(&b, "(%d) saw: %s\n(%d) did: %s\n", n, t.Observation, n, t.Action)
		}
		fmt.Fprintf(&b, "\nCommand number %d is next. What you see: %s", len(past)+1, observation)
	} else {
		b.WriteString("\n\n" + observation)
	}
	fmt.Fprintf(&b, "\n\nThese commands work right now: ['%s']\n\n", strings.Join(g.Admissible(), "'\n '"))
	b.WriteString("Pick the one command that brings the task forward. Think it through first, between <think> and </think>: ")
	if len(past) > 0 {
		b.WriteString("what the last commands changed, what is still to be done, in which order.")
	} else {
		b.WriteString("where the things you need may be, what is still to be done, in which order.")
	}
	b.WriteString(" Then write the command, exactly as listed, between <action> and </action>, and nothing after it.\n")
	return b.String()
}
