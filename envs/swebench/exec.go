package swebench

import (
	"context"
	"errors"
	"strings"

	"github.com/hindsightrl/harness"
	"github.com/hindsightrl/harness/envs/internal/container"
)

// output is what a command did, for an observation.
type output struct {
	code     int    // -1 where it was ended
	text     string // stdout and stderr as they came, head and tail where it was long
	cut      int    // where in text bytes are missing
	missing  int64  // how many
	problem  string // why it was ended or not started; "" for a command that ran to its end
	complete bool
}

// exec runs a program in the container. What a command does to itself is an output; only a container that
// is lost is an error.
func (e *Env) exec(ctx context.Context, args ...string) (output, error) {
	limit := e.suite.cfg.StepTimeout
	res, err := e.box.Exec(ctx, container.Command{Args: args, Dir: WorkDir, Timeout: limit})
	switch {
	case ctx.Err() != nil:
		return output{}, ctx.Err()
	case err != nil && (errors.Is(err, container.ErrDied) || errors.Is(err, container.ErrEnded)):
		return output{}, harness.Fail(harness.FailEnv, "run a command", err)
	case err != nil:
		// The container lives and nothing can be started in it: what the agent left running fills it.
		if killed := e.box.KillAll(ctx); killed != nil {
			return output{}, harness.Fail(harness.FailEnv, "run a command", errors.Join(err, killed))
		}
		return output{code: -1, problem: "The command could not be started: too much was running. Everything that ran was ended."}, nil
	}
	out := output{code: res.ExitCode, text: clean(res.Output), missing: res.Dropped, complete: res.Dropped == 0}
	out.cut = len(out.text)
	out.text += clean(res.Tail)
	switch {
	case res.TimedOut:
		out.problem = "The command ran longer than " + limit.String() + " and was ended, with everything that ran beside it."
	case res.DiskFull:
		out.problem = "The command was ended, with everything that ran beside it: it wrote more to the disk than it may."
	}
	return out, nil
}

// clean makes an output UTF-8.
func clean(b []byte) string { return strings.ToValidUTF8(string(b), "\uFFFD") }
