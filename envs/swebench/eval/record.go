package eval

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"github.com/hindsightrl/harness/envs/swebench"
	"github.com/hindsightrl/harness/envs/swebench/grade"
)

// fileOutcome is beside the official files what a later run reads to know that there is nothing to do.
const fileOutcome = "outcome.json"

// record is an outcome.json.
type record struct {
	Key            string  `json:"key"` // swebench.CacheKey of what the evaluation depends on
	TimeoutSeconds float64 `json:"timeout_seconds"`
	MaxLog         int     `json:"max_log"`
	Outcome
}

// dir is where a job's files lie: the instance's folder for the first run of the tests, a folder in it
// for each repeat.
func (j *job) dir(root, runID string) string {
	dir := swebench.InstanceDir(root, runID, j.pred)
	if j.repeat > 1 {
		dir = filepath.Join(dir, "repeat-"+strconv.Itoa(j.repeat))
	}
	return dir
}

// recorded returns the outcome that an earlier run left, if it is this job's: the same key, an image
// that is gone or still the same, and no limit that is wider now. An infrastructure failure is none.
func (e *Evaluator) recorded(ctx context.Context, j *job, dir string) (Outcome, bool, error) {
	raw, err := os.ReadFile(filepath.Join(dir, fileOutcome))
	if errors.Is(err, os.ErrNotExist) {
		return Outcome{}, false, nil
	}
	if err != nil {
		return Outcome{}, false, err
	}
	var r record
	if err := json.Unmarshal(raw, &r); err != nil || r.Key != j.key || r.Kind == Infrastructure {
		return Outcome{}, false, nil // a file that was cut short is no record
	}
	if r.Kind == TimedOut && e.config.Timeout.Seconds() > r.TimeoutSeconds || r.Kind == LogTooLarge && e.config.MaxLog > r.MaxLog {
		return Outcome{}, false, nil
	}
	if r.Image != "" {
		id, err := e.boxes.ImageID(ctx, r.Image)
		if err != nil {
			return Outcome{}, false, err
		}
		if id != "" && id != r.ImageID {
			return Outcome{}, false, nil
		}
	}
	r.Cached = true
	return r.Outcome, true, nil
}

// write writes a job's files. The record comes last, and the old one goes first: whoever finds a record
// finds the files that belong to it.
func (e *Evaluator) write(j *job, t *trial, dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for _, name := range [...]string{fileOutcome, swebench.FileReport, swebench.FileTestOutput} {
		if err := os.Remove(filepath.Join(dir, name)); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	rec, err := json.MarshalIndent(record{
		Key: j.key, TimeoutSeconds: e.config.Timeout.Seconds(), MaxLog: e.config.MaxLog, Outcome: t.Outcome,
	}, "", "  ")
	if err != nil {
		return err
	}
	files := []struct {
		name    string
		content []byte
	}{
		{swebench.FilePatch, []byte(j.pred.Patch)},
		{swebench.FileScript, []byte(j.script)},
		{swebench.FileLog, []byte(t.said.text.String())},
		{swebench.FileTestOutput, t.log},
		{swebench.FileReport, t.report},
		{fileOutcome, append(rec, '\n')},
	}
	for _, f := range files {
		if f.content == nil {
			continue // there was no such thing
		}
		if err := writeFile(filepath.Join(dir, f.name), f.content); err != nil {
			return err
		}
	}
	return nil
}

// writeFile replaces a file as a whole.
func writeFile(name string, content []byte) error {
	fresh := name + ".new"
	if err := os.WriteFile(fresh, content, 0o644); err != nil {
		return errors.Join(err, os.Remove(fresh))
	}
	return os.Rename(fresh, name)
}

// expected returns how the expected tests of a run came out, from its report.json; nil where it was not
// graded.
func expected(dir, id string) (map[string]bool, error) {
	raw, err := os.ReadFile(filepath.Join(dir, swebench.FileReport))
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var report map[string]struct {
		Tests map[string]grade.Outcome `json:"tests_status"`
	}
	if err := json.Unmarshal(raw, &report); err != nil {
		return nil, fmt.Errorf("read report of %s: %w", id, err)
	}
	passed := map[string]bool{}
	for _, o := range report[id].Tests {
		for _, test := range o.Success {
			passed[test] = true
		}
		for _, test := range o.Failure {
			passed[test] = false
		}
	}
	return passed, nil
}
