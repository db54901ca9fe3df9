package llm

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"sync"
	"sync/atomic"

	"golang.org/x/sync/semaphore"

	"github.com/hindsightrl/harness"
)

// session is what the clients share: the transport, and the memory of who answered first. A run
// must not go on with another model behind the same address, so the identity is fetched before the
// first call, again before an answer is believed when any request since the last look died the way a
// restarting server lets it die, and every Config.CheckEvery calls; replies that name their model are
// compared one by one.
type session struct {
	*transport
	engine string
	fetch  func(ctx context.Context) (Identity, error)

	asking  *semaphore.Weighted // one caller at a time fetches the first identity
	pinned  atomic.Pointer[Identity]
	swapped atomic.Pointer[error]
	calls   atomic.Int64
	suspect atomic.Bool // another process may answer by now
	warned  sync.Map    // message → struct{}

	newLimit atomic.Bool // the server wants max_completion_tokens
	noSeed   atomic.Bool // the server knows no sampling_seed
}

func newSession(engine, baseURL string, cfg Config) (*session, error) {
	t, err := newTransport(baseURL, cfg)
	if err != nil {
		return nil, err
	}
	return &session{transport: t, engine: engine, asking: semaphore.NewWeighted(1)}, nil
}

// String names the client. Without it fmt would print the fields, the key among them.
func (s *session) String() string { return s.engine + " at " + s.base.Redacted() }

// GoString is String.
func (s *session) GoString() string { return s.String() }

// Stats reports what this client did so far.
func (s *session) Stats() Stats { return s.meter.snapshot(s.cfg.Now()) }

// Identity asks the server who it is.
func (s *session) Identity(ctx context.Context) (Identity, error) { return s.fetch(ctx) }

// identity returns the pinned identity, fetching it before the first call.
func (s *session) identity(ctx context.Context) (Identity, error) {
	if p := s.swapped.Load(); p != nil {
		return Identity{}, *p
	}
	if p := s.pinned.Load(); p != nil {
		return *p, nil
	}
	if err := s.asking.Acquire(ctx, 1); err != nil {
		return Identity{}, fmt.Errorf("wait for the server's identity: %w", context.Cause(ctx))
	}
	defer s.asking.Release(1)
	if p := s.pinned.Load(); p != nil {
		return *p, nil
	}
	id, err := s.fetch(ctx)
	if err != nil {
		return Identity{}, err
	}
	s.pinned.Store(&id)
	return id, nil
}

// swap ends the client: every later call fails at once.
func (s *session) swap(was, is string) error {
	err := harness.FailFinal(harness.FailServer, "check model",
		hintFor(fmt.Errorf("%w: it was %s, now it is %s", ErrModelSwapped, was, is)))
	s.swapped.CompareAndSwap(nil, &err)
	return *s.swapped.Load()
}

// sameModel compares the model that a reply names with the pinned one.
func (s *session) sameModel(pinned, named string) error {
	if named == "" || named == pinned {
		return nil
	}
	return finalError{s.swap(fmt.Sprintf("%q", pinned), fmt.Sprintf("%q", named))}
}

// call runs one model call between identity checks.
func (s *session) call(ctx context.Context, req request) (outcome, error) {
	out, err := s.watched(ctx, req)
	if err != nil {
		return out, err
	}
	if n := s.calls.Add(1); s.suspect.Load() || n%int64(s.cfg.CheckEvery) == 0 {
		if err := s.verify(ctx); err != nil {
			return out, err
		}
	}
	return out, nil
}

// watched runs a request and remembers whether the server seemed to restart, also where the request
// failed in the end: the next one may reach another process at once.
func (s *session) watched(ctx context.Context, req request) (outcome, error) {
	out, err := s.do(ctx, req)
	if out.disturbed {
		s.suspect.Store(true)
	}
	return out, err
}

// verify fetches the identity again and compares.
func (s *session) verify(ctx context.Context) error {
	was := s.pinned.Load()
	s.suspect.Store(false) // before asking: what dies from here on counts again
	is, err := s.fetch(ctx)
	if err != nil {
		s.suspect.Store(true)
		return err
	}
	if was != nil && *was != is {
		return s.swap(fmt.Sprintf("%+v", *was), fmt.Sprintf("%+v", is))
	}
	if p := s.swapped.Load(); p != nil {
		return *p
	}
	return nil
}

// warnOnce logs a warning the first time it is given.
func (s *session) warnOnce(msg string, args ...any) {
	if _, seen := s.warned.LoadOrStore(msg, struct{}{}); !seen {
		s.cfg.Log.Warn(msg, append([]any{slog.String("engine", s.engine), slog.String("server", s.base.Redacted())}, args...)...)
	}
}

// warnSampler warns about a sampler that changes what sampled log-probabilities mean.
func (s *session) warnSampler(p Sampling) {
	if !p.Neutral() {
		s.warnOnce("the sampler is not neutral: tokens are not drawn from the model's own distribution, and raw log-probabilities are not the behaviour policy's",
			"temperature", p.Temperature, "top_p", p.TopP, "top_k", p.TopK, "min_p", p.MinP, "mode", s.cfg.LogprobMode)
	}
}

// get reads a small JSON document.
func (s *session) get(ctx context.Context, op, path string, v any) error {
	return s.small(ctx, op, http.MethodGet, path, nil, v)
}

// post sends and reads small JSON documents; v may be nil.
func (s *session) post(ctx context.Context, op, path string, body, v any) error {
	return s.small(ctx, op, http.MethodPost, path, body, v)
}

func (s *session) small(ctx context.Context, op, method, path string, body, v any) error {
	_, err := s.watched(ctx, request{op: op, method: method, path: path, body: body, aside: true, decode: func(b []byte) error {
		if v == nil {
			return nil
		}
		return json.Unmarshal(b, v)
	}})
	return err
}

// postIDs is post for replies whose one interesting member is a list of ids.
func (s *session) postIDs(ctx context.Context, op, path string, body any, member string) ([]int32, error) {
	var ids []int32
	_, err := s.watched(ctx, request{op: op, method: http.MethodPost, path: path, body: body, aside: true, decode: func(b []byte) error {
		ids = nil
		return parseReply(b, func(r *jsonReader, key string) {
			if key == member {
				ids = r.tokenIDs()
			}
		})
	}})
	if err != nil {
		return nil, err
	}
	if ids == nil {
		return nil, failServer(op, badReply("no %q in the reply of %s", member, path))
	}
	return ids, nil
}

// checkRequest refuses requests that no server could answer.
func checkRequest(req Request) error {
	if (len(req.Messages) == 0) == (len(req.TokenIDs) == 0) {
		return harness.FailFinal(harness.FailAgent, "generate", fmt.Errorf("want messages or token ids, got %d messages and %d ids", len(req.Messages), len(req.TokenIDs)))
	}
	if req.TopLogprobs < 0 || req.Sampling.MaxTokens < 0 {
		return harness.FailFinal(harness.FailAgent, "generate", fmt.Errorf("negative top_logprobs %d or max_tokens %d", req.TopLogprobs, req.Sampling.MaxTokens))
	}
	return nil
}

// checkScore refuses scores that have no answer: the first token of a sequence has no condition.
func checkScore(req ScoreRequest) error {
	switch {
	case len(req.Prefix) == 0:
		return harness.FailFinal(harness.FailAgent, "score", fmt.Errorf("empty prefix: the first token of a sequence has no log-probability"))
	case len(req.Continuation) == 0:
		return harness.FailFinal(harness.FailAgent, "score", fmt.Errorf("empty continuation"))
	case req.TopLogprobs < 0:
		return harness.FailFinal(harness.FailAgent, "score", fmt.Errorf("negative top_logprobs %d", req.TopLogprobs))
	}
	return nil
}
