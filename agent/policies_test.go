package agent

import (
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/hindsightrl/harness"
	"github.com/hindsightrl/harness/internal/errext"
	"github.com/hindsightrl/harness/llm"
)

// turn is a turn with three actions and an expert that answers advice, or an error where that is "".
func turn(step int, advice string) Turn {
	r := ref(3, 1)
	return Turn{
		Episode:     r,
		Step:        step,
		Task:        "find it",
		Observation: harness.Observation{Admissible: []string{"a", "b", "c"}},
		Rand:        harness.Rand(1, r.Task, r.Sample, step, "policy"),
		CallSeed:    harness.CallSeed(1, r.Task, r.Sample, step),
		Advisor: advisorFunc(func() (string, error) {
			if advice == "" {
				return "", errors.New("no way on")
			}
			return advice, nil
		}),
	}
}

// act returns the action of a policy's response, which must keep every format's rules.
func act(t *testing.T, p Policy, turn Turn) string {
	t.Helper()
	a, err := p.Act(t.Context(), turn)
	if err != nil {
		t.Fatal(err)
	}
	action, valid := ProjectGeneric(a.Response)
	if same, ok := ProjectALFWorld(a.Response); !valid || !ok || same != strings.ToLower(action) {
		t.Fatalf("response %q is not in the format", a.Response)
	}
	return action
}

func TestExpertExploresItsShare(t *testing.T) {
	t.Parallel()
	const n = 4000
	for _, share := range []float64{0, 0.3, 1} {
		p := mustExpert(t, share)
		others := 0
		for step := range n {
			if act(t, p, turn(step, "Expert Move")) != "Expert Move" {
				others++
			}
		}
		// Five standard deviations of a binomial, and exactly 0 at both ends.
		if slack := 5 * math.Sqrt(n*share*(1-share)); math.Abs(float64(others)-share*n) > slack {
			t.Errorf("share %v: %d of %d actions are random", share, others, n)
		}
	}
}

func TestExpertWithoutAWayOn(t *testing.T) {
	t.Parallel()
	p := mustExpert(t, 0)
	if got := act(t, p, turn(0, "")); !strings.Contains("abc", got) {
		t.Errorf("action %q", got)
	}
	lost := turn(0, "")
	lost.Observation.Admissible = nil
	if a, err := p.Act(t.Context(), lost); err != nil || !a.Finished {
		t.Errorf("answer %+v, %v", a, err)
	}
	broken := turn(0, "")
	broken.Advisor = advisorFunc(func() (string, error) { return "", harness.Fail(harness.FailEnv, "plan", errors.New("hung")) })
	if _, err := p.Act(t.Context(), broken); harness.KindOf(err) != harness.FailEnv {
		t.Errorf("error %v", err)
	}
	none := turn(0, "")
	none.Advisor = nil
	_, err := p.Act(t.Context(), none)
	if harness.KindOf(err) != harness.FailAgent || !errors.Is(err, errNoExpert) || errext.Hint(err) == "" {
		t.Errorf("error %v", err)
	}
}

func TestRandomTakesEveryAction(t *testing.T) {
	t.Parallel()
	seen := map[string]int{}
	for step := range 300 {
		seen[act(t, Random(), turn(step, ""))]++
	}
	for _, a := range []string{"a", "b", "c"} {
		if seen[a] < 60 {
			t.Errorf("action %s was taken %d times of 300", a, seen[a])
		}
	}
	if a, b := act(t, Random(), turn(5, "")), act(t, Random(), turn(5, "")); a != b {
		t.Errorf("the same turn gave %q and %q", a, b)
	}
	empty := turn(0, "")
	empty.Observation.Admissible = nil
	if a, err := Random().Act(t.Context(), empty); err != nil || !a.Finished {
		t.Errorf("answer %+v, %v", a, err)
	}
	blank := turn(0, "")
	blank.Observation.Admissible = []string{"search[" + blankQuery + "]"}
	blank.concrete = webshopConcrete
	if got := act(t, Random(), blank); strings.Contains(got, "<") || !strings.HasPrefix(got, "search[") {
		t.Errorf("action %q", got)
	}
}

func TestPoliciesObeyTheContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for name, p := range map[string]Policy{"expert": mustExpert(t, 0), "random": Random(), "fixed": Fixed("x")} {
		if _, err := p.Act(ctx, turn(0, "a")); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: error %v", name, err)
		}
	}
}

// generator is a llm.Generator that answers with what it was asked.
type generator struct {
	asked llm.Request
	reply llm.Generation
	err   error
}

func (g *generator) Generate(_ context.Context, r llm.Request) (llm.Generation, error) {
	g.asked = r
	return g.reply, g.err
}

func TestModel(t *testing.T) {
	t.Parallel()
	g := &generator{reply: llm.Generation{
		Text: "hi", Tokens: &harness.Tokens{IDs: []int32{4, 5}}, Usage: llm.Usage{PromptTokens: 9, CompletionTokens: 2}, Latency: 7,
	}}
	p, err := Model(g, llm.DefaultSampling(), 3)
	if err != nil {
		t.Fatal(err)
	}
	in := turn(2, "")
	in.Prompt = []harness.Message{{Role: "user", Content: "?"}}
	a, err := p.Act(t.Context(), in)
	if err != nil || a.Response != "hi" || len(a.Tokens.IDs) != 2 || a.Usage.PromptTokens != 9 || a.Latency != 7 {
		t.Errorf("answer %+v, %v", a, err)
	}
	if g.asked.TopLogprobs != 3 || g.asked.Messages[0].Content != "?" || *g.asked.Sampling.Seed != in.CallSeed || g.asked.Sampling.MaxTokens != 512 {
		t.Errorf("asked for %+v", g.asked)
	}
	own := int64(5)
	seeded, err := Model(g, llm.Sampling{Seed: &own}, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := seeded.Act(t.Context(), in); err != nil || *g.asked.Sampling.Seed != 5 {
		t.Errorf("seed %d, %v", *g.asked.Sampling.Seed, err)
	}
	g.reply.Tokens = &harness.Tokens{IDs: []int32{1}, Logprobs: []float32{0, 0}}
	if _, err := p.Act(t.Context(), in); harness.KindOf(err) != harness.FailServer {
		t.Errorf("tokens that do not fit: %v", err)
	}
	g.err = errors.New("down")
	if _, err := p.Act(t.Context(), in); !errors.Is(err, g.err) {
		t.Errorf("error %v", err)
	}
	if _, err := Model(nil, llm.Sampling{}, 0); err == nil {
		t.Error("a model without a generator")
	}
}

// spelling is a generator whose server spells token ids: 1 is " go", 2 is " on", 9 nothing.
type spelling struct {
	generator
	down error
}

func (s *spelling) Tokenize(context.Context, string, bool) ([]int32, error) { return nil, s.down }

func (s *spelling) Detokenize(_ context.Context, ids []int32) (string, error) {
	text := ""
	for _, id := range ids {
		text += map[int32]string{1: " go", 2: " on"}[id]
	}
	return text, s.down
}

func TestModelMeasuresItsTokens(t *testing.T) {
	t.Parallel()
	down := harness.Fail(harness.FailServer, "detokenize", errors.New("connection reset"))
	for _, c := range []struct {
		name, text string
		down       error
		want       []int32
		failed     bool
	}{
		{"spelled", "go on", nil, []int32{2, 3, 0}, false},
		{"the text is not what the tokens spell", "went on", nil, nil, false},
		{"the server cannot spell", "go on", harness.FailFinal(harness.FailServer, "detokenize", llm.ErrUnsupported), nil, false},
		{"the server is away for a moment", "go on", down, nil, true},
	} {
		g := &spelling{down: c.down}
		g.reply = llm.Generation{Text: c.text, Tokens: &harness.Tokens{IDs: []int32{1, 2, 9}}}
		p, err := Model(g, llm.DefaultSampling(), 0)
		if err != nil {
			t.Fatal(err)
		}
		a, err := p.Act(t.Context(), turn(0, ""))
		if (err != nil) != c.failed || !c.failed && !slices.Equal(a.Tokens.Lengths, c.want) {
			t.Errorf("%s: %+v, %v", c.name, a.Tokens, err)
		}
	}
}

func TestParsePolicy(t *testing.T) {
	t.Parallel()
	m := ModelPolicy{Generator: &generator{}}
	for spec, want := range map[string]Policy{"": expert{0.3}, "expert": expert{}, "expert:0": expert{}, "expert:1": expert{1}, "expert:0.25": expert{0.25}} {
		if got, err := ParsePolicy(spec, m); err != nil || got != want {
			t.Errorf("ParsePolicy(%q) = %v, %v, want %v", spec, got, err, want)
		}
	}
	for _, spec := range []string{"random", "model"} {
		if got, err := ParsePolicy(spec, m); err != nil || got == nil {
			t.Errorf("ParsePolicy(%q) = %v, %v", spec, got, err)
		}
	}
	for _, c := range []struct{ spec, want, hint string }{
		{"expret", `policy "expret": no such policy`, `did you mean "expert"?`},
		{"greedy", `policy "greedy": no such policy`, "policies are expert, expert:E, random and model"},
		{"expert:", `policy "expert:": "" is not a share between 0 and 1`, `for example "expert:0.3"`},
		{"expert:1.5", `policy "expert:1.5": "1.5" is not a share between 0 and 1`, `for example "expert:0.3"`},
		{"expert:NaN", `policy "expert:NaN": "NaN" is not a share between 0 and 1`, `for example "expert:0.3"`},
		{"expert:some", `policy "expert:some": "some" is not a share between 0 and 1`, `for example "expert:0.3"`},
		{"random:3", `policy "random:3": random takes no argument`, `write "random"`},
		{"model", `policy "model": no model server is configured`, "name one, with its URL and model"},
	} {
		if _, err := ParsePolicy(c.spec, ModelPolicy{}); err == nil || err.Error() != c.want || errext.Hint(err) != c.hint {
			t.Errorf("ParsePolicy(%q): error %v (hint %q)", c.spec, err, errext.Hint(err))
		}
	}
	if _, err := Expert(-0.1); err == nil || !strings.Contains(err.Error(), "outside [0, 1]") {
		t.Errorf("a negative share: %v", err)
	}
}

func FuzzParsePolicy(f *testing.F) {
	for _, s := range []string{"", "expert:0.3", "expert:1e-3", "random:", "model", "expert:+Inf", ":"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, spec string) {
		p, err := ParsePolicy(spec, ModelPolicy{})
		if (p == nil) == (err == nil) {
			t.Fatalf("ParsePolicy(%q) = %v, %v", spec, p, err)
		}
		if e, ok := p.(expert); ok && !(e.explore >= 0 && e.explore <= 1) {
			t.Fatalf("ParsePolicy(%q) explores %v", spec, e.explore)
		}
	})
}
