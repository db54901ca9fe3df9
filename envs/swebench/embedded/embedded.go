// Package embedded holds two small instances of SWE-bench's form: a repository in Python and one in Go,
// each with an issue, tests that show it, and the repair. They run wherever Docker is, so that an
// episode and its evaluation can be seen in minutes and tested everywhere.
//
// Rows and Dataset give the instances, with the image of each; BuildImages makes the images from the
// recipe in _tasks.
package embedded

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io/fs"
	"path"
	"sync"

	"github.com/hindsightrl/harness/envs/swebench"
	"github.com/hindsightrl/harness/envs/swebench/grade"
)

//go:embed all:_tasks
var tasks embed.FS

const root = "_tasks"

// IDs are the instances: the Python one, then the Go one.
var IDs = []string{"hindsight__shiftplan-1", "hindsight__pathmatch-2"}

// task is an instance's task.json.
type task struct {
	Repo       string   `json:"repo"`
	Version    string   `json:"version"`
	BaseCommit string   `json:"base_commit"` // what setup.sh's fixed names and dates make of the repository
	CreatedAt  string   `json:"created_at"`
	Difficulty string   `json:"difficulty"`
	LogParser  string   `json:"log_parser"`
	Test       string   `json:"test"` // the command that runs the tests
	FailToPass []string `json:"fail_to_pass"`
	PassToPass []string `json:"pass_to_pass"`
}

// rowOf is an instance in the official form: the fields of a dataset of release 5.
type rowOf struct {
	Repo             string `json:"repo"`
	InstanceID       string `json:"instance_id"`
	BaseCommit       string `json:"base_commit"`
	Patch            string `json:"patch"`
	TestPatch        string `json:"test_patch"`
	ProblemStatement string `json:"problem_statement"`
	HintsText        string `json:"hints_text"`
	CreatedAt        string `json:"created_at"`
	Version          string `json:"version"`
	FailToPass       string `json:"FAIL_TO_PASS"` // JSON text, as the official sets have it
	PassToPass       string `json:"PASS_TO_PASS"`
	SetupCommit      string `json:"environment_setup_commit"`
	Difficulty       string `json:"difficulty"`
	Image            string `json:"image"`
	EvalScript       string `json:"eval_script"`
	LogParser        string `json:"log_parser"`
	EvalType         string `json:"eval_type"`
}

// Rows returns the instances as JSON lines, a dataset file like the official ones.
func Rows() ([]byte, error) {
	var out []byte
	for _, id := range IDs {
		row, err := readRow(id)
		if err != nil {
			return nil, fmt.Errorf("read embedded instance %s: %w", id, err)
		}
		line, err := json.Marshal(row)
		if err != nil {
			return nil, fmt.Errorf("write embedded instance %s: %w", id, err)
		}
		out = append(append(out, line...), '\n')
	}
	return out, nil
}

var dataset = sync.OnceValues(func() (*swebench.Dataset, error) {
	rows, err := Rows()
	if err != nil {
		return nil, err
	}
	instances, err := swebench.ParseRows(bytes.NewReader(rows), true)
	if err != nil {
		return nil, err
	}
	return swebench.NewDataset(instances)
})

// Dataset returns the instances as rows that were read.
func Dataset() (*swebench.Dataset, error) { return dataset() }

func readRow(id string) (rowOf, error) {
	files := map[string]string{"task.json": "", "problem_statement.md": "", "gold.patch": "", "test.patch": ""}
	for name := range files {
		content, err := tasks.ReadFile(path.Join(root, id, name))
		if err != nil {
			return rowOf{}, err
		}
		files[name] = string(content)
	}
	var t task
	if err := json.Unmarshal([]byte(files["task.json"]), &t); err != nil {
		return rowOf{}, fmt.Errorf("task.json: %w", err)
	}
	failToPass, err := json.Marshal(t.FailToPass)
	if err != nil {
		return rowOf{}, err
	}
	passToPass, err := json.Marshal(t.PassToPass)
	if err != nil {
		return rowOf{}, err
	}
	image, err := ImageName(id)
	if err != nil {
		return rowOf{}, err
	}
	return rowOf{
		Repo: t.Repo, InstanceID: id, BaseCommit: t.BaseCommit, Patch: files["gold.patch"], TestPatch: files["test.patch"],
		ProblemStatement: files["problem_statement.md"], CreatedAt: t.CreatedAt, Version: t.Version,
		FailToPass: string(failToPass), PassToPass: string(passToPass), SetupCommit: t.BaseCommit, Difficulty: t.Difficulty,
		Image: image, EvalScript: evalScript(t, files["test.patch"]), LogParser: t.LogParser, EvalType: string(grade.PassAndFail),
	}, nil
}

// evalScript is the instance's script in the official form, without conda.
func evalScript(t task, testPatch string) string {
	reset := "git checkout " + t.BaseCommit
	for _, f := range swebench.PatchFiles(testPatch) {
		reset += " " + f.Path()
	}
	return `#!/bin/bash
set -uxo pipefail
cd /testbed
git config --global --add safe.directory /testbed
cd /testbed
git status
git show
git -c core.fileMode=false diff ` + t.BaseCommit + "\n" + reset + `
git apply -v - <<'EOF_114329324912'
` + testPatch + `
EOF_114329324912
: '` + grade.MarkerStart + `'
` + t.Test + `
: '` + grade.MarkerEnd + "'\n" + reset + "\n"
}

// ImageName is the name of an instance's image. Its tag is a hash of the recipe: an image of that name
// is that instance's.
func ImageName(id string) (string, error) {
	key, err := recipeKey(id)
	if err != nil {
		return "", err
	}
	return swebench.EmbeddedImages + id[len("hindsight__"):] + ":" + key, nil
}

// recipeKey hashes every file that an instance's image is made of.
func recipeKey(id string) (string, error) {
	h := sha256.New()
	for _, from := range [...]string{"Dockerfile", "setup.sh", id + "/gold.patch", id + "/repo"} {
		err := fs.WalkDir(tasks, path.Join(root, from), func(name string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			content, err := tasks.ReadFile(name)
			fmt.Fprintf(h, "%d:%s%d:%s", len(name), name, len(content), content)
			return err
		})
		if err != nil {
			return "", fmt.Errorf("hash recipe of %s: %w", id, err)
		}
	}
	return hex.EncodeToString(h.Sum(nil)[:6]), nil
}
