package refmodel

import (
	"bytes"
	"encoding/json"
	"flag"
	"math"
	"os"
	"strconv"
	"testing"

	"github.com/hindsightrl/harness"
	"github.com/hindsightrl/harness/llm/refmodel/internal/household"
	"github.com/hindsightrl/harness/llm/refmodel/internal/prime"
	"github.com/hindsightrl/harness/llm/refmodel/internal/vocab"
)

var fit = flag.Bool("fit", false, "fit the constants of params.go and print them")

type example struct{ prefix, response []int32 }

func examples(m *Model, from, to uint64) (out []example) {
	for seed := from; seed < to; seed++ {
		g := household.New(seed)
		obs := g.Intro()
		var past []household.Turn
		for n := 0; n < 30 && !g.Won(); n++ {
			action := g.Advise()
			ids, _ := m.Render([]harness.Message{{Role: "user", Content: g.Prompt(past, obs)}})
			resp := m.vocab.Append(nil, prime.Respond(g.Task, obs, action, n), false)
			out = append(out, example{ids, append(resp, vocab.EOS)})
			past = append(past, household.Turn{Observation: obs, Action: action})
			obs = g.Step(action)
		}
	}
	return out
}

func loss(m *Model, ex []example) float64 {
	m.raiseTopics()
	w := newWindow(m)
	sum, n := 0.0, 0
	for _, e := range ex {
		w.reset(e.prefix)
		for _, id := range e.response {
			w.gather()
			sum -= math.Log(w.prob(id))
			n++
			w.push(id)
		}
	}
	return sum / float64(len(ex))
}

func TestFit(t *testing.T) {
	if !*fit {
		t.Skip("run with -fit to fit the constants again")
	}
	m, err := New(Config{})
	if err != nil {
		t.Fatal(err)
	}
	ex := examples(m, 2000, 2040)
	best := loss(m, ex)
	t.Logf("%d examples, loss %.4f per response", len(ex), best)
	var ps []*float64
	for i := range 2 {
		for k := 1; k <= maxMatch; k++ {
			ps = append(ps, &m.params.Match[i][k])
		}
		for k := range m.params.Habit[i] {
			for j := range m.params.Habit[i][k] {
				ps = append(ps, &m.params.Habit[i][k][j])
			}
		}
		ps = append(ps, &m.params.Plausible[i], &m.params.Extra[i], &m.params.Recency[i], &m.params.Topic[i], &m.params.Self[i])
	}
	for step := 2.0; step > 1.1; step = math.Sqrt(step) {
		for range 3 {
			for _, p := range ps {
				old := *p
				for _, f := range []float64{step, 1 / step} {
					*p = old * f
					if l := loss(m, ex); l < best-1e-5 {
						best, old = l, *p
						break
					}
					*p = old
				}
			}
			t.Logf("step %.3f loss %.4f", step, best)
		}
	}
	for _, p := range ps {
		*p, _ = strconv.ParseFloat(strconv.FormatFloat(*p, 'g', 3, 64), 64)
	}
	write(t, m.params)
	t.Logf("held out: %.4f", loss(m, examples(m, 2100, 2160)))
}

// write puts the constants into fitted.json.
func write(t *testing.T, p params) {
	t.Helper()
	text, err := json.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile("fitted.json", append(bytes.ReplaceAll(text, []byte("],"), []byte("],\n")), '\n'), 0o644); err != nil {
		t.Fatal(err)
	}
}
