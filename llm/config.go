package llm

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"github.com/hindsightrl/harness"
)

// Secret is a key that never prints: logs, errors and JSON show "[redacted]".
type Secret string

const redacted = "[redacted]"

// String hides the key.
func (s Secret) String() string {
	if s == "" {
		return ""
	}
	return redacted
}

// GoString hides the key from %#v.
func (s Secret) GoString() string { return s.String() }

// LogValue hides the key from slog.
func (s Secret) LogValue() slog.Value { return slog.StringValue(s.String()) }

// MarshalText hides the key from JSON.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// Route says which of vLLM's endpoints serve generation and scoring.
type Route string

// The routes of a vLLM server.
const (
	// RouteChat sends messages to /v1/chat/completions and token ids to /v1/completions.
	RouteChat Route = "chat"
	// RouteCompletions has the server render messages to ids and sends ids to /v1/completions only.
	RouteCompletions Route = "completions"
	// RouteTokens has the server render messages to ids and sends ids to /inference/v1/generate, the
	// one endpoint that says which policy version sampled which token.
	RouteTokens Route = "tokens"
)

// Config tunes a client. The zero value is usable; every zero field means the default named beside it.
type Config struct {
	Model  string // model name to ask for; "" = the first that the server lists
	APIKey Secret // bearer token
	Route  Route  // vLLM only; "" = RouteChat

	Timeout       time.Duration // of one attempt, whole reply included; 0 = 10 min
	MaxConcurrent int           // requests under way at once; 0 = 16
	MaxTries      int           // attempts per call, the first included; 0 = 5
	BackoffFirst  time.Duration // wait after the first failed attempt, doubled after each; 0 = 500 ms
	BackoffMax    time.Duration // longest such wait; 0 = 30 s
	MaxRetryAfter time.Duration // longest Retry-After that is obeyed; a longer one ends the call; 0 = 2 min
	MaxReply      int64         // bytes of a reply that are read; 0 = 64 MiB

	LogprobMode   string // "raw" or "processed" where the operator or the probe knows; "" = unknown
	VocabSize     int    // tokens in the vocabulary, tightens entropy bounds; 0 = as the server says
	TrackVersions bool   // vLLM: ask for the policy version around each call where the reply has none
	CheckEvery    int    // calls between two looks whether the server still runs the same model; 0 = 256

	MaxScoreCalls int  // llama.cpp: one-token requests that a score may cost; 0 = 256
	ReusePrompt   bool // llama.cpp: score with the prompt cache, faster and documented as possibly non-deterministic

	// Render applies the chat template and tokenizes, for servers that cannot; nil = the server does.
	Render func(ctx context.Context, messages []harness.Message) ([]int32, error)
	// HTTPClient carries the requests; nil = a client with as many idle connections as MaxConcurrent.
	HTTPClient *http.Client
	// Now is the clock behind latencies and throughput; nil = neither is measured (both stay 0).
	Now func() time.Time
	// Log takes retries and warnings; nil = none.
	Log *slog.Logger
	// OnRetry is told of each request that failed and is sent again; nil = nobody. Requests under way
	// at the same time call it at the same time.
	OnRetry func(Retry)
	// Salt returns a fresh cache salt for each scoring call; nil = 128 random bits.
	Salt func() string
}

// Retry is a request that failed and is sent again.
type Retry struct {
	Op      string        // what was asked for
	Attempt int           // the one that failed, from 1
	Wait    time.Duration // until the next
	Err     error
}

// Validate reports the first field that no client could work with.
func (c Config) Validate() error {
	switch c.Route {
	case "", RouteChat, RouteCompletions, RouteTokens:
	default:
		return fmt.Errorf("route %q: want %q, %q or %q", c.Route, RouteChat, RouteCompletions, RouteTokens)
	}
	switch c.LogprobMode {
	case "", ModeRaw, ModeProcessed:
	default:
		return fmt.Errorf("log-probability mode %q: want %q or %q", c.LogprobMode, ModeRaw, ModeProcessed)
	}
	for _, f := range []struct {
		name  string
		value int64
	}{
		{"Timeout", int64(c.Timeout)},
		{"MaxConcurrent", int64(c.MaxConcurrent)},
		{"MaxTries", int64(c.MaxTries)},
		{"BackoffFirst", int64(c.BackoffFirst)},
		{"BackoffMax", int64(c.BackoffMax)},
		{"MaxRetryAfter", int64(c.MaxRetryAfter)},
		{"MaxReply", c.MaxReply},
		{"VocabSize", int64(c.VocabSize)},
		{"CheckEvery", int64(c.CheckEvery)},
		{"MaxScoreCalls", int64(c.MaxScoreCalls)},
	} {
		if f.value < 0 {
			return fmt.Errorf("%s is negative: %d", f.name, f.value)
		}
	}
	return nil
}

// or returns v, or d where v is zero.
func or[T comparable](v, d T) T {
	var zero T
	if v == zero {
		return d
	}
	return v
}

// withDefaults fills the zero fields.
func (c Config) withDefaults() Config {
	c.Route = or(c.Route, RouteChat)
	c.Timeout = or(c.Timeout, 10*time.Minute)
	c.MaxConcurrent = or(c.MaxConcurrent, 16)
	c.MaxTries = or(c.MaxTries, 5)
	c.BackoffFirst = or(c.BackoffFirst, 500*time.Millisecond)
	c.BackoffMax = or(c.BackoffMax, 30*time.Second)
	c.MaxRetryAfter = or(c.MaxRetryAfter, 2*time.Minute)
	c.MaxReply = or(c.MaxReply, int64(64<<20))
	c.CheckEvery = or(c.CheckEvery, 256)
	c.MaxScoreCalls = or(c.MaxScoreCalls, 256)
	if c.Now == nil {
		c.Now = func() time.Time { return time.Time{} }
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if c.Salt == nil {
		c.Salt = randomSalt
	}
	if c.OnRetry == nil {
		c.OnRetry = func(Retry) {}
	}
	if c.HTTPClient == nil {
		c.HTTPClient = newHTTPClient(c.MaxConcurrent)
	}
	return c
}
