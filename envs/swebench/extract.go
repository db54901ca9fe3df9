package swebench

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/hindsightrl/harness"
	"github.com/hindsightrl/harness/envs/internal/container"
)

const (
	diffPath    = "/tmp/.hindsight-patch"
	excludePath = "/tmp/.hindsight-exclude"
	leftMark    = "hindsight-left "
	// maxDiffBytes is read of a difference before floods are left out of it.
	maxDiffBytes = 128 << 20
	// maxNewFile is the size in 512-byte blocks above which files that git does not know are not looked at.
	maxNewFile = 64 << 10
)

// extractTemplate writes the difference between the start and all files to diffPath. It uses an index of
// its own, so that locks and stages that the agent left do not matter, and compares with the tree that the
// agent began with, so that its commits do not either. Huge new files are left out before git reads them.
const extractTemplate = gitPrelude + `cd ` + WorkDir + ` || exit 3
find . -xdev -path ./.git -prune -o -type f -size +%[2]d -print | sed 's,^\.,,; s,[][*?\\],\\&,g' > ` + excludePath + `
sed 's,^,` + leftMark + `,' ` + excludePath + `
tree=$(snapshot -c core.excludesFile=` + excludePath + `) || exit 5
for base in %[1]s; do
  g cat-file -e "$base" 2>/dev/null || continue
  g diff --binary --no-color --no-ext-diff --no-textconv --no-renames --src-prefix=a/ --dst-prefix=b/ "$base" "$tree" > ` + diffPath + ` || exit 5
  exit 0
done
exit 5
`

// extraction is what was taken of an agent's work.
type extraction struct {
	patch   string
	source  string // "tree" or "submitted"
	left    []LeftOut
	problem string // why there is no patch although there may be changes
}

// extract takes the agent's patch: what it submitted, where that is one, else the difference between the
// start and the files now. Whatever the agent did to git is its own fault, and leaves no patch; an error
// is a container that is lost.
func (e *Env) extract(ctx context.Context, s *submission) (extraction, error) {
	x := extraction{source: "submitted", patch: submittedPatch(s.text)}
	if x.patch == "" {
		x.source = "tree"
		var err error
		if x.patch, x.left, x.problem, err = e.difference(ctx); err != nil {
			return x, err
		}
	}
	bounded, left, err := BoundPatch(NormalizePatch(x.patch), e.suite.cfg.Patch)
	x.left = append(x.left, left...)
	if err != nil {
		x.patch, x.problem = "", err.Error()
		return x, nil
	}
	x.patch = bounded
	return x, nil
}

// submittedPatch is the patch in what was printed behind the submission, "" where there is none. Whatever
// stands before its first file is not part of it.
func submittedPatch(text string) string {
	files := PatchFiles(text)
	if len(files) == 0 {
		return ""
	}
	return text[files[0].Start:]
}

func (e *Env) difference(ctx context.Context) (patch string, left []LeftOut, problem string, err error) {
	const op = "take the patch"
	// What the agent left running could change files while they are read.
	if err := e.box.KillAll(ctx); err != nil {
		return "", nil, "", harness.Fail(harness.FailEnv, op, err)
	}
	script := fmt.Sprintf(extractTemplate, shellQuote(e.start.tree)+" "+shellQuote(e.start.commit), maxNewFile)
	res, err := e.box.Exec(ctx, container.Command{Args: []string{"sh", "-c", script}, Timeout: e.suite.cfg.SetupTimeout})
	if err != nil {
		return "", nil, "", harness.Fail(harness.FailEnv, op, err)
	}
	out := clean(res.Output) + clean(res.Tail)
	for _, line := range strings.Split(out, "\n") {
		if name, ok := strings.CutPrefix(line, leftMark); ok {
			left = append(left, LeftOut{Path: strings.TrimPrefix(name, "/"), Why: "huge new file"})
		}
	}
	switch {
	case res.TimedOut:
		return "", left, fmt.Sprintf("the difference took longer than %v", e.suite.cfg.SetupTimeout), nil
	case res.ExitCode != 0:
		return "", left, fmt.Sprintf("git cannot say what was changed: exit code %d: %s", res.ExitCode, lastLine(out)), nil
	}
	diff, err := e.box.ReadFile(ctx, diffPath, maxDiffBytes)
	switch {
	case err == nil:
		return string(diff), left, "", nil
	case ctx.Err() != nil:
		return "", left, "", ctx.Err()
	case errors.As(err, new(*harness.Failure)):
		return "", left, "", err
	}
	return "", left, err.Error(), nil
}
