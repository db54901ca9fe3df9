package alfworld

import (
	"context"

	"github.com/hindsightrl/harness/envs/alfworld/engine"
)

// SourceOf reads a game's texts.
func SourceOf(ctx context.Context, s *Suite, id string) (engine.Source, error) {
	c, err := s.content(ctx, id)
	if err != nil {
		return engine.Source{}, err
	}
	return engine.Source{Domain: c.Domain, Problem: c.Problem, Grammar: c.Grammar}, nil
}
