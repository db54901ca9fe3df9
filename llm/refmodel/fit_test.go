package refmodel

import (
	"bytes"
	"encoding/json"
	"flag"
	"math"
	"math/rand/v2"
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
		r := rand.New(rand.NewPCG(seed, 11))
		for n := 0; n < 30 && !g.Won(); n++ {
			action := g.Advise()
			var own bool
			if action, own = prime.Wander(r, action, g.Admissible()); !own {
				past = append(past, household.Turn{Observation: obs, Action: action})
				obs = g.Step(action)
				continue
			}
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
	m.setParams(m.params)
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
	m.setParams(initial())
	best := loss(m, ex)
	t.Logf("%d examples, loss %.4f per response", len(ex), best)
	ps := knobs(&m.params)
	for step := 2.0; step > 1.1; step = math.Sqrt(step) {
		for range 4 {
			for _, k := range ps {
				best = k.turn(m, ex, step, best)
			}
			t.Logf("step %.3f loss %.4f", step, best)
		}
	}
	for _, k := range ps {
		*k.at, _ = strconv.ParseFloat(strconv.FormatFloat(*k.at, 'g', 3, 64), 64)
	}
	write(t, m.params)
	t.Logf("held out: %.4f", loss(m, examples(m, 2100, 2160)))
}

// initial is where the fit starts.
func initial() (p params) {
	for i := range 2 {
		p.Match[i] = [...]float64{0, 0.1, 0.3, 1.5, 3, 4, 5, 6, 7}
		for k := range p.Habit[i] {
			p.Habit[i][k] = [...]float64{0.02, 0.05, 0.1, 0.2, 0.3}
		}
		p.Plausible[i], p.Extra[i], p.Recency[i], p.Topic[i], p.Self[i] = 0.01, 0.1, 1024, 12, 0.3
	}
	return p
}

// knob is one constant and the range that it may take: what the fit may not do is trust the household
// games so much that nothing else in a context counts.
type knob struct {
	at          *float64
	least, most float64
}

func knobs(p *params) (ps []knob) {
	for i := range 2 {
		for k := 1; k <= maxMatch; k++ {
			ps = append(ps, knob{&p.Match[i][k], 0.001, 1000})
		}
		for k := range p.Habit[i] {
			for j := range p.Habit[i][k] {
				ps = append(ps, knob{&p.Habit[i][k][j], 0.0005, 10})
			}
		}
		ps = append(ps, knob{&p.Plausible[i], 0.001, 0.1}, knob{&p.Extra[i], 0.02, 0.1}, knob{&p.Recency[i], 32, 8192},
			knob{&p.Topic[i], []float64{1.5, 12}[i], 24}, knob{&p.Self[i], 0.05, 1})
	}
	return ps
}

// turn tries a constant a step higher and a step lower and keeps what lowers the loss.
func (k knob) turn(m *Model, ex []example, step, best float64) float64 {
	old := *k.at
	for _, f := range []float64{step, 1 / step} {
		*k.at = min(max(old*f, k.least), k.most)
		if l := loss(m, ex); l < best-1e-5 {
			return l
		}
		*k.at = old
	}
	return best
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
