package refmodel

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hindsightrl/harness"
	"github.com/hindsightrl/harness/llm"
)

// Pages of a shop as the agent shows them, one of each kind, and the order on them.
const (
	order     = "Get me inner pockets rain jackets with color: sky blue, and price lower than 180.00 dollars"
	startPage = "You are shopping. The order reads: " + order + "\n\nThe page shows: 'Search'\n\nWhat you can do on it:\n'search[<your query>]',\n'click[search]',\n\nChoose one of these.\n"
	listPage  = "You are shopping. The order reads: " + order + "\n\nThe page shows: 'Back to Search' [SEP] 'Page 1' [SEP] 'HS02944531' [SEP] 'Rain Jacket'\n\nWhat you can do on it:\n'click[back to search]',\n'click[next >]',\n'click[hs02944531]',\n'click[hs05840791]',\n\nChoose one of these.\n"
	itemPage  = "You are shopping. The order reads: " + order + "\n\nThe page shows: '< Prev' [SEP] 'sky blue'\n\nWhat you can do on it:\n'click[back to search]',\n'click[< prev]',\n'click[buy now]',\n'click[navy]',\n'click[sky blue]',\n\nChoose one of these.\n"
	thought   = "<think>The order reads: " + order + "</think>"
)

// Each kind of page has its habits, and a blank is filled with the order.
func TestSettings(t *testing.T) {
	t.Parallel()
	m := open1(t)
	for _, c := range []struct{ name, page, likely, unlikely string }{
		{"start", startPage, "search[" + order + "]", "click[search]"},
		{"start, the blank itself", startPage, "search[" + order + "]", "search[<your query>]"},
		{"results", listPage, "click[hs05840791]", "click[hs11111111]"},
		{"results, what they do not offer", listPage, "click[next >]", "click[buy now]"},
		{"product", itemPage, "click[sky blue]", "click[navy]"},
		{"product, bought", itemPage, "click[buy now]", "search[" + order + "]"},
	} {
		if a, b := m.actionLogprob(t, c.page, thought, c.likely), m.actionLogprob(t, c.page, thought, c.unlikely); a <= b {
			t.Errorf("%s: log-probability %.2f of %q, %.2f of %q", c.name, a, c.likely, b, c.unlikely)
		}
	}
}

// contexts returns texts of many kinds: household prompts with part of a response, the same with a
// report of failure before it, pages of a shop, random tokens, and nothing at all.
func contexts(m *Model, seed uint64) (out [][]int32) {
	r := rand.New(rand.NewPCG(seed, 1))
	for _, e := range examples(m, 4000+seed, 4003+seed) {
		out = append(out, append(slices.Clone(e.prefix), e.response[:r.IntN(len(e.response))]...))
		hint := m.vocab.Append(nil, "What came of it: Nothing happens. Another try was a success.", false)
		with := slices.Insert(slices.Clone(e.prefix), len(e.prefix)-2, hint...)
		out = append(out, append(with, e.response[:r.IntN(len(e.response))]...))
	}
	for _, page := range []string{startPage, listPage, itemPage} {
		for _, response := range []string{"<think>The", thought + "<action>search[", thought + "<action>search[" + order, thought + "<action>click[hs0", thought + "<action>click[buy now]</action>"} {
			ids, err := m.Render([]harness.Message{{Role: "user", Content: page}})
			if err != nil {
				panic(err) // the role is known
			}
			out = append(out, m.vocab.Append(ids, response, false))
		}
	}
	for n := range 40 {
		ids := make([]int32, n)
		few := 1 + r.IntN(m.vocab.Size()) // some texts repeat a lot
		for i := range ids {
			ids[i] = int32(r.IntN(few))
		}
		out = append(out, ids)
	}
	return out
}

// The fast paths against plain sums over the whole vocabulary.
func TestDistributionIsExact(t *testing.T) {
	t.Parallel()
	m := open1(t)
	dense := make([]float64, m.vocab.Size())
	for i, ids := range contexts(m, 1) {
		w := newWindow(m)
		w.reset(ids)
		w.gather()
		w.fill(dense)
		sum, entropy := 0.0, 0.0
		for id, p := range dense {
			if got := w.prob(int32(id)); got != p {
				t.Fatalf("context %d: P(%d) is %g alone and %g in the whole distribution", i, id, got, p)
			}
			if !(p > 0) {
				t.Fatalf("context %d: P(%d) = %g", i, id, p)
			}
			sum += p
			entropy -= p * math.Log(p)
		}
		if math.Abs(sum-1) > 1e-12 {
			t.Errorf("context %d: probabilities sum to 1%+.3g", i, sum-1)
		}
		if got := w.entropy(); math.Abs(got-entropy) > 1e-9 {
			t.Errorf("context %d: entropy %.12f, sum over the vocabulary %.12f", i, got, entropy)
		}
	}
}

// What a generation reports of its tokens is what scoring them gives, bit for bit.
func TestScoreIsGeneration(t *testing.T) {
	t.Parallel()
	m := open1(t)
	prefixes := [][]int32{render(t, m, startPage), render(t, m, listPage), render(t, m, itemPage)}
	for _, e := range examples(m, 4100, 4106) {
		prefixes = append(prefixes, e.prefix)
	}
	for i, prefix := range prefixes {
		seed := int64(i)
		ids, events := generate(t, m, prefix, llm.Sampling{Temperature: 1, TopP: 1, MaxTokens: 80, Seed: &seed}, 3)
		got, err := m.Score(context.Background(), llm.ScoreRequest{Prefix: prefix, Continuation: ids, TopLogprobs: 3})
		if err != nil {
			t.Fatal(err)
		}
		for j, ev := range events {
			if got.Logprobs[j] != ev.Logprob {
				t.Errorf("text %d, token %d: generated at %v, scored at %v", i, j, ev.Logprob, got.Logprobs[j])
			}
			if diff := cmp.Diff(ev.Top, got.Top[j]); diff != "" {
				t.Errorf("text %d, token %d: alternatives differ:\n%s", i, j, diff)
			}
		}
	}
}

// Where a text is cut into prefix and continuation, and what the window held before, changes no bit.
func TestCutDoesNotMatter(t *testing.T) {
	t.Parallel()
	m := open1(t)
	for i, e := range examples(m, 4200, 4204) {
		whole := score(t, m, e.prefix, e.response)
		for _, cut := range []int{1, len(e.response) / 2, len(e.response) - 1} {
			prefix := append(slices.Clone(e.prefix), e.response[:cut]...)
			if diff := cmp.Diff(whole[cut:], score(t, m, prefix, e.response[cut:])); diff != "" {
				t.Errorf("text %d, cut at %d:\n%s", i, cut, diff)
			}
		}
		all := append(slices.Clone(e.prefix), e.response...)
		if diff := cmp.Diff(whole, score(t, m, nil, all)[len(e.prefix):]); diff != "" {
			t.Errorf("text %d, scored from its first token on:\n%s", i, diff)
		}
	}
}

// Sampled frequencies follow the probabilities: a chi-squared test over the tokens that are expected
// at least five times, with a bound that a right sampler passes at these seeds and a wrong one misses.
func TestSamplersFollowTheDistribution(t *testing.T) {
	t.Parallel()
	m := open1(t)
	e := examples(m, 4300, 4301)[0]
	cut := slices.Index(e.response, m.openAction) + 1
	prefix := append(slices.Clone(e.prefix), e.response[:cut]...)
	for _, c := range []struct {
		name string
		s    llm.Sampling
	}{
		{"neutral", llm.Sampling{Temperature: 1, TopP: 1}},
		{"tempered", llm.Sampling{Temperature: 1.7, TopP: 1}},
		{"cold", llm.Sampling{Temperature: 0.4, TopP: 1}},
		{"top-k", llm.Sampling{Temperature: 1, TopP: 1, TopK: 3}},
		{"top-p", llm.Sampling{Temperature: 2, TopP: 0.9}},
		{"min-p", llm.Sampling{Temperature: 1, TopP: 1, MinP: 0.2}},
	} {
		w := newWindow(m)
		w.reset(prefix)
		w.gather()
		want := naive(w, c.s)
		const n = 1500
		r := rand.New(rand.NewPCG(5, 6))
		count := make([]int, len(want))
		scratch := make([]float64, len(want))
		for range n {
			count[w.pick(c.s, scratch, r.Float64)]++
		}
		chi, bins := 0.0, 0
		for id, p := range want {
			if p == 0 && count[id] > 0 {
				t.Errorf("%s: token %d was cut off and drawn %d times", c.name, id, count[id])
			}
			if ex := p * n; ex >= 5 {
				chi += (float64(count[id]) - ex) * (float64(count[id]) - ex) / ex
				bins++
			}
		}
		if limit := float64(bins) + 5*math.Sqrt(2*float64(bins)); bins == 0 || chi > limit {
			t.Errorf("%s: chi-squared %.1f over %d tokens, bound %.1f", c.name, chi, bins, limit)
		}
	}
}

// naive applies a sampler to the whole distribution by its definition.
func naive(w *window, s llm.Sampling) []float64 {
	p := make([]float64, w.m.vocab.Size())
	w.fill(p)
	order := make([]int, len(p))
	for i := range p {
		p[i] = math.Pow(p[i], 1/s.Temperature)
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		switch {
		case p[a] > p[b]:
			return -1
		case p[a] < p[b]:
			return 1
		}
		return a - b
	})
	normalise(p)
	sum, top := 0.0, p[order[0]]
	for rank, id := range order {
		before := sum
		sum += p[id]
		if s.TopK > 0 && rank >= s.TopK || s.TopP > 0 && s.TopP < 1 && before >= s.TopP || p[id] < s.MinP*top {
			p[id] = 0
		}
	}
	normalise(p)
	return p
}

func normalise(p []float64) {
	sum := 0.0
	for _, v := range p {
		sum += v
	}
	for i := range p {
		p[i] /= sum
	}
}

func TestGreedyTakesTheLikeliest(t *testing.T) {
	t.Parallel()
	m := open1(t)
	e := examples(m, 4310, 4311)[0]
	_, events := generate(t, m, e.prefix, llm.Sampling{MaxTokens: 40}, 1)
	for i, ev := range events {
		if ev.ID != ev.Top[0].ID || ev.Logprob != ev.Top[0].Logprob {
			t.Errorf("token %d is %d at %v, the likeliest is %+v", i, ev.ID, ev.Logprob, ev.Top[0])
		}
	}
}

func TestTopIsSorted(t *testing.T) {
	t.Parallel()
	m := open1(t)
	dense := make([]float64, m.vocab.Size())
	for i, ids := range contexts(m, 9) {
		w := newWindow(m)
		w.reset(ids)
		w.gather()
		top := w.top(20, dense)
		for j, c := range ranked(dense, 0)[:20] {
			if want := (llm.TokenLogprob{ID: c.id, Logprob: float32(math.Log(c.p))}); top[j] != want {
				t.Fatalf("context %d: alternative %d is %+v, want %+v", i, j, top[j], want)
			}
		}
	}
}

func generate(t *testing.T, m *Model, prompt []int32, s llm.Sampling, top int) (ids []int32, events []llm.TokenEvent) {
	t.Helper()
	_, err := m.Stream(context.Background(), llm.StreamRequest{Prompt: prompt, Sampling: s, TopLogprobs: top}, func(ev llm.TokenEvent) error {
		ids, events = append(ids, ev.ID), append(events, ev)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return ids, events
}

func score(t *testing.T, m *Model, prefix, continuation []int32) []float32 {
	t.Helper()
	got, err := m.Score(context.Background(), llm.ScoreRequest{Prefix: prefix, Continuation: continuation})
	if err != nil {
		t.Fatal(err)
	}
	return got.Logprobs
}
