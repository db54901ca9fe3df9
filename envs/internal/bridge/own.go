package bridge

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/hindsightrl/harness"
	"github.com/hindsightrl/harness/envs/internal/container"
	"github.com/hindsightrl/harness/internal/errext"
)

// Where the images have the bridge.
const (
	python = "/opt/venv/bin/python"
	server = "/opt/bridge/server.py"
	relay  = "/opt/bridge/relay.py"
	socket = "/tmp/bridge.sock"
)

// ownServer is a server in a container of its own. It ends with its standard input, so that none is left
// in a container that outlives this program.
type ownServer struct {
	engine    *container.Engine
	container *container.Container
	stream    *container.Stream
	mu        sync.Mutex    // held while a session's command is started
	done      chan struct{} // closed when nothing of the server's is read any more; nil until it is ready
}

func start(ctx context.Context, config Config) (*ownServer, error) {
	e, err := container.Open(ctx, config.Container)
	if err != nil {
		return nil, err
	}
	o := &ownServer{engine: e}
	if err := o.launch(ctx, config); err != nil {
		return nil, errors.Join(err, o.close())
	}
	return o, nil
}

func (o *ownServer) launch(ctx context.Context, config Config) error {
	here, err := o.engine.HasImage(ctx, config.Image)
	if err != nil {
		return err
	}
	if !here {
		err := fmt.Errorf("%w: %s", container.ErrNoImage, config.Image)
		return harness.FailFinal(harness.FailEnv, "start the original", errext.WithHint(err,
			fmt.Sprintf("build it: docker/prepare.sh %s && docker build -t %s docker/%s (docs/originals.md)", config.Environment, config.Image, config.Environment)))
	}
	if o.container, err = o.engine.Start(ctx, container.Spec{Image: config.Image, Limits: config.Limits}); err != nil {
		return err
	}
	o.stream, err = o.container.Stream(ctx, container.Command{Args: []string{
		python, server, "--socket", socket, "--until-eof", "--sessions", strconv.Itoa(config.Sessions),
	}})
	if err != nil {
		return err
	}
	if err := o.ready(ctx, config.StartLimit); err != nil {
		return err
	}
	o.done = make(chan struct{})
	go func() { // what else it prints is its complaint, which the stream keeps
		defer close(o.done)
		for buf := make([]byte, 4096); ; {
			if _, err := o.stream.Read(buf); err != nil {
				return
			}
		}
	}()
	return nil
}

// ready waits for the line by which the server says that it listens.
func (o *ownServer) ready(ctx context.Context, limit time.Duration) error {
	undo := context.AfterFunc(ctx, func() { _ = o.stream.Close() })
	defer undo()
	timer := time.AfterFunc(limit, func() { _ = o.stream.Close() })
	defer timer.Stop()
	line, err := bufio.NewReaderSize(o.stream, 16).ReadString('\n')
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case err == nil && strings.TrimSpace(line) == "ready":
		return nil
	case !timer.Stop():
		err = fmt.Errorf("it was not ready within %v", limit)
	case err == nil:
		err = fmt.Errorf("it said %q", line)
	}
	return harness.Fail(harness.FailEnv, "start the original", o.explain(err))
}

// explain adds what the server has said last.
func (o *ownServer) explain(err error) error {
	if o.stream == nil {
		return err
	}
	if said := lastLines(o.stream.Complaint(), 3); said != "" {
		return fmt.Errorf("%w; the server said last: %s", err, said)
	}
	return err
}

func lastLines(s string, n int) string {
	lines := strings.Split(strings.TrimSpace(s), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "; ")
}

// dial connects to the server's socket.
func (o *ownServer) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.container.Stream(ctx, container.Command{Args: []string{python, "-ISE", relay, socket}})
}

// close removes the container.
func (o *ownServer) close() error {
	var errs []error
	if o.stream != nil {
		_ = o.stream.Close() // the container goes anyway
	}
	if o.done != nil {
		<-o.done
	}
	if o.container != nil {
		errs = append(errs, o.container.Remove(context.Background()))
	}
	return errors.Join(append(errs, o.engine.Close())...)
}
