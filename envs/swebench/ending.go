package swebench

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/hindsightrl/harness"
)

// FilePatchInfo is the artifact that says how the patch was taken; the patch itself is FilePatch, the
// official report FileReport, the tests' output FileTestOutput.
const FilePatchInfo = "patch.json"

// PatchInfo is the content of FilePatchInfo.
type PatchInfo struct {
	Source  string    `json:"source"` // "tree": taken from the files; "submitted": printed by the agent
	Empty   bool      `json:"empty"`
	LeftOut []LeftOut `json:"left_out,omitempty"`
	Problem string    `json:"problem,omitempty"` // why there is no patch although there may be changes
}

// end takes the patch, gives the container back, and has the patch judged.
func (e *Env) end(ctx context.Context, s *submission) (harness.Ending, error) {
	x, err := e.extract(ctx, s)
	if err != nil {
		return harness.Ending{}, err
	}
	in := e.in
	b := e.box
	e.box = nil // the judge needs the machine
	if err := b.Remove(ctx); err != nil {
		return harness.Ending{}, err
	}
	info, err := json.Marshal(PatchInfo{Source: x.source, Empty: x.patch == "", LeftOut: x.left, Problem: x.problem})
	if err != nil {
		return harness.Ending{}, err
	}
	ending := harness.Ending{
		Privileged: x.remark(),
		Artifacts:  []harness.Artifact{{Name: FilePatch, Content: x.patch}, {Name: FilePatchInfo, Content: string(info)}},
	}
	judge := e.suite.cfg.Judge
	switch {
	case x.patch == "":
		ending.Feedback = "There is no patch: no change of the repository was found."
		return ending, nil
	case judge == nil:
		ending.Feedback = "The patch was taken and not evaluated: its reward is 0 because nobody judged it."
		return ending, nil
	}
	j, err := judge.Judge(ctx, in, x.patch)
	if err != nil {
		return harness.Ending{}, harness.Fail(harness.FailEnv, "judge the patch", err)
	}
	ending.Score, ending.Won = j.Score(), j.Resolved
	if j.Resolved {
		ending.Reward = 1
	}
	ending.Feedback = j.feedback()
	if j.Report != "" {
		ending.Artifacts = append(ending.Artifacts, harness.Artifact{Name: FileReport, Content: j.Report})
	}
	if j.Output != "" {
		ending.Artifacts = append(ending.Artifacts, harness.Artifact{Name: FileTestOutput, Content: j.Output})
	}
	return ending, nil
}

// remark says what an agent did not see happen to its patch.
func (x extraction) remark() string {
	var lines []string
	if x.problem != "" {
		lines = append(lines, "No patch could be taken: "+x.problem)
	}
	for _, l := range x.left {
		lines = append(lines, fmt.Sprintf("Left out of the patch: %s (%s)", l.Path, l.Why))
	}
	return strings.Join(lines, "\n")
}

// feedback is the summary with the tests' output, its middle left out where it is long.
func (j Judgement) feedback() string {
	if j.Output == "" {
		return j.Summary()
	}
	text := clean([]byte(j.Output))
	if n := utf8.RuneCountInString(text); n > maxShown {
		text = fmt.Sprintf("%s\n[%d characters left out]\n%s",
			text[:prefixBytes(text, maxShown/4)], n-maxShown, text[suffixStart(text, maxShown-maxShown/4):])
	}
	return j.Summary() + "\n\nOutput of the tests:\n" + text
}
