package swebench

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/hindsightrl/harness"
	"github.com/hindsightrl/harness/envs/internal/container"
)

// baseline is the state that an agent begins with.
type baseline struct {
	commit string // HEAD
	tree   string // the tree object of all files, also of those that an image left uncommitted
}

// ErrImage is the cause of a failure where an instance's image is not what it should be.
var ErrImage = errors.New("the image is not the instance's")

// indexPath is where the harness keeps an index of its own, so that neither disturbs the other's.
const indexPath = "/tmp/.hindsight-index"

// gitPrelude defines a git that the repository's and the user's settings do not change.
const gitPrelude = `export GIT_CONFIG_NOSYSTEM=1 GIT_CONFIG_GLOBAL=/dev/null GIT_OPTIONAL_LOCKS=0 LC_ALL=C
unset GIT_DIR GIT_WORK_TREE GIT_INDEX_FILE GIT_EXTERNAL_DIFF
g() { git -c safe.directory='*' -c gc.auto=0 -c core.hooksPath=/dev/null -c core.fsmonitor=false -c core.autocrlf=false -c core.quotePath=true "$@"; }
snapshot() { # the tree object of all files
  cp "$(g rev-parse --absolute-git-dir)/index" ` + indexPath + ` 2>/dev/null
  GIT_INDEX_FILE=` + indexPath + ` g "$@" add -A >/dev/null 2>&1 || return 1
  GIT_INDEX_FILE=` + indexPath + ` g write-tree
}
`

// startMark opens the line that says what the agent begins with.
const startMark = "hindsight-start "

const baselineScript = gitPrelude + `cd ` + WorkDir + ` || exit 3
command -v bash >/dev/null || { echo 'there is no bash'; exit 3; }
commit=$(g rev-parse --verify 'HEAD^{commit}') || exit 3
tree=$(snapshot) || exit 5
rm -f ` + indexPath + `
echo "` + startMark + `$commit $tree"
`

// prepare removes the future and notes the state that the agent begins with.
func prepare(ctx context.Context, b box, in *Instance, cfg Config) (baseline, error) {
	fail := func(op string, err error) (baseline, error) {
		return baseline{}, harness.FailFinal(harness.FailEnv, op, fmt.Errorf("instance %s: %w", in.ID, err))
	}
	script := "( " + baselineScript + " )"
	if !cfg.KeepHistory {
		script = "( " + HideFutureScript(WorkDir, in.BaseCommit) + " ) || exit $?\n" + script
	}
	const op = "prepare the repository"
	res, err := b.Exec(ctx, container.Command{Args: []string{"sh", "-c", script}, Timeout: cfg.SetupTimeout})
	if err != nil {
		return baseline{}, harness.Fail(harness.FailEnv, op, fmt.Errorf("instance %s: %w", in.ID, err))
	}
	out := string(res.Output) + string(res.Tail)
	switch {
	case res.TimedOut:
		return fail(op, fmt.Errorf("it took longer than %v", cfg.SetupTimeout))
	case res.ExitCode == 4:
		return fail(op, fmt.Errorf("%w: its HEAD does not descend from the base commit %s", ErrImage, in.BaseCommit))
	case res.ExitCode != 0:
		return fail(op, fmt.Errorf("%w: exit code %d: %s", ErrImage, res.ExitCode, lastLine(out)))
	}
	if !cfg.KeepHistory {
		if leaks, err := ScrubReport(out); err != nil || len(leaks) > 0 {
			return fail(op, errors.Join(err, fmt.Errorf("the repository still knows its future: %s", strings.Join(leaks, ", "))))
		}
	}
	_, found, ok := strings.Cut(out, startMark)
	var start baseline
	if n, err := fmt.Sscanf(found, "%s %s", &start.commit, &start.tree); !ok || n != 2 || err != nil {
		return fail(op, fmt.Errorf("%w: its state cannot be read: %s", ErrImage, lastLine(out)))
	}
	return start, nil
}

// lastLine is the end of an output, for an error's message.
func lastLine(out string) string {
	out = strings.TrimSpace(out)
	return firstLineOf(out[strings.LastIndexByte(out, '\n')+1:])
}
