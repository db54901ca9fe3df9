package swebench

import (
	"context"

	"github.com/hindsightrl/harness/envs/internal/container"
)

// Engine is a connection to a Docker daemon, EngineConfig says which and on whose behalf, and the others
// are what containers may use and what of the defaults is given up.
type (
	Engine       = container.Engine
	EngineConfig = container.Config
	Limits       = container.Limits
	Relax        = container.Relax
)

// OpenEngine connects to the daemon; an error where none answers is an environment failure and says so.
func OpenEngine(ctx context.Context, config EngineConfig) (*Engine, error) {
	return container.Open(ctx, config)
}

// ErrNoDaemon is in the error of OpenEngine where no daemon answers, ErrNoImage in that of an episode
// whose image is neither here nor in a registry.
var (
	ErrNoDaemon = container.ErrNoDaemon
	ErrNoImage  = container.ErrNoImage
)

// LocalOwner names the user of this machine as an owner of containers, as every command of this project
// does.
func LocalOwner() string { return container.LocalOwner() }

// ParseRelax reads the names of defaults to give up: network=NAME, capability=NAME, new-privileges,
// unlimited, or official for all that the official harness allows.
func ParseRelax(names []string) (Relax, error) { return container.ParseRelax(names) }
