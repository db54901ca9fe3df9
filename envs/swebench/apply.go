package swebench

import (
	"strings"

	"github.com/hindsightrl/harness/envs/swebench/testlog"
)

// Where things are in an official container.
const (
	WorkDir    = "/testbed"
	PatchPath  = "/tmp/patch.diff"
	ScriptPath = "/eval.sh"
)

// ApplyChain is how a release applies a model's patch: commands tried in turn until one succeeds.
type ApplyChain struct {
	Attempts []string // shell commands, run in WorkDir
	Between  string   // run before each attempt but the first; "" is nothing
	// Check is run when all attempts failed; if it succeeds, the patch is in the tree all the same. ""
	// is no check.
	Check string
}

// NewApplyChain returns the chain of a release. The first command must succeed on a clean tree; release 4
// does not clean up between its attempts.
func NewApplyChain(release testlog.Release) ApplyChain {
	if release == testlog.V410 {
		return ApplyChain{Attempts: []string{
			"git apply --verbose " + PatchPath,
			"git apply --verbose --reject " + PatchPath,
			"patch --batch --fuzz=5 -p1 -i " + PatchPath,
		}}
	}
	return ApplyChain{
		Attempts: []string{
			"git apply --verbose " + PatchPath,
			"git apply --verbose --3way " + PatchPath,
			"git apply --verbose --reject " + PatchPath,
			"patch --batch --forward --fuzz=5 -p1 -i " + PatchPath,
		},
		Between: "git checkout -- . ; git clean -fd",
		Check:   "git apply --check --reverse " + PatchPath,
	}
}

// ApplyAttempt is one command of the chain and what became of it.
type ApplyAttempt struct {
	Command  string
	ExitCode int
	Output   string
}

// ApplyFailure says in which way a patch does not apply.
type ApplyFailure string

// The ways, from what the commands print.
const (
	ApplyEmpty     ApplyFailure = "empty"           // there is no diff in it
	ApplyMalformed ApplyFailure = "malformed"       // it is no well-formed diff: cut short, wrong hunk counts
	ApplyMissing   ApplyFailure = "missing_file"    // it changes a file that is not there
	ApplyExists    ApplyFailure = "file_exists"     // it adds a file that is there
	ApplyReversed  ApplyFailure = "already_applied" // the tree holds its result already, in part
	ApplyBinary    ApplyFailure = "binary"          // it needs binary contents that it does not carry
	ApplyConflict  ApplyFailure = "conflict"        // its context is not what the files hold
	ApplyPath      ApplyFailure = "bad_path"        // git does not let it touch the path: .git, behind a link
	ApplyTool      ApplyFailure = "tool"            // git or patch could not be run, or was killed: the environment
	ApplyUnknown   ApplyFailure = "unknown"
)

// Environment reports whether the failure is not the patch's.
func (f ApplyFailure) Environment() bool { return f == ApplyTool }

// ApplyOutcome is what became of a patch.
type ApplyOutcome struct {
	Applied  bool
	By       string // the command that succeeded
	Verified bool   // no command succeeded, but the check found the patch in the tree
	// Failure is the way in which it failed, from the strictest command that says: the first one's text,
	// for later ones guess more.
	Failure ApplyFailure
	Detail  string // the line that says so
}

// ClassifyApply reads what the chain's commands did, in order. checked is the result of the check, nil
// where it was not run.
func ClassifyApply(attempts []ApplyAttempt, checked *ApplyAttempt) ApplyOutcome {
	for _, a := range attempts {
		if a.ExitCode == 0 {
			return ApplyOutcome{Applied: true, By: a.Command}
		}
	}
	if checked != nil && checked.ExitCode == 0 {
		return ApplyOutcome{Applied: true, Verified: true, By: checked.Command}
	}
	out := ApplyOutcome{Failure: ApplyUnknown}
	for _, a := range attempts {
		failure, detail := whyNotApplied(a)
		if failure != ApplyUnknown {
			out.Failure, out.Detail = failure, detail
			break
		}
	}
	return out
}

// applySigns are the texts of git apply and patch, the most telling first.
var applySigns = []struct {
	text    string
	failure ApplyFailure
}{
	{"No valid patches in input", ApplyEmpty},
	{"Only garbage was found in the patch input", ApplyEmpty},
	{"unrecognized input", ApplyEmpty},
	{"corrupt patch at", ApplyMalformed},
	{"malformed patch at", ApplyMalformed},
	{"patch fragment without header", ApplyMalformed},
	{"patch with only garbage", ApplyMalformed},
	{"unexpectedly ends in middle of line", ApplyMalformed},
	{"unexpected end of file in patch", ApplyMalformed},
	{"git diff header lacks filename information", ApplyMalformed},
	{"inconsistent old filename", ApplyMalformed},
	{"inconsistent new filename", ApplyMalformed},
	{"without full index line", ApplyBinary},
	{"cannot apply binary patch", ApplyBinary},
	{"binary patch does not apply", ApplyBinary},
	{"invalid path", ApplyPath},
	{"is outside repository", ApplyPath},
	{"beyond a symbolic link", ApplyPath},
	{"Ignoring potentially dangerous file name", ApplyPath},
	{"already exists in working directory", ApplyExists},
	{"already exists in index", ApplyExists},
	{"Reversed (or previously applied) patch detected", ApplyReversed},
	{"No such file or directory", ApplyMissing},
	{"does not exist in index", ApplyMissing},
	{"can't find file to patch", ApplyMissing},
	{"patch does not apply", ApplyConflict},
	{"patch failed:", ApplyConflict},
	{"FAILED at", ApplyConflict},
	{"hunks FAILED", ApplyConflict},
	{"hunk FAILED", ApplyConflict},
}

// killedCode is the exit code from which on a shell reports a signal; 126 and 127 are a command that
// cannot be run.
const (
	notRunCode = 126
	killedCode = 129
)

func whyNotApplied(a ApplyAttempt) (ApplyFailure, string) {
	switch {
	case a.ExitCode < 0, a.ExitCode >= killedCode && a.ExitCode <= killedCode+64, a.ExitCode == notRunCode, a.ExitCode == notRunCode+1:
		return ApplyTool, firstLineOf(a.Output)
	case strings.Contains(a.Output, "not a git repository"), strings.Contains(a.Output, "No space left on device"),
		strings.Contains(a.Output, "can't open patch '"+PatchPath), strings.Contains(a.Output, "dubious ownership"):
		return ApplyTool, firstLineOf(a.Output)
	}
	for _, sign := range applySigns {
		if i := strings.Index(a.Output, sign.text); i >= 0 {
			start := strings.LastIndexByte(a.Output[:i], '\n') + 1
			return sign.failure, firstLineOf(a.Output[start:])
		}
	}
	return ApplyUnknown, ""
}

func firstLineOf(s string) string {
	line, _, _ := strings.Cut(s, "\n")
	const most = 300
	if len(line) > most {
		line = strings.ToValidUTF8(line[:most], "") + "…"
	}
	return strings.TrimSpace(line)
}
