package serve

import (
	"encoding/json"
	"net/http"

	"github.com/hindsightrl/harness/llm"
)

// promptList is a text, a list of texts, a list of token ids or a list of such lists.
type promptList struct {
	texts []string
	ids   [][]int32
}

// UnmarshalJSON accepts the four forms.
func (p *promptList) UnmarshalJSON(b []byte) error {
	var text string
	var one []int32
	switch {
	case string(b) == "null":
		return nil
	case json.Unmarshal(b, &text) == nil:
		p.texts = []string{text}
	case json.Unmarshal(b, &p.texts) == nil && len(p.texts) > 0:
	case json.Unmarshal(b, &one) == nil && len(one) > 0:
		p.texts, p.ids = nil, [][]int32{one}
	default:
		p.texts = nil
		if json.Unmarshal(b, &p.ids) != nil || len(p.ids) == 0 {
			return bad("prompt", "prompt is no text, list of texts, list of token ids or list of such lists, or it is empty")
		}
	}
	return nil
}

type completionRequest struct {
	Model string `json:"model"`
	params
	Prompt        promptList    `json:"prompt"`
	Suffix        string        `json:"suffix"`
	Embeds        any           `json:"prompt_embeds"`
	Special       *bool         `json:"add_special_tokens"`
	Echo          bool          `json:"echo"`
	Logprobs      *int          `json:"logprobs"`
	Stream        bool          `json:"stream"`
	StreamOptions streamOptions `json:"stream_options"`
	ReturnIDs     bool          `json:"return_token_ids"`
	IDNames       bool          `json:"return_tokens_as_token_ids"`
	RequestID     string        `json:"request_id"`
}

// job is one prompt of a completion request.
type job struct {
	ids  []int32
	text string // as echo gives it back
	o    order
}

// textOrder checks everything but the prompts.
func (r *completionRequest) textOrder(s *Server, id string) (order, error) {
	o, err := r.order(s.info.VocabSize, s.cfg.MaxLogprobs)
	if err != nil {
		return o, err
	}
	switch {
	case r.Suffix != "":
		return o, bad("suffix", "suffix is not supported by this server")
	case r.Embeds != nil:
		return o, bad("prompt_embeds", "prompt_embeds are not supported by this server")
	case r.Stream && o.promptTop >= 0:
		return o, bad("prompt_logprobs", "prompt_logprobs are not available when stream is true")
	case r.Stream && r.Echo && r.Logprobs != nil:
		return o, bad("echo", "echo with logprobs is not available when stream is true")
	}
	if r.Logprobs != nil {
		if o.top, err = alternatives("logprobs", *r.Logprobs, s.info.VocabSize, s.cfg.MaxLogprobs); err != nil {
			return o, err
		}
		if r.Echo && o.promptTop < 0 {
			o.promptTop = o.top
		}
	}
	o.returnIDs, o.idNames, o.requestID = r.ReturnIDs, r.IDNames, id
	return o, nil
}

// jobs checks the request and tokenizes its prompts.
func (s *Server) jobs(r *http.Request, req *completionRequest, id string) ([]job, error) {
	o, err := req.textOrder(s, id)
	if err != nil {
		return nil, err
	}
	var list []job
	if err := s.with(r.Context(), func(m llm.Model) (err error) { list, err = req.prompts(m, o); return err }); err != nil {
		return nil, err
	}
	if len(list) == 0 {
		return nil, bad("prompt", "there is no prompt")
	}
	if len(list)*o.n > s.cfg.MaxSequences {
		return nil, bad("n", "%d prompts with %d choices each are more than %d", len(list), o.n, s.cfg.MaxSequences)
	}
	for i := range list {
		if req.onlyEcho() && len(list[i].ids) > 0 {
			continue
		}
		if err := s.fit(&list[i].o, &req.params, list[i].ids, 16); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// prompts tokenizes texts and spells ids.
func (r *completionRequest) prompts(m llm.Model, o order) (list []job, err error) {
	for _, text := range r.Prompt.texts {
		ids, err := m.Tokenize(text, r.Special == nil || *r.Special)
		if err != nil {
			return nil, bad("prompt", "%v", err)
		}
		list = append(list, job{ids, text, o})
	}
	for _, ids := range r.Prompt.ids {
		if err := inVocabulary(ids, m.Info().VocabSize); err != nil {
			return nil, err
		}
		list = append(list, job{ids, detokenize(m, ids), o})
	}
	return list, nil
}

// onlyEcho reports a request that samples nothing: it wants the prompt back, perhaps with its
// log-probabilities.
func (r *completionRequest) onlyEcho() bool { return r.Echo && orInt(r.MaxTokens, 16) == 0 }

type completionChoice struct {
	Index          int           `json:"index"`
	Text           string        `json:"text"`
	Logprobs       *textLogprobs `json:"logprobs"`
	Finish         *string       `json:"finish_reason"`
	Reason         any           `json:"stop_reason"`
	IDs            []int32       `json:"token_ids"`
	PromptLogprobs []ordered     `json:"prompt_logprobs"`
	PromptIDs      []int32       `json:"prompt_token_ids"`
	Versions       []span        `json:"weight_versions,omitempty"`
}

type completionReply struct {
	ID          string             `json:"id"`
	Object      string             `json:"object"`
	Created     int64              `json:"created"`
	Model       string             `json:"model"`
	Choices     []completionChoice `json:"choices"`
	Usage       *usage             `json:"usage"`
	Fingerprint *string            `json:"system_fingerprint"`
}

func (s *Server) completions(w http.ResponseWriter, r *http.Request) error {
	var req completionRequest
	if err := read(r, &req); err != nil {
		return err
	}
	if err := s.isServed(req.Model); err != nil {
		return err
	}
	id := s.requestID(textPrefix, req.RequestID)
	jobs, err := s.jobs(r, &req, id)
	if err != nil {
		return err
	}
	if req.Stream {
		return s.streamCompletions(w, r, &req, id, jobs)
	}
	reply := completionReply{ID: id, Object: "text_completion", Created: s.cfg.Now().Unix(), Model: s.info.Name}
	parts, err := inParallel(r.Context(), jobs, func(i int, j job) (part, error) { return s.complete(r, &req, i, j) })
	if err != nil {
		return err
	}
	prompt, completion := 0, 0
	for i, p := range parts {
		reply.Choices = append(reply.Choices, p.choices...)
		prompt, completion = prompt+len(jobs[i].ids), completion+p.tokens
	}
	reply.Usage = usageOf(prompt, completion)
	s.writeJSON(w, http.StatusOK, reply)
	return nil
}

// part is the answer to one of the prompts.
type part struct {
	choices []completionChoice
	tokens  int
}

func (s *Server) complete(r *http.Request, req *completionRequest, index int, j job) (p part, err error) {
	var sc scored
	if j.o.promptTop >= 0 {
		if sc, err = s.promptScores(r.Context(), j.ids, j.o); err != nil {
			return p, err
		}
	}
	choices := make([]*choice, j.o.n)
	if req.onlyEcho() {
		for i := range choices {
			choices[i] = &choice{index: index*j.o.n + i, prompt: j.ids, finish: "length", model: sc.m, text: newText(j.o)}
		}
	} else if choices, err = s.run(r.Context(), j.ids, j.o, index*j.o.n, nil); err != nil {
		return p, err
	}
	for _, c := range choices {
		out := completionChoice{Index: c.index, Text: c.text.All(), Finish: &c.finish, Reason: c.reason}
		if j.o.top >= 0 {
			out.Logprobs = c.textLogprobs(j.o, req.Echo, sc)
		}
		if req.Echo {
			out.Text = j.text + out.Text
		}
		if j.o.returnIDs {
			out.IDs, out.PromptIDs, out.Versions = append([]int32{}, c.ids...), j.ids, c.spans
		}
		if req.PromptLogprobs != nil || req.Echo && j.o.promptTop >= 0 {
			out.PromptLogprobs = sc.list()
		}
		p.choices, p.tokens = append(p.choices, out), p.tokens+len(c.ids)
	}
	return p, nil
}

// textLogprobs are the lists of a choice, those of the prompt before them where it is echoed.
func (c *choice) textLogprobs(o order, echo bool, sc scored) *textLogprobs {
	if !echo {
		lists, _ := namer{c.model, o.idNames}.text(c.events, 0)
		return lists
	}
	before, offset := namer{sc.m, o.idNames}.prompt(sc)
	if len(c.events) == 0 {
		return before
	}
	after, _ := namer{c.model, o.idNames}.text(c.events, offset)
	return before.join(after)
}
