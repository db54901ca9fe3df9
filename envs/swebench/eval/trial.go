package eval

import (
	"context"
	"errors"
	"fmt"
	"path"
	"strings"
	"time"

	"github.com/hindsightrl/harness"
	"github.com/hindsightrl/harness/envs/internal/container"
	"github.com/hindsightrl/harness/envs/swebench"
	"github.com/hindsightrl/harness/envs/swebench/grade"
	"github.com/hindsightrl/harness/envs/swebench/testlog"
)

// trial is a job in one container: its outcome, and what the files say.
type trial struct {
	Outcome
	log    []byte       // what the tests printed
	report []byte       // report.json; nil where the log was not graded
	said   runLog       // run_instance.log
	tests  grade.Result // where graded
	left   string       // the container that could not be removed
}

// runLog is the text of run_instance.log.
type runLog struct {
	now  func() time.Time
	text strings.Builder
}

func (l *runLog) printf(format string, args ...any) {
	fmt.Fprintf(&l.text, "%s - INFO - %s\n", l.now().UTC().Format("2006-01-02 15:04:05,000"), fmt.Sprintf(format, args...))
}

// gitLocale makes git and patch say what ClassifyApply reads.
var gitLocale = []string{"LC_ALL=C", "LANGUAGE=C", "GIT_PAGER=cat"}

// once evaluates a job in a container of its own. An error is the machine's, or ctx's end.
func (e *Evaluator) once(ctx context.Context, j *job) (*trial, error) {
	t := &trial{Outcome: j.outcome("", ""), said: runLog{now: e.config.Now}}
	t.Relaxed = e.relax.Names()
	image, id, err := e.find(ctx, j)
	if err != nil {
		return t, err
	}
	t.Image, t.ImageID = image, id
	box, err := e.boxes.Take(ctx, e.spec(j, image))
	if err != nil {
		return t, err
	}
	t.said.printf("Container for %s started: %s of %s", j.in.ID, box.ID(), image)
	err = e.inside(ctx, j, box, t)
	if removeErr := box.Remove(ctx); removeErr != nil {
		t.left = box.ID()
		e.config.Log.Warn("a container could not be removed", "instance", j.in.ID, "container", box.ID(), "error", removeErr)
	}
	if err != nil {
		t.said.printf("The machine failed: %v", err)
	}
	return t, err
}

func (e *Evaluator) inside(ctx context.Context, j *job, box Box, t *trial) error {
	if err := box.WriteFile(ctx, swebench.PatchPath, []byte(j.pred.Patch), 0o644); err != nil {
		return err
	}
	if err := e.apply(ctx, box, t); err != nil || t.Kind != "" {
		return err
	}
	if err := e.stage(ctx, j, box); err != nil {
		return err
	}
	if err := box.WriteFile(ctx, swebench.ScriptPath, []byte(j.script), 0o755); err != nil {
		return err
	}
	began := e.config.Now()
	res, err := box.Exec(ctx, container.Command{
		Args: []string{"/bin/bash", swebench.ScriptPath}, Timeout: e.config.Timeout, MaxOutput: 2 * (e.config.MaxLog/2 + 1),
	})
	t.Seconds = e.config.Now().Sub(began).Seconds()
	if err != nil && !errors.Is(err, container.ErrEnded) { // ended with its container is ended all the same
		return err
	}
	t.said.printf("Test runtime: %.2f seconds", t.Seconds)
	t.log = res.Output
	switch {
	case res.Dropped > 0:
		t.log = fmt.Appendf(t.log, "\n[%d bytes are left out here]\n%s", res.Dropped, res.Tail)
		t.Kind, t.Detail = LogTooLarge, fmt.Sprintf("the tests printed more than %d bytes", e.config.MaxLog)
	case res.DiskFull:
		t.Kind, t.Detail = DiskFull, "the tests wrote more than the container may"
	}
	if res.TimedOut {
		limit := fmt.Sprintf("Timeout error: %d seconds exceeded.", int(e.config.Timeout.Seconds()))
		t.log = append(t.log, "\n\n"+limit...)
		t.Kind, t.Detail = TimedOut, limit
	}
	if t.Kind != "" {
		t.said.printf("%s", t.Detail)
		t.Infra = grade.Classify(string(t.log))
		return nil
	}
	return e.grade(j, t)
}

// apply runs the release's chain. It sets the trial's kind where the patch does not apply.
func (e *Evaluator) apply(ctx context.Context, box Box, t *trial) error {
	chain := swebench.NewApplyChain(e.config.Release)
	var tried []swebench.ApplyAttempt
	shell := func(command string) (swebench.ApplyAttempt, error) {
		res, err := box.Exec(ctx, container.Command{
			Args: []string{"/bin/sh", "-c", command}, Dir: swebench.WorkDir, Env: gitLocale, Timeout: e.config.ApplyTimeout,
		})
		text := string(res.Output) + string(res.Tail)
		t.said.printf("%s: exit code %d\n%s", command, res.ExitCode, text)
		if err == nil && res.DiskFull {
			t.Kind, t.Detail = DiskFull, "applying the patch wrote more than the container may"
		}
		return swebench.ApplyAttempt{Command: command, ExitCode: res.ExitCode, Output: text}, err
	}
	var checked *swebench.ApplyAttempt
	for i, command := range chain.Attempts {
		if i > 0 && chain.Between != "" {
			if _, err := shell(chain.Between); err != nil {
				return err
			}
		}
		a, err := shell(command)
		if err != nil || t.Kind != "" {
			return err
		}
		if tried = append(tried, a); a.ExitCode == 0 {
			break
		}
	}
	if tried[len(tried)-1].ExitCode != 0 && chain.Check != "" {
		a, err := shell(chain.Check)
		if err != nil {
			return err
		}
		checked = &a
	}
	out := swebench.ClassifyApply(tried, checked)
	switch {
	case out.Applied:
		t.AppliedBy = out.By
		t.said.printf("%s", grade.MarkerApplied)
	case out.Failure.Environment():
		return harness.Fail(harness.FailEnv, "apply patch", errors.New(out.Detail))
	default:
		t.Kind, t.ApplyFailure, t.Detail = NotApplied, out.Failure, out.Detail
		t.said.printf("%s", grade.MarkerApplyFailed)
	}
	return nil
}

// stage copies the binary files to where the script looks for them.
func (e *Evaluator) stage(ctx context.Context, j *job, box Box) error {
	if len(j.in.Assets) == 0 {
		return nil
	}
	if e.config.Asset == nil {
		return harness.FailFinal(harness.FailEnv, "copy assets", fmt.Errorf("the tests need %d binary files, of which the row has only addresses", len(j.in.Assets)))
	}
	dir := path.Dir(swebench.AssetPath(j.in.Assets[0]))
	if _, err := box.Exec(ctx, container.Command{Args: []string{"mkdir", "-p", dir}, Timeout: e.config.ApplyTimeout}); err != nil {
		return err
	}
	for _, a := range j.in.Assets {
		content, err := e.config.Asset(ctx, j.in, a)
		if err != nil {
			return harness.FailFinal(harness.FailEnv, "copy asset "+a.Path, err)
		}
		if err := box.WriteFile(ctx, swebench.AssetPath(a), content, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// grade reads the log and writes the report.
func (e *Evaluator) grade(j *job, t *trial) error {
	opt := grade.Options{Release: e.config.Release}
	text := testlog.Decode(t.log)
	res, err := grade.Log(j.in.Grading(), text, opt)
	if err != nil {
		return harness.FailFinal(harness.FailHarness, "grade", err)
	}
	t.Kind, t.tests, t.Resolved, t.Status = Graded, res, res.Resolved(), res.Status
	t.Detail = grade.Describe(res)
	t.FailToPass = [2]int{len(res.Tests.FailToPass.Success), len(res.Tests.FailToPass.Failure)}
	t.PassToPass = [2]int{len(res.Tests.PassToPass.Success), len(res.Tests.PassToPass.Failure)}
	if !res.Resolved() {
		if t.Infra = res.Infra; t.Infra == nil && e.config.Release != testlog.V410 {
			t.Infra = grade.Classify(text)
		}
	}
	t.Remarks = remarks(text)
	t.report = grade.Report(j.in.ID, false, res, opt)
	t.said.printf("Result for %s: resolved: %v", j.in.ID, t.Resolved)
	return nil
}

// remarks are what in a log makes one look twice. The script's shell prints each marker once, as a
// command that it traces; a second one was printed by a test, or by whatever the patch runs.
func remarks(log string) []string {
	var all []string
	for _, marker := range [...]string{grade.MarkerStart, grade.MarkerEnd, grade.MarkerExitCode} {
		lines := 0
		for line := range strings.SplitSeq(log, "\n") {
			if line == "+ : '"+marker+"'" || strings.HasPrefix(line, marker) {
				lines++
			}
		}
		if lines > 1 {
			all = append(all, fmt.Sprintf("the log has %d lines %q: the tests may have printed some", lines, marker))
		}
	}
	return all
}
