package container

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/pkg/stdcopy"
)

// Command is one command to run in a container.
type Command struct {
	Args      []string      // program and arguments; no shell unless it is one
	Dir       string        // "" is the container's
	Env       []string      // "NAME=value", beside the container's
	Timeout   time.Duration // 0 is none but ctx's
	MaxOutput int           // bytes kept of the output, half of them the head and half the tail; 0 is 1 MiB
}

// DefaultMaxOutput is kept of a command's output.
const DefaultMaxOutput = 1 << 20

// Result is what a command did.
type Result struct {
	ExitCode int    // -1 where it was ended by the time-out or for what it wrote
	Output   []byte // stdout and stderr in the order in which they were written; the head where some was dropped
	Tail     []byte // the end, where some was dropped
	Dropped  int64  // bytes between them
	TimedOut bool
	DiskFull bool // it was ended, for the container has written more than it may
}

// mergeScript runs a command with stderr on stdout: $0 is a name, the rest is the command.
const mergeScript = `exec "$@" 2>&1`

// Exec runs a command and waits for it. That it fails or is ended by its time-out is a Result; an error
// is a container or a daemon that failed, or ctx, at whose end the processes are ended too. With an error
// that wraps ErrEnded the Result says what the command did until then.
func (c *Container) Exec(ctx context.Context, cmd Command) (Result, error) {
	if len(cmd.Args) == 0 {
		return Result{}, errors.New("execute: no command")
	}
	api := c.engine.api
	quick, cancel := c.engine.quick(ctx)
	defer cancel()
	created, err := api.ContainerExecCreate(quick, c.id, container.ExecOptions{
		Cmd: append([]string{"sh", "-c", mergeScript, "sh"}, cmd.Args...), Env: cmd.Env, WorkingDir: cmd.Dir,
		AttachStdout: true, AttachStderr: true,
	})
	if err != nil {
		return Result{}, c.failure(ctx, "create command", err)
	}
	stream, err := api.ContainerExecAttach(quick, created.ID, container.ExecAttachOptions{})
	if err != nil {
		return Result{}, c.failure(ctx, "start command", err)
	}
	defer stream.Close()
	limit := cmd.MaxOutput
	if limit <= 0 {
		limit = DefaultMaxOutput
	}
	out := newCapped(limit)
	read := reading{done: make(chan struct{})}
	go func() {
		defer close(read.done)
		_, read.err = stdcopy.StdCopy(out, out, stream.Reader)
	}()
	why, err := c.wait(ctx, cmd.Timeout, &read, stream.Close)
	if err != nil && !errors.Is(err, ErrEnded) {
		return Result{}, err
	}
	res := Result{TimedOut: why == byTimeout, DiskFull: why == byDisk}
	res.Output, res.Tail, res.Dropped = out.parts()
	if why != byItself || err != nil {
		res.ExitCode = -1
		return res, err
	}
	res.ExitCode, err = c.exitCode(ctx, created.ID)
	return res, err
}

// reading is the goroutine that reads a command's output; err is set when done is closed.
type reading struct {
	done chan struct{}
	err  error
}

// ending says what a command's end came from.
type ending int

const (
	byItself ending = iota
	byTimeout
	byDisk
)

// wait reads to the end, to the time-out, to ctx's end, or until the container has written more than it
// may; in all but the first case it ends the processes and waits until nothing reads any more.
func (c *Container) wait(ctx context.Context, limit time.Duration, read *reading, hangUp func()) (why ending, err error) {
	var timeout <-chan time.Time
	if limit > 0 {
		timer := time.NewTimer(limit)
		defer timer.Stop()
		timeout = timer.C
	}
	watched, stop := c.watch(ctx)
	defer stop()
	select {
	case <-read.done:
		if read.err != nil && !errors.Is(read.err, io.EOF) {
			return byItself, c.failure(ctx, "read output", read.err)
		}
		return byItself, nil
	case <-timeout:
		why = byTimeout
	case err = <-watched:
		why = byDisk
	case <-ctx.Done():
		err = ctx.Err()
	}
	killed := c.KillAll(ctx)
	select {
	case <-read.done:
	case <-time.After(killGrace):
		hangUp()
		<-read.done
	}
	return why, errors.Join(err, killed)
}

// watch looks at the container now and then while a command runs. What it sends is that the container
// has written more than it may (nil), or that it is dead, which a stream that was cut need not tell.
// stop ends it and waits for it.
func (c *Container) watch(ctx context.Context) (trouble <-chan error, stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	found, done := make(chan error, 1), make(chan struct{})
	go func() {
		defer close(done)
		t := time.NewTicker(c.engine.config.DiskCheck)
		defer t.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-t.C:
			}
			size, err := c.written(ctx)
			if c.disk > 0 && err == nil && size > c.disk {
				found <- nil
				return
			}
			// A daemon that does not answer now may answer next time; a container that is dead stays so.
			if dead := c.alive(ctx); errors.Is(dead, ErrDied) {
				found <- dead
				return
			}
		}
	}()
	return found, func() { cancel(); <-done }
}

// killGrace is how long the output may stay open after its processes were killed.
const killGrace = 5 * time.Second

// KillAll kills every process in the container but the first, in one sweep of the kernel: no process
// escapes by forking, by making a session of its own or by ignoring signals. Where not even that can be
// started (the container is full of processes), the container itself is ended, and is dead.
func (c *Container) KillAll(ctx context.Context) error {
	call, cancel := c.engine.cleanup(ctx)
	defer cancel()
	// With capabilities a process may have become another user's, whom only all capabilities reach.
	if len(c.Relaxed) > 0 && c.sweep(call, true) || c.sweep(call, false) {
		return nil
	}
	if dead := c.alive(ctx); dead != nil {
		return dead
	}
	if err := c.engine.api.ContainerKill(call, c.id, "KILL"); err != nil {
		return c.failure(ctx, "kill container", err)
	}
	return envFailure("end command", fmt.Errorf("%w: %w", ErrDied, ErrEnded))
}

// sweep reports whether the kill was run.
func (c *Container) sweep(ctx context.Context, privileged bool) bool {
	return c.runs(ctx, "kill -KILL -1 2>/dev/null; exit 0", privileged)
}

// runs reports whether a script could be started and ended well.
func (c *Container) runs(ctx context.Context, script string, privileged bool) bool {
	api := c.engine.api
	created, err := api.ContainerExecCreate(ctx, c.id, container.ExecOptions{
		Cmd: []string{"sh", "-c", script}, Privileged: privileged, AttachStdout: true, AttachStderr: true,
	})
	if err != nil {
		return false
	}
	stream, err := api.ContainerExecAttach(ctx, created.ID, container.ExecAttachOptions{})
	if err != nil {
		return false
	}
	defer stream.Close()
	if _, err := io.Copy(io.Discard, stream.Reader); err != nil {
		return false
	}
	state, err := c.ended(ctx, created.ID)
	return err == nil && state.ExitCode == 0
}

// exitCode is what a command ended with, or the failure that it ended by its container's end.
func (c *Container) exitCode(ctx context.Context, id string) (int, error) {
	call, cancel := c.engine.quick(ctx)
	defer cancel()
	state, err := c.ended(call, id)
	switch {
	case err != nil && call.Err() != nil:
		return 0, c.failure(ctx, "wait for command", err)
	case err != nil:
		return 0, c.failure(ctx, "inspect command", err)
	}
	return state.ExitCode, c.died(ctx, state.ExitCode)
}

// ended waits for the daemon to know of a command's end: the stream may end a moment before.
func (c *Container) ended(ctx context.Context, id string) (state container.ExecInspect, err error) {
	for pause := time.Millisecond; ; pause = min(2*pause, 100*time.Millisecond) {
		if state, err = c.engine.api.ContainerExecInspect(ctx, id); err != nil || !state.Running {
			return state, err
		}
		select {
		case <-ctx.Done():
			return state, ctx.Err()
		case <-time.After(pause):
		}
	}
}

// died returns a failure where a command ended because its container did: its code says nothing then.
func (c *Container) died(ctx context.Context, code int) error {
	const notStarted, killed = 126, 137
	switch {
	case code == notStarted || code == killed:
		return c.dead(ctx)
	case code > killed-9 || code < 0:
		return c.alive(ctx)
	}
	return nil
}

// dead is alive for a moment in which the container may be dying: the daemon can report the end of a
// command or of a stream before the container's, on a busy machine by seconds. The kernel knows at once: when
// the first process is dead, no other can be started. Where one can, the container lives. Where none can and
// the daemon still has it running after deathGrace, it is full of processes, and lives too.
func (c *Container) dead(ctx context.Context) error {
	if err := c.alive(ctx); err != nil {
		return err
	}
	call, cancel := c.engine.cleanup(ctx)
	defer cancel()
	if c.runs(call, "exit 0", false) {
		return nil
	}
	limit := time.After(deathGrace)
	for {
		if err := c.alive(ctx); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err() // whether the command's code is its own is not known
		case <-limit:
			return nil
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// deathGrace is how long the daemon may take to notice that a container is dead.
const deathGrace = 10 * time.Second

// failure types an error of the daemon: ctx's own end, a dead container, or the environment.
func (c *Container) failure(ctx context.Context, op string, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if dead := c.dead(ctx); dead != nil {
		return dead
	}
	return envFailure(op, err)
}
