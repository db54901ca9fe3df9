package browser

import (
	"context"

	"github.com/hindsightrl/harness"
)

var _ harness.Advisor = (*Env)(nil)

// guide is a native episode that takes the same actions, for its expert's advice. It is begun when
// advice is first asked for.
type guide struct {
	env   harness.Env
	taken int // actions
}

// Advise returns the native expert's next action. The native episode is where this one is, as long as
// no random search told them apart.
func (e *Env) Advise(ctx context.Context) (string, error) {
	if err := ctx.Err(); err != nil {
		return "", err
	}
	if e.tab == nil {
		return "", errNoEpisode
	}
	if e.guide.env == nil {
		env, err := e.suite.shop.NewEnv(ctx)
		if err != nil {
			return "", err
		}
		if _, err := env.Reset(ctx, e.task); err != nil {
			return "", err
		}
		e.guide = guide{env: env}
	}
	for ; e.guide.taken < len(e.taken); e.guide.taken++ {
		if _, err := e.guide.env.Step(ctx, e.taken[e.guide.taken]); err != nil {
			return "", err
		}
	}
	return e.guide.env.(harness.Advisor).Advise(ctx)
}
