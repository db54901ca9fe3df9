package serve

import (
	"net/http"

	"github.com/hindsightrl/harness/llm"
)

type chatDelta struct {
	Role    string  `json:"role,omitempty"`
	Content *string `json:"content,omitempty"`
}

type chatChunkChoice struct {
	Index    int           `json:"index"`
	Delta    chatDelta     `json:"delta"`
	Logprobs *chatLogprobs `json:"logprobs"`
	Finish   *string       `json:"finish_reason"`
	Reason   any           `json:"stop_reason,omitempty"`
	IDs      []int32       `json:"token_ids,omitempty"`
	Versions []span        `json:"weight_versions,omitempty"`
}

type chatChunk struct {
	ID        string            `json:"id"`
	Object    string            `json:"object"`
	Created   int64             `json:"created"`
	Model     string            `json:"model"`
	Choices   []chatChunkChoice `json:"choices"`
	Usage     *usage            `json:"usage,omitempty"`
	PromptIDs []int32           `json:"prompt_token_ids,omitempty"`
}

// streamChat sends each choice's role first, then a chunk per token, then its finish reason.
func (s *Server) streamChat(w http.ResponseWriter, r *http.Request, req *chatRequest, o order, id string, prompt []int32) error {
	if o.promptTop >= 0 {
		return bad("prompt_logprobs", "prompt_logprobs are not available when stream is true")
	}
	out := &events{s: s, w: w}
	chunk := func() chatChunk {
		return chatChunk{ID: id, Object: "chat.completion.chunk", Created: s.cfg.Now().Unix(), Model: s.info.Name, Choices: []chatChunkChoice{}}
	}
	begin := func() error {
		for i := range o.n {
			first, text := chunk(), req.echoed()
			first.Choices = append(first.Choices, chatChunkChoice{Index: i, Delta: chatDelta{Role: "assistant", Content: &text}})
			if o.returnIDs && i == 0 {
				first.PromptIDs = prompt
			}
			first.Usage = req.StreamOptions.usageNow(len(prompt), 0)
			if err := out.send(first); err != nil {
				return err
			}
		}
		return nil
	}
	total := 0
	choices, err := s.run(r.Context(), prompt, o, 0, func(c *choice) error {
		if !out.started {
			if err := begin(); err != nil {
				return err
			}
		}
		fresh := c.events[c.told:]
		total, c.told = total+len(fresh), len(c.events)
		next := chunk()
		next.Choices = append(next.Choices, c.chatDelta(fresh, o))
		next.Usage = req.StreamOptions.usageNow(len(prompt), total)
		if d := next.Choices[0]; d.Finish == nil && *d.Delta.Content == "" && d.Logprobs == nil && d.IDs == nil {
			return nil // half a character, or what may become a stop string
		}
		return out.send(next)
	})
	if err == nil && req.StreamOptions.IncludeUsage {
		last := chunk()
		last.Usage = usageOf(len(prompt), completionTokens(choices))
		err = out.send(last)
	}
	return out.end(err)
}

// chatDelta is what is new of a choice.
func (c *choice) chatDelta(fresh []llm.TokenEvent, o order) chatChunkChoice {
	text := c.text.Next()
	out := chatChunkChoice{Index: c.index}
	if c.over {
		text += c.text.Rest()
		out.Finish, out.Reason = &c.finish, c.reason
		if o.returnIDs {
			out.Versions = c.spans
		}
	}
	out.Delta.Content = &text
	if len(fresh) > 0 {
		out.Logprobs = namer{c.model, o.idNames}.chat(fresh, o.top)
		if o.returnIDs {
			out.IDs = idsOf(fresh)
		}
	}
	return out
}

func idsOf(events []llm.TokenEvent) []int32 {
	ids := make([]int32, len(events))
	for i, e := range events {
		ids[i] = e.ID
	}
	return ids
}
