package feed

import (
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/hindsightrl/harness"
)

// The keys of what the server logs.
const (
	logClient   = "client" // address
	logConsumer = "consumer"
	logLease    = "lease"
	logGroups   = "groups" // their places in the run
	logRows     = "rows"
	logTokens   = "tokens"
	logPrompt   = "prompt_tokens"
	logExpires  = "expires"
	logLeases   = "leases" // how many
	logHeld     = "held"   // who has groups, for how long
)

// batchAttrs say what a lease is.
func batchAttrs(l *harness.Lease) []any {
	groups, rows, tokens, prompt := make([]int, len(l.Groups)), 0, 0, 0
	for i, g := range l.Groups {
		groups[i] = g.Index
		rows, tokens, prompt = rows+g.Rows, tokens+g.Tokens, prompt+g.PromptTokens
	}
	return []any{
		slog.String(logLease, l.ID), slog.String(logConsumer, l.Consumer), slog.Any(logGroups, groups),
		slog.Int(logRows, rows), slog.Int(logTokens, tokens), slog.Int(logPrompt, prompt),
	}
}

func (s *Server) logLease(l *harness.Lease) {
	s.cfg.Log.Debug("batch leased", append(batchAttrs(l), slog.Time(logExpires, l.Expires))...)
}

// logEnd says that a lease ended, unless it did not.
func (s *Server) logEnd(l harness.Lease, err error, message string, more ...any) {
	if err == nil {
		s.cfg.Log.Debug(message, append(batchAttrs(&l), more...)...)
	}
}

// lapsed says which leases ran out.
func (s *Server) lapsed(leases []harness.Lease) {
	for i := range leases {
		s.cfg.Log.Debug("batch expired", append(batchAttrs(&leases[i]), slog.Time(logExpires, leases[i].Expires))...)
	}
}

// maxWaiting bounds the names of trainers that are known to wait.
const maxWaiting = 1024

// waits are the trainers, by name, of which the log says that they wait: once, however often they ask, until they
// get a batch, come in again, or nothing is leased any more.
type waits struct {
	mu   sync.Mutex
	said map[string]bool
}

// begin reports whether the log does not say so yet.
func (w *waits) begin(name string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.said[name] {
		return false
	}
	if w.said == nil || len(w.said) == maxWaiting { // too many: each is said once more
		w.said = map[string]bool{}
	}
	w.said[name] = true
	return true
}

func (w *waits) end(name string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.said, name)
}

// logWait says, once per wait, that all there is for a trainer is leased.
func (s *Server) logWait(r *request, held []holding) {
	if len(held) > 0 && s.waiting.begin(r.Consumer) {
		s.cfg.Log.Info("trainer waits for groups that are leased", logConsumer, r.Consumer, logHeld, heldText(held))
	}
}

// maxSpelled is how many holdings a line names: a header of all of them is more than some clients take.
const maxSpelled = 8

// heldText says who has groups and when they come back: "2 by trainer-0 for 43s, 1 by \"\" for 5s". A name is as
// its trainer wrote it, so what is no plain text of it is quoted.
func heldText(held []holding) string {
	var out []string
	for _, h := range held[:min(len(held), maxSpelled)] {
		left := time.Duration(h.In) * time.Millisecond
		out = append(out, fmt.Sprintf("%d by %s for %v", h.Groups, plainName(h.Consumer), left.Round(time.Second)))
	}
	if len(held) > maxSpelled {
		out = append(out, "and more")
	}
	return strings.Join(out, ", ")
}

func plainName(name string) string {
	if name == "" || strings.ContainsFunc(name, func(r rune) bool { return r <= ' ' || r >= 0x7f || r == ',' || r == '"' }) {
		return fmt.Sprintf("%+q", name)
	}
	return name
}
