package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/spf13/cobra"

	"github.com/hindsightrl/harness/envs/alfworld"
	"github.com/hindsightrl/harness/envs/openenv"
	"github.com/hindsightrl/harness/envs/webshop"
	"github.com/hindsightrl/harness/envs/webshop/catalog"
	"github.com/hindsightrl/harness/internal/errext"
)

// Protocols of env serve.
const (
	protocolSite    = "site"
	protocolOpenEnv = "openenv"
)

// openEnvListen is where OpenEnv's clients look first.
const openEnvListen = "127.0.0.1:8000"

// openEnvServe serves an environment's tasks over the OpenEnv protocol.
type openEnvServe struct {
	st stops
	g  *globals

	split    string
	tokenEnv string
	cert     string
	key      string
	sessions int
	maxSteps int
	idle     time.Duration
	message  int64
}

// flags are the ones that only this protocol has.
func (c *openEnvServe) flags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&c.split, "split", "", "openenv: split that sessions take their tasks from when they name none (default: the one that rollout has)")
	f.StringVar(&c.tokenEnv, "token-env", "HARNESS_ENV_TOKEN", "openenv: environment variable with the token that clients must send")
	f.StringVar(&c.cert, "tls-cert", "", "openenv: certificate file (PEM): serve https and wss")
	f.StringVar(&c.key, "tls-key", "", "openenv: key file (PEM) of the certificate")
	f.IntVar(&c.sessions, "max-sessions", 64, "openenv: sessions at a time; one more is refused with the protocol's CAPACITY_REACHED")
	f.IntVar(&c.maxSteps, "max-steps", 0, "openenv: end an episode after so many steps, unless its reset says otherwise; 0 = never")
	f.DurationVar(&c.idle, "idle", 30*time.Minute, "openenv: end a session that nobody has used for so long")
	f.Int64Var(&c.message, "max-message-kb", 1024, "openenv: bound on a message from a client, in KiB")
}

// openEnvOnly are the flags of one protocol alone.
var (
	openEnvOnly = []string{"split", "token-env", "tls-cert", "tls-key", "max-sessions", "max-steps", "idle", "max-message-kb"}
	siteOnly    = []string{"log", "original", "attrs"}
)

// refuseFlags names the first flag that the protocol does not have.
func refuseFlags(cmd *cobra.Command, names []string, protocol string) error {
	for _, name := range names {
		if cmd.Flags().Changed(name) {
			return fmt.Errorf("--%s has no meaning with --protocol %s", name, protocol)
		}
	}
	return nil
}

func (c *openEnvServe) run(cmd *cobra.Command, src envSource, listen string) error {
	token := c.g.env(c.tokenEnv)
	if err := errors.Join(refuseFlags(cmd, siteOnly, protocolOpenEnv), checkListen(listen, token, c.tokenEnv)); err != nil {
		return usageError(cmd, err)
	}
	if (c.cert == "") != (c.key == "") {
		return usageError(cmd, errors.New("--tls-cert and --tls-key belong together"))
	}
	if c.sessions < 1 || c.maxSteps < 0 || c.idle <= 0 || c.message < 1 || c.message > 1<<20 {
		return usageError(cmd, errors.New("--max-sessions, --idle and --max-message-kb (up to 1048576) must be positive, --max-steps not negative"))
	}
	src.split = c.split
	src.browser.backend = backendNative
	suite, err := src.open(c.st.soft)
	if err != nil {
		return err
	}
	err = c.serve(cmd.Context(), openenv.Config{
		Suite: suite, MaxSessions: c.sessions, MaxSteps: c.maxSteps, Idle: c.idle, MaxMessage: c.message << 10, Token: token,
		About: aboutEnvironment(suite.Name()), Version: codeVersion(), Now: c.g.now, Log: c.g.log, Splits: splitsOf(suite, src.shop.variant),
	}, src, listen)
	return errors.Join(err, closeSuite(suite))
}

func (c *openEnvServe) serve(ctx context.Context, cfg openenv.Config, src envSource, listen string) error {
	var err error
	if cfg.Panel, err = src.panel(ctx, cfg.Suite); err != nil {
		return err
	}
	server, err := openenv.New(cfg)
	if err != nil {
		return err
	}
	l, err := (&net.ListenConfig{}).Listen(c.st.soft, "tcp", listen)
	if err != nil {
		return errext.WithHint(fmt.Errorf("listen: %w", err), "choose another --listen address")
	}
	scheme := "http"
	if c.cert != "" {
		pair, err := tls.LoadX509KeyPair(c.cert, c.key)
		if err != nil {
			return errors.Join(fmt.Errorf("read the certificate: %w", err), l.Close())
		}
		scheme, l = "https", tls.NewListener(l, &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12})
	}
	fmt.Fprintf(c.g.stderr, "serving %s (panel %s, %s) to OpenEnv clients on %s://%s, up to %s at a time; stop with Ctrl-C\n",
		cfg.Suite.Name(), cfg.Panel.Name, plural(len(cfg.Panel.Tasks), "task"), scheme, l.Addr(), plural(cfg.MaxSessions, "session"))
	err = c.until(server, l)
	n := server.Stats()
	fmt.Fprintf(c.g.stderr, "served %s, %s\n", plural(int(n.Sessions), "session"), plural(int(n.Steps), "step"))
	return err
}

// until serves until the first stop: sessions end with a reason, and the environments are closed.
func (c *openEnvServe) until(server *openenv.Server, l net.Listener) error {
	ctx, cancel := context.WithCancel(c.st.soft)
	defer cancel()
	h := &http.Server{Handler: server.Handler(), ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute}
	reaped := make(chan error, 1)
	go func() { reaped <- server.Run(ctx) }()
	served := make(chan error, 1)
	go func() { served <- h.Serve(l) }()
	var err error
	select {
	case <-ctx.Done():
	case err = <-served:
	}
	cancel()
	err = errors.Join(err, <-reaped)
	last, stop := context.WithTimeout(context.WithoutCancel(c.st.hard), 5*time.Second)
	defer stop()
	if down := h.Shutdown(last); down != nil {
		h.Close()
	}
	return err
}

// aboutEnvironment is the line that env list has for it.
func aboutEnvironment(name string) string {
	for _, e := range environments {
		if e[0] == name {
			return e[1]
		}
	}
	return name
}

// splitsOf are the splits of a suite that knows them without listing its tasks.
func splitsOf(suite any, variant string) []string {
	switch s := suite.(type) {
	case *alfworld.Suite:
		if names, err := s.Splits(); err == nil {
			return names
		}
	case *webshop.Suite:
		if v, err := catalog.ParseVariant(variant); err == nil {
			return webshop.Splits(v)
		}
	}
	return nil
}
