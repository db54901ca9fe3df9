package household

import (
	"slices"
	"strings"
	"testing"
)

// The expert wins every game that it plays from the start, with commands that work.
func TestExpertWins(t *testing.T) {
	t.Parallel()
	for seed := range uint64(200) {
		g := New(seed)
		if g.Won() {
			t.Errorf("game %d is won before it starts", seed)
		}
		steps := 0
		for ; steps < 30 && !g.Won(); steps++ {
			action := g.Advise()
			if !slices.Contains(g.Admissible(), action) {
				t.Fatalf("game %d (%s), step %d: the expert says %q, which does not work", seed, g.Task, steps, action)
			}
			if got := g.Step(action); got == "Nothing happens." {
				t.Fatalf("game %d, step %d: %q does nothing", seed, steps, action)
			}
		}
		if !g.Won() {
			t.Errorf("game %d (%s) is not won after %d steps", seed, g.Task, steps)
		}
	}
}

func TestEqualSeedsGiveEqualGames(t *testing.T) {
	t.Parallel()
	a, b := New(9), New(9)
	if a.Intro() != b.Intro() || !slices.Equal(a.Admissible(), b.Admissible()) {
		t.Errorf("two games of one seed:\n%s\n%s", a.Intro(), b.Intro())
	}
	if New(13).Intro() == a.Intro() {
		t.Error("two seeds give one game")
	}
}

// Every command that is listed changes something or reports something; what is not listed does nothing.
func TestAdmissibleCommandsWork(t *testing.T) {
	t.Parallel()
	for seed := range uint64(40) {
		g := New(seed)
		for step := range 40 {
			list := g.Admissible()
			if !slices.IsSorted(list) {
				t.Fatalf("game %d: commands are not sorted: %q", seed, list)
			}
			action := list[(step*7+int(seed))%len(list)]
			if got := g.Step(action); got == "Nothing happens." {
				t.Fatalf("game %d, step %d: %q does nothing", seed, step, action)
			}
		}
		before := g.Admissible()
		if got := g.Step("take moon 1 from sky 1"); got != "Nothing happens." || !slices.Equal(before, g.Admissible()) {
			t.Errorf("game %d: a command that is not listed gives %q", seed, got)
		}
	}
}

func TestPrompt(t *testing.T) {
	t.Parallel()
	g := New(1)
	first := g.Prompt(nil, g.Intro())
	if !strings.Contains(first, "Your task is to: "+g.Task) || !strings.Contains(first, "'inventory'\n 'look'") {
		t.Errorf("the first prompt is\n%s", first)
	}
	past := []Turn{{"o1", "a1"}, {"o2", "a2"}, {"o3", "a3"}}
	later := g.Prompt(past, "o4")
	for _, want := range []string{"What you have to achieve: " + g.Task, "(2) saw: o2\n(2) did: a2\n(3) saw: o3", "What you see: o4", "3 commands"} {
		if !strings.Contains(later, want) {
			t.Errorf("the prompt of step 4 lacks %q:\n%s", want, later)
		}
	}
	if strings.Contains(later, "o1") {
		t.Errorf("the prompt of step 4 shows more than two turns:\n%s", later)
	}
}
