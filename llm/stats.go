package llm

import (
	"slices"
	"sync"
	"time"
)

// Stats counts what a client did. Times are zero where Config.Now is nil.
type Stats struct {
	Calls            int64         `json:"calls"`    // generations and scores that ended, failed ones included
	Attempts         int64         `json:"attempts"` // requests sent, those about prompts, ids and versions included
	Retries          int64         `json:"retries"`  // requests that failed and were sent again
	Failures         int64         `json:"failures"` // calls that ended in an error
	InFlight         int           `json:"in_flight"`
	MaxInFlight      int           `json:"max_in_flight"`
	PromptTokens     int64         `json:"prompt_tokens"`     // read by the server, as far as known
	CachedTokens     int64         `json:"cached_tokens"`     // of these, those that lay in the server's prefix cache, as far as it says
	CompletionTokens int64         `json:"completion_tokens"` // sampled
	ScoredTokens     int64         `json:"scored_tokens"`
	P50              time.Duration `json:"p50_ns"` // latency of the last 1,024 successful calls
	P95              time.Duration `json:"p95_ns"`
	Max              time.Duration `json:"max_ns"`  // slowest successful call
	Busy             time.Duration `json:"busy_ns"` // time with at least one call under way
}

// TokensPerSecond is sampled tokens per busy second, 0 where no time was measured.
func (s Stats) TokensPerSecond() float64 {
	if s.Busy <= 0 {
		return 0
	}
	return float64(s.CompletionTokens) / s.Busy.Seconds()
}

// latencyWindow is how many latencies the quantiles rest on.
const latencyWindow = 1024

// meter gathers Stats.
type meter struct {
	mu        sync.Mutex
	stats     Stats
	latencies []time.Duration // ring
	next      int
	busySince time.Time
}

func (m *meter) begin(now time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.stats.InFlight == 0 {
		m.busySince = now
	}
	m.stats.InFlight++
	m.stats.MaxInFlight = max(m.stats.MaxInFlight, m.stats.InFlight)
}

// end counts a generation or score.
func (m *meter) end(now time.Time, latency time.Duration, attempts int, ok bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.leave(now, attempts)
	m.stats.Calls++
	if !ok {
		m.stats.Failures++
		return
	}
	m.stats.Max = max(m.stats.Max, latency)
	if len(m.latencies) < latencyWindow {
		m.latencies = append(m.latencies, latency)
		return
	}
	m.latencies[m.next] = latency
	m.next = (m.next + 1) % latencyWindow
}

// endAside counts a request that is neither.
func (m *meter) endAside(now time.Time, attempts int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.leave(now, attempts)
}

func (m *meter) leave(now time.Time, attempts int) {
	m.stats.InFlight--
	if m.stats.InFlight == 0 {
		m.stats.Busy += now.Sub(m.busySince)
	}
	m.stats.Attempts += int64(attempts)
}

func (m *meter) retried() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.stats.Retries++
}

// tokens adds token counts; unknown counts (-1) add nothing.
func (m *meter) tokens(prompt, completion, scored int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.stats.PromptTokens += int64(max(prompt, 0))
	m.stats.CompletionTokens += int64(max(completion, 0))
	m.stats.ScoredTokens += int64(max(scored, 0))
}

// cached adds prompt tokens that lay in a prefix cache.
func (m *meter) cached(tokens int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.stats.CachedTokens += int64(max(tokens, 0))
}

func (m *meter) snapshot(now time.Time) Stats {
	m.mu.Lock()
	defer m.mu.Unlock()
	s := m.stats
	if s.InFlight > 0 {
		s.Busy += now.Sub(m.busySince)
	}
	if sorted := slices.Sorted(slices.Values(m.latencies)); len(sorted) > 0 {
		s.P50 = sorted[(len(sorted)-1)/2]
		s.P95 = sorted[(len(sorted)-1)*95/100]
	}
	return s
}
