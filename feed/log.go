package feed

import (
	"fmt"
	"log/slog"
	"slices"
	"strings"
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

// logWait says, once per request, that all there is for it is leased.
func (s *Server) logWait(r *request, held []holding) {
	if len(held) > 0 {
		s.cfg.Log.Info("trainer waits for groups that are leased", logConsumer, r.Consumer, logHeld, heldText(held))
	}
}

// heldText says who has groups and when they come back: "2 by trainer-0 for 43s, 1 by \"\" for 5s". A name is as
// its trainer wrote it, so what is no plain text of it is quoted.
func heldText(held []holding) string {
	var out []string
	for _, h := range held {
		left := time.Duration(h.In) * time.Millisecond
		out = append(out, fmt.Sprintf("%d by %s for %v", h.Groups, plainName(h.Consumer), left.Round(time.Second)))
	}
	return strings.Join(out, ", ")
}

func plainName(name string) string {
	if name == "" || strings.ContainsFunc(name, func(r rune) bool { return r <= ' ' || r >= 0x7f || r == ',' || r == '"' }) {
		return fmt.Sprintf("%+q", name)
	}
	return name
}

// list is the names that a connection used, in order.
func (n *names) list() []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	out := make([]string, 0, len(n.leave))
	for name := range n.leave {
		out = append(out, name)
	}
	slices.Sort(out)
	return out
}
