package feed

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"
	"unicode/utf8"

	"github.com/hindsightrl/harness"
	"github.com/hindsightrl/harness/internal/errext"
)

// The operations of the protocol.
const (
	opLease   = "lease"
	opAck     = "ack"
	opReturn  = "return"
	opLost    = "lost"
	opExtend  = "extend"
	opVersion = "version"
	opStatus  = "status"
)

// The encodings of a batch.
const (
	FormatArrow = "arrow"
	FormatJSON  = "json"
)

// Bounds on what a message may say.
const (
	maxMessage = 64 << 10 // bytes of a client's message
	maxName    = 200      // bytes of an id, a consumer's name or a reason
	maxGroups  = 4096     // groups of one batch
	maxWait    = 10 * time.Minute
)

// request is a client's message. Which fields count depends on Op.
type request struct {
	ID       json.RawMessage `json:"id,omitempty"` // WebSocket: comes back with the answer
	Op       string          `json:"op,omitempty"`
	Lease    string          `json:"lease,omitempty"`      // lease (made up by the client), ack, return, extend
	Consumer string          `json:"consumer,omitempty"`   // lease, version, lost
	Groups   int             `json:"groups,omitempty"`     // lease; 0 = 1
	Min      int             `json:"min_groups,omitempty"` // lease: nothing before so many are ready, or no more can come; 0 = 1
	Tokens   int             `json:"tokens,omitempty"`     // lease; 0 = no bound
	TTL      int64           `json:"ttl_ms,omitempty"`     // lease, extend; 0 = the server's default
	Wait     int64           `json:"wait_ms,omitempty"`    // lease: how long to wait for a group to become ready
	Format   string          `json:"format,omitempty"`     // lease: arrow (default) or json
	Reason   string          `json:"reason,omitempty"`     // return
	Version  *int32          `json:"version,omitempty"`    // version: absent = only ask
	Weights  string          `json:"weights,omitempty"`    // version: where the policy server finds them
}

// The codes of errors, for programs.
const (
	codeBad       = "bad_request"
	codeAuth      = "unauthorized"
	codeUnknown   = "lease_unknown"      // no such lease
	codeClosed    = "lease_closed"       // acknowledged, returned or expired before
	codeBackwards = "version_backwards"  // below the newest one
	codeMany      = "too_many"           // connections
	codeTooLarge  = "too_large"          // a message
	codeMethod    = "method"             // no such address or method
	codeInternal  = "internal"           // the server's own fault; what it was is in its log
	codeConnected = "consumer_connected" // another connection has the consumer's name
	codeReload    = "reload_failed"      // the version is recorded, the policy server does not have it
	codeStopping  = "stopping"           // the server is going down: connect again
)

// Error is what a client is told. Its message is for people, its code for programs.
type Error struct {
	Code    string `json:"code"`
	Message string `json:"message"`
	Hint    string `json:"hint,omitempty"`
	status  int
}

func (e *Error) Error() string { return e.Code + ": " + e.Message }

func errConnected(consumer string) *Error {
	return &Error{
		codeConnected, fmt.Sprintf("another connection of consumer %q is open: what is leased under this name may be its own", consumer),
		"give each trainer a name of its own; a connection that broke without a word is noticed after a minute: ask again", http.StatusConflict,
	}
}

func badRequest(format string, args ...any) *Error {
	return &Error{Code: codeBad, Message: fmt.Sprintf(format, args...), status: http.StatusBadRequest}
}

// clientError turns an error into what a client may know of it.
func clientError(err error) *Error {
	var e *Error
	switch {
	case errors.As(err, &e):
		return e
	case errors.Is(err, harness.ErrLeaseUnknown):
		return &Error{codeUnknown, err.Error(), "ask for a batch first; leases belong to one feed", http.StatusNotFound}
	case errors.Is(err, harness.ErrLeaseClosed):
		return &Error{codeClosed, err.Error(), "drop the batch and ask for another with a new id; hold leases longer with ttl_ms or extend", http.StatusConflict}
	case errors.Is(err, harness.ErrVersionBackwards):
		return &Error{codeBackwards, err.Error(), "continue from the newest version, or serve another run", http.StatusConflict}
	}
	return &Error{codeInternal, "the server failed; its log says how", errext.Hint(err), http.StatusInternalServerError}
}

// parseRequest reads a message strictly: unknown keys, other types and anything after the object are
// errors that say so.
func parseRequest(raw []byte) (request, error) {
	var r request
	if !utf8.Valid(raw) {
		return r, badRequest("the message is not UTF-8")
	}
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&r); err != nil {
		return r, badRequest("the message is no request: %v", err)
	}
	if dec.More() {
		return r, badRequest("the message goes on after the request")
	}
	return r, nil
}

// check completes a request and reports the first field that cannot be.
func (r *request) check(cfg *Config) error {
	for _, f := range []struct{ name, value string }{{"lease", r.Lease}, {"consumer", r.Consumer}, {"reason", r.Reason}, {"weights", r.Weights}} {
		if len(f.value) > maxName || bytes.ContainsRune([]byte(f.value), 0) {
			return badRequest("%s: want at most %d bytes without NUL", f.name, maxName)
		}
	}
	switch r.Op {
	case opLease, opAck, opReturn, opExtend:
		if r.Lease == "" {
			return badRequest("%s needs a lease: for a new batch, make up an id that nobody else uses (a UUID)", r.Op)
		}
	case opLost:
		if r.Consumer == "" {
			return badRequest("lost needs the consumer's name: it gives back what is leased under it")
		}
	case opVersion, opStatus:
	default:
		return badRequest("op %q: want lease, ack, return, extend, lost, version or status", r.Op)
	}
	return r.bounds(cfg)
}

// bounds fills in what was left out and reports the first number that is out of its range.
func (r *request) bounds(cfg *Config) error {
	if r.Groups == 0 {
		r.Groups = 1
	}
	if r.Format == "" {
		r.Format = FormatArrow
	}
	if r.TTL == 0 {
		r.TTL = cfg.TTL.Milliseconds()
	}
	switch {
	case r.Groups < 1 || r.Groups > maxGroups:
		return badRequest("groups is %d: want 1 to %d", r.Groups, maxGroups)
	case r.Min < 0 || r.Min > r.Groups:
		return badRequest("min_groups is %d: want 0 to groups, which is %d", r.Min, r.Groups)
	case r.Tokens < 0:
		return badRequest("tokens is %d: want at least 0", r.Tokens)
	case r.TTL < 1 || r.TTL > cfg.MaxTTL.Milliseconds():
		return badRequest("ttl_ms is %d: want 1 to %d", r.TTL, cfg.MaxTTL.Milliseconds())
	case r.Wait < 0 || r.Wait > maxWait.Milliseconds():
		return badRequest("wait_ms is %d: want 0 to %d", r.Wait, maxWait.Milliseconds())
	case r.Format != FormatArrow && r.Format != FormatJSON:
		return badRequest("format %q: want arrow or json", r.Format)
	}
	return nil
}

func (r *request) ttl() time.Duration { return time.Duration(r.TTL) * time.Millisecond }

// answer is what the server says to everything but a batch.
type answer struct {
	ID      json.RawMessage     `json:"id,omitempty"`
	OK      bool                `json:"ok"`
	Error   *Error              `json:"error,omitempty"`
	Batch   *Header             `json:"batch,omitempty"`   // lease: the rows follow
	Drained bool                `json:"drained,omitempty"` // lease: nothing is left and nothing will come
	Held    []holding           `json:"held,omitempty"`    // lease without a batch, status: who holds groups now
	Lost    []string            `json:"lost,omitempty"`    // lost: the leases that were given back
	Expires *time.Time          `json:"expires,omitempty"` // extend
	Version *int32              `json:"version,omitempty"` // version, status: the newest; −1 = none
	Status  *harness.FeedCounts `json:"status,omitempty"`
	// Staleness counts, in a status, the groups that this server sent by how many versions lay between
	// their oldest token and the newest version.
	Staleness map[int]int64 `json:"staleness,omitempty"`
}

// maxHoldings is how many holdings an answer lists.
const maxHoldings = 64

// holding is a lease as those learn of it who wait for its groups.
type holding struct {
	Consumer string    `json:"consumer"`
	Groups   int       `json:"groups"`
	Expires  time.Time `json:"expires"`
	In       int64     `json:"in_ms"` // until then, by the server's clock; 0 = its time is over
}

// holdings are the leases that end first, the first one first.
func holdings(held []harness.Lease, now time.Time) []holding {
	var out []holding
	for _, l := range held[:min(len(held), maxHoldings)] {
		out = append(out, holding{l.Consumer, len(l.Groups), l.Expires, max(0, l.Expires.Sub(now).Milliseconds())})
	}
	return out
}
