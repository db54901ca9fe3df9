package serve

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestTokenize(t *testing.T) {
	t.Parallel()
	ts := serving(t, &fake{}, Config{})
	type reply struct {
		Count   int      `json:"count"`
		Max     int      `json:"max_model_len"`
		Tokens  []int32  `json:"tokens"`
		Strings []string `json:"token_strs"`
	}
	for name, tc := range map[string]struct {
		body object
		want reply
	}{
		"text":            {object{"prompt": "hé", "return_token_strs": true}, reply{4, fakeLimit, []int32{fakeBOS, 'h', 0xC3, 0xA9}, []string{"<s>", "h", "\uFFFD", "\uFFFD"}}},
		"without special": {object{"prompt": "h", "add_special_tokens": false}, reply{1, fakeLimit, []int32{'h'}, nil}},
		"empty":           {object{"prompt": "", "add_special_tokens": false}, reply{0, fakeLimit, []int32{}, nil}},
		"messages":        {object{"messages": []any{object{"role": "u", "content": "x"}}}, reply{6, fakeLimit, append([]int32{fakeBOS}, bytesAsIDs("u:x\n>")...), nil}},
		"messages, open":  {object{"messages": []any{object{"role": "u", "content": "x"}}, "add_generation_prompt": false}, reply{5, fakeLimit, append([]int32{fakeBOS}, bytesAsIDs("u:x\n")...), nil}},
	} {
		if got := ask[reply](t, ts, "/tokenize", tc.body); !cmp.Equal(got, tc.want) {
			t.Errorf("%s: %s", name, cmp.Diff(tc.want, got))
		}
	}
	if got := ask[map[string]string](t, ts, "/detokenize", object{"tokens": bytesAsIDs("hé\xff")})["prompt"]; got != "hé\uFFFD" {
		t.Errorf("detokenize: %q", got)
	}
}

// What a render endpoint gives can be sent to the generate endpoint as it is.
func TestRenderings(t *testing.T) {
	t.Parallel()
	ts := serving(t, &fake{script: "ab"}, Config{})
	status, b := do(t, ts, "/v1/chat/completions/render", object{
		"messages": user("€"), "temperature": 0, "seed": 3, "logprobs": true, "top_logprobs": 1,
		"cache_salt": "s", "priority": 2, "return_token_offsets": true, "return_token_ids": true,
	})
	var r rendering
	if err := json.Unmarshal(b, &r); err != nil || status != http.StatusOK {
		t.Fatalf("render: %d %s", status, b)
	}
	want := append([]int32{fakeBOS}, bytesAsIDs("user:€\n>")...)
	if !cmp.Equal(r.TokenIDs, want) || r.Params["seed"] != 3.0 || r.Params["logprobs"] != 1.0 || *r.Salt != "s" || r.Priority != 2 {
		t.Errorf("rendering %+v", r)
	}
	if r.Params["max_tokens"] != float64(fakeLimit-len(want)) {
		t.Errorf("max_tokens %v", r.Params["max_tokens"])
	}
	if !cmp.Equal(r.Offsets[0], [2]int{0, 3}) || !cmp.Equal(r.Offsets[6][0], 8) || !cmp.Equal(r.Offsets[9], [2]int{9, 10}) {
		t.Errorf("offsets %v", r.Offsets)
	}
	g := ask[generateReply](t, ts, "/inference/v1/generate", string(b))
	if !cmp.Equal(g.Choices[0].IDs, []int32{'a', 'b', fakeEOS}) || !cmp.Equal(g.PromptIDs, want) {
		t.Errorf("generated from the rendering: %+v", g)
	}
	list := ask[[]rendering](t, ts, "/v1/completions/render", object{"prompt": []string{"x", "yy"}, "max_tokens": 4, "stop": "z"})
	if len(list) != 2 || len(list[1].TokenIDs) != 3 || list[0].Params["max_tokens"] != 4.0 || list[0].Params["stop"] != "z" {
		t.Errorf("completions: %+v", list)
	}
}

func TestInfoEndpoints(t *testing.T) {
	t.Parallel()
	ts := serving(t, &fake{name: "a/model"}, Config{})
	if status, b := do(t, ts, "/health", nil); status != http.StatusOK || len(b) != 0 {
		t.Errorf("health: %d %q", status, b)
	}
	_, list := do(t, ts, "/v1/models", nil)
	for _, part := range []string{`"id":"a/model"`, `"max_model_len":120`, `"object":"list"`, `"n_vocab":258`} {
		if !strings.Contains(string(list), part) {
			t.Errorf("models lack %s: %s", part, list)
		}
	}
	if status, b := do(t, ts, "/v1/models/a/model", nil); status != http.StatusOK || !bytes.Contains(b, []byte(`"id":"a/model"`)) {
		t.Errorf("one model: %d %s", status, b)
	}
	if status, _ := do(t, ts, "/v1/models/b", nil); status != http.StatusNotFound {
		t.Errorf("another model: %d", status)
	}
}

func FuzzRequests(f *testing.F) {
	for _, s := range []string{
		`{"messages":[{"role":"user","content":"x"}],"stop":["a"],"logit_bias":{"1":2}}`, `{"prompt":[[1,2],[3]],"echo":true,"logprobs":2}`,
		`{"prompt":"x","max_tokens":0,"echo":true}`, `{"token_ids":[1,2],"sampling_params":{"logprobs":1,"n":2}}`, `{"prompt":null,"stop":null}`,
	} {
		f.Add(s)
	}
	s, err := New(&fake{script: "ab"}, Config{MaxSequences: 4})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, body string) {
		for _, path := range []string{"/v1/chat/completions", "/v1/completions", "/inference/v1/generate", "/tokenize", "/v1/completions/render"} {
			status, reply := serveOnce(t, s, path, body)
			if status >= 500 || (status != http.StatusOK && !json.Valid(reply)) {
				t.Errorf("%s %q: status %d, %s", path, body, status, reply)
			}
		}
	})
}
