package openenv

import (
	"context"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

// Server serves one suite to many clients. Its methods are safe for concurrent use.
//
//	connect, session/create ──► open ──(close, disconnect, idle, stop)──► ended ──(last call over)──► gone
//
// A session takes a place until it is gone.
type Server struct {
	cfg    Config
	book   *book
	routes http.Handler
	openAt []byte // the document of /openapi.json

	stop  context.Context // ends when the server closes
	close context.CancelFunc

	steps atomic.Int64

	mu       sync.Mutex
	closed   bool
	sessions map[string]*session
	total    int64
	live     sync.WaitGroup // WebSockets
	kicks    sync.WaitGroup // messages about the end of a session
}

// New makes a server. Run must be running while it serves.
func New(cfg Config) (*Server, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	cfg.defaults()
	s := &Server{
		cfg: cfg, sessions: map[string]*session{},
		book: &book{suite: cfg.Suite, panel: cfg.Panel.Tasks, lists: map[string]*list{}},
	}
	s.stop, s.close = context.WithCancel(context.Background())
	s.openAt = openAPI(cfg.Version)
	s.routes = s.handler()
	return s, nil
}

// Handler serves the protocol of docs/interop.md.
func (s *Server) Handler() http.Handler { return s.routes }

// Stats is what a server has done.
type Stats struct {
	Active   int   // sessions now
	Sessions int64 // ever
	Steps    int64
}

// Stats counts.
func (s *Server) Stats() Stats {
	s.mu.Lock()
	defer s.mu.Unlock()
	return Stats{Active: len(s.sessions), Sessions: s.total, Steps: s.steps.Load()}
}

// Run ends idle sessions until ctx ends, and then all of them. It returns when every environment is
// closed.
func (s *Server) Run(ctx context.Context) error {
	t := time.NewTicker(min(max(s.cfg.Idle/4, 10*time.Millisecond), 30*time.Second))
	defer t.Stop()
	for {
		select {
		case <-t.C:
			s.reap()
		case <-ctx.Done():
			s.Close()
			return nil
		}
	}
}

// Close ends all sessions and waits until their environments are closed: for a client that reads nothing,
// Config.Stall. It may be called again.
func (s *Server) Close() {
	s.mu.Lock()
	s.closed = true
	var all []*session
	for _, x := range s.sessions {
		all = append(all, x)
	}
	s.mu.Unlock()
	for _, x := range all {
		s.end(x, &fault{Message: "the server is stopping", Code: codeSession})
	}
	s.kicks.Wait()
	s.close()
	for _, x := range all {
		<-x.gone
	}
	s.live.Wait()
}

func (s *Server) closing() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.closed
}

// open makes a session, where there is a place. kick may be nil.
func (s *Server) open(kick func(*fault)) (*session, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, &fault{Message: "the server is stopping", Code: codeSession}
	}
	if len(s.sessions) >= s.cfg.MaxSessions {
		return nil, full(len(s.sessions), s.cfg.MaxSessions)
	}
	x := &session{id: s.cfg.NewID(), s: s, used: s.cfg.Now(), kick: kick, gone: make(chan struct{})}
	s.sessions[x.id] = x
	s.total++
	return x, nil
}

// use calls f with the session in use: it neither ends nor counts as idle meanwhile.
func (s *Server) use(x *session, f func() error) error {
	s.mu.Lock()
	if x.ended {
		s.mu.Unlock()
		return unknownSession(x.id)
	}
	x.busy++
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		x.busy--
		x.used = s.cfg.Now()
		last := x.ended && x.busy == 0
		s.mu.Unlock()
		if last {
			s.bury(x)
		}
	}()
	return f()
}

func unknownSession(id string) *fault {
	return &fault{Message: "Unknown session_id: " + clip(id), Code: codeSession}
}

// end ends a session: at once, or when the call that is under way is over. why goes to its WebSocket; nil
// says nothing.
func (s *Server) end(x *session, why *fault) {
	s.mu.Lock()
	kick := x.kick
	x.kick = nil
	first := !x.ended
	x.ended = true
	bury := first && x.busy == 0
	if kick != nil && why != nil { // under mu: Close takes every session's kick under it, and then waits for all
		s.kicks.Go(func() { kick(why) }) // a client that reads nothing must not hold up the others
	}
	s.mu.Unlock()
	if bury {
		s.bury(x)
	}
}

// bury closes the environment and gives the place free.
func (s *Server) bury(x *session) {
	x.close()
	s.mu.Lock()
	delete(s.sessions, x.id)
	s.mu.Unlock()
}

// reap ends the sessions that nobody has used for too long.
func (s *Server) reap() {
	why := &fault{Message: "the session was idle for " + s.cfg.Idle.String() + " and has ended: connect again", Code: codeSession}
	s.mu.Lock()
	if s.closed { // Close ends them all
		s.mu.Unlock()
		return
	}
	now := s.cfg.Now()
	var idle []*session
	for _, x := range s.sessions {
		if x.busy == 0 && !x.ended && now.Sub(x.used) >= s.cfg.Idle {
			x.ended = true // from here on no call can begin
			idle = append(idle, x)
			if kick := x.kick; kick != nil {
				x.kick = nil
				s.kicks.Go(func() { kick(why) })
			}
		}
	}
	s.mu.Unlock()
	for _, x := range idle {
		s.cfg.Log.Info("session idle", "session", x.id)
		s.bury(x)
	}
}

// sessionByID finds a session that has not ended.
func (s *Server) sessionByID(id string) (*session, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if x := s.sessions[id]; x != nil && !x.ended {
		return x, nil
	}
	return nil, unknownSession(id)
}

// attach gives an open session to a WebSocket; only one at a time may have it.
func (s *Server) attach(id string, kick func(*fault)) (*session, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	x := s.sessions[id]
	if x == nil || x.ended {
		return nil, unknownSession(id)
	}
	if x.kick != nil {
		return nil, &fault{Message: "Session " + id + " already has an attached WebSocket", Code: codeSession}
	}
	x.kick, x.used = kick, s.cfg.Now()
	return x, nil
}

// detach leaves the session open without its WebSocket.
func (s *Server) detach(x *session) {
	s.mu.Lock()
	defer s.mu.Unlock()
	x.kick, x.used = nil, s.cfg.Now()
}
