package serve

import (
	"context"
	"net/http"
	"sync"

	"golang.org/x/sync/errgroup"
)

// inParallel runs f for every job at once and keeps the results in order.
func inParallel[T any](ctx context.Context, jobs []job, f func(i int, j job) (T, error)) ([]T, error) {
	out := make([]T, len(jobs))
	g, _ := errgroup.WithContext(ctx)
	for i, j := range jobs {
		g.Go(func() error {
			var err error
			out[i], err = f(i, j)
			return err
		})
	}
	return out, g.Wait()
}

type completionChunkChoice struct {
	Index     int           `json:"index"`
	Text      string        `json:"text"`
	Logprobs  *textLogprobs `json:"logprobs"`
	Finish    *string       `json:"finish_reason"`
	Reason    any           `json:"stop_reason"`
	IDs       []int32       `json:"token_ids,omitempty"`
	PromptIDs []int32       `json:"prompt_token_ids,omitempty"`
	Versions  []span        `json:"weight_versions,omitempty"`
}

type completionChunk struct {
	ID      string                  `json:"id"`
	Object  string                  `json:"object"`
	Created int64                   `json:"created"`
	Model   string                  `json:"model"`
	Choices []completionChunkChoice `json:"choices"`
	Usage   *usage                  `json:"usage,omitempty"`
}

// completionStream writes the chunks of all choices of a request.
type completionStream struct {
	s      *Server
	req    *completionRequest
	id     string
	out    *events
	mu     sync.Mutex // choices of several prompts write to one stream
	prompt int        // tokens of all prompts
	total  int        // tokens sampled so far
}

func (s *Server) streamCompletions(w http.ResponseWriter, r *http.Request, req *completionRequest, id string, jobs []job) error {
	st := &completionStream{s: s, req: req, id: id, out: &events{s: s, w: w}}
	for _, j := range jobs {
		st.prompt += len(j.ids)
	}
	g, ctx := errgroup.WithContext(r.Context())
	for i, j := range jobs {
		g.Go(func() error {
			if req.onlyEcho() {
				for k := range j.o.n {
					if err := st.send(j, &choice{index: i*j.o.n + k, prompt: j.ids, finish: "length", over: true, text: newText(j.o)}); err != nil {
						return err
					}
				}
				return nil
			}
			_, err := s.run(ctx, j.ids, j.o, i*j.o.n, func(c *choice) error { return st.send(j, c) })
			return err
		})
	}
	err := g.Wait()
	if err == nil && req.StreamOptions.IncludeUsage {
		last := st.chunk()
		last.Usage = usageOf(st.prompt, st.total)
		err = st.out.send(last)
	}
	return st.out.end(err)
}

func (st *completionStream) chunk() completionChunk {
	return completionChunk{ID: st.id, Object: "text_completion", Created: st.s.cfg.Now().Unix(), Model: st.s.info.Name, Choices: []completionChunkChoice{}}
}

// send writes what is new of a choice; its first chunk has the echo and the prompt's ids.
func (st *completionStream) send(j job, c *choice) error {
	st.mu.Lock()
	defer st.mu.Unlock()
	fresh, first := c.events[c.told:], !c.begun
	c.told, c.begun = len(c.events), true
	st.total += len(fresh)
	out := completionChunkChoice{Index: c.index, Text: c.text.Next()}
	if first && st.req.Echo {
		out.Text = j.text + out.Text
	}
	if first && j.o.returnIDs {
		out.PromptIDs = j.ids
	}
	if c.over {
		out.Text += c.text.Rest()
		out.Finish, out.Reason = &c.finish, c.reason
		if j.o.returnIDs {
			out.Versions = c.spans
		}
	}
	if len(fresh) > 0 {
		if j.o.top >= 0 {
			out.Logprobs, c.names = namer{c.model, j.o.idNames}.text(fresh, c.names)
		}
		if j.o.returnIDs {
			out.IDs = idsOf(fresh)
		}
	}
	if out.Text == "" && out.Finish == nil && out.Logprobs == nil && out.IDs == nil {
		return nil // half a character, or what may become a stop string
	}
	next := st.chunk()
	next.Choices = append(next.Choices, out)
	next.Usage = st.req.StreamOptions.usageNow(st.prompt, st.total)
	return st.out.send(next)
}
