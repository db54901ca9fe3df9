package refmodel

import (
	"context"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/hindsightrl/harness"
	"github.com/hindsightrl/harness/llm"
	"github.com/hindsightrl/harness/llm/refmodel/internal/household"
)

var format = regexp.MustCompile(`(?s)^<think>.*</think><action>(.*)</action>$`)

func TestPlayTmp(t *testing.T) {
	m, err := New(Config{})
	if err != nil {
		t.Fatal(err)
	}
	won, total, valid, adm, steps := 0, 0, 0, 0, 0
	show := os.Getenv("SHOW") != ""
	ent, ntok := 0.0, 0
	byType := map[string][2]int{}
	for seed := uint64(5000); seed < 5100; seed++ {
		g := household.New(seed)
		obs := g.Intro()
		var past []household.Turn
		for n := 0; n < 50 && !g.Won(); n++ {
			ids, _ := m.Render([]harness.Message{{Role: "user", Content: g.Prompt(past, obs)}})
			s := llm.DefaultSampling()
			sd := int64(seed*100) + int64(n)
			s.Seed = &sd
			var text []byte
			m.Stream(context.Background(), llm.StreamRequest{Prompt: ids, Sampling: s}, func(e llm.TokenEvent) error {
				text = append(text, m.TokenBytes(e.ID)...)
				ent += float64(e.Entropy)
				ntok++
				return nil
			})
			act := ""
			if show && format.FindStringSubmatch(string(text)) == nil {
				t.Logf("BAD %q", text)
			}
			if f := format.FindStringSubmatch(string(text)); f != nil {
				valid++
				act = f[1]
			}
			steps++
			next := g.Step(act)
			if next != "Nothing happens." {
				adm++
			}
			if show && seed < 5004 {
				t.Logf("%d.%d %q -> %s", seed, n, text, next)
			}
			past = append(past, household.Turn{Observation: obs, Action: act})
			obs = next
		}
		total++
		ty := strings.Fields(g.Task)[0]
		for _, x := range []string{"hot", "cool", "clean", "two"} {
			if strings.Contains(g.Task, " "+x+" ") {
				ty = x
			}
		}
		b := byType[ty]
		b[1]++
		if g.Won() {
			won++
			b[0]++
		}
		byType[ty] = b
	}
	t.Logf("won %d/%d valid %.3f admissible %.3f steps %d tokens/step %.1f entropy %.3f %v", won, total, float64(valid)/float64(steps), float64(adm)/float64(steps), steps, float64(ntok)/float64(steps), ent/float64(ntok), byType)
}
