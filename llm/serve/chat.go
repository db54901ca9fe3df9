package serve

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strings"

	"github.com/hindsightrl/harness"
	"github.com/hindsightrl/harness/llm"
)

// message is a chat message on the wire. Content is a string, a list of text parts, or null.
type message struct {
	Role    string          `json:"role"`
	Content json.RawMessage `json:"content"`
	Tools   []any           `json:"tool_calls"`
}

// prompted are the fields that decide a chat's prompt.
type prompted struct {
	Messages         []message      `json:"messages"`
	GenerationPrompt *bool          `json:"add_generation_prompt"`
	Continue         bool           `json:"continue_final_message"`
	Template         string         `json:"chat_template"`
	TemplateArgs     map[string]any `json:"chat_template_kwargs"`
	Tools            []any          `json:"tools"`
	ToolChoice       any            `json:"tool_choice"`
}

type chatRequest struct {
	Model string `json:"model"`
	prompted
	params
	MaxCompletion *int          `json:"max_completion_tokens"`
	Logprobs      bool          `json:"logprobs"`
	TopLogprobs   *int          `json:"top_logprobs"`
	Echo          bool          `json:"echo"`
	Stream        bool          `json:"stream"`
	StreamOptions streamOptions `json:"stream_options"`
	ReturnIDs     bool          `json:"return_token_ids"`
	IDNames       bool          `json:"return_tokens_as_token_ids"`
	RequestID     string        `json:"request_id"`
}

// texts reads the messages.
func (p *prompted) texts() ([]harness.Message, error) {
	if len(p.Messages) == 0 {
		return nil, bad("messages", "messages must not be empty")
	}
	out := make([]harness.Message, len(p.Messages))
	for i, m := range p.Messages {
		if m.Role == "" {
			return nil, bad("messages", "message %d has no role", i)
		}
		if len(m.Tools) > 0 {
			return nil, bad("messages", "message %d has tool calls, which are not supported by this server", i)
		}
		text, err := contentText(m.Content)
		if err != nil {
			return nil, bad("messages", "message %d: %v", i, err)
		}
		out[i] = harness.Message{Role: m.Role, Content: text}
	}
	return out, nil
}

func contentText(raw json.RawMessage) (string, error) {
	var text string
	if len(raw) == 0 || json.Unmarshal(raw, &text) == nil { // null leaves it empty
		return text, nil
	}
	var parts []struct {
		Type string `json:"type"`
		Text string `json:"text"`
	}
	if err := json.Unmarshal(raw, &parts); err != nil {
		return "", bad("messages", "content is neither a text nor a list of parts")
	}
	var b strings.Builder
	for _, p := range parts {
		if p.Type != "text" {
			return "", bad("messages", "content of type %q is not supported by this server", p.Type)
		}
		b.WriteString(p.Text)
	}
	return b.String(), nil
}

// ids renders the prompt with the model's own template.
func (p *prompted) ids(m llm.Model) ([]int32, error) {
	messages, err := p.texts()
	if err != nil {
		return nil, err
	}
	open := p.GenerationPrompt == nil || *p.GenerationPrompt
	last := messages[len(messages)-1]
	switch {
	case p.Template != "":
		return nil, bad("chat_template", "chat_template is not supported: the model's own is used")
	case len(p.TemplateArgs) > 0:
		return nil, bad("chat_template_kwargs", "chat_template_kwargs are not supported by this server")
	case len(p.Tools) > 0 && p.ToolChoice != "none":
		return nil, bad("tools", "tools are not supported by this server")
	case p.Continue && p.GenerationPrompt != nil && *p.GenerationPrompt:
		return nil, bad("continue_final_message", "continue_final_message and add_generation_prompt exclude each other")
	case p.Continue && (last.Role != "assistant" || len(messages) < 2):
		return nil, bad("continue_final_message", "the final message is none of the assistant's after another one")
	case p.Continue:
		return continued(m, messages[:len(messages)-1], last.Content)
	case open:
		return rendered(m.Render(messages))
	}
	r, ok := m.(openRenderer)
	if !ok {
		return nil, bad("add_generation_prompt", "this model renders the opening of the response always")
	}
	return rendered(r.RenderOpen(messages, false))
}

// rendered makes an error of the template the request's: these messages do not fit it.
func rendered(ids []int32, err error) ([]int32, error) {
	if err != nil {
		return nil, bad("messages", "%v", err)
	}
	return ids, nil
}

// continued renders up to where the last message begins and goes on with its text.
func continued(m llm.Model, before []harness.Message, text string) ([]int32, error) {
	ids, err := rendered(m.Render(before))
	if err != nil {
		return nil, err
	}
	more, err := m.Tokenize(text, false)
	if err != nil {
		return nil, bad("messages", "%v", err)
	}
	return slices.Concat(ids, more), nil
}

// order checks the request and renders its prompt.
func (s *Server) chatOrder(ctx context.Context, req *chatRequest, id string) (o order, prompt []int32, err error) {
	if req.MaxTokens == nil {
		req.MaxTokens = req.MaxCompletion
	}
	if o, err = req.order(s.info.VocabSize, s.cfg.MaxLogprobs); err != nil {
		return o, nil, err
	}
	if top := orInt(req.TopLogprobs, 0); top != 0 && !req.Logprobs {
		return o, nil, bad("top_logprobs", "when using top_logprobs, logprobs must be set to true")
	}
	if req.Logprobs {
		if o.top, err = alternatives("top_logprobs", orInt(req.TopLogprobs, 0), s.info.VocabSize, s.cfg.MaxLogprobs); err != nil {
			return o, nil, err
		}
	}
	if o.n > s.cfg.MaxSequences {
		return o, nil, bad("n", "n must be at most %d", s.cfg.MaxSequences)
	}
	o.returnIDs, o.idNames, o.requestID = req.ReturnIDs, req.IDNames, id
	err = s.with(ctx, func(m llm.Model) error {
		prompt, err = req.ids(m)
		return err
	})
	if err != nil {
		return o, nil, err
	}
	return o, prompt, s.fit(&o, &req.params, prompt, 0)
}

// with runs f with the model, which stays until f returns.
func (s *Server) with(ctx context.Context, f func(m llm.Model) error) error {
	l, err := s.weights.enter(ctx, "", true)
	if err != nil {
		return err
	}
	defer l.leave()
	return f(l.model)
}

type chatMessage struct {
	Role    string  `json:"role"`
	Content string  `json:"content"`
	Refusal *string `json:"refusal"`
	Tools   []any   `json:"tool_calls"`
}

type chatChoice struct {
	Index    int           `json:"index"`
	Message  chatMessage   `json:"message"`
	Logprobs *chatLogprobs `json:"logprobs"`
	Finish   string        `json:"finish_reason"`
	Reason   any           `json:"stop_reason"`
	IDs      []int32       `json:"token_ids"`
	Versions []span        `json:"weight_versions,omitempty"`
}

type chatReply struct {
	ID             string       `json:"id"`
	Object         string       `json:"object"`
	Created        int64        `json:"created"`
	Model          string       `json:"model"`
	Choices        []chatChoice `json:"choices"`
	Usage          *usage       `json:"usage"`
	Fingerprint    *string      `json:"system_fingerprint"`
	PromptLogprobs []ordered    `json:"prompt_logprobs"`
	PromptIDs      []int32      `json:"prompt_token_ids"`
	PromptText     *string      `json:"prompt_text"`
}

func (s *Server) chat(w http.ResponseWriter, r *http.Request) error {
	var req chatRequest
	if err := read(r, &req); err != nil {
		return err
	}
	if err := s.isServed(req.Model); err != nil {
		return err
	}
	id := s.requestID(chatPrefix, req.RequestID)
	o, prompt, err := s.chatOrder(r.Context(), &req, id)
	if err != nil {
		return err
	}
	if req.Stream {
		return s.streamChat(w, r, &req, o, id, prompt)
	}
	reply := chatReply{ID: id, Object: "chat.completion", Created: s.cfg.Now().Unix(), Model: s.info.Name}
	if o.promptTop >= 0 {
		score, err := s.promptScores(r.Context(), prompt, o)
		if err != nil {
			return err
		}
		reply.PromptLogprobs = score.list()
	}
	choices, err := s.run(r.Context(), prompt, o, 0, nil)
	if err != nil {
		return err
	}
	for _, c := range choices {
		reply.Choices = append(reply.Choices, c.chatChoice(o, req.echoed()))
	}
	if o.returnIDs {
		text := detokenize(choices[0].model, prompt)
		reply.PromptIDs, reply.PromptText = prompt, &text
	}
	reply.Usage = usageOf(len(prompt), completionTokens(choices))
	s.writeJSON(w, http.StatusOK, reply)
	return nil
}

func (c *choice) chatChoice(o order, before string) chatChoice {
	out := chatChoice{
		Index: c.index, Message: chatMessage{Role: "assistant", Content: before + c.text.All(), Tools: []any{}},
		Logprobs: namer{c.model, o.idNames}.chat(c.events, o.top), Finish: c.finish, Reason: c.reason,
	}
	if o.returnIDs {
		out.IDs, out.Versions = c.ids, c.spans
	}
	return out
}

// echoed is what echo puts before the response: a final message of the assistant's.
func (r *chatRequest) echoed() string {
	last := r.Messages[len(r.Messages)-1]
	if !r.Echo || last.Role != "assistant" {
		return ""
	}
	text, _ := contentText(last.Content) // was read before
	return text
}
