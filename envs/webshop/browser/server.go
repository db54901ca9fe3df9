package browser

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/hindsightrl/harness/envs/webshop/catalog"
	"github.com/hindsightrl/harness/envs/webshop/shop"
	"github.com/hindsightrl/harness/envs/webshop/site"
	"github.com/hindsightrl/harness/internal/pyrand"
)

// server serves a site for each seed on one port of the loopback interface. The name of a session says
// which: "seed<seed>_fixed_<goal>". All that happens in a session is in its addresses, so that episodes
// of one task may share it.
type server struct {
	shop  *shop.Shop
	world func(seed int64) (*catalog.World, error)
	base  string
	http  *http.Server
	done  chan struct{}

	mu    sync.Mutex
	sites map[int64]*site.Site
	last  *site.Site // the latest made, for the files that all share
}

// keptSites bounds the sites that are kept; one more empties the table. A site is made in the time of
// a walk over its goals.
const keptSites = 64

func serve(s *shop.Shop, world func(int64) (*catalog.World, error)) (*server, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // it returns at once
	if err != nil {
		return nil, fmt.Errorf("serve the shop: %w", err)
	}
	srv := &server{shop: s, world: world, base: "http://" + l.Addr().String(), done: make(chan struct{}), sites: map[int64]*site.Site{}}
	srv.http = &http.Server{Handler: srv, ReadHeaderTimeout: 10 * time.Second, MaxHeaderBytes: 1 << 20}
	go func() {
		defer close(srv.done)
		_ = srv.http.Serve(l) // it ends with close
	}()
	return srv, nil
}

func (s *server) close() error {
	err := s.http.Close()
	<-s.done
	return err
}

// session names the session of a goal.
func session(seed int64, goal int) string {
	return "seed" + strconv.FormatInt(seed, 10) + "_fixed_" + strconv.Itoa(goal)
}

// seedOf reads the seed from the name of a session.
func seedOf(session string) (int64, error) {
	number, ok := strings.CutPrefix(session, "seed")
	number, _, found := strings.Cut(number, "_fixed_")
	if !ok || !found {
		return 0, fmt.Errorf("session %.100q names no seed", session)
	}
	return strconv.ParseInt(number, 10, 64)
}

// ServeHTTP implements http.Handler.
func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	site, err := s.siteOf(r.URL.Path)
	if err != nil {
		http.Error(w, err.Error(), http.StatusNotFound)
		return
	}
	site.ServeHTTP(w, r)
}

// siteOf finds the site that an address belongs to: a page's by its session, any for what all share.
func (s *server) siteOf(path string) (*site.Site, error) {
	parts := strings.SplitN(path, "/", 4)
	if len(parts) < 2 {
		return nil, errors.New("no such page")
	}
	name := parts[1]
	if _, ok := routes[name]; ok && len(parts) > 2 {
		name = parts[2]
	}
	if name == "static" {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.last == nil {
			return nil, errors.New("no page was asked for yet")
		}
		return s.last, nil
	}
	seed, err := seedOf(name)
	if err != nil {
		return nil, err
	}
	return s.site(seed)
}

func (s *server) site(seed int64) (*site.Site, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if made, ok := s.sites[seed]; ok {
		return made, nil
	}
	w, err := s.world(seed)
	if err != nil {
		return nil, err
	}
	if len(s.sites) >= keptSites {
		clear(s.sites)
	}
	// The world's own stream belongs to nobody; random searches draw from one of the site's.
	own := &catalog.World{Goals: w.Goals, Rand: pyrand.New(seed)}
	made := site.New(s.shop, own, site.Config{AsText: true})
	s.sites[seed], s.last = made, made
	return made, nil
}
