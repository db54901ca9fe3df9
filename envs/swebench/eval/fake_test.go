package eval_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hindsightrl/harness"
	"github.com/hindsightrl/harness/envs/internal/container"
	"github.com/hindsightrl/harness/envs/swebench"
	"github.com/hindsightrl/harness/envs/swebench/eval"
	"github.com/hindsightrl/harness/envs/swebench/grade"
)

// script is a row's eval_script whose tests print what they find in result.txt.
const script = `#!/bin/bash
set -uxo pipefail
cd /testbed
: '` + grade.MarkerStart + `'
sh run_tests.sh
: '` + grade.MarkerEnd + `'
git checkout HEAD -- run_tests.sh
`

const goldPatch = `diff --git a/result.txt b/result.txt
--- a/result.txt
+++ b/result.txt
@@ -1,5 +1,5 @@
 one
 two
 three
-FAILED t.py::fix
+PASSED t.py::fix
 PASSED t.py::keep
`

// dataset makes rows of one repository, all alike but for their ids.
func dataset(tb testing.TB, image string, changes map[string]any, ids ...string) *swebench.Dataset {
	tb.Helper()
	var text strings.Builder
	for _, id := range ids {
		row := map[string]any{
			"instance_id": id, "repo": "a/b", "base_commit": "HEAD", "version": "1", "problem_statement": "It is broken.",
			"patch": goldPatch, "test_patch": "", "FAIL_TO_PASS": []string{"t.py::fix"}, "PASS_TO_PASS": []string{"t.py::keep"},
			"image": image, "eval_script": script, "log_parser": "parse_log_pytest", "eval_type": "pass_and_fail",
		}
		for k, v := range changes {
			row[k] = v
		}
		line, err := json.Marshal(row)
		if err != nil {
			tb.Fatal(err)
		}
		text.Write(append(line, '\n'))
	}
	rows, err := swebench.ParseRows(strings.NewReader(text.String()), true)
	if err != nil {
		tb.Fatal(err)
	}
	data, err := swebench.NewDataset(rows)
	if err != nil {
		tb.Fatal(err)
	}
	return data
}

func prediction(id, patch string) swebench.Prediction {
	return swebench.Prediction{InstanceID: id, Model: "org/model", Patch: patch}
}

// logOf is what the script prints around its tests' output.
func logOf(output string) string {
	return "+ : '" + grade.MarkerStart + "'\n+ sh run_tests.sh\n" + output + "+ SWEBENCH_TEST_EXIT_CODE=0\n+ : '" + grade.MarkerEnd +
		"'\n+ echo '" + grade.MarkerExitCode + ": 0'\n" + grade.MarkerExitCode + ": 0\n"
}

// boxes hands out fakes: apply and tests say what commands do.
type boxes struct {
	mu        sync.Mutex
	takes     int
	finds     int
	removed   int
	forgotten []string // images
	forget    error
	ids       map[string]string // of images; nil is "sha256:1" for all
	find      func(try int) error
	take      func(try int) error
	apply     func(command string) container.Result
	tests     func(take int) (container.Result, error)
}

func (b *boxes) Find(_ context.Context, names []string) (string, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.finds++
	if b.find != nil {
		if err := b.find(b.finds); err != nil {
			return "", err
		}
	}
	if b.ids != nil && b.ids[names[0]] == "" {
		b.ids[names[0]] = "sha256:1" // pulled
	}
	return names[0], nil
}

func (b *boxes) ImageID(_ context.Context, name string) (string, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.ids != nil {
		return b.ids[name], nil
	}
	return "sha256:1", nil
}

func (b *boxes) RemoveImage(_ context.Context, name string) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.forgotten = append(b.forgotten, name)
	return b.forget
}

func (b *boxes) Warm(container.Spec) {}
func (b *boxes) Close() error        { return nil }

func (b *boxes) Take(context.Context, container.Spec) (eval.Box, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.takes++
	if b.take != nil {
		if err := b.take(b.takes); err != nil {
			return nil, err
		}
	}
	return &box{boxes: b, take: b.takes}, nil
}

func (b *boxes) taken() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.takes
}

type box struct {
	boxes *boxes
	take  int
}

func (b *box) ID() string { return "fake" }

func (b *box) Exec(ctx context.Context, cmd container.Command) (container.Result, error) {
	if err := ctx.Err(); err != nil {
		return container.Result{}, err
	}
	if cmd.Args[0] == "/bin/bash" {
		if b.boxes.tests == nil {
			return container.Result{Output: []byte(logOf("PASSED t.py::fix\nPASSED t.py::keep\n"))}, nil
		}
		return b.boxes.tests(b.take)
	}
	if b.boxes.apply == nil {
		return container.Result{}, nil
	}
	return b.boxes.apply(cmd.Args[len(cmd.Args)-1]), nil
}

func (b *box) WriteFile(context.Context, string, []byte, int64) error { return nil }

func (b *box) Remove(context.Context) error {
	b.boxes.mu.Lock()
	defer b.boxes.mu.Unlock()
	b.boxes.removed++
	return nil
}

func config() eval.Config {
	return eval.Config{Now: time.Now, Pause: time.Microsecond}
}

func evaluator(tb testing.TB, b eval.Boxes, c eval.Config) *eval.Evaluator {
	tb.Helper()
	e, err := eval.New(b, c)
	if err != nil {
		tb.Fatal(err)
	}
	return e
}

var errBroken = harness.Fail(harness.FailEnv, "start container", errors.New("the daemon went away"))
