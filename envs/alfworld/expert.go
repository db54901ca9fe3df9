package alfworld

import (
	"context"
	"fmt"

	"github.com/hindsightrl/harness/internal/errext"
)

// Advise returns the expert's next command from the current state: the first step of a plan on the
// ground truth, in the wording of the game. It does not change the state.
func (e *Env) Advise(ctx context.Context) (string, error) {
	if err := ctx.Err(); err != nil {
		return "", err
	}
	if e.ep == nil {
		return "", errNoEpisode
	}
	command, err := e.ep.Advise()
	if err != nil {
		return "", errext.WithHint(fmt.Errorf("advise in %s: %w", e.key, err),
			"no expert can go on from here: reset the episode, or leave the game out if this is its start")
	}
	return command, nil
}
