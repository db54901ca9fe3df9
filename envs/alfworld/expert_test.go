package alfworld_test

import (
	"errors"
	"math/rand/v2"
	"testing"

	"github.com/hindsightrl/harness"
	"github.com/hindsightrl/harness/envs/alfworld"
	"github.com/hindsightrl/harness/envs/alfworld/engine"
)

// expertSolves plays every game of a suite after a random prefix. Where the prefix has made the goal
// unreachable (hands full of what no receptacle takes), the expert has to say so.
func expertSolves(t *testing.T, suite *alfworld.Suite, tasks []harness.Task, prefix, limit int) {
	t.Helper()
	deadEnds, steps := 0, 0
	for i, task := range tasks {
		rng := rand.New(rand.NewPCG(uint64(i), uint64(prefix)))
		env, obs := start(t, suite, task)
		done := false
		for range prefix {
			tr, err := env.Step(t.Context(), obs.Admissible[rng.IntN(len(obs.Admissible))])
			if err != nil {
				t.Fatal(err)
			}
			if obs, done = tr.Observation, tr.Done; done {
				break
			}
		}
		if done {
			continue
		}
		if _, err := env.Advise(t.Context()); prefix > 0 && errors.Is(err, engine.ErrImpossible) {
			deadEnds++
			continue
		}
		_, n := solve(t, env, limit)
		steps += n
	}
	if deadEnds*20 > len(tasks) {
		t.Errorf("%d of %d games are dead ends after %d random steps", deadEnds, len(tasks), prefix)
	}
	t.Logf("%d games after %d random steps: %.1f steps each, %d dead ends", len(tasks), prefix, float64(steps)/float64(len(tasks)), deadEnds)
}

func TestExpertSolvesTheReferenceGames(t *testing.T) {
	t.Parallel()
	versions := []string{"2.1.1", "2.1.2", "head"}
	if testing.Short() {
		versions = versions[2:]
	}
	for _, assets := range versions {
		t.Run(assets, func(t *testing.T) {
			t.Parallel()
			suite := reference(t, assets)
			tasks, err := suite.Tasks(t.Context(), "")
			if err != nil {
				t.Fatal(err)
			}
			expertSolves(t, suite, tasks, 0, 50)
			if !testing.Short() {
				expertSolves(t, suite, tasks, 25, 50)
			}
		})
	}
}

func TestExpertSolvesTheEmbeddedGames(t *testing.T) {
	t.Parallel()
	suite, tasks := panel(t, alfworld.Config{})
	for _, prefix := range []int{0, 5, 40} {
		expertSolves(t, suite, tasks, prefix, 50)
	}
}

// TestExpertMixedWithNoise advises after every random step of a whole episode, as a noisy expert policy
// asks for.
func TestExpertMixedWithNoise(t *testing.T) {
	t.Parallel()
	suite, tasks := panel(t, alfworld.Config{})
	won := 0
	for i, task := range tasks {
		rng := rand.New(rand.NewPCG(uint64(i), 77))
		env, obs := start(t, suite, task)
		for range 100 {
			a, err := env.Advise(t.Context())
			if errors.Is(err, engine.ErrImpossible) {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			if rng.Float64() < 0.3 {
				a = obs.Admissible[rng.IntN(len(obs.Admissible))]
			}
			tr, err := env.Step(t.Context(), a)
			if err != nil {
				t.Fatal(err)
			}
			if obs = tr.Observation; tr.Won {
				won++
				break
			}
		}
	}
	if won < len(tasks)*9/10 {
		t.Errorf("the noisy expert solves %d of %d games", won, len(tasks))
	}
}

func TestExpertRefusesUnsolvableGames(t *testing.T) {
	t.Parallel()
	suite := reference(t, "2.1.1")
	skips, err := suite.Skipped(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	for _, sk := range skips {
		g, _, err := suite.OpenGame(t.Context(), sk.ID, "")
		if err != nil {
			t.Errorf("%s: %v", sk.ID, err)
			continue
		}
		e := g.NewEpisode()
		for range 60 {
			c, err := e.Advise()
			if err != nil {
				if !errors.Is(err, engine.ErrImpossible) && !errors.Is(err, engine.ErrWon) {
					t.Errorf("%s: %v", sk.ID, err)
				}
				break
			}
			if _, err := e.Step(c); err != nil {
				t.Fatal(err)
			}
		}
	}
}
