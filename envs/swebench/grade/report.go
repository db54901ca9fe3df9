package grade

import (
	"fmt"

	"github.com/hindsightrl/harness/internal/pyjson"
)

// Report returns the official report.json of one instance, byte for byte: indent 4, no final newline.
// patchIsNone is a prediction without a patch, which is never run; the result is not looked at then.
func Report(instanceID string, patchIsNone bool, r Result, opt Options) []byte {
	v5 := !opt.v4()
	fields := pyjson.Object{
		{Key: "patch_is_None", Value: patchIsNone},
		{Key: "patch_exists", Value: !patchIsNone},
		{Key: "patch_successfully_applied", Value: r.Found && !patchIsNone},
		{Key: "resolved", Value: r.Resolved() && !patchIsNone},
	}
	if v5 {
		broken := !patchIsNone && r.Infra != nil && r.Infra.Environment
		fields = append(fields, pyjson.Member{Key: "infra_failure", Value: broken})
	}
	switch {
	case patchIsNone:
	case !r.Found && v5 && r.Infra != nil:
		fields = append(fields, pyjson.Member{Key: "infra_failure_reason", Value: r.Infra.Reason})
	case r.Found:
		fields = append(fields, pyjson.Member{Key: "tests_status", Value: pyjson.Object{
			{Key: "FAIL_TO_PASS", Value: outcomeObject(r.Tests.FailToPass)},
			{Key: "PASS_TO_PASS", Value: outcomeObject(r.Tests.PassToPass)},
			{Key: "FAIL_TO_FAIL", Value: outcomeObject(Outcome{})},
			{Key: "PASS_TO_FAIL", Value: outcomeObject(Outcome{})},
		}})
	}
	return pyjson.Indent(pyjson.Object{{Key: instanceID, Value: fields}}, 4)
}

func outcomeObject(o Outcome) pyjson.Object {
	return pyjson.Object{{Key: "success", Value: o.Success}, {Key: "failure", Value: o.Failure}}
}

// Describe says a result in one line.
func Describe(r Result) string {
	if !r.Found {
		if r.Detail != "" {
			return fmt.Sprintf("not graded: %s (%s)", r.Reason, r.Detail)
		}
		return fmt.Sprintf("not graded: %s", r.Reason)
	}
	f, p := r.Tests.FailToPass, r.Tests.PassToPass
	return fmt.Sprintf("%s: %d of %d tests to fix pass, %d of %d kept", r.Status,
		len(f.Success), f.total(), len(p.Success), p.total())
}
