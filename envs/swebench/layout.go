package swebench

import (
	"crypto/sha256"
	"encoding/hex"
	"path/filepath"
	"time"

	"github.com/hindsightrl/harness/internal/pyjson"
)

// The files of the official layout, in an instance's folder.
const (
	FilePatch      = "patch.diff"
	FileScript     = "eval.sh"
	FileTestOutput = "test_output.txt"
	FileLog        = "run_instance.log"
	FileReport     = "report.json"
	FileRun        = "run.json" // in the run's folder
)

// RunDir is where a run's results lie below a root folder.
func RunDir(root, runID string) string { return filepath.Join(root, "logs", "run_evaluation", runID) }

// InstanceDir is where the results of one prediction lie.
func InstanceDir(root, runID string, p Prediction) string {
	return filepath.Join(RunDir(root, runID), p.ModelDir(), p.InstanceID)
}

// CacheKey identifies what an evaluation depends on: another patch, script or grader is another
// evaluation, even under the same run's name. It is hex SHA-256.
func CacheKey(p Prediction, script, image string, opt string) string {
	h := sha256.New()
	for _, part := range [...]string{p.InstanceID, p.Model, p.Patch, script, image, opt} {
		h.Write([]byte(part))
		h.Write([]byte{0})
	}
	return hex.EncodeToString(h.Sum(nil))
}

// RunMetadata is the content of run.json: what a run graded against, for grading it again later.
// taskRepo "" is null.
func RunMetadata(dataset, split, taskRepo string, created time.Time) []byte {
	var repo any
	if taskRepo != "" {
		repo = taskRepo
	}
	return append(pyjson.Indent(pyjson.Object{
		{Key: "dataset", Value: dataset},
		{Key: "split", Value: split},
		{Key: "task_repo", Value: repo},
		{Key: "created_at", Value: created.UTC().Format("2006-01-02T15:04:05+00:00")},
	}, 2), '\n')
}
