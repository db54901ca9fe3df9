package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/hindsightrl/harness/envs/alfworld"
	"github.com/hindsightrl/harness/envs/webshop"
	"github.com/hindsightrl/harness/envs/webshop/catalog"
	"github.com/hindsightrl/harness/envs/webshop/site"
	"github.com/hindsightrl/harness/internal/errext"
)

// envServe serves the shop as web pages, or an environment to other people's trainers.
type envServe struct {
	st stops
	g  *globals

	protocol string
	open     openEnvServe

	data     string
	shop     shopFlags
	listen   string
	logs     string
	original bool
	attrs    bool
}

func newEnvServe(st stops, g *globals) *cobra.Command {
	c := &envServe{st: st, g: g, open: openEnvServe{st: st, g: g}}
	cmd := &cobra.Command{
		Use:   "serve [ENV]",
		Short: "Serve the shop as web pages, or any environment to trainers that speak OpenEnv",
		Long: `serve answers with the pages, forms and addresses of the original's Flask site, so that its browser
agents work on it. /fixed_N is a session with goal N, any other name one with a random goal. Script and
style come from the site itself.

With --protocol openenv it serves ENV (default: alfworld; all mixes them) over OpenEnv's WebSocket and HTTP
protocol: each connection is a session with an environment of its own. The goals and the variant of the
shop are then those of rollout, unless they are given. docs/interop.md has the messages.`,
		Example: `  harness env serve webshop
  harness env serve webshop --data $WEBSHOP_DATA --log logs
  harness env serve alfworld --protocol openenv --max-steps 50
  HARNESS_ENV_TOKEN=… harness env serve webshop --protocol openenv --listen 0.0.0.0:8000 --tls-cert cert.pem --tls-key key.pem`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			switch c.protocol {
			case protocolOpenEnv:
				return c.openEnv(cmd, args)
			case protocolSite:
			default:
				return usageError(cmd, fmt.Errorf("no protocol %q: there are site and openenv", c.protocol))
			}
			if err := refuseFlags(cmd, openEnvOnly, protocolSite); err != nil {
				return usageError(cmd, errext.WithHint(err, "add --protocol openenv"))
			}
			if len(args) == 1 && args[0] != webshop.Name {
				return usageError(cmd, errext.WithHint(fmt.Errorf("environment %q has no pages to serve", args[0]), "harness env serve webshop, or harness env serve "+args[0]+" --protocol openenv"))
			}
			return c.run(cmd)
		},
	}
	f := cmd.Flags()
	f.StringVar(&c.protocol, "protocol", protocolSite, "site: the shop's web pages; openenv: OpenEnv's WebSocket and HTTP protocol")
	c.open.flags(cmd)
	f.StringVar(&c.data, "data", "", "folder that holds items_shuffle_1000.json and its companions, or the product file (default: the embedded shop)")
	f.StringVar(&c.listen, "listen", "127.0.0.1:3000", "address to listen on; with --protocol openenv "+openEnvListen+", and anything but loopback needs a token")
	f.StringVar(&c.logs, "log", "", "folder for the original's logs, one file for each session (default: none)")
	f.BoolVar(&c.original, "original", false, "serve the original's pages unchanged: they load script and style from other hosts")
	f.BoolVar(&c.attrs, "attrs", false, "show the button for attributes on products' pages")
	c.shop.flags(cmd)
	// The site's own defaults.
	for name, value := range map[string]string{"goals": "human", "variant": string(catalog.Princeton)} {
		if err := f.Set(name, value); err != nil {
			panic(err) // the flags are declared above
		}
		f.Lookup(name).DefValue = value
		f.Lookup(name).Changed = false
	}
	return cmd
}

// openEnv serves ENV over OpenEnv's protocol. Defaults that are the site's own give way to rollout's.
func (c *envServe) openEnv(cmd *cobra.Command, args []string) error {
	src := envSource{env: alfworld.Name, data: c.data, shop: c.shop}
	if len(args) == 1 {
		src.env = args[0]
	}
	listen := c.listen
	if !cmd.Flags().Changed("listen") {
		listen = openEnvListen
	}
	if !cmd.Flags().Changed("goals") {
		src.shop.goals = "synthetic"
	}
	if !cmd.Flags().Changed("variant") {
		src.shop.variant = string(catalog.SERL)
	}
	return c.open.run(cmd, src, listen)
}

func (c *envServe) run(cmd *cobra.Command) error {
	if err := checkLoopback(c.listen); err != nil {
		return usageError(cmd, err)
	}
	handler, about, err := c.handler()
	if err != nil {
		return err
	}
	l, err := (&net.ListenConfig{}).Listen(c.st.soft, "tcp", c.listen)
	if err != nil {
		return errext.WithHint(fmt.Errorf("listen: %w", err), "choose another --listen address")
	}
	fmt.Fprintf(c.g.stderr, "serving %s on http://%s/fixed_0; stop with Ctrl-C\n", about, l.Addr())
	server := &http.Server{Handler: handler, ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute}
	stopped := make(chan error, 1)
	undo := context.AfterFunc(c.st.soft, func() { stopped <- server.Shutdown(c.st.hard) })
	defer undo()
	if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return errors.Join(<-stopped, server.Close())
}

// checkLoopback keeps the site on this machine: it has no keys, and its pages are not meant for others.
func checkLoopback(addr string) error {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return fmt.Errorf("--listen %q: %w", addr, err)
	}
	if ip := net.ParseIP(host); host != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return errext.WithHint(fmt.Errorf("--listen %s is reachable from other machines", addr), "listen on 127.0.0.1; for others put a proxy with a login in front")
	}
	return nil
}

// handler makes the site; about says what it serves.
func (c *envServe) handler() (h http.Handler, about string, err error) {
	cfg, err := c.shop.config()
	if err != nil {
		return nil, "", err
	}
	cfg.Shop.ShowAttributes = c.attrs
	suite, err := c.shop.openWith(c.st.soft, c.data, cfg)
	if err != nil {
		return nil, "", err
	}
	s := suite.Shop()
	w, err := catalog.NewWorld(s.Catalog, catalog.WorldConfig{Variant: cfg.Variant, Seed: cfg.Seed, Human: cfg.Human})
	if err != nil {
		return nil, "", err
	}
	config := site.Config{Original: c.original}
	if c.logs != "" {
		if err := os.MkdirAll(c.logs, 0o755); err != nil {
			return nil, "", fmt.Errorf("log: %w", err)
		}
		config.Log = c.log
	}
	return site.New(s, w, config), fmt.Sprintf("%s and %s", plural(len(s.Products), "product"), plural(w.Len(), "goal")), nil
}

// log appends a line to a session's file. A line that cannot be written is reported, and the page is
// served all the same.
func (c *envServe) log(session string, line []byte) {
	name := url.PathEscape(session)
	if strings.HasPrefix(name, ".") {
		name = "%2E" + name[1:]
	}
	f, err := os.OpenFile(filepath.Join(c.logs, name+".jsonl"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err == nil {
		_, err = f.Write(append(line, '\n'))
		err = errors.Join(err, f.Close())
	}
	if err != nil {
		c.g.log.Error("write session log", "session", session, "err", err)
	}
}
