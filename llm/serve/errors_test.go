package serve

import (
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/hindsightrl/harness/llm"
)

type errorReply struct {
	Error struct {
		Message string  `json:"message"`
		Type    string  `json:"type"`
		Param   *string `json:"param"`
		Code    int     `json:"code"`
	} `json:"error"`
}

func TestErrorShapes(t *testing.T) {
	t.Parallel()
	ts := serving(t, &fake{script: "a"}, Config{MaxBody: 4000, MaxSequences: 8})
	const chat, text, gen = "/v1/chat/completions", "/v1/completions", "/inference/v1/generate"
	msgs := `"messages":[{"role":"user","content":"x"}]`
	for _, tc := range []struct {
		path, body string
		status     int
		want       string
	}{
		{chat, `{` + msgs + `,"model":"other"}`, 404, "The model `other` does not exist."},
		{"/nothing", `{}`, 404, "/nothing"},
		{chat, `{`, 400, "no JSON"},
		{chat, `{} {}`, 400, "goes on"},
		{chat, `{"messages":7}`, 400, "messages"},
		{chat, `{}`, 400, "must not be empty"},
		{chat, `{"messages":[{"content":"x"}]}`, 400, "no role"},
		{chat, `{"messages":[{"role":"user","content":[{"type":"image_url"}]}]}`, 400, "image_url"},
		{chat, `{"messages":[{"role":"user","content":7}]}`, 400, "neither a text"},
		{chat, `{"messages":[{"role":"assistant","tool_calls":[{}]}]}`, 400, "tool calls"},
		{chat, `{` + msgs + `,"tools":[{}]}`, 400, "tools"},
		{chat, `{` + msgs + `,"chat_template":"x"}`, 400, "chat_template"},
		{chat, `{` + msgs + `,"chat_template_kwargs":{"a":1}}`, 400, "chat_template_kwargs"},
		{chat, `{` + msgs + `,"continue_final_message":true}`, 400, "final message"},
		{chat, `{` + msgs + `,"continue_final_message":true,"add_generation_prompt":true}`, 400, "exclude"},
		{chat, `{` + msgs + `,"top_logprobs":3}`, 400, "logprobs must be set"},
		{chat, `{` + msgs + `,"logprobs":true,"top_logprobs":21}`, 400, "greater than max allowed: 20"},
		{chat, `{` + msgs + `,"prompt_logprobs":-1}`, 400, "greater than max allowed: 20"},
		{chat, `{` + msgs + `,"prompt_logprobs":-2}`, 400, "non-negative"},
		{chat, `{` + msgs + `,"prompt_logprobs":1,"stream":true}`, 400, "when stream is true"},
		{chat, `{` + msgs + `,"max_tokens":500}`, 400, "maximum context length is 120 tokens"},
		{chat, `{` + msgs + `,"max_tokens":0}`, 400, "at least 1"},
		{chat, `{` + msgs + `,"n":9}`, 400, "at most 8"},
		{chat, `{` + msgs + `,"n":0}`, 400, "n must be"},
		{chat, `{` + msgs + `,"temperature":-1}`, 400, "temperature"},
		{chat, `{` + msgs + `,"top_p":0}`, 400, "top_p"},
		{chat, `{` + msgs + `,"top_k":-2}`, 400, "top_k"},
		{chat, `{` + msgs + `,"min_p":2}`, 400, "min_p"},
		{chat, `{` + msgs + `,"stop":5}`, 400, "stop"},
		{chat, `{` + msgs + `,"stop":[""]}`, 400, "empty strings"},
		{chat, `{` + msgs + `,"response_format":{"type":"json_object"}}`, 400, "response_format"},
		{chat, `{` + msgs + `,"use_beam_search":true}`, 400, "use_beam_search"},
		{chat, `{` + msgs + `,"best_of":3}`, 400, "best_of"},
		{chat, `{` + msgs + `,"logit_bias":{"x":1}}`, 400, "logit_bias"},
		{chat, `{` + msgs + `,"logit_bias":{"1":101}}`, 400, "logit_bias"},
		{chat, `{` + msgs + `,"allowed_token_ids":[258]}`, 400, "258"},
		{chat, `{` + msgs + `,"repetition_penalty":0}`, 400, "repetition_penalty"},
		{chat, `{` + msgs + `,"min_tokens":5,"max_tokens":4}`, 400, "min_tokens"},
		{chat, `{"messages":[{"role":"user","content":"` + strings.Repeat("x", 150) + `"}]}`, 400, "maximum context length"},
		{chat, `{"messages":[{"role":"user","content":"` + strings.Repeat("x", 5000) + `"}]}`, 413, "4000 bytes"},
		{text, `{}`, 400, "no prompt"},
		{text, `{"prompt":[]}`, 400, "empty"},
		{text, `{"prompt":{}}`, 400, "prompt is no text"},
		{text, `{"prompt":[1,"a"]}`, 400, "prompt is no text"},
		{text, `{"prompt":[258]}`, 400, "out of vocabulary"},
		{text, `{"prompt":[-1]}`, 400, "out of vocabulary"},
		{text, `{"prompt":"x","suffix":"y"}`, 400, "suffix"},
		{text, `{"prompt":"x","echo":true,"stream":true,"logprobs":1}`, 400, "echo"},
		{text, `{"prompt":"x","n":20}`, 400, "more than 8"},
		{text, `{"prompt":"","add_special_tokens":false}`, 400, "no tokens"},
		{gen, `{"sampling_params":{}}`, 400, "no tokens"},
		{gen, `{"token_ids":[1],"output_mode":"sound"}`, 400, "output_mode"},
		{gen, `{"token_ids":[1],"sampling_params":{"prompt_logprobs":1},"stream":true}`, 400, "stream"},
		{"/detokenize", `{"tokens":[999]}`, 400, "out of vocabulary"},
		{"/tokenize", `{}`, 400, "must not be empty"},
	} {
		status, b := do(t, ts, tc.path, tc.body)
		var e errorReply
		if err := json.Unmarshal(b, &e); err != nil {
			t.Errorf("%s %.80s: no JSON: %s", tc.path, tc.body, b)
		}
		if status != tc.status || e.Error.Code != tc.status || e.Error.Type == "" || !strings.Contains(e.Error.Message, tc.want) {
			t.Errorf("%s %.80s: status %d, %+v; want %d with %q", tc.path, tc.body, status, e.Error, tc.status, tc.want)
		}
	}
}

func TestWrongMethodAndContentType(t *testing.T) {
	t.Parallel()
	ts := serving(t, &fake{}, Config{})
	if status, b := do(t, ts, "/v1/completions", nil); status != http.StatusMethodNotAllowed || !strings.Contains(string(b), `"code":405`) {
		t.Errorf("GET: %d %s", status, b)
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, ts.URL+"/v1/completions", strings.NewReader(`{"prompt":"x"}`))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "text/plain")
	res, err := ts.Client().Do(req)
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	if res.StatusCode != http.StatusUnsupportedMediaType {
		t.Errorf("text/plain: %d", res.StatusCode)
	}
}

func TestAPIKey(t *testing.T) {
	t.Parallel()
	ts := serving(t, &fake{}, Config{APIKey: "secret"})
	for path, want := range map[string]int{"/health": 200, "/v1/models": 401} {
		if status, b := do(t, ts, path, nil); status != want {
			t.Errorf("%s without a key: %d %s", path, status, b)
		}
	}
	for key, want := range map[string]int{"secret": 200, "guess": 401} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, ts.URL+"/v1/models", nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer "+key)
		res, err := ts.Client().Do(req)
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		if res.StatusCode != want {
			t.Errorf("key %q: %d", key, res.StatusCode)
		}
	}
}

func TestModelFailures(t *testing.T) {
	t.Parallel()
	ts := serving(t, &fake{broken: errors.New("out of memory")}, Config{})
	for _, stream := range []bool{true, false} { // before the first token both are plain errors
		status, b := do(t, ts, "/v1/chat/completions", object{"messages": user("x"), "stream": stream})
		if status != http.StatusInternalServerError || !strings.Contains(string(b), "out of memory") {
			t.Errorf("stream %v: %d %s", stream, status, b)
		}
	}
	plain := serving(t, plainModel{&fake{script: "ab"}}, Config{})
	if status, b := do(t, plain, "/v1/completions", object{"prompt": ">", "presence_penalty": 1}); status != http.StatusBadRequest {
		t.Errorf("penalties without the ability: %d %s", status, b)
	}
	if status, b := do(t, plain, "/v1/chat/completions", object{"messages": user("x"), "add_generation_prompt": false}); status != http.StatusBadRequest {
		t.Errorf("open rendering without the ability: %d %s", status, b)
	}
	if c := ask[completionReply](t, plain, "/v1/completions", object{"prompt": ">"}).Choices[0]; c.Text != "ab" {
		t.Errorf("a plain model: %q", c.Text)
	}
}

func TestConfig(t *testing.T) {
	t.Parallel()
	for _, c := range []Config{{MaxBody: -1}, {MaxLogprobs: -2}, {MaxSequences: -1}} {
		if _, err := New(&fake{}, c); err == nil {
			t.Errorf("%+v was accepted", c)
		}
	}
	ts := serving(t, &fake{script: "a"}, Config{MaxLogprobs: -1})
	c := ask[completionReply](t, ts, "/v1/completions", object{"prompt": ">", "logprobs": -1, "return_tokens_as_token_ids": true}).Choices[0]
	if n := len(c.Logprobs.Top[0]); n != fakeVocab {
		t.Errorf("%d alternatives without a limit, the vocabulary has %d", n, fakeVocab)
	}
	if got := finite(float32(1) / llmZero * -1); got != worst {
		t.Errorf("-Inf is written as %v", got)
	}
}

var llmZero = llm.TokenLogprob{}.Logprob
