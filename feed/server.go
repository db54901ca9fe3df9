package feed

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/hindsightrl/harness"
	"github.com/hindsightrl/harness/internal/errext"
)

// Config holds what a Server needs.
type Config struct {
	Book     Book     // required
	Source   Source   // required
	Versions Versions // required
	// OnVersion is called after a new policy version was recorded, one call at a time: the place to reload a
	// policy server. Its error reaches the trainer; the version stays recorded, and posting it again calls
	// again. ctx does not end with the trainer's connection. nil means nothing.
	OnVersion func(ctx context.Context, p Posted) error
	// OnSent is called for each group that went out whole. It must not block. nil means nothing.
	OnSent func(Sent)
	// Token is what clients must send ("Authorization: Bearer …"); "" lets only requests to a loopback
	// address in.
	Token string
	// TTL is how long a lease lasts that does not say. 0 means 10 minutes.
	TTL time.Duration
	// MaxTTL is the longest that a lease may last. 0 means 24 hours.
	MaxTTL time.Duration
	// MaxConns is how many WebSocket connections and waiting HTTP requests there may be. 0 means 256.
	MaxConns int
	// Memory bounds the bytes of rows that are on their way to clients; a single group of more still
	// goes out, alone. 0 means 512 MiB.
	Memory int64
	// Stall is how long a client may take to read the next piece (at most 1 MiB). 0 means 30 s.
	Stall time.Duration
	// Now is the clock for write deadlines. Required.
	Now func() time.Time
	Log *slog.Logger // nil discards
}

// Posted is a policy version that a trainer posted.
type Posted struct {
	Version  int32
	Weights  string // where the policy server finds them, in the trainer's words; "" = not said
	Consumer string
}

// Sent is a group that went to a consumer.
type Sent struct {
	Lease    harness.Lease
	Group    harness.FeedGroup
	Newest   int32 // policy version that was posted last when the batch was opened; −1 = none
	Oldest   int32 // lowest version of the group's tokens, where Versioned
	Versions bool  // its tokens carry versions
}

// Staleness is how many versions lie between the group's oldest token and the newest version, and whether
// that is known.
func (s Sent) Staleness() (int, bool) {
	return max(0, int(max(s.Newest, 0))-int(s.Oldest)), s.Versions
}

// Validate reports the first field that cannot work.
func (c *Config) Validate() error {
	switch {
	case c.Book == nil || c.Source == nil || c.Versions == nil:
		return errors.New("feed config: book, source and versions are required")
	case c.Now == nil:
		return errors.New("feed config: no clock (Now)")
	case c.TTL < 0 || c.MaxTTL < 0 || c.MaxConns < 0 || c.Memory < 0 || c.Stall < 0:
		return errors.New("feed config: a bound is negative")
	}
	return nil
}

func (c Config) withDefaults() Config {
	if c.TTL == 0 {
		c.TTL = 10 * time.Minute
	}
	if c.MaxTTL == 0 {
		c.MaxTTL = 24 * time.Hour
	}
	if c.MaxConns == 0 {
		c.MaxConns = 256
	}
	if c.Memory == 0 {
		c.Memory = 512 << 20
	}
	if c.Stall == 0 {
		c.Stall = 30 * time.Second
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	return c
}

// Server answers trainers. Run must be running for waiting requests to be woken at once.
type Server struct {
	cfg    Config
	memory *semaphore.Weighted
	conns  *semaphore.Weighted
	wake   *broadcast

	trainers  *trainers
	waiting   waits
	connected atomic.Int64 // WebSocket connections

	stale   tally
	posting sync.Mutex // one version at a time
	loaded  int32      // newest version that OnVersion took; −1 = none in this process

	stop     context.Context // ends with Run: connections close
	halt     context.CancelFunc
	entering sync.Mutex // a connection comes in before stop ends, or not at all
	live     sync.WaitGroup
}

// NewServer checks the configuration and returns a server that listens nowhere: see Handler.
func NewServer(cfg Config) (*Server, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	cfg = cfg.withDefaults()
	stop, halt := context.WithCancel(context.Background())
	return &Server{
		cfg: cfg, memory: semaphore.NewWeighted(cfg.Memory), conns: semaphore.NewWeighted(int64(cfg.MaxConns)),
		wake: newBroadcast(), trainers: newTrainers(), loaded: -1, stop: stop, halt: halt,
	}, nil
}

// Connections is how many WebSocket connections there are.
func (s *Server) Connections() int { return int(s.connected.Load()) }

// Run watches for new groups until ctx ends, then closes the connections and waits for them.
func (s *Server) Run(ctx context.Context) error {
	err := s.cfg.Source.Watch(ctx, s.wake.all)
	s.entering.Lock()
	s.halt()
	s.entering.Unlock()
	s.live.Wait()
	return err
}

// enter counts a connection among those that Run waits for, which then calls live.Done; false once the server
// is going down.
func (s *Server) enter() bool {
	s.entering.Lock()
	defer s.entering.Unlock()
	if s.stop.Err() != nil {
		return false
	}
	s.live.Add(1)
	return true
}

// recheck is how often a waiting request looks by itself: leases run out without anybody saying so.
const recheck = 250 * time.Millisecond

// offer is what a request for a batch got. Without groups, drained says whether any can still come, and held who
// has some that may come back.
type offer struct {
	harness.Lease
	drained bool
	held    []holding
}

// lease gets a batch, waiting for one where the request says so.
func (s *Server) lease(ctx context.Context, r *request) (o offer, err error) {
	wait := time.NewTimer(time.Duration(r.Wait) * time.Millisecond)
	defer wait.Stop()
	tick := time.NewTicker(recheck)
	defer tick.Stop()
	req := harness.LeaseRequest{ID: r.Lease, Consumer: r.Consumer, Groups: r.Groups, Min: r.Min, Tokens: r.Tokens, TTL: r.ttl()}
	over, count := r.Wait == 0, true
	for {
		changed := s.wake.next()
		o.Lease, err = s.cfg.Book.Lease(ctx, req)
		s.lapsed(o.Lapsed)
		if err != nil {
			return o, err
		}
		if len(o.Groups) > 0 {
			s.logLease(&o.Lease)
			s.waiting.end(r.Consumer)
			return o, nil
		}
		if over || count { // counting looks at every group: not at each commit of a run in full swing
			last, err := s.look(ctx, r, &o)
			if err == nil && req.Min > 1 && last {
				req.Min = 1 // the last groups are fewer than were asked for
				continue
			}
			if err != nil || over || o.drained {
				return o, err
			}
		}
		count = false
		select {
		case <-ctx.Done():
			return o, ctx.Err()
		case <-s.stop.Done():
			return o, errStopping
		case <-wait.C:
			over = true
		case <-changed:
		case <-tick.C:
			count = true
		}
	}
}

var errStopping = &Error{Code: codeStopping, Message: "the server is going down", Hint: "connect again; what you hold stays yours until it expires", status: http.StatusServiceUnavailable}

// look says what a request may hope for that got nothing: whether the last groups are ready, whether all are
// delivered, and who holds some, which the log says as well.
func (s *Server) look(ctx context.Context, r *request, o *offer) (last bool, err error) {
	c, err := s.cfg.Source.Counts(ctx)
	if err != nil {
		return false, err
	}
	o.drained, o.held = c.Drained(), nil
	if c.Held == 0 { // who had some when the request began to wait has none any more
		s.waiting.end(r.Consumer)
		return c.Ready > 0 && c.Last(), nil
	}
	o.held, err = s.holdings(ctx)
	s.logWait(r, o.held)
	return c.Ready > 0 && c.Last(), err
}

func (s *Server) holdings(ctx context.Context) ([]holding, error) {
	held, err := s.cfg.Book.Held(ctx)
	return holdings(held, s.cfg.Now()), err
}

// do answers everything but lease. n are the names of the connection that asks; nil where it asks only once.
func (s *Server) do(ctx context.Context, r *request, n *names) (a answer, err error) {
	a.OK = true
	switch r.Op {
	case opAck:
		var l harness.Lease
		l, err = s.cfg.Book.Ack(ctx, r.Lease)
		s.logEnd(l, err, "batch acknowledged")
	case opReturn:
		var l harness.Lease
		l, err = s.cfg.Book.Return(ctx, r.Lease, r.Reason)
		s.logEnd(l, err, "batch returned", slog.String("reason", r.Reason))
		s.wake.all()
	case opLost:
		var back []harness.Lease
		back, err = s.lost(ctx, r, n)
		for _, l := range back {
			s.logEnd(l, nil, "batch returned", slog.String("reason", "lost"))
			a.Lost = append(a.Lost, l.ID)
		}
	case opExtend:
		var until time.Time
		until, err = s.cfg.Book.Extend(ctx, r.Lease, r.ttl())
		a.Expires = &until
	case opVersion:
		if r.Version != nil {
			if err := s.postVersion(ctx, r); err != nil {
				return a, err
			}
		}
		a.Version, err = s.version(ctx)
	case opStatus:
		var c harness.FeedCounts
		if c, err = s.cfg.Source.Counts(ctx); err != nil {
			return a, err
		}
		a.Status, a.Staleness = &c, s.stale.counts()
		if a.Held, err = s.holdings(ctx); err != nil {
			return a, err
		}
		a.Version, err = s.version(ctx)
	}
	return a, err
}

func (s *Server) version(ctx context.Context) (*int32, error) {
	v, err := s.cfg.Versions.Version(ctx)
	return &v, err
}

// postVersion records a version and has the policy server take it. A version that is posted again is
// harmless, and the way to try again where the policy server did not take it.
func (s *Server) postVersion(ctx context.Context, r *request) error {
	s.posting.Lock()
	defer s.posting.Unlock()
	v := *r.Version
	before, err := s.cfg.Versions.Version(ctx)
	if err != nil {
		return err
	}
	if err := s.cfg.Versions.PostVersion(ctx, v, r.Consumer); err != nil {
		return err
	}
	if v != before {
		s.cfg.Log.Info("policy version", "version", v, "consumer", r.Consumer)
		s.wake.all()
	}
	if s.cfg.OnVersion == nil || s.loaded == v {
		return nil
	}
	// A trainer that hangs up must not leave a policy server half-way.
	if err := s.cfg.OnVersion(context.WithoutCancel(ctx), Posted{Version: v, Weights: r.Weights, Consumer: r.Consumer}); err != nil {
		s.cfg.Log.Error("policy server did not take the version", "version", v, "error", err)
		hint := "post the version again to try again"
		if h := errext.Hint(err); h != "" {
			hint = h + "; " + hint
		}
		return &Error{codeReload, fmt.Sprintf("version %d is recorded, and the policy server did not take it: %v", v, err), hint, http.StatusBadGateway}
	}
	s.loaded = v
	return nil
}

// broadcast wakes all that wait.
type broadcast struct {
	mu sync.Mutex
	ch chan struct{}
}

func newBroadcast() *broadcast { return &broadcast{ch: make(chan struct{})} }

// next is closed at the next call of all.
func (b *broadcast) next() <-chan struct{} {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.ch
}

func (b *broadcast) all() {
	b.mu.Lock()
	defer b.mu.Unlock()
	close(b.ch)
	b.ch = make(chan struct{})
}
