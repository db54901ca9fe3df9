package bridge

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/gorilla/websocket"

	"github.com/hindsightrl/harness"
	"github.com/hindsightrl/harness/envs/internal/container"
	"github.com/hindsightrl/harness/internal/errext"
)

// protocol is the version that this package speaks.
const protocol = 1

// Config says where the original runs. Either Address or Image is given.
type Config struct {
	// Address of a server that somebody runs: ws://HOST:PORT or wss://HOST.
	Address string
	// Token is what such a server asks for; "" is none.
	Token string
	// Image is started as a container for this bridge alone.
	Image string
	// Environment is the name that the server must answer with.
	Environment string
	// Container says which daemon to use, and on whose behalf. Owner and Run have defaults.
	Container container.Config
	// Limits bound the container. Zeros take the container's defaults.
	Limits container.Limits
	// Sessions bounds the sessions of a container of its own; 0 is 64.
	Sessions int
	// CallLimit bounds one answer; 0 is 6 minutes, a little more than the server allows itself.
	CallLimit time.Duration
	// StartLimit bounds the start of the server in a container; 0 is 5 minutes. Large data takes long.
	StartLimit time.Duration
	// Log is told what the server complains about; nil is silent.
	Log *slog.Logger
}

func (c Config) complete() (Config, error) {
	switch {
	case (c.Address == "") == (c.Image == ""):
		return c, errors.New("the original is either at an address or in an image: name one of them")
	case c.Sessions < 0:
		return c, fmt.Errorf("%d sessions", c.Sessions)
	}
	if c.Address != "" {
		u, err := url.Parse(c.Address)
		if err != nil || u.Scheme != "ws" && u.Scheme != "wss" || u.Host == "" {
			return c, errext.WithHint(fmt.Errorf("the bridge's address %q is none of a WebSocket", c.Address), "it looks like ws://127.0.0.1:8765")
		}
	}
	c.Sessions = cmp.Or(c.Sessions, 64)
	c.CallLimit = cmp.Or(c.CallLimit, 6*time.Minute)
	c.StartLimit = cmp.Or(c.StartLimit, 5*time.Minute)
	c.Container.Owner = cmp.Or(c.Container.Owner, "originals")
	c.Container.Run = cmp.Or(c.Container.Run, c.Environment)
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	return c, nil
}

// Bridge is a server of the original. It is safe for concurrent use.
type Bridge struct {
	config Config
	dialer websocket.Dialer
	url    string
	own    *ownServer // nil where the server is somebody else's

	mu       sync.Mutex
	versions map[string]string // of the original's packages
}

// Open starts the server, or finds it at its address, and asks it who it is. The caller closes the
// bridge.
func Open(ctx context.Context, config Config) (*Bridge, error) {
	config, err := config.complete()
	if err != nil {
		return nil, fmt.Errorf("open the original %s: %w", config.Environment, err)
	}
	b := &Bridge{config: config, url: config.Address}
	b.dialer = websocket.Dialer{Proxy: http.ProxyFromEnvironment, HandshakeTimeout: config.CallLimit}
	if config.Image != "" {
		if b.own, err = start(ctx, config); err != nil {
			return nil, err
		}
		b.url = "ws://bridge" // nobody resolves it
		b.dialer.Proxy, b.dialer.NetDialContext = nil, b.own.dial
	}
	s, err := b.Dial(ctx)
	if err != nil {
		return nil, errors.Join(err, b.Close())
	}
	return b, s.Close()
}

// Dial opens a session. The caller closes it.
func (b *Bridge) Dial(ctx context.Context) (*Session, error) {
	call, cancel := context.WithTimeout(ctx, b.config.CallLimit)
	defer cancel()
	head := http.Header{}
	if b.config.Token != "" {
		head.Set("Authorization", "Bearer "+b.config.Token)
	}
	conn, res, err := b.dialer.DialContext(call, b.url, head)
	if res != nil {
		_ = res.Body.Close()
	}
	if err != nil {
		return nil, b.dialFailure(ctx, res, err)
	}
	s := newSession(b, conn)
	versions, err := s.greeting(call)
	if err != nil {
		return nil, errors.Join(b.failure(ctx, "greet the bridge", err), s.Close())
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.versions = versions
	return s, nil
}

func (b *Bridge) dialFailure(ctx context.Context, res *http.Response, err error) error {
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case res != nil && res.StatusCode == http.StatusUnauthorized:
		err = errext.WithHint(fmt.Errorf("%s asks for a token, and not for this one", b.url), "set HARNESS_BRIDGE_TOKEN to the server's BRIDGE_TOKEN")
		return harness.FailFinal(harness.FailEnv, "reach the bridge", err)
	case b.own == nil && errors.As(err, new(*net.OpError)):
		err = errext.WithHint(fmt.Errorf("%s: %w", b.url, err), "start the original there (docker compose up "+b.config.Environment+"), or let this program start its image")
	}
	return b.failure(ctx, "reach the bridge", err)
}

// failure types an error and adds what the server has complained about, if it has died of it.
func (b *Bridge) failure(ctx context.Context, op string, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if b.own != nil {
		err = b.own.explain(err)
	}
	return harness.Fail(harness.FailEnv, op, err)
}

// Info is what a run should record: the backend, where the original ran and its packages' versions.
func (b *Bridge) Info() map[string]string {
	b.mu.Lock()
	defer b.mu.Unlock()
	info := map[string]string{"backend": "container", "original": cmp.Or(b.config.Image, b.config.Address)}
	for _, p := range slices.Sorted(maps.Keys(b.versions)) {
		info["version_"+strings.ReplaceAll(p, "-", "_")] = b.versions[p]
	}
	return info
}

// Close ends the server, if it is this bridge's own. Sessions that are open fail.
func (b *Bridge) Close() error {
	if b.own == nil {
		return nil
	}
	return b.own.close()
}
