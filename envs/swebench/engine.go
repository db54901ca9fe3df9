package swebench

import (
	"context"

	"github.com/hindsightrl/harness/envs/internal/container"
)

type (
	// Engine is a connection to a Docker daemon.
	Engine = container.Engine
	// EngineConfig says which daemon, and on whose behalf.
	EngineConfig = container.Config
	// Limits bound what a container may use.
	Limits = container.Limits
	// Relax gives defaults of containers up.
	Relax = container.Relax
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
