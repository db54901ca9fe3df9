package llmtest

import (
	"encoding/json"
	"net/http"
	"strconv"

	"github.com/hindsightrl/harness/llm"
)

func or[T comparable](v, d T) T {
	var zero T
	if v == zero {
		return d
	}
	return v
}

func jsonInt(id int32) string { return strconv.Itoa(int(id)) }

func (c *call) sglang() {
	prefix := "/"
	if c.opt.OldPaths {
		prefix = "/get_"
	}
	switch {
	case c.is("GET", prefix+"model_info"):
		m := map[string]any{"model_path": "/models/" + c.opt.Name, "is_generation": true}
		if !c.opt.OldPaths {
			m["weight_version"], m["vocab_size"] = c.opt.label(), VocabSize()
		}
		c.reply(m)
	case c.is("GET", prefix+"server_info"):
		c.reply(map[string]any{"version": c.opt.Version, "served_model_name": c.opt.Name, "context_length": c.opt.ContextLength})
	case c.is("GET", "/get_weight_version") && c.opt.OldPaths:
		c.reply(map[string]string{"weight_version": c.opt.label()})
	case c.is("POST", "/generate"):
		c.sglangGenerate()
	case c.is("POST", "/v1/chat/completions"):
		c.openaiChat()
	case c.is("POST", "/tokenize"):
		c.render("tokens")
	case c.is("POST", "/detokenize"):
		var req struct {
			Tokens []int32 `json:"tokens"`
			Skip   bool    `json:"skip_special_tokens"`
		}
		if c.read(&req) {
			c.reply(map[string]string{"text": Decode(req.Tokens, !req.Skip)})
		}
	case c.opt.NoDev:
		c.notFound()
	case c.is("POST", "/pause_generation"), c.is("POST", "/continue_generation"):
		c.setPaused(c.r.URL.Path == "/pause_generation")
	case c.r.URL.Path == "/pause_generation":
		fail(c.w, http.StatusMethodNotAllowed, "Method Not Allowed")
	default:
		c.notFound()
	}
}

// triple is SGLang's entry.
func triple(t llm.TokenLogprob) []any { return []any{finite(t.Logprob), t.ID, nil} }

func triples(top []llm.TokenLogprob) []any {
	out := make([]any, len(top))
	for i, t := range top {
		out[i] = triple(t)
	}
	return out
}

func (c *call) sglangGenerate() {
	var req struct {
		IDs    []int32 `json:"input_ids"`
		Params struct {
			params
			MaxNew *int  `json:"max_new_tokens"`
			Seed   int64 `json:"sampling_seed"`
		} `json:"sampling_params"`
		Return bool `json:"return_logprob"`
		Start  *int `json:"logprob_start_len"`
		Top    int  `json:"top_logprobs_num"`
	}
	if !c.read(&req) || !c.fits(len(req.IDs)) {
		return
	}
	limit := 128
	if req.Params.MaxNew != nil {
		limit = *req.Params.MaxNew
	}
	req.Params.params.Seed = req.Params.Seed
	out := c.opt.Model.generate(req.IDs, req.Params.sampler(), limit, req.Top, req.Params.Stop, c.opt.Processed)
	meta := map[string]any{
		"id": "x", "finish_reason": map[string]any{"type": out.finish}, "prompt_tokens": len(req.IDs),
		"completion_tokens": len(out.ids), "weight_version": c.opt.label(),
		"weight_versions": []any{[]any{c.opt.label(), 0, len(out.ids)}},
	}
	if c.opt.OldPaths {
		delete(meta, "weight_versions")
	}
	if req.Return {
		own, top := []any{}, []any{}
		for i, id := range out.ids {
			own, top = append(own, triple(llm.TokenLogprob{ID: id, Logprob: out.logprobs[i]})), append(top, triples(out.top[i]))
		}
		meta["output_token_logprobs"], meta["output_top_logprobs"] = own, top
		if req.Start != nil && *req.Start >= 0 {
			c.sglangInput(meta, req.IDs, *req.Start, req.Top)
		}
	}
	c.reply(map[string]any{"text": out.text, "output_ids": out.ids, "meta_info": meta})
}

// sglangInput gives the positions from start on; the first is null.
func (c *call) sglangInput(meta map[string]any, ids []int32, start, k int) {
	own, top := []any{}, []any{}
	if !c.opt.NoLeadingNull {
		own, top = append(own, []any{nil, ids[start], nil}), append(top, nil)
	}
	dists := c.scoreAll(ids, "")
	for i := start + 1; i < len(ids); i++ {
		own = append(own, triple(llm.TokenLogprob{ID: ids[i], Logprob: dists[i][ids[i]]}))
		top = append(top, triples(best(dists[i], k)))
	}
	meta["input_token_logprobs"], meta["input_top_logprobs"] = own, top
}

func (c *call) openai() {
	switch {
	case c.is("GET", "/v1/models"):
		c.reply(c.opt.models(map[string]any{}))
	case c.is("POST", "/v1/chat/completions"):
		c.openaiChat()
	default:
		c.notFound()
	}
}

func (c *call) openaiChat() {
	var req struct {
		params
		Messages json.RawMessage `json:"messages"`
		Limit    int             `json:"max_completion_tokens"`
	}
	if !c.read(&req) {
		return
	}
	m := messagesOf(req.Messages)
	if len(m) == 0 {
		fail(c.w, http.StatusBadRequest, "no messages")
		return
	}
	out := c.opt.Model.generate(Render(m), req.sampler(), or(or(req.MaxTokens, req.Limit), 64), 0, req.Stop, false)
	message := map[string]any{"role": "assistant", "content": out.text}
	if c.opt.Reasoning != "" {
		message["reasoning_content"] = c.opt.Reasoning
	}
	c.reply(c.completionReply(map[string]any{"index": 0, "message": message, "finish_reason": out.finish}, out))
}
