package teacher

import (
	"fmt"
	"math/rand/v2"
	"os"
	"testing"

	"github.com/hindsightrl/harness"
	"github.com/hindsightrl/harness/internal/testutil"
)

func TestMain(m *testing.M) { os.Exit(testutil.RunAndFindLeaks(m)) }

func user(text string) []harness.Message { return []harness.Message{{Role: "user", Content: text}} }

func ref[T any](v T) *T { return &v }

// household is a batch of made-up groups of episodes in the manner of ALFWorld: prompts with a history and
// a list of actions, a few anchor observations per group, one success in three.
func household(seed uint64, groups, episodes, steps int) []Row {
	r := rand.New(rand.NewPCG(seed, 1))
	places := []string{"drawer", "cabinet", "fridge", "shelf", "desk", "sink"}
	var rows []Row
	for g := range groups {
		for e := range episodes {
			won := r.IntN(3) == 0
			for s := range steps {
				place := fmt.Sprintf("%s %d", places[r.IntN(len(places))], 1+r.IntN(3))
				seen := fmt.Sprintf("You arrive at the %s. On it, you see a mug %d.", place, r.IntN(3))
				prompt := fmt.Sprintf("Task %d: put a clean mug on the desk. Step %d. You see: %s. Actions: ", g, s, seen)
				for k := range 20 {
					prompt += fmt.Sprintf("'go to %s %d', ", places[k%len(places)], k)
				}
				row := Row{
					Group: fmt.Sprint("g", g), Episode: fmt.Sprint("g", g, "e", e), Step: s, Prompt: user(prompt), Anchor: &seen,
					Response: fmt.Sprintf("<think>The mug may be at the %s, so I look there first.</think><action>go to %s</action>", place, place),
					Feedback: "You arrive at the " + place + ".", Next: prompt, Privileged: "The " + place + " is closed.",
					Reward: 0, Return: ref(0.0), Success: ref(won), Valid: true,
				}
				if won {
					row.Return = ref(10.0)
				}
				rows = append(rows, row)
			}
		}
	}
	return rows
}
