package serve

import (
	"net/http"
	"slices"

	"github.com/hindsightrl/harness/llm"
	"github.com/hindsightrl/harness/llm/internal/textstream"
)

// generateRequest is vLLM's token-in-token-out request.
type generateRequest struct {
	RequestID string        `json:"request_id"`
	Model     string        `json:"model"`
	TokenIDs  []int32       `json:"token_ids"`
	Params    sampledParams `json:"sampling_params"`
	Features  any           `json:"features"`
	Stream    bool          `json:"stream"`
	Options   streamOptions `json:"stream_options"`
	ReturnIDs bool          `json:"return_token_ids"`
	Mode      string        `json:"output_mode"`
}

type sampledParams struct {
	params
	Logprobs *int `json:"logprobs"`
}

type generateChoice struct {
	Index    int     `json:"index"`
	Finish   *string `json:"finish_reason"`
	IDs      []int32 `json:"token_ids"`
	Text     *string `json:"text,omitempty"` // in mode "text" only
	Logprobs any     `json:"logprobs"`
	Versions []span  `json:"weight_versions"`
	Experts  *string `json:"routed_experts"`
	Mask     *[]int  `json:"sampling_mask"`
}

type generateReply struct {
	RequestID      string           `json:"request_id"`
	Model          string           `json:"model"`
	Created        int64            `json:"created"`
	Choices        []generateChoice `json:"choices"`
	PromptLogprobs []ordered        `json:"prompt_logprobs"`
	PromptIDs      []int32          `json:"prompt_token_ids"`
	Mode           string           `json:"output_mode"`
	Usage          *usage           `json:"usage"`
}

func (s *Server) generateTokens(w http.ResponseWriter, r *http.Request) error {
	var req generateRequest
	if err := read(r, &req); err != nil {
		return err
	}
	if err := s.isServed(req.Model); err != nil {
		return err
	}
	o, err := s.generateOrder(&req)
	if err != nil {
		return err
	}
	if req.Stream {
		return s.streamTokens(w, r, &req, o)
	}
	reply := s.generateReply(&req, o)
	if o.promptTop >= 0 {
		score, err := s.promptScores(r.Context(), req.TokenIDs, o)
		if err != nil {
			return err
		}
		reply.PromptLogprobs = score.list()
	}
	choices, err := s.run(r.Context(), req.TokenIDs, o, 0, nil)
	if err != nil {
		return err
	}
	for _, c := range choices {
		out := c.generateChoice(c.events, o, req.Mode)
		if req.Mode == "text" {
			text := c.text.All()
			out.Text = &text
		}
		out.Finish, out.Versions = &c.finish, c.spans
		reply.Choices = append(reply.Choices, out)
	}
	if o.returnIDs {
		reply.PromptIDs = req.TokenIDs
	}
	reply.Usage = usageOf(len(req.TokenIDs), completionTokens(choices))
	s.writeJSON(w, http.StatusOK, reply)
	return nil
}

func (s *Server) generateReply(req *generateRequest, o order) generateReply {
	return generateReply{RequestID: o.requestID, Model: s.info.Name, Created: s.cfg.Now().Unix(), Mode: req.Mode, Choices: []generateChoice{}}
}

// generateOrder checks the request.
func (s *Server) generateOrder(req *generateRequest) (o order, err error) {
	if req.Mode == "" {
		req.Mode = "tokens"
	}
	if o, err = req.Params.order(s.info.VocabSize, s.cfg.MaxLogprobs); err != nil {
		return o, err
	}
	switch {
	case req.Mode != "tokens" && req.Mode != "text":
		return o, bad("output_mode", "output_mode must be tokens or text")
	case req.Features != nil:
		return o, bad("features", "features are not supported by this server")
	case req.Stream && o.promptTop >= 0:
		return o, bad("prompt_logprobs", "prompt_logprobs are not available when stream is true")
	case o.n > s.cfg.MaxSequences:
		return o, bad("n", "n must be at most %d", s.cfg.MaxSequences)
	}
	if req.Params.Logprobs != nil {
		if o.top, err = alternatives("logprobs", *req.Params.Logprobs, s.info.VocabSize, s.cfg.MaxLogprobs); err != nil {
			return o, err
		}
	}
	o.returnIDs, o.requestID = req.ReturnIDs, s.requestID("", req.RequestID)
	return o, s.fit(&o, &req.Params.params, req.TokenIDs, 16)
}

// generateChoice writes the given events of a choice.
func (c *choice) generateChoice(events []llm.TokenEvent, o order, mode string) generateChoice {
	out := generateChoice{Index: c.index, IDs: idsOf(events)}
	switch {
	case o.top < 0:
	case mode == "text":
		out.Logprobs = namer{c.model, o.idNames}.chat(events, o.top)
	default:
		out.Logprobs = ids(events, o.top)
	}
	return out
}

// streamTokens sends a chunk per token; the last of a choice has its finish reason and the versions.
func (s *Server) streamTokens(w http.ResponseWriter, r *http.Request, req *generateRequest, o order) error {
	out := &events{s: s, w: w}
	total := 0
	choices, err := s.run(r.Context(), req.TokenIDs, o, 0, func(c *choice) error {
		fresh := c.events[c.told:]
		c.told, total = len(c.events), total+len(fresh)
		next := s.generateReply(req, o)
		if o.returnIDs && !out.started {
			next.PromptIDs = req.TokenIDs
		}
		ch := c.generateChoice(fresh, o, req.Mode)
		text := c.text.Next()
		if c.over {
			text += c.text.Rest()
			ch.Finish, ch.Versions = &c.finish, c.spans
		}
		if req.Mode == "text" {
			ch.Text = &text
		}
		next.Choices = append(next.Choices, ch)
		next.Usage = req.Options.usageNow(len(req.TokenIDs), total)
		return out.send(next)
	})
	if err == nil && req.Options.IncludeUsage {
		last := s.generateReply(req, o)
		last.Usage = usageOf(len(req.TokenIDs), completionTokens(choices))
		err = out.send(last)
	}
	return out.end(err)
}

// newText is the text of a choice before its first token.
func newText(o order) *textstream.Text { return textstream.New(o.stop, o.keepStop) }

func inVocabulary(ids []int32, vocab int) error {
	if i := slices.IndexFunc(ids, func(id int32) bool { return id < 0 || int(id) >= vocab }); i >= 0 {
		return bad("prompt", "token id %d at position %d is out of vocabulary", ids[i], i)
	}
	return nil
}
