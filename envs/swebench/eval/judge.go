package eval

import (
	"context"

	"github.com/hindsightrl/harness"
	"github.com/hindsightrl/harness/envs/swebench"
	"github.com/hindsightrl/harness/envs/swebench/grade"
	"github.com/hindsightrl/harness/envs/swebench/testlog"
)

var _ swebench.Judge = (*Evaluator)(nil)

// maxJudged bounds the output of a judgement: its beginning and its end, each half of it.
const maxJudged = 1 << 20

// Judge evaluates the patch of an episode. An infrastructure failure, after its retries, is an error.
func (e *Evaluator) Judge(ctx context.Context, in *swebench.Instance, patch string) (swebench.Judgement, error) {
	j, err := e.prepare(in, swebench.Prediction{InstanceID: in.ID, Model: "episode", Patch: patch}, 1)
	if err != nil {
		return swebench.Judgement{}, harness.FailFinal(harness.FailEnv, "judge the patch", err)
	}
	t, err := e.run(ctx, j)
	switch {
	case err != nil:
		return swebench.Judgement{}, err
	case t.Kind == Infrastructure:
		return swebench.Judgement{}, t.Err
	}
	out := swebench.Judgement{
		Resolved: t.Resolved, Status: string(t.Status), Output: middleCut(testlog.Decode(t.log)), Report: string(t.report),
		FailToPass: tally(t.tests.Tests.FailToPass), PassToPass: tally(t.tests.Tests.PassToPass),
	}
	if out.Status == "" {
		out.Problem = t.problem()
	}
	return out, nil
}

func tally(o grade.Outcome) swebench.Tally {
	return swebench.Tally{Passed: len(o.Success), Failed: o.Failure}
}

// problem says in a line why there are no test results.
func (o Outcome) problem() string {
	text := map[Kind]string{
		EmptyPatch: "the patch is empty", UnsafePatch: "the patch is refused", LargePatch: "the patch is too large",
		NotApplied: "the patch does not apply (" + string(o.ApplyFailure) + ")", TimedOut: "the tests did not end in time",
		LogTooLarge: "the tests' output is too large", DiskFull: "the tests filled the disk", Graded: "the log was not graded",
	}[o.Kind]
	if o.Detail != "" {
		text += ": " + o.Detail
	}
	return text
}

func middleCut(s string) string {
	if len(s) <= maxJudged {
		return s
	}
	const half = maxJudged / 2
	return s[:half] + "\n[…]\n" + s[len(s)-half:]
}
