package container

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/docker/docker/client"
	"golang.org/x/sync/semaphore"

	"github.com/hindsightrl/harness"
	"github.com/hindsightrl/harness/internal/errext"
)

// The labels that every container carries.
const (
	LabelOwner = "io.hindsight.owner"
	LabelRun   = "io.hindsight.run"
	LabelHost  = "io.hindsight.host" // the machine that runs the harness: a lock file is looked for there alone
	LabelLock  = "io.hindsight.lock" // the file that the run holds locked for as long as it lives
)

func (e *Engine) labels() map[string]string {
	return map[string]string{
		LabelOwner: e.config.Owner, LabelRun: e.config.Run, LabelHost: e.lock.host, LabelLock: e.lock.path,
	}
}

// Config says which daemon to use and on whose behalf.
type Config struct {
	Host      string        // the daemon's address; "" asks the environment, as the docker command does
	Owner     string        // who may reap these containers: one name per user and machine
	Run       string        // the run that the containers belong to
	Starts    int64         // containers that start at a time; 0 is 4
	Pulls     int64         // images that are pulled at a time; 0 is 2
	Builds    int64         // images that are built or imported at a time; 0 is 1
	CallLimit time.Duration // of one call to the daemon that should be quick; 0 is one minute
	PullStall time.Duration // a pull that reports nothing for so long has failed; 0 is 5 minutes
	DiskCheck time.Duration // between looks at what a running command has written; 0 is 5 seconds
	StartRoom int64         // bytes that must be free on the daemon's disk to start a container; 0 is 1 GiB, below 0 asks for none
	PullRoom  int64         // and to pull or build an image; 0 is 8 GiB, below 0 asks for none
	// LockDir is the folder with a lock file for each live run of this machine, by which a run knows the
	// containers that a dead one left. "" is a folder in the user's cache.
	LockDir string
	Log     *slog.Logger // nil is silent
}

func (c Config) withDefaults() Config {
	for _, n := range []struct {
		value *int64
		usual int64
	}{{&c.Starts, 4}, {&c.Pulls, 2}, {&c.Builds, 1}, {&c.StartRoom, 1 << 30}, {&c.PullRoom, 8 << 30}} {
		if *n.value == 0 {
			*n.value = n.usual
		}
	}
	for _, d := range []struct {
		value *time.Duration
		usual time.Duration
	}{{&c.CallLimit, time.Minute}, {&c.PullStall, 5 * time.Minute}, {&c.DiskCheck, 5 * time.Second}} {
		if *d.value <= 0 {
			*d.value = d.usual
		}
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	return c
}

// ErrNoDaemon is returned where no daemon answers.
var ErrNoDaemon = errors.New("no Docker daemon answers")

// Engine is a connection to a daemon, safe for concurrent use.
type Engine struct {
	api    *client.Client
	config Config
	lock   *runLock
	root   dataRoot

	starts, pulls, builds *semaphore.Weighted
}

// Open connects to the daemon, asks it for a sign of life, takes the run's lock, and removes what dead
// runs of this owner and machine left.
func Open(ctx context.Context, config Config) (*Engine, error) {
	if config.Owner == "" || config.Run == "" {
		return nil, errors.New("open container engine: an owner and a run must be named, to find the containers again")
	}
	config = config.withDefaults()
	options := []client.Opt{client.FromEnv, client.WithAPIVersionNegotiation()}
	if config.Host != "" {
		options = append(options, client.WithHost(config.Host))
	}
	api, err := client.NewClientWithOpts(options...)
	if err != nil {
		return nil, fmt.Errorf("open container engine: %w", err)
	}
	e := &Engine{
		api: api, config: config, starts: semaphore.NewWeighted(config.Starts),
		pulls: semaphore.NewWeighted(config.Pulls), builds: semaphore.NewWeighted(config.Builds),
	}
	if err := e.ping(ctx); err != nil {
		_ = api.Close()
		return nil, err
	}
	if e.lock, err = lockRun(config.LockDir, config.Run); err != nil {
		_ = api.Close()
		return nil, harness.FailFinal(harness.FailHarness, "open container engine", err)
	}
	switch n, err := e.ReapDead(ctx); {
	case err != nil:
		config.Log.Warn("containers of dead runs could not be removed", "error", err)
	case n > 0:
		config.Log.Info("removed containers of dead runs", "containers", n)
	}
	return e, nil
}

func (e *Engine) ping(ctx context.Context) error {
	call, cancel := e.quick(ctx)
	defer cancel()
	if _, err := e.api.Ping(call); err != nil {
		err = errext.WithHint(fmt.Errorf("%w at %s: %w", ErrNoDaemon, e.api.DaemonHost(), err),
			"start the daemon (dockerd), or set DOCKER_HOST to one")
		return harness.Fail(harness.FailEnv, "open container engine", err)
	}
	return nil
}

// Close removes what containers the run still has, gives its lock back and ends the connection. What a
// daemon that is gone keeps, the next run finds to be a dead run's.
func (e *Engine) Close() error {
	ctx := context.Background()
	left, err := e.reap(ctx, func(labels map[string]string) (bool, error) { return labels[LabelLock] != e.lock.path, nil })
	if left > 0 {
		e.config.Log.Info("removed containers at the end of the run", "containers", left)
	}
	return errors.Join(err, e.lock.release(), e.api.Close())
}

// quick bounds a call that should take moments, so that a daemon that hangs is noticed.
func (e *Engine) quick(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, e.config.CallLimit)
}

// slow bounds a call that moves data, or that makes the daemon work.
func (e *Engine) slow(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, 10*e.config.CallLimit)
}

// cleanup is the context of calls that must happen even after ctx ended.
func (e *Engine) cleanup(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), e.config.CallLimit)
}

func envFailure(op string, err error) error { return harness.Fail(harness.FailEnv, op, err) }
