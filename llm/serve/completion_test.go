package serve

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hindsightrl/harness/llm"
)

func TestCompletion(t *testing.T) {
	t.Parallel()
	ts := serving(t, &fake{script: "ab€"}, Config{})
	r := ask[completionReply](t, ts, "/v1/completions", object{"prompt": "x>", "logprobs": 2, "temperature": 0})
	c := r.Choices[0]
	if c.Text != "ab€" || *c.Finish != "stop" || r.Object != "text_completion" || r.Usage.PromptTokens != 3 || r.Usage.CompletionTokens != 6 {
		t.Errorf("reply %+v, usage %+v", c, r.Usage)
	}
	want := []string{"a", "b", "\uFFFD", "\uFFFD", "\uFFFD", "</s>"}
	if !cmp.Equal(c.Logprobs.Tokens, want) || !cmp.Equal(c.Logprobs.Offsets, []int{0, 1, 2, 3, 4, 5}) || len(c.Logprobs.Top) != 6 || len(c.Logprobs.Logprobs) != 6 {
		t.Errorf("log-probabilities %+v", c.Logprobs)
	}
	if c.Logprobs.Top[0][0].key != "a" || len(c.Logprobs.Top[0]) != 2 {
		t.Errorf("alternatives %v; want the sampled token first", c.Logprobs.Top[0])
	}
	if c.IDs != nil || c.PromptIDs != nil || c.PromptLogprobs != nil {
		t.Errorf("ids came unasked: %+v", c)
	}
}

func TestCompletionDefaultsTo16Tokens(t *testing.T) {
	t.Parallel()
	ts := serving(t, &fake{script: strings.Repeat("x", 50)}, Config{})
	r := ask[completionReply](t, ts, "/v1/completions", object{"prompt": ">"})
	if c := r.Choices[0]; len(c.Text) != 16 || *c.Finish != "length" || c.Logprobs != nil {
		t.Errorf("%d characters, %q", len(c.Text), *c.Finish)
	}
}

// The four forms of a prompt, and what comes back of each.
func TestCompletionPrompts(t *testing.T) {
	t.Parallel()
	ts := serving(t, &fake{script: "z"}, Config{})
	hi := []int32{'h', 'i', '>'}
	for name, tc := range map[string]struct {
		prompt any
		want   [][]int32
	}{
		"text":           {"hi>", [][]int32{append([]int32{fakeBOS}, hi...)}},
		"texts":          {[]string{"hi>", ">"}, [][]int32{append([]int32{fakeBOS}, hi...), {fakeBOS, '>'}}},
		"ids":            {hi, [][]int32{hi}},
		"lists of ids":   {[][]int32{hi, {'>'}}, [][]int32{hi, {'>'}}},
		"an empty text":  {"", [][]int32{{fakeBOS}}},
		"the token zero": {[]int32{0}, [][]int32{{0}}},
	} {
		r := ask[completionReply](t, ts, "/v1/completions", object{"prompt": tc.prompt, "n": 2, "return_token_ids": true})
		if len(r.Choices) != 2*len(tc.want) {
			t.Fatalf("%s: %d choices", name, len(r.Choices))
		}
		for i, c := range r.Choices {
			if c.Index != i || !cmp.Equal(c.PromptIDs, tc.want[i/2]) || !cmp.Equal(c.IDs, []int32{'z', fakeEOS}) {
				t.Errorf("%s: choice %d is %+v, want prompt %v", name, i, c, tc.want[i/2])
			}
		}
	}
	r := ask[completionReply](t, ts, "/v1/completions", object{"prompt": "hi", "add_special_tokens": false, "return_token_ids": true})
	if !cmp.Equal(r.Choices[0].PromptIDs, []int32{'h', 'i'}) {
		t.Errorf("without special tokens: %v", r.Choices[0].PromptIDs)
	}
}

// A sampled response, put into the prompt, scores what it was sampled with; null stands before.
func TestPromptLogprobsAgreeWithSampling(t *testing.T) {
	t.Parallel()
	ts := serving(t, &fake{script: "abc"}, Config{})
	prompt := []int32{fakeBOS, 'q', '>'}
	sampled := ask[completionReply](t, ts, "/v1/completions", object{"prompt": prompt, "logprobs": 0, "temperature": 0, "return_token_ids": true}).Choices[0]
	whole := append(slices.Clone(prompt), sampled.IDs...)
	scored := ask[completionReply](t, ts, "/v1/completions", object{"prompt": whole, "prompt_logprobs": 3, "max_tokens": 1}).Choices[0]
	if len(scored.PromptLogprobs) != len(whole) || scored.PromptLogprobs[0] != nil {
		t.Fatalf("%d entries for %d tokens, first %v", len(scored.PromptLogprobs), len(whole), scored.PromptLogprobs[0])
	}
	for i, id := range sampled.IDs {
		row := scored.PromptLogprobs[len(prompt)+i]
		entry := row[0].value.(object)
		if row[0].key != itoa(id) || float32(entry["logprob"].(float64)) != *sampled.Logprobs.Logprobs[i] || entry["rank"] != 3.0 || len(row) < 3 {
			t.Errorf("token %d: %v; want id %d first, with %v", i, row, id, *sampled.Logprobs.Logprobs[i])
		}
	}
	if row := scored.PromptLogprobs[1]; row[1].value.(object)["rank"] != 1.0 || row[0].value.(object)["decoded_token"] != "q" {
		t.Errorf("row of an improbable token: %v", row)
	}
}

func TestEcho(t *testing.T) {
	t.Parallel()
	ts := serving(t, &fake{script: "ab"}, Config{})
	r := ask[completionReply](t, ts, "/v1/completions", object{"prompt": "hi>", "echo": true, "logprobs": 1, "return_token_ids": true})
	c := r.Choices[0]
	if c.Text != "hi>ab" || !cmp.Equal(c.Logprobs.Tokens, []string{"<s>", "h", "i", ">", "a", "b", "</s>"}) || c.Logprobs.Logprobs[0] != nil || c.Logprobs.Logprobs[1] == nil || len(c.PromptLogprobs) != 4 {
		t.Errorf("echo: %+v, %+v", c, c.Logprobs)
	}
	if !cmp.Equal(c.Logprobs.Offsets, []int{0, 3, 4, 5, 6, 7, 8}) {
		t.Errorf("offsets %v", c.Logprobs.Offsets)
	}
	only := ask[completionReply](t, ts, "/v1/completions", object{"prompt": []int{'h', 'i'}, "echo": true, "logprobs": 0, "max_tokens": 0, "return_token_ids": true})
	if c := only.Choices[0]; c.Text != "hi" || len(c.IDs) != 0 || len(c.Logprobs.Tokens) != 2 || only.Usage.CompletionTokens != 0 {
		t.Errorf("echo alone: %+v", c)
	}
	bare := ask[completionReply](t, ts, "/v1/completions", object{"prompt": "hi>", "echo": true})
	if c := bare.Choices[0]; c.Text != "hi>ab" || c.Logprobs != nil || c.PromptLogprobs != nil {
		t.Errorf("echo of the text: %+v", c)
	}
}

func TestTokensByID(t *testing.T) {
	t.Parallel()
	ts := serving(t, &fake{script: "a"}, Config{})
	c := ask[completionReply](t, ts, "/v1/completions", object{"prompt": ">", "logprobs": 1, "return_tokens_as_token_ids": true}).Choices[0]
	if !cmp.Equal(c.Logprobs.Tokens, []string{"token_id:97", "token_id:257"}) || c.Logprobs.Top[0][0].key != "token_id:97" {
		t.Errorf("%+v", c.Logprobs)
	}
}

func TestSpecialTokensInTheText(t *testing.T) {
	t.Parallel()
	ts := serving(t, &fake{script: "a"}, Config{})
	for skip, want := range map[bool]string{true: "a", false: "a</s>"} {
		c := ask[completionReply](t, ts, "/v1/completions", object{"prompt": ">", "skip_special_tokens": skip, "include_stop_str_in_output": true}).Choices[0]
		if c.Text != want {
			t.Errorf("skip_special_tokens %v: %q, want %q", skip, c.Text, want)
		}
	}
}

func TestCompletionStream(t *testing.T) {
	t.Parallel()
	ts := serving(t, &fake{script: "a€"}, Config{})
	texts, ids, offsets := map[int]string{}, map[int][]int32{}, []int(nil)
	prompts, finished := 0, 0
	list := chunks[completionChunk](t, ts, "/v1/completions", object{
		"prompt": []string{"x>", "y>"}, "n": 2, "stream": true, "logprobs": 1,
		"return_token_ids": true, "stream_options": object{"include_usage": true},
	})
	for _, c := range list {
		for _, ch := range c.Choices {
			texts[ch.Index] += ch.Text
			ids[ch.Index] = append(ids[ch.Index], ch.IDs...)
			if len(ch.PromptIDs) > 0 {
				prompts++
			}
			if ch.Finish != nil {
				finished++
			}
			if ch.Logprobs != nil && ch.Index == 0 {
				offsets = append(offsets, ch.Logprobs.Offsets...)
			}
		}
	}
	for i := range 4 {
		if texts[i] != "a€" || !cmp.Equal(ids[i], append(bytesAsIDs("a€"), fakeEOS)) {
			t.Errorf("choice %d: %q, %v", i, texts[i], ids[i])
		}
	}
	if prompts != 4 || finished != 4 || !cmp.Equal(offsets, []int{0, 1, 2, 3, 4}) {
		t.Errorf("%d prompts, %d finish reasons, offsets %v", prompts, finished, offsets)
	}
	if last := list[len(list)-1]; last.Usage == nil || last.Usage.CompletionTokens != 20 || last.Usage.PromptTokens != 6 {
		t.Errorf("last chunk: %+v", last)
	}
	echo := ""
	for _, c := range chunks[completionChunk](t, ts, "/v1/completions", object{"prompt": "x>", "stream": true, "echo": true}) {
		echo += c.Choices[0].Text
	}
	if echo != "x>a€" {
		t.Errorf("streamed echo: %q", echo)
	}
	only := chunks[completionChunk](t, ts, "/v1/completions", object{"prompt": "x>", "stream": true, "echo": true, "max_tokens": 0})
	if len(only) != 1 || only[0].Choices[0].Text != "x>" {
		t.Errorf("streamed echo alone: %+v", only)
	}
}

// A seed stands for one series per choice.
func TestSeedsOfChoices(t *testing.T) {
	t.Parallel()
	m := &seeds{fake: fake{script: "a"}}
	ts := serving(t, m, Config{})
	ask[completionReply](t, ts, "/v1/completions", object{"prompt": ">", "seed": 7, "n": 3})
	m.mu.Lock()
	defer m.mu.Unlock()
	slices.Sort(m.seen)
	if !cmp.Equal(m.seen, []int64{7, 8, 9}) {
		t.Errorf("seeds %v", m.seen)
	}
}

func TestGenerateTokens(t *testing.T) {
	t.Parallel()
	ts := serving(t, &fake{script: "ab"}, Config{WeightVersion: "41"})
	r := ask[struct {
		RequestID      string    `json:"request_id"`
		PromptLogprobs []ordered `json:"prompt_logprobs"`
		PromptIDs      []int32   `json:"prompt_token_ids"`
		Mode           string    `json:"output_mode"`
		Usage          usage     `json:"usage"`
		Choices        []struct {
			Finish   string     `json:"finish_reason"`
			IDs      []int32    `json:"token_ids"`
			Logprobs idLogprobs `json:"logprobs"`
			Versions []span     `json:"weight_versions"`
		} `json:"choices"`
	}](t, ts, "/inference/v1/generate", object{
		"model": "fake", "token_ids": []int{'x', '>'}, "request_id": "me", "return_token_ids": true,
		"sampling_params": object{"temperature": 0, "logprobs": 1, "prompt_logprobs": 0, "max_tokens": 9},
	})
	c := r.Choices[0]
	if r.RequestID != "me" || r.Mode != "tokens" || c.Finish != "stop" || !cmp.Equal(c.IDs, []int32{'a', 'b', fakeEOS}) || !cmp.Equal(r.PromptIDs, []int32{'x', '>'}) {
		t.Errorf("reply %+v", r)
	}
	if e := c.Logprobs.Content[0]; e.TokenID != 'a' || *e.Rank != 1 || len(e.Top) != 1 || e.Top[0].TokenID != 'a' {
		t.Errorf("entry %+v", e)
	}
	if !cmp.Equal(c.Versions, []span{{"41", 0, 3}}) || len(r.PromptLogprobs) != 2 || len(r.PromptLogprobs[1]) != 1 || r.Usage.TotalTokens != 5 {
		t.Errorf("versions %v, prompt %v, usage %+v", c.Versions, r.PromptLogprobs, r.Usage)
	}
	text := ask[generateReply](t, ts, "/inference/v1/generate", object{"token_ids": []int{'>'}, "output_mode": "text", "sampling_params": object{"logprobs": 0}})
	if *text.Choices[0].Text != "ab" {
		t.Errorf("text mode: %q", *text.Choices[0].Text)
	}
	var ids []int32
	list := chunks[generateReply](t, ts, "/inference/v1/generate", object{
		"token_ids": []int{'>'}, "stream": true, "stream_options": object{"include_usage": true},
		"return_token_ids": true, "output_mode": "text", "sampling_params": object{},
	})
	for _, c := range list[:len(list)-1] {
		ids = append(ids, c.Choices[0].IDs...)
	}
	end := list[len(list)-2].Choices[0]
	if !cmp.Equal(ids, []int32{'a', 'b', fakeEOS}) || *end.Finish != "stop" || !cmp.Equal(end.Versions, []span{{"41", 0, 3}}) || list[len(list)-1].Usage == nil || list[0].PromptIDs == nil {
		t.Errorf("stream: ids %v, end %+v", ids, end)
	}
}

func TestMissingRanksAreNull(t *testing.T) {
	t.Parallel()
	top := []llm.TokenLogprob{{ID: 5, Logprob: -1}, {ID: 6, Logprob: -2}}
	for name, tc := range map[string]struct {
		own  int32
		want []string
	}{
		"among the alternatives": {6, []string{"6:2", "5:1"}},
		"beside them":            {9, []string{"9:0", "5:1", "6:2"}},
	} {
		var got []string
		for _, r := range withOwn(llm.TokenLogprob{ID: tc.own}, 0, top) {
			got = append(got, itoa(r.ID)+":"+itoa(r.rank))
			if (r.rankOrNull() == nil) != (r.rank == 0) {
				t.Errorf("%s: rank %d is written as %v", name, r.rank, r.rankOrNull())
			}
		}
		if !cmp.Equal(got, tc.want) {
			t.Errorf("%s: %v, want %v", name, got, tc.want)
		}
	}
}
