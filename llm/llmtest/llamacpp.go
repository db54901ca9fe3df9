package llmtest

import (
	"encoding/json"
	"net/http"

	"github.com/hindsightrl/harness/llm"
)

func (c *call) llamacpp() {
	switch {
	case c.is("GET", "/props"):
		c.reply(map[string]any{
			"default_generation_settings": map[string]any{"n_ctx": c.opt.ContextLength}, "total_slots": 1,
			"model_path": "/models/" + c.opt.Name + ".gguf", "build_info": c.opt.Version,
		})
	case c.is("GET", "/v1/models"):
		c.reply(c.opt.models(map[string]any{"meta": map[string]any{"n_vocab": VocabSize()}}))
	case c.is("POST", "/completion"):
		c.llamaCompletion()
	case c.is("POST", "/v1/chat/completions"):
		c.openaiChat()
	case c.is("POST", "/v1/completions"):
		fail(c.w, http.StatusBadRequest, "Only no echo is supported")
	case c.is("POST", "/apply-template"):
		var req struct {
			Messages json.RawMessage `json:"messages"`
		}
		if c.read(&req) {
			c.reply(map[string]string{"prompt": Template(messagesOf(req.Messages))})
		}
	case c.is("POST", "/tokenize"):
		var req struct {
			Content string `json:"content"`
			Add     bool   `json:"add_special"`
			Parse   bool   `json:"parse_special"`
		}
		if c.read(&req) {
			ids := []int32{}
			if req.Add {
				ids = append(ids, BOS)
			}
			c.reply(map[string]any{"tokens": append(ids, Tokenize(req.Content, req.Parse)...)})
		}
	case c.is("POST", "/detokenize"):
		var req struct {
			Tokens []int32 `json:"tokens"`
		}
		if c.read(&req) {
			c.reply(map[string]string{"content": Decode(req.Tokens, true)})
		}
	default:
		c.notFound()
	}
}

func (c *call) llamaCompletion() {
	req := struct {
		params
		Prompt []int32 `json:"prompt"`
		N      int     `json:"n_predict"`
		NProbs int     `json:"n_probs"`
		Return bool    `json:"return_tokens"`
	}{N: -1}
	// The samplers that are on unless a request turns them off.
	temperature, topP := 0.8, 0.95
	req.Temperature, req.TopP, req.TopK, req.MinP = &temperature, &topP, 40, 0.05
	if !c.read(&req) {
		return
	}
	if len(req.Prompt) >= c.opt.ContextLength {
		c.w.WriteHeader(http.StatusBadRequest)
		_, _ = c.w.Write([]byte(`{"error":{"code":400,"message":"the request exceeds the available context size","type":"exceed_context_size_error"}}`))
		return
	}
	limit := req.N
	if limit < 0 {
		limit = 256
	}
	out := c.opt.Model.generate(req.Prompt, req.sampler(), limit, req.NProbs, req.Stop, false)
	probs := []any{}
	entry := func(t llm.TokenLogprob) map[string]any {
		return map[string]any{"id": t.ID, "token": Decode([]int32{t.ID}, true), "logprob": t.Logprob}
	}
	for i, id := range out.ids {
		e := entry(llm.TokenLogprob{ID: id, Logprob: out.logprobs[i]})
		top := []any{}
		for _, t := range out.top[i] {
			top = append(top, entry(t))
		}
		e["top_logprobs"] = top
		probs = append(probs, e)
	}
	stop := "limit"
	switch {
	case out.stopWord != "":
		stop = "word"
		probs = probs[:max(len(probs)-len(Tokenize(out.stopWord, false)), 0)]
	case out.finish == "stop":
		stop = "eos"
	}
	reply := map[string]any{
		"content": out.text, "stop_type": stop, "tokens_evaluated": len(req.Prompt),
		"tokens_predicted": len(out.ids), "truncated": false, "completion_probabilities": probs, "tokens": []int32{},
	}
	if req.Return {
		reply["tokens"] = out.ids
	}
	c.reply(reply)
}
