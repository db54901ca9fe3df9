package serve

import (
	"context"
	"crypto/subtle"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/hindsightrl/harness"
	"github.com/hindsightrl/harness/llm"
)

// Abilities that a model may have beyond llm.Model; each is found by type assertion, and a request
// that needs a missing one is refused.
type (
	// adjuster lets the server change logits before sampling (penalties, bans, biases).
	adjuster interface {
		StreamAdjusted(ctx context.Context, req llm.StreamRequest, adjust func(sampled []int32, logits []float32), emit func(llm.TokenEvent) error) (string, error)
	}
	// ender knows every token that ends a response, where a model has more than EOS.
	ender interface{ EndsResponse(id int32) bool }
	// controller knows the tokens that are no text.
	controller interface{ IsControl(id int32) bool }
	// detokenizer undoes what the tokenizer adds to a text.
	detokenizer interface{ Detokenize(ids []int32) string }
	// openRenderer renders with or without the opening of the response.
	openRenderer interface {
		RenderOpen(messages []harness.Message, generationPrompt bool) ([]int32, error)
	}
)

// Server answers HTTP requests with a model. It is safe for concurrent use.
type Server struct {
	cfg     Config
	info    llm.ModelInfo // of the first model: clients pin it, weights may change under it
	weights *weights
	mux     *http.ServeMux
	ids     atomic.Int64
}

var _ http.Handler = (*Server)(nil)

// New returns a handler that serves model. It starts nothing and listens nowhere.
func New(model llm.Model, cfg Config) (*Server, error) {
	if err := cfg.Validate(); err != nil {
		return nil, fmt.Errorf("serve model: %w", err)
	}
	cfg = cfg.withDefaults()
	s := &Server{cfg: cfg, info: model.Info(), weights: newWeights(model, cfg.WeightVersion), mux: http.NewServeMux()}
	s.routes()
	return s, nil
}

// route is a handler that returns what went wrong, if that was before the first byte of its reply.
type route func(w http.ResponseWriter, r *http.Request) error

func (s *Server) routes() {
	for pattern, h := range map[string]route{
		"GET /health":                       s.health,
		"GET /ping":                         s.health,
		"GET /version":                      s.version,
		"GET /v1/models":                    s.models,
		"GET /v1/models/{id...}":            s.model,
		"POST /v1/chat/completions":         s.chat,
		"POST /v1/completions":              s.completions,
		"POST /inference/v1/generate":       s.generateTokens,
		"POST /v1/chat/completions/render":  s.renderChat,
		"POST /v1/completions/render":       s.renderCompletion,
		"POST /tokenize":                    s.tokenize,
		"POST /detokenize":                  s.detokenize,
		"GET /weight_info":                  s.weightInfo,
		"GET /is_paused":                    s.isPaused,
		"GET /get_world_size":               s.worldSize,
		"POST /pause":                       s.pause,
		"POST /resume":                      s.resume,
		"POST /init_weight_transfer_engine": s.initTransfer,
		"POST /start_weight_update":         s.startUpdate,
		"POST /update_weights":              s.updateWeights,
		"POST /finish_weight_update":        s.finishUpdate,
		"POST /update_weight_version":       s.updateVersion,
		"POST /abort_requests":              s.abortRequests,
		"POST /inference/v1/abort_requests": s.abortRequests,
	} {
		s.mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
			if err := h(w, r); err != nil {
				s.fail(w, r, err)
			}
		})
	}
}

// ServeHTTP answers one request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if s.cfg.APIKey != "" && r.URL.Path != "/health" {
		key := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
		if subtle.ConstantTimeCompare([]byte(key), []byte(s.cfg.APIKey)) != 1 {
			s.fail(w, r, &apiError{status: http.StatusUnauthorized, kind: "AuthenticationError", message: "the API key is missing or wrong"})
			return
		}
	}
	r.Body = http.MaxBytesReader(w, r.Body, s.cfg.MaxBody)
	if _, pattern := s.mux.Handler(r); pattern == "" {
		s.noRoute(w, r)
		return
	}
	s.mux.ServeHTTP(w, r)
}

// noRoute answers what no route takes, in the shape of the other errors.
func (s *Server) noRoute(w http.ResponseWriter, r *http.Request) {
	for _, other := range []string{http.MethodGet, http.MethodPost} {
		probe := r.Clone(r.Context())
		probe.Method = other
		if _, pattern := s.mux.Handler(probe); pattern != "" {
			w.Header().Set("Allow", other)
			s.fail(w, r, &apiError{status: http.StatusMethodNotAllowed, kind: "MethodNotAllowedError", message: "Method Not Allowed"})
			return
		}
	}
	s.fail(w, r, notFound("there is no %s", r.URL.Path))
}

// Close closes the model that is served in the end: the first one, or what a trainer put in its place.
func (s *Server) Close() error { return s.weights.close() }

// newID returns the id of a reply.
func (s *Server) newID(prefix string) string {
	if s.cfg.NewID != nil {
		return prefix + s.cfg.NewID()
	}
	return prefix + strconv.FormatInt(s.ids.Add(1), 10)
}

// fail writes an error reply. Nobody reads it when the client went away.
func (s *Server) fail(w http.ResponseWriter, r *http.Request, err error) {
	if r.Context().Err() != nil && errors.Is(err, context.Canceled) {
		return
	}
	e := asAPIError(err)
	if e.status >= http.StatusInternalServerError {
		s.cfg.Log.ErrorContext(r.Context(), "request failed", slog.String("path", r.URL.Path), slog.Any("error", err))
	}
	s.writeJSON(w, e.status, e.body())
}
