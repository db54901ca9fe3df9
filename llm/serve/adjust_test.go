package serve

import (
	"encoding/json"
	"math"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// adjusted applies the adjustment that a request's JSON asks for to the given logits.
func adjusted(t *testing.T, body string, prompt, sampled []int32, logits []float32) []float32 {
	t.Helper()
	var p params
	if err := json.Unmarshal([]byte(body), &p); err != nil {
		t.Fatal(err)
	}
	f, err := p.adjust(len(logits))
	if err != nil {
		t.Fatal(err)
	}
	out := slices.Clone(logits)
	if f != nil {
		f(prompt, sampled, out)
	}
	return out
}

func TestAdjustments(t *testing.T) {
	t.Parallel()
	no := float32(math.Inf(-1))
	logits := []float32{2, -2, 1, 0}
	for _, tc := range []struct {
		name, body      string
		prompt, sampled []int32
		want            []float32
	}{
		{"nothing", `{}`, nil, nil, []float32{2, -2, 1, 0}},
		{"bias", `{"logit_bias":{"1":5,"3":-100}}`, nil, nil, []float32{2, 3, 1, -100}},
		{"allowed", `{"allowed_token_ids":[1,2]}`, nil, nil, []float32{no, -2, 1, no}},
		{"presence counts once, and only responses", `{"presence_penalty":0.5}`, []int32{2}, []int32{0, 0, 1}, []float32{1.5, -2.5, 1, 0}},
		{"frequency counts each", `{"frequency_penalty":0.5}`, []int32{2}, []int32{0, 0, 1}, []float32{1, -2.5, 1, 0}},
		{"negative penalties reward", `{"presence_penalty":-1}`, nil, []int32{3}, []float32{2, -2, 1, 1}},
		{"repetition divides and multiplies, prompts too", `{"repetition_penalty":2}`, []int32{0}, []int32{1, 1, 0}, []float32{1, -4, 1, 0}},
		{"all of them", `{"repetition_penalty":2,"presence_penalty":1,"logit_bias":{"0":2},"allowed_token_ids":[0,1]}`, nil, []int32{0}, []float32{1, -2, no, no}},
	} {
		if got := adjusted(t, tc.body, tc.prompt, tc.sampled, logits); !cmp.Equal(got, tc.want) {
			t.Errorf("%s: %v, want %v", tc.name, got, tc.want)
		}
	}
}

func TestBanOfEnds(t *testing.T) {
	t.Parallel()
	then := func(_, _ []int32, logits []float32) { logits[1]++ }
	ban := banEnds([]int32{0, 2}, func(n int) bool { return n < 2 }, then)
	for n, want := range map[int][]float32{1: {banned, 1, banned}, 2: {0, 1, 0}} {
		logits := make([]float32, 3)
		ban(nil, make([]int32, n), logits)
		if !cmp.Equal(logits, want) {
			t.Errorf("after %d tokens: %v, want %v", n, logits, want)
		}
	}
}

// What a request leaves out has vLLM's default, whatever else it says.
func TestDefaultsOfParams(t *testing.T) {
	t.Parallel()
	o, err := (&params{}).order(100, 20)
	if err != nil {
		t.Fatal(err)
	}
	if o.sampling.Temperature != 1 || o.sampling.TopP != 1 || o.sampling.TopK != 0 || o.sampling.MinP != 0 || o.sampling.Seed != nil {
		t.Errorf("sampling %+v", o.sampling)
	}
	if o.n != 1 || o.top != -1 || o.promptTop != -1 || !o.skipSpecial || o.keepStop || o.adjust != nil || o.needsEndTokens {
		t.Errorf("order %+v", o)
	}
	var p params
	if err := json.Unmarshal([]byte(`{"top_k":-1,"temperature":0,"top_p":0.5,"min_p":0.1,"seed":-3,"stop":null,"skip_special_tokens":false,"n":null}`), &p); err != nil {
		t.Fatal(err)
	}
	if o, err = p.order(100, 20); err != nil {
		t.Fatal(err)
	}
	if o.sampling.Temperature != 0 || o.sampling.TopP != 0.5 || o.sampling.TopK != 0 || o.sampling.MinP != 0.1 || *o.sampling.Seed != -3 || o.skipSpecial || o.n != 1 {
		t.Errorf("sampling %+v, order %+v", o.sampling, o)
	}
}

func TestAlternatives(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		n, vocab, most, want int
		ok                   bool
	}{
		{0, 50, 20, 0, true},
		{20, 50, 20, 20, true},
		{21, 50, 20, 0, false},
		{-1, 50, 20, 0, false},
		{-1, 15, 20, 15, true},
		{-1, 50, -1, 50, true},
		{70, 50, -1, 50, true},
		{-2, 50, -1, 0, false},
	} {
		got, err := alternatives("logprobs", tc.n, tc.vocab, tc.most)
		if got != tc.want || (err == nil) != tc.ok {
			t.Errorf("%+v: %d, %v", tc, got, err)
		}
	}
}
