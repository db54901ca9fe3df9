package container

import (
	"context"
	"errors"
	"fmt"
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
)

// Config says which daemon to use and on whose behalf.
type Config struct {
	Host      string        // the daemon's address; "" asks the environment, as the docker command does
	Owner     string        // who may reap these containers: one name per user and machine
	Run       string        // the run that the containers belong to
	Starts    int64         // containers that start, or images that are pulled, at a time; 0 is 4
	CallLimit time.Duration // of one call to the daemon that should be quick; 0 is one minute
}

// ErrNoDaemon is returned where no daemon answers.
var ErrNoDaemon = errors.New("no Docker daemon answers")

// Engine is a connection to a daemon, safe for concurrent use.
type Engine struct {
	api    *client.Client
	config Config
	starts *semaphore.Weighted
}

// Open connects to the daemon and asks it for a sign of life.
func Open(ctx context.Context, config Config) (*Engine, error) {
	if config.Owner == "" || config.Run == "" {
		return nil, errors.New("open container engine: an owner and a run must be named, to find the containers again")
	}
	if config.Starts <= 0 {
		config.Starts = 4
	}
	if config.CallLimit <= 0 {
		config.CallLimit = time.Minute
	}
	options := []client.Opt{client.FromEnv, client.WithAPIVersionNegotiation()}
	if config.Host != "" {
		options = append(options, client.WithHost(config.Host))
	}
	api, err := client.NewClientWithOpts(options...)
	if err != nil {
		return nil, fmt.Errorf("open container engine: %w", err)
	}
	e := &Engine{api: api, config: config, starts: semaphore.NewWeighted(config.Starts)}
	call, cancel := e.quick(ctx)
	defer cancel()
	if _, err := api.Ping(call); err != nil {
		_ = api.Close()
		err = errext.WithHint(fmt.Errorf("%w at %s: %w", ErrNoDaemon, api.DaemonHost(), err),
			"start the daemon (dockerd), or set DOCKER_HOST to one")
		return nil, harness.Fail(harness.FailEnv, "open container engine", err)
	}
	return e, nil
}

// Close ends the connection; containers stay.
func (e *Engine) Close() error { return e.api.Close() }

// quick bounds a call that should take moments, so that a daemon that hangs is noticed.
func (e *Engine) quick(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, e.config.CallLimit)
}

// cleanup is the context of calls that must happen even after ctx ended.
func (e *Engine) cleanup(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), e.config.CallLimit)
}

func envFailure(op string, err error) error { return harness.Fail(harness.FailEnv, op, err) }
