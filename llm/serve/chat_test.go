package serve

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestChat(t *testing.T) {
	t.Parallel()
	ts := serving(t, &fake{script: "Hi €!"}, Config{})
	r := ask[chatReply](t, ts, "/v1/chat/completions", object{"model": "fake", "messages": user("x"), "temperature": 0, "logprobs": true, "top_logprobs": 2, "return_token_ids": true})
	c := r.Choices[0]
	if c.Message.Content != "Hi €!" || c.Message.Role != "assistant" || c.Finish != "stop" || c.Reason != nil || r.Object != "chat.completion" || r.Model != "fake" {
		t.Errorf("reply %+v", r)
	}
	wantIDs := append(bytesAsIDs("Hi €!"), fakeEOS)
	if !cmp.Equal(c.IDs, wantIDs) || !cmp.Equal(r.PromptIDs, append([]int32{fakeBOS}, bytesAsIDs("user:x\n>")...)) || *r.PromptText != "<s>user:x\n>" {
		t.Errorf("ids %v, prompt %v %q", c.IDs, r.PromptIDs, *r.PromptText)
	}
	if want := (usage{PromptTokens: 9, CompletionTokens: 8, TotalTokens: 17}); !cmp.Equal(*r.Usage, want) {
		t.Errorf("usage %+v, want %+v", *r.Usage, want)
	}
	if n := len(c.Logprobs.Content); n != len(wantIDs) {
		t.Fatalf("%d log-probabilities for %d tokens", n, len(wantIDs))
	}
	euro := c.Logprobs.Content[3] // the first of its three bytes: no character, but an exact byte
	if euro.Token != "\uFFFD" || !cmp.Equal(euro.Bytes, []int{0xE2}) || len(euro.Top) != 2 || euro.Top[0].Logprob != euro.Logprob {
		t.Errorf("entry of half a character: %+v", euro)
	}
	if want := []span{{"0", 0, 8}}; !cmp.Equal(c.Versions, want) {
		t.Errorf("versions %v, want %v", c.Versions, want)
	}
}

func TestChatOptions(t *testing.T) {
	t.Parallel()
	ts := serving(t, &fake{script: "one two three"}, Config{})
	for _, tc := range []struct {
		name   string
		body   object
		text   string
		finish string
		reason any
	}{
		{"length", object{"max_tokens": 3}, "one", "length", nil},
		{"the newer name of the limit", object{"max_completion_tokens": 4}, "one ", "length", nil},
		{"stop string", object{"stop": " t"}, "one", "stop", " t"},
		{"stop strings, the first in the text", object{"stop": []string{"three", "two"}}, "one ", "stop", "two"},
		{"stop string kept", object{"stop": "wo", "include_stop_str_in_output": true}, "one two", "stop", "wo"},
		{"stop token", object{"stop_token_ids": []int{' '}}, "one", "stop", float64(' ')},
		{"stop token kept", object{"stop_token_ids": []int{' '}, "include_stop_str_in_output": true}, "one ", "stop", float64(' ')},
		{"no stop before min_tokens", object{"stop_token_ids": []int{' '}, "min_tokens": 5}, "one two", "stop", float64(' ')},
		{"bias", object{"logit_bias": object{"111": -100}, "max_tokens": 3}, "", "length", nil},
		{"allowed tokens", object{"allowed_token_ids": []int{'n'}, "max_tokens": 3}, "nnn", "length", nil},
		{"echo of the assistant's words", object{"echo": true, "max_tokens": 1, "messages": []any{object{"role": "user", "content": "x"}, object{"role": "assistant", "content": "So: "}}}, "So: o", "length", nil},
		{"parts of a text", object{"max_tokens": 1, "messages": []any{object{"role": "user", "content": []any{object{"type": "text", "text": "x"}}}}}, "o", "length", nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			body := object{"messages": user("x"), "temperature": 0}
			for k, v := range tc.body {
				body[k] = v
			}
			c := ask[chatReply](t, ts, "/v1/chat/completions", body).Choices[0]
			if (c.Message.Content != tc.text && tc.text != "") || c.Finish != tc.finish || c.Reason != tc.reason {
				t.Errorf("%q, %q, %v; want %q, %q, %v", c.Message.Content, c.Finish, c.Reason, tc.text, tc.finish, tc.reason)
			}
			if tc.name == "bias" && strings.HasPrefix(c.Message.Content, "o") {
				t.Errorf("a banned token came: %q", c.Message.Content)
			}
		})
	}
}

func TestChatIgnoresTheEnd(t *testing.T) {
	t.Parallel()
	ts := serving(t, &fake{script: "ab"}, Config{})
	r := ask[chatReply](t, ts, "/v1/chat/completions", object{"messages": user("x"), "ignore_eos": true, "max_tokens": 9, "return_token_ids": true})
	if c := r.Choices[0]; len(c.IDs) != 9 || c.Finish != "length" {
		t.Errorf("%d tokens, %q", len(c.IDs), c.Finish)
	}
	r = ask[chatReply](t, ts, "/v1/chat/completions", object{"messages": user("x"), "min_tokens": 5, "max_tokens": 9, "return_token_ids": true})
	if c := r.Choices[0]; len(c.IDs) < 6 {
		t.Errorf("%d tokens, at least 5 and the end were asked for", len(c.IDs))
	}
}

func TestChatPrompts(t *testing.T) {
	t.Parallel()
	ts := serving(t, &fake{script: "z"}, Config{})
	for name, tc := range map[string]struct {
		body object
		want string
	}{
		"plain":           {object{"messages": user("x")}, "<s>user:x\n>"},
		"without opening": {object{"messages": user("x"), "add_generation_prompt": false}, "<s>user:x\n"},
		"continued": {object{"continue_final_message": true, "messages": []any{
			object{"role": "user", "content": "x"}, object{"role": "assistant", "content": "ye"},
		}}, "<s>user:x\n>ye"},
		"no content": {object{"messages": []any{object{"role": "user", "content": nil}}}, "<s>user:\n>"},
	} {
		tc.body["return_token_ids"] = true
		if r := ask[chatReply](t, ts, "/v1/chat/completions", tc.body); *r.PromptText != tc.want {
			t.Errorf("%s: prompt %q, want %q", name, *r.PromptText, tc.want)
		}
	}
}

func TestChatChoicesAndPromptLogprobs(t *testing.T) {
	t.Parallel()
	ts := serving(t, &fake{script: "ab"}, Config{})
	r := ask[chatReply](t, ts, "/v1/chat/completions", object{"messages": user("x"), "n": 3, "prompt_logprobs": 1})
	if len(r.Choices) != 3 || r.Choices[2].Index != 2 || r.Usage.CompletionTokens != 9 {
		t.Errorf("choices %+v, usage %+v", r.Choices, r.Usage)
	}
	if len(r.PromptLogprobs) != 9 {
		t.Errorf("%d prompt log-probabilities for 9 tokens", len(r.PromptLogprobs))
	}
}

func TestChatStream(t *testing.T) {
	t.Parallel()
	ts := serving(t, &fake{script: "Hi €!"}, Config{})
	list := chunks[chatChunk](t, ts, "/v1/chat/completions", object{
		"messages": user("x"), "stream": true, "logprobs": true, "top_logprobs": 1,
		"return_token_ids": true, "stream_options": object{"include_usage": true},
	})
	var text strings.Builder
	var ids []int32
	var bytes []int
	finishes := 0
	for i, c := range list[:len(list)-1] {
		if i == 0 && (c.Choices[0].Delta.Role != "assistant" || len(c.PromptIDs) != 9) {
			t.Errorf("first chunk %+v", c)
		}
		if c.Usage != nil || c.Object != "chat.completion.chunk" || c.ID != list[0].ID {
			t.Errorf("chunk %d: %+v", i, c)
		}
		for _, ch := range c.Choices {
			if strings.ContainsRune(*ch.Delta.Content, '\uFFFD') {
				t.Errorf("chunk %d has half a character: %q", i, *ch.Delta.Content)
			}
			text.WriteString(*ch.Delta.Content)
			ids = append(ids, ch.IDs...)
			if ch.Logprobs != nil {
				for _, e := range ch.Logprobs.Content {
					bytes = append(bytes, e.Bytes...)
				}
			}
			if ch.Finish != nil {
				finishes++
			}
		}
	}
	if text.String() != "Hi €!" || !cmp.Equal(ids, append(bytesAsIDs("Hi €!"), fakeEOS)) || finishes != 1 {
		t.Errorf("text %q, ids %v, %d finish reasons", text.String(), ids, finishes)
	}
	if len(bytes) != len("Hi €!</s>") {
		t.Errorf("the log-probabilities' bytes are %v", bytes)
	}
	if last := list[len(list)-1]; len(last.Choices) != 0 || last.Usage == nil || last.Usage.CompletionTokens != 8 {
		t.Errorf("last chunk %+v", last)
	}
}

func TestChatStreamHoldsBackAStopString(t *testing.T) {
	t.Parallel()
	ts := serving(t, &fake{script: "one two"}, Config{})
	var text strings.Builder
	for _, c := range chunks[chatChunk](t, ts, "/v1/chat/completions", object{"messages": user("x"), "stream": true, "stop": "e two"}) {
		text.WriteString(*c.Choices[0].Delta.Content)
	}
	if text.String() != "on" {
		t.Errorf("streamed %q, want the text before the stop string", text.String())
	}
}

func TestChatStreamOfSeveralChoices(t *testing.T) {
	t.Parallel()
	ts := serving(t, &fake{script: "abc"}, Config{})
	texts, finished := map[int]string{}, map[int]bool{}
	total := 0
	for _, c := range chunks[chatChunk](t, ts, "/v1/chat/completions", object{
		"messages": user("x"), "stream": true, "n": 4,
		"stream_options": object{"continuous_usage_stats": true},
	}) {
		for _, ch := range c.Choices {
			texts[ch.Index] += *ch.Delta.Content
			finished[ch.Index] = finished[ch.Index] || ch.Finish != nil
		}
		total = c.Usage.CompletionTokens
	}
	if want := map[int]string{0: "abc", 1: "abc", 2: "abc", 3: "abc"}; !cmp.Equal(texts, want) || len(finished) != 4 || total != 16 {
		t.Errorf("texts %v, finished %v, usage %d", texts, finished, total)
	}
}

func bytesAsIDs(s string) (ids []int32) {
	for _, b := range []byte(s) {
		ids = append(ids, int32(b))
	}
	return ids
}
