package gen

import (
	"testing"

	"github.com/hindsightrl/harness"
	"github.com/hindsightrl/harness/envs/alfworld"
)

// Games written to disk are found by the engine's suite, none left out, and its expert, who does not
// know the walkthroughs, wins each within the 50 steps of the reference set-up.
func TestExpertWinsGeneratedGames(t *testing.T) {
	t.Parallel()
	count := 48
	if testing.Short() {
		count = 12
	}
	dir := t.TempDir()
	games := mustGenerate(t, 77, Config{Count: count})
	if err := Write(dir, games); err != nil {
		t.Fatal(err)
	}
	suite, err := alfworld.New(t.Context(), dir, alfworld.Config{})
	if err != nil {
		t.Fatal(err)
	}
	if skips, err := suite.Skipped(t.Context(), ""); err != nil || len(skips) > 0 {
		t.Errorf("left out: %v (%v)", skips, err)
	}
	env, err := suite.NewEnv(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer env.Close()
	for _, g := range games {
		task := harness.Task{Env: alfworld.Name, ID: g.Path(), Split: g.Split, Type: string(g.Task)}
		first, err := env.Reset(t.Context(), task)
		if err != nil {
			t.Fatal(err)
		}
		if want := g.Sentence + "."; first.Task != want {
			t.Errorf("%s: task %q, want %q", g.Path(), first.Task, want)
		}
		steps, won := 0, false
		for ; !won && steps < 50; steps++ {
			action, err := env.(harness.Advisor).Advise(t.Context())
			if err != nil {
				t.Fatalf("%s, step %d: %v", g.Path(), steps, err)
			}
			tr, err := env.Step(t.Context(), action)
			if err != nil {
				t.Fatalf("%s, step %d: %v", g.Path(), steps, err)
			}
			won = tr.Won
		}
		if !won {
			t.Errorf("%s: not won in %d steps", g.Path(), steps)
		}
	}
}
