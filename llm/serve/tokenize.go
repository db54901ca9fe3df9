package serve

import (
	"encoding/json"
	"net/http"
	"strings"
	"unicode/utf8"

	"github.com/hindsightrl/harness/llm"
)

type tokenizeRequest struct {
	Model  string  `json:"model"`
	Prompt *string `json:"prompt"`
	prompted
	Special *bool `json:"add_special_tokens"`
	Strings bool  `json:"return_token_strs"`
}

func (s *Server) tokenize(w http.ResponseWriter, r *http.Request) error {
	var req tokenizeRequest
	if err := read(r, &req); err != nil {
		return err
	}
	if err := s.isServed(req.Model); err != nil {
		return err
	}
	reply := struct {
		Count   int      `json:"count"`
		Max     int      `json:"max_model_len"`
		Tokens  []int32  `json:"tokens"`
		Strings []string `json:"token_strs"`
	}{Max: s.info.ContextLength}
	err := s.with(r.Context(), func(m llm.Model) (err error) {
		if req.Prompt != nil {
			if reply.Tokens, err = m.Tokenize(*req.Prompt, req.Special == nil || *req.Special); err != nil {
				return bad("prompt", "%v", err)
			}
		} else if reply.Tokens, err = req.ids(m); err != nil {
			return err
		}
		if req.Strings {
			reply.Strings = make([]string, len(reply.Tokens))
			for i, id := range reply.Tokens {
				reply.Strings[i] = decoded(m, id)
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	reply.Count = len(reply.Tokens)
	if reply.Tokens == nil {
		reply.Tokens = []int32{}
	}
	s.writeJSON(w, http.StatusOK, reply)
	return nil
}

func (s *Server) detokenize(w http.ResponseWriter, r *http.Request) error {
	var req struct {
		Model  string  `json:"model"`
		Tokens []int32 `json:"tokens"`
	}
	if err := read(r, &req); err != nil {
		return err
	}
	if err := s.isServed(req.Model); err != nil {
		return err
	}
	if err := inVocabulary(req.Tokens, s.info.VocabSize); err != nil {
		return err
	}
	return s.with(r.Context(), func(m llm.Model) error {
		s.writeJSON(w, http.StatusOK, map[string]string{"prompt": detokenize(m, req.Tokens)})
		return nil
	})
}

// detokenize is the text that ids stand for.
func detokenize(m llm.Model, ids []int32) string {
	if d, ok := m.(detokenizer); ok {
		return strings.ToValidUTF8(d.Detokenize(ids), "\uFFFD")
	}
	var b []byte
	for _, id := range ids {
		b = append(b, m.TokenBytes(id)...)
	}
	return strings.ToValidUTF8(string(b), "\uFFFD")
}

// rendering is what the render endpoints give: a request for /inference/v1/generate. Its sampling
// fields are those that were sent, as they were sent.
type rendering struct {
	RequestID string         `json:"request_id"`
	TokenIDs  []int32        `json:"token_ids"`
	Offsets   [][2]int       `json:"token_offsets"`
	Params    map[string]any `json:"sampling_params"`
	Model     string         `json:"model"`
	Stream    bool           `json:"stream"`
	Options   *streamOptions `json:"stream_options"`
	Salt      *string        `json:"cache_salt"`
	Priority  int            `json:"priority"`
	ReturnIDs bool           `json:"return_token_ids"`
}

// samplingFields are the fields that a rendering hands on.
var samplingFields = []string{
	"n", "temperature", "top_p", "top_k", "min_p", "max_tokens", "min_tokens", "seed", "stop", "stop_token_ids",
	"include_stop_str_in_output", "ignore_eos", "skip_special_tokens", "prompt_logprobs", "presence_penalty",
	"frequency_penalty", "repetition_penalty", "logit_bias", "allowed_token_ids",
}

// passed is what both render requests hand on.
type passed struct {
	Salt     *string `json:"cache_salt"`
	Priority int     `json:"priority"`
	Offsets  bool    `json:"return_token_offsets"`
}

func (s *Server) rendering(raw json.RawMessage, m llm.Model, ids []int32, o order, stream bool) (rendering, error) {
	var p passed
	fields := map[string]any{}
	for _, v := range []any{&p, &fields} {
		if err := json.Unmarshal(raw, v); err != nil {
			return rendering{}, bad("", "the body is no JSON: %v", err)
		}
	}
	out := rendering{
		RequestID: o.requestID, TokenIDs: ids, Params: map[string]any{}, Model: s.info.Name, Stream: stream,
		Salt: p.Salt, Priority: p.Priority, ReturnIDs: o.returnIDs,
	}
	for _, name := range samplingFields {
		if v, ok := fields[name]; ok && v != nil {
			out.Params[name] = v
		}
	}
	out.Params["max_tokens"] = o.sampling.MaxTokens
	if o.top >= 0 {
		out.Params["logprobs"] = o.top
	}
	if p.Offsets {
		out.Offsets = offsets(m, ids)
	}
	return out, nil
}

// offsets are the characters of each token in the text that the tokens spell: [start, end). Bytes in
// the middle of a character count for the character that they begin or end.
func offsets(m llm.Model, ids []int32) [][2]int {
	out := make([][2]int, len(ids))
	var text []byte
	for i, id := range ids {
		start := utf8.RuneCount(text)
		if len(text) > 0 && !utf8.Valid(text) && start > 0 {
			start-- // the character before is not complete
		}
		text = append(text, m.TokenBytes(id)...)
		if utf8.Valid(text) {
			out[i] = [2]int{start, utf8.RuneCount(text)}
		} else {
			out[i] = [2]int{start, max(start, utf8.RuneCount(text))}
		}
	}
	return out
}

func (s *Server) renderChat(w http.ResponseWriter, r *http.Request) error {
	var raw json.RawMessage
	var req chatRequest
	if err := read(r, &raw); err != nil {
		return err
	}
	if err := decode(strings.NewReader(string(raw)), &req); err != nil {
		return err
	}
	if err := s.isServed(req.Model); err != nil {
		return err
	}
	o, prompt, err := s.chatOrder(r.Context(), &req, s.requestID(chatPrefix, req.RequestID))
	if err != nil {
		return err
	}
	return s.with(r.Context(), func(m llm.Model) error {
		out, err := s.rendering(raw, m, prompt, o, req.Stream)
		if err == nil {
			s.writeJSON(w, http.StatusOK, out)
		}
		return err
	})
}

func (s *Server) renderCompletion(w http.ResponseWriter, r *http.Request) error {
	var raw json.RawMessage
	var req completionRequest
	if err := read(r, &raw); err != nil {
		return err
	}
	if err := decode(strings.NewReader(string(raw)), &req); err != nil {
		return err
	}
	if err := s.isServed(req.Model); err != nil {
		return err
	}
	jobs, err := s.jobs(r, &req, s.requestID(textPrefix, req.RequestID))
	if err != nil {
		return err
	}
	return s.with(r.Context(), func(m llm.Model) error {
		out := make([]rendering, len(jobs))
		for i, j := range jobs {
			if out[i], err = s.rendering(raw, m, j.ids, j.o, req.Stream); err != nil {
				return err
			}
		}
		s.writeJSON(w, http.StatusOK, out)
		return nil
	})
}
