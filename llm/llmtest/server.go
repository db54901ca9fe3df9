package llmtest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"

	"github.com/hindsightrl/harness"
	"github.com/hindsightrl/harness/llm"
)

// The wire formats.
const (
	VLLM     = "vllm"
	SGLang   = "sglang"
	LlamaCpp = "llamacpp"
	OpenAI   = "openai"
)

// Options chooses what the server is like. The zero value with a Dialect is a current, healthy server.
type Options struct {
	Dialect        string
	Model          Model
	Name           string   // served model name; "" = "tiny"
	Adapters       []string // further models, listed before it
	Version        string   // of the engine; "" = "1.0-test"
	WeightLabel    string   // "" = the model's Weights as a number
	APIKey         string   // required as a bearer token
	ContextLength  int      // 0 = 8192
	MaxLogprobs    int      // vLLM: more alternatives per token are refused; 0 = any number is granted
	Processed      bool     // log-probabilities of generation are those of the sampling distribution
	ReverseEntries bool     // prompt_logprobs lists the actual token last
	StringIDs      bool     // vLLM's token endpoint in its older form, ids as "token_id:N"
	NoTokenIDs     bool     // vLLM before 0.10.2: no ids in replies
	NoRender       bool     // vLLM without the render endpoints
	NoDev          bool     // no weight version, no pause
	OldPaths       bool     // SGLang before the renaming
	NoLeadingNull  bool     // SGLang without the empty first position
	Reasoning      string   // text that a reasoning parser takes away from the content
	StaleShift     float32
	// StaleShift is added to every log-probability of a scoring request whose prompt was scored before,
	// as a stale cache would.
	StaleIgnoresSalt bool // a fresh cache salt does not help against StaleShift
}

// Request is one request that the server took.
type Request struct {
	Method, Path string
	Header       http.Header
	Body         map[string]any // nil unless JSON
}

// Server is the fake. Its methods are safe for concurrent use.
type Server struct {
	URL string

	mu       sync.Mutex
	opt      Options
	faults   map[string][]Fault
	requests []Request
	scored   map[string]bool
	memo     map[string][][]float32 // distributions of scored prompts: tests score the same ones again and again
	paused   bool
	inFlight int
	most     int
}

// New starts a server and stops it when the test ends.
func New(tb testing.TB, opt Options) *Server {
	tb.Helper()
	s := NewHandler(opt)
	ts := httptest.NewServer(s)
	tb.Cleanup(ts.Close)
	s.URL = ts.URL
	return s
}

// NewHandler returns a server without a listener: an http.Handler, and through Client a transport.
func NewHandler(opt Options) *Server {
	def := func(s *string, v string) {
		if *s == "" {
			*s = v
		}
	}
	def(&opt.Name, "tiny")
	def(&opt.Version, "1.0-test")
	if opt.ContextLength == 0 {
		opt.ContextLength = 8192
	}
	return &Server{URL: "http://fake.test", opt: opt, faults: map[string][]Fault{}, scored: map[string]bool{}, memo: map[string][][]float32{}}
}

// Client returns an HTTP client that calls the handler in the caller's goroutine, without a network.
func (s *Server) Client() *http.Client { return &http.Client{Transport: inProcess{s}} }

type inProcess struct{ s *Server }

func (t inProcess) RoundTrip(r *http.Request) (*http.Response, error) {
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	if r.Body == nil { // a client's way to say "none"; handlers never see it
		r = r.Clone(r.Context())
		r.Body = http.NoBody
	}
	w := httptest.NewRecorder()
	t.s.ServeHTTP(w, r)
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	return w.Result(), nil
}

// Inject queues faults for a path: each of its next requests meets one. The path "*" is any path.
func (s *Server) Inject(path string, faults ...Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults[path] = append(s.faults[path], faults...)
}

// Update changes the options, as a restart or a weight update would.
func (s *Server) Update(change func(*Options)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change(&s.opt)
}

// Requests returns what came in for a path, oldest first; "" is every path.
func (s *Server) Requests(path string) []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(s.requests), func(r Request) bool { return path != "" && r.Path != path })
}

// MostInFlight is the largest number of requests that were under way at once.
func (s *Server) MostInFlight() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.most
}

// ServeHTTP answers one request, or fails it.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	opt, fault := s.begin(r, body)
	defer s.end()
	honest := func(w http.ResponseWriter) {
		if opt.APIKey != "" && r.Header.Get("Authorization") != "Bearer "+opt.APIKey {
			fail(w, http.StatusUnauthorized, "wrong key "+r.Header.Get("Authorization"))
			return
		}
		route(opt.Dialect)(&call{s: s, opt: opt, w: w, r: r, body: body})
	}
	if fault != nil {
		fault(s, w, r, honest)
		return
	}
	honest(w)
}

func (s *Server) begin(r *http.Request, body []byte) (Options, Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.inFlight++
	s.most = max(s.most, s.inFlight)
	rec := Request{Method: r.Method, Path: r.URL.Path, Header: r.Header.Clone()}
	dec := json.NewDecoder(bytes.NewReader(body))
	_ = dec.Decode(&rec.Body) // a body that is no JSON stays nil
	s.requests = append(s.requests, rec)
	for _, key := range []string{r.URL.Path, "*"} {
		if q := s.faults[key]; len(q) > 0 {
			s.faults[key] = q[1:]
			return s.opt, q[0]
		}
	}
	return s.opt, nil
}

func (s *Server) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.inFlight--
}

// call is one request being answered.
type call struct {
	s    *Server
	opt  Options
	w    http.ResponseWriter
	r    *http.Request
	body []byte
}

func route(dialect string) func(*call) {
	switch dialect {
	case VLLM:
		return (*call).vllm
	case SGLang:
		return (*call).sglang
	case LlamaCpp:
		return (*call).llamacpp
	}
	return (*call).openai
}

func (c *call) is(method, path string) bool {
	return c.r.Method == method && c.r.URL.Path == path
}

// read decodes the request; a wrong one is answered with 400.
func (c *call) read(v any) bool {
	if err := json.Unmarshal(c.body, v); err != nil {
		fail(c.w, http.StatusBadRequest, err.Error())
		return false
	}
	return true
}

func (c *call) reply(v any) { writeJSON(c.w, v) }

func (c *call) notFound() { fail(c.w, http.StatusNotFound, "Not Found") }

func writeJSON(w http.ResponseWriter, v any) {
	b, err := json.Marshal(v)
	if err != nil {
		fail(w, http.StatusInternalServerError, err.Error())
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(b)
}

func fail(w http.ResponseWriter, code int, msg string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(map[string]any{"error": map[string]any{"message": msg, "code": code}})
}

// fits refuses prompts beyond the context, in vLLM's words.
func (c *call) fits(n int) bool {
	if n < c.opt.ContextLength {
		return true
	}
	fail(c.w, http.StatusBadRequest, fmt.Sprintf("This model's maximum context length is %d tokens. However, you requested %d tokens.", c.opt.ContextLength, n))
	return false
}

// grants refuses more alternatives than the server was started with, in vLLM's words.
func (c *call) grants(k int) bool {
	if c.opt.MaxLogprobs == 0 || k <= c.opt.MaxLogprobs {
		return true
	}
	fail(c.w, http.StatusBadRequest, fmt.Sprintf("Requested sample logprobs of %d, which is greater than max allowed: %d", k, c.opt.MaxLogprobs))
	return false
}

// models is the reply of /v1/models; extra members go to the served model.
func (o Options) models(extra map[string]any) map[string]any {
	data := []any{}
	for _, name := range o.Adapters {
		data = append(data, map[string]any{"id": name})
	}
	extra["id"] = o.Name
	return map[string]any{"object": "list", "data": append(data, extra)}
}

// label is the loaded weights' label.
func (o Options) label() string {
	if o.WeightLabel != "" {
		return o.WeightLabel
	}
	return fmt.Sprint(o.Model.Weights)
}

// scoreAll is the log-probability distribution at each position of ids from 1 on, with the stale
// shift where the same prompt was scored before.
func (c *call) scoreAll(ids []int32, salt string) [][]float32 {
	c.s.mu.Lock()
	defer c.s.mu.Unlock()
	key := fmt.Sprint(c.opt.Model, ids)
	dists := c.s.memo[key]
	if dists == nil {
		dists = make([][]float32, len(ids))
		for i := 1; i < len(ids); i++ {
			dists[i] = c.opt.Model.Logprobs(ids[:i])
		}
		c.s.memo[key] = dists
	}
	if !c.opt.StaleIgnoresSalt {
		key += salt
	}
	stale := c.s.scored[key] && c.opt.StaleShift != 0
	c.s.scored[key] = true
	if !stale {
		return dists
	}
	out := make([][]float32, len(ids))
	for i, dist := range dists {
		out[i] = slices.Clone(dist)
		for j := range out[i] {
			out[i][j] -= c.opt.StaleShift
		}
	}
	return out
}

// finite is a log-probability as servers write it: −9999 for −inf.
func finite(lp float32) float32 {
	if math.IsInf(float64(lp), -1) || math.IsNaN(float64(lp)) {
		return -9999
	}
	return lp
}

// entries lists the alternatives at a position as vLLM does: the sampled token first, then the k best
// without it.
func entries(own llm.TokenLogprob, top []llm.TokenLogprob, k int) []llm.TokenLogprob {
	out := []llm.TokenLogprob{own}
	for _, t := range top[:min(k, len(top))] {
		if t.ID != own.ID {
			out = append(out, t)
		}
	}
	return out
}

func messagesOf(raw json.RawMessage) []harness.Message {
	var m []harness.Message
	_ = json.Unmarshal(raw, &m) // the callers answer 400 for an empty list
	return m
}

func tokenID(id int32) string { return fmt.Sprintf("token_id:%d", id) }
