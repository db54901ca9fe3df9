package swebench

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/hindsightrl/harness/envs/swebench/grade"
	"github.com/hindsightrl/harness/envs/swebench/testlog"
	"github.com/hindsightrl/harness/internal/errext"
	"github.com/hindsightrl/harness/internal/pystr"
)

const (
	scriptHead      = "#!/bin/bash"
	scriptFlags     = "set -uxo pipefail" // -x prints the markers; no -e, for the tests are expected to fail
	heredoc         = "EOF_114329324912"
	exitCodeVar     = "SWEBENCH_TEST_EXIT_CODE"
	assetFolder     = "/image_assets"
	noFilesToReset  = `echo "No test files to reset"`
	condaActivation = "source /opt/miniconda3/bin/activate\nconda activate testbed"
)

// ErrNoEvalScript is returned for a row without a script whose repository or version is in no table.
var ErrNoEvalScript = errors.New("the row has no eval_script and it cannot be rebuilt")

// EvalScript returns the script that a container runs to test the instance, in the form that the release
// runs it: 5.0.2 also prints the test command's exit code, behind the end marker. The instance's binary
// assets, if any, are copied from AssetPath before the tests start.
func EvalScript(in *Instance, release testlog.Release) (string, error) {
	script := in.EvalScript
	if script == "" || in.Rebuilt {
		var err error
		if script, err = RebuildEvalScript(in, release); err != nil {
			return "", err
		}
	}
	lines := scriptLines(script)
	if release != testlog.V410 {
		lines = recordExitCode(lines)
	}
	lines = restoreAssets(lines, in.Assets)
	return scriptHead + "\n" + scriptFlags + "\n" + strings.Join(lines, "\n") + "\n", nil
}

// scriptLines cuts a row's script into lines, without the head that is written anew.
func scriptLines(script string) []string {
	lines := strings.Split(pystr.Strip(script), "\n")
	for len(lines) > 0 && (lines[0] == scriptHead || lines[0] == scriptFlags) {
		lines = lines[1:]
	}
	return lines
}

// markerLine finds the last line that holds a marker: the test patch above it may hold one too. -1 where
// there is none.
func markerLine(lines []string, marker string) int {
	for i := len(lines) - 1; i >= 0; i-- {
		if strings.Contains(lines[i], marker) {
			return i
		}
	}
	return -1
}

// recordExitCode keeps the tests' own exit code: the script ends with a reset of the test files, whose
// code would hide it. A script without an end marker is left alone.
func recordExitCode(lines []string) []string {
	end := markerLine(lines, grade.MarkerEnd)
	if end < 0 {
		return lines
	}
	return slices.Concat(lines[:end],
		[]string{exitCodeVar + "=$?", lines[end], `echo "` + grade.MarkerExitCode + ": $" + exitCodeVar + `"`},
		lines[end+1:])
}

// AssetPath is where a container must hold an asset for the script to find it.
func AssetPath(a Asset) string { return path.Join(assetFolder, strings.ReplaceAll(a.Path, "/", "__")) }

// restoreAssets copies the assets into the tree right before the start marker, or last without one.
func restoreAssets(lines []string, assets []Asset) []string {
	if len(assets) == 0 {
		return lines
	}
	restore := make([]string, len(assets))
	for i, a := range assets {
		to := shellQuote(a.Path)
		restore[i] = fmt.Sprintf("mkdir -p $(dirname %s) && cp %s %s", to, shellQuote(AssetPath(a)), to)
	}
	start := markerLine(lines, grade.MarkerStart)
	if start < 0 {
		start = len(lines)
	}
	return slices.Concat(lines[:start], restore, lines[start:])
}

// shellQuote quotes what is not plain to a shell, as Python's shlex.quote does.
func shellQuote(s string) string {
	const safe = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_@%+=:,./-"
	plain := s != "" && strings.Trim(s, safe) == ""
	if plain {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'"'"'`) + "'"
}

// RebuildEvalScript writes the script of a Python repository from its version's install and test
// commands and the test patch: the eval_script that release 5 put into the row, or for 4.1.0 the one it
// generated, which resets only test files that existed. A test patch of new files alone, on which 4.1.0
// reset the whole tree and with it the model's patch, resets nothing here.
func RebuildEvalScript(in *Instance, release testlog.Release) (string, error) {
	spec, err := findEvalSpec(in.Repo, in.Version)
	if err != nil {
		return "", errext.WithHint(fmt.Errorf("build eval script of %s: %w: %w", in.ID, ErrNoEvalScript, err),
			"use a dataset with the fields of release 5 (image, eval_script, log_parser, eval_type)")
	}
	files := PatchFiles(in.TestPatch)
	if len(files) == 0 {
		return "", fmt.Errorf("build eval script of %s: %w: its test_patch names no file", in.ID, ErrNoEvalScript)
	}
	if slices.Contains(strings.Split(in.TestPatch, "\n"), heredoc) {
		return "", fmt.Errorf("build eval script of %s: %w: its test_patch holds the here-document's end", in.ID, ErrNoEvalScript)
	}
	reset := resetCommand(in.BaseCommit, files, release)
	parts := []string{scriptHead, scriptFlags, condaActivation, "cd /testbed"}
	parts = append(parts, spec.setup...)
	parts = append(parts,
		"git config --global --add safe.directory /testbed", "cd /testbed",
		"git status", "git show", "git -c core.fileMode=false diff "+in.BaseCommit,
		condaActivation, spec.install, reset,
		"git apply -v - <<'"+heredoc+"'\n"+in.TestPatch+"\n"+heredoc,
		": '"+grade.MarkerStart+"'",
		strings.Join(append([]string{spec.test}, testDirectives(in.Repo, files)...), " "),
		": '"+grade.MarkerEnd+"'", reset)
	return strings.Join(parts, "\n") + "\n", nil
}

func resetCommand(base string, files []PatchFile, release testlog.Release) string {
	args := []string{"git", "checkout", base}
	for _, f := range files {
		switch {
		case release != testlog.V410:
			args = append(args, f.Path())
		case f.Old != "":
			args = append(args, f.Old)
		}
	}
	if len(args) == 3 {
		return noFilesToReset
	}
	return strings.Join(args, " ")
}

// notTests are endings of files in a test patch that no runner is given.
var notTests = []string{
	".json", ".png", "csv", ".txt", ".md", ".jpg", ".jpeg", ".pkl", ".yml", ".yaml", ".toml",
}

// testDirectives names the touched test files as the repository's runner wants them.
func testDirectives(repo string, files []PatchFile) []string {
	var all []string
	for _, f := range files {
		name := f.Path()
		if slices.ContainsFunc(notTests, func(ending string) bool { return strings.HasSuffix(name, ending) }) {
			continue
		}
		if repo == "django/django" {
			name = strings.TrimPrefix(strings.TrimSuffix(name, ".py"), "tests/")
			name = strings.ReplaceAll(name, "/", ".")
		}
		all = append(all, name)
	}
	return all
}
