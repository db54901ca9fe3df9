package llmtest

import (
	"encoding/json"
	"net/http"
	"slices"

	"github.com/hindsightrl/harness/llm"
)

// params are vLLM's sampling fields with its defaults for absent ones.
type params struct {
	Temperature    *float64 `json:"temperature"`
	TopP           *float64 `json:"top_p"`
	TopK           int      `json:"top_k"`
	MinP           float64  `json:"min_p"`
	MaxTokens      int      `json:"max_tokens"`
	Stop           []string `json:"stop"`
	Seed           int64    `json:"seed"`
	PromptLogprobs *int     `json:"prompt_logprobs"`
}

func (p params) sampler() sampler {
	s := sampler{temperature: 1, topP: 1, minP: p.MinP, topK: p.TopK, seed: p.Seed}
	if p.Temperature != nil {
		s.temperature = *p.Temperature
	}
	if p.TopP != nil {
		s.topP = *p.TopP
	}
	return s
}

func (c *call) vllm() {
	switch {
	case c.is("GET", "/v1/models"):
		c.reply(c.opt.models(map[string]any{"root": "/models/" + c.opt.Name, "max_model_len": c.opt.ContextLength, "owned_by": "vllm"}))
	case c.is("GET", "/version"):
		c.reply(map[string]string{"version": c.opt.Version})
	case c.is("POST", "/v1/chat/completions"):
		c.vllmChat()
	case c.is("POST", "/v1/completions"):
		c.vllmCompletion()
	case c.is("POST", "/inference/v1/generate"):
		c.vllmTokens()
	case c.is("POST", "/v1/chat/completions/render") && !c.opt.NoRender:
		c.render("token_ids")
	case c.is("POST", "/tokenize"):
		c.render("tokens")
	case c.is("POST", "/detokenize"):
		var req struct {
			Tokens []int32 `json:"tokens"`
		}
		if c.read(&req) {
			c.reply(map[string]string{"prompt": Decode(req.Tokens, true)})
		}
	case c.opt.NoDev:
		c.notFound()
	case c.is("GET", "/weight_info"):
		c.reply(map[string]string{"weight_version": c.opt.label()})
	case c.is("GET", "/is_paused"):
		c.s.mu.Lock()
		defer c.s.mu.Unlock()
		c.reply(map[string]bool{"is_paused": c.s.paused})
	case c.is("POST", "/pause"), c.is("POST", "/resume"):
		c.setPaused(c.r.URL.Path == "/pause")
	default:
		c.notFound()
	}
}

func (c *call) setPaused(on bool) {
	c.s.mu.Lock()
	defer c.s.mu.Unlock()
	c.s.paused = on
	c.reply(map[string]bool{"success": true})
}

func (c *call) render(member string) {
	var req struct {
		Messages json.RawMessage `json:"messages"`
		Prompt   string          `json:"prompt"`
		Special  bool            `json:"add_special_tokens"`
	}
	if !c.read(&req) {
		return
	}
	var ids []int32
	if m := messagesOf(req.Messages); len(m) > 0 {
		ids = Render(m)
	} else {
		if req.Special {
			ids = []int32{BOS}
		}
		ids = append(ids, Tokenize(req.Prompt, false)...)
	}
	c.reply(map[string]any{member: ids, "count": len(ids)})
}

func (c *call) vllmChat() {
	var req struct {
		params
		Messages    json.RawMessage `json:"messages"`
		TopLogprobs int             `json:"top_logprobs"`
	}
	if !c.read(&req) {
		return
	}
	m := messagesOf(req.Messages)
	if len(m) == 0 {
		fail(c.w, http.StatusBadRequest, "no messages")
		return
	}
	prompt := Render(m)
	if !c.fits(len(prompt)) || !c.grants(req.TopLogprobs) {
		return
	}
	out := c.opt.Model.generate(prompt, req.sampler(), or(req.MaxTokens, 64), req.TopLogprobs, req.Stop, c.opt.Processed)
	message := map[string]any{"role": "assistant", "content": out.text}
	if c.opt.Reasoning != "" {
		message["reasoning_content"] = c.opt.Reasoning
	}
	choice := map[string]any{
		"index": 0, "message": message, "finish_reason": out.finish,
		"logprobs": map[string]any{"content": contentOf(out, req.TopLogprobs, true)},
	}
	reply := c.completionReply(choice, out)
	if !c.opt.NoTokenIDs {
		choice["token_ids"], reply["prompt_token_ids"] = out.ids, out.prompt
	}
	c.reply(reply)
}

func (c *call) completionReply(choice map[string]any, out response) map[string]any {
	return map[string]any{
		"id": "x", "model": c.opt.Name, "choices": []any{choice},
		"usage": map[string]int{"prompt_tokens": len(out.prompt), "completion_tokens": len(out.ids)},
	}
}

// contentOf writes the chat form, with "token_id:N" strings, or the numeric form.
func contentOf(out response, k int, asString bool) []any {
	entry := func(t llm.TokenLogprob) map[string]any {
		if asString {
			return map[string]any{"token": tokenID(t.ID), "logprob": finite(t.Logprob), "bytes": nil}
		}
		return map[string]any{"token_id": t.ID, "logprob": finite(t.Logprob), "rank": 1}
	}
	content := make([]any, len(out.ids))
	for i, id := range out.ids {
		own := llm.TokenLogprob{ID: id, Logprob: out.logprobs[i]}
		e := entry(own)
		top := []any{}
		if k > 0 {
			for _, t := range entries(own, out.top[i], k) {
				top = append(top, entry(t))
			}
		}
		e["top_logprobs"] = top
		content[i] = e
	}
	return content
}

func (c *call) vllmCompletion() {
	var req struct {
		params
		Prompt   []int32 `json:"prompt"`
		Logprobs *int    `json:"logprobs"`
		Salt     string  `json:"cache_salt"`
	}
	if !c.read(&req) || !c.fits(len(req.Prompt)) {
		return
	}
	k := 0
	if req.Logprobs != nil {
		k = *req.Logprobs
	}
	if !c.grants(k) {
		return
	}
	out := c.opt.Model.generate(req.Prompt, req.sampler(), or(req.MaxTokens, 16), k, req.Stop, c.opt.Processed)
	choice := map[string]any{"index": 0, "text": out.text, "finish_reason": out.finish}
	if req.Logprobs != nil {
		choice["logprobs"] = legacyLogprobs(out, k)
	}
	if !c.opt.NoTokenIDs {
		choice["token_ids"], choice["prompt_token_ids"] = out.ids, out.prompt
	}
	if req.PromptLogprobs != nil {
		choice["prompt_logprobs"] = c.promptLogprobs(req.Prompt, *req.PromptLogprobs, req.Salt)
	}
	c.reply(c.completionReply(choice, out))
}

func legacyLogprobs(out response, k int) map[string]any {
	tokens, top := make([]string, len(out.ids)), make([]any, len(out.ids))
	lps := make([]float32, len(out.ids))
	for i, id := range out.ids {
		tokens[i], lps[i] = tokenID(id), finite(out.logprobs[i])
		m := map[string]float32{}
		for _, t := range entries(llm.TokenLogprob{ID: id, Logprob: out.logprobs[i]}, out.top[i], k) {
			m[tokenID(t.ID)] = finite(t.Logprob)
		}
		top[i] = m
	}
	return map[string]any{"tokens": tokens, "token_logprobs": lps, "top_logprobs": top}
}

// rawObject writes members in the order given, which a Go map would lose.
type rawObject []struct {
	key string
	val any
}

// MarshalJSON keeps the order.
func (o rawObject) MarshalJSON() ([]byte, error) {
	b := []byte{'{'}
	for i, m := range o {
		if i > 0 {
			b = append(b, ',')
		}
		k, err := json.Marshal(m.key)
		if err != nil {
			return nil, err
		}
		v, err := json.Marshal(m.val)
		if err != nil {
			return nil, err
		}
		b = append(append(append(b, k...), ':'), v...)
	}
	return append(b, '}'), nil
}

func (c *call) promptLogprobs(ids []int32, k int, salt string) []any {
	rows := make([]any, len(ids))
	for i, dist := range c.scoreAll(ids, salt) {
		if i == 0 {
			continue // null: nothing comes before
		}
		var row rawObject
		for _, t := range entries(llm.TokenLogprob{ID: ids[i], Logprob: dist[ids[i]]}, best(dist, k), k) {
			row = append(row, struct {
				key string
				val any
			}{jsonInt(t.ID), map[string]any{"logprob": finite(t.Logprob), "rank": 1, "decoded_token": Decode([]int32{t.ID}, true)}})
		}
		if c.opt.ReverseEntries {
			slices.Reverse(row)
		}
		rows[i] = row
	}
	return rows
}

func (c *call) vllmTokens() {
	var req struct {
		TokenIDs []int32 `json:"token_ids"`
		Params   struct {
			params
			Logprobs *int `json:"logprobs"`
		} `json:"sampling_params"`
		Salt string `json:"cache_salt"`
	}
	if !c.read(&req) || !c.fits(len(req.TokenIDs)) {
		return
	}
	k := 0
	if req.Params.Logprobs != nil {
		k = *req.Params.Logprobs
	}
	if !c.grants(k) {
		return
	}
	out := c.opt.Model.generate(req.TokenIDs, req.Params.sampler(), or(req.Params.MaxTokens, 16), k, req.Params.Stop, c.opt.Processed)
	choice := map[string]any{"index": 0, "finish_reason": out.finish, "token_ids": out.ids}
	if req.Params.Logprobs != nil {
		choice["logprobs"] = map[string]any{"content": contentOf(out, k, c.opt.StringIDs)}
	}
	if !c.opt.NoDev {
		choice["weight_versions"] = []any{map[string]any{"version": c.opt.label(), "start": 0, "end": len(out.ids)}}
	}
	reply := map[string]any{"request_id": "x", "choices": []any{choice}, "prompt_logprobs": nil}
	if req.Params.PromptLogprobs != nil {
		reply["prompt_logprobs"] = c.promptLogprobs(req.TokenIDs, *req.Params.PromptLogprobs, req.Salt)
	}
	c.reply(reply)
}
