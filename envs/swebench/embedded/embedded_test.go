package embedded

import (
	"archive/tar"
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hindsightrl/harness/envs/swebench"
	"github.com/hindsightrl/harness/envs/swebench/grade"
	"github.com/hindsightrl/harness/envs/swebench/testlog"
)

func TestRowsAreADataset(t *testing.T) {
	t.Parallel()
	rows, err := Rows()
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "pair.jsonl")
	if err := os.WriteFile(file, rows, 0o600); err != nil {
		t.Fatal(err)
	}
	data, err := swebench.OpenDataset(file)
	if err != nil {
		t.Fatal(err)
	}
	if len(data.Instances) != len(IDs) {
		t.Fatalf("%d instances", len(data.Instances))
	}
	for i, in := range data.Instances {
		if in.ID != IDs[i] || len(in.FailToPass) == 0 || len(in.PassToPass) == 0 || !testlog.Known(in.LogParser) || in.EvalType != grade.PassAndFail || in.Rebuilt {
			t.Errorf("instance %+v", in)
		}
		if !strings.HasPrefix(in.Image, swebench.EmbeddedImages) || len(in.BaseCommit) != 40 {
			t.Errorf("%s: image %q, base commit %q", in.ID, in.Image, in.BaseCommit)
		}
		script, err := swebench.EvalScript(in, testlog.V502)
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{in.TestPatch, grade.MarkerStart, grade.MarkerEnd, grade.MarkerExitCode, "git checkout " + in.BaseCommit + " "} {
			if !strings.Contains(script, want) {
				t.Errorf("%s: the script has no %q", in.ID, want)
			}
		}
		for _, f := range swebench.PatchFiles(in.Patch) {
			if strings.Contains(f.Path(), "test") {
				t.Errorf("%s: the repair touches the test %s", in.ID, f.Path())
			}
		}
	}
}

// The context holds the repository with the names that it has in the image, and the recipe.
func TestBuildContext(t *testing.T) {
	t.Parallel()
	for _, id := range IDs {
		r, err := buildContext(id)
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for tr := tar.NewReader(r); ; {
			h, err := tr.Next()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			names = append(names, h.Name)
		}
		want := []string{"Dockerfile", "setup.sh", "gold.patch", "repo/README.md", "repo/.gitignore"}
		if id == "hindsight__pathmatch-2" {
			want = append(want, "repo/go.mod")
		}
		for _, w := range want {
			if !slices.Contains(names, w) {
				t.Errorf("%s: the context has no %s: %q", id, w, names)
			}
		}
	}
}

// setup.sh makes the base commit that the rows name, on any machine with git.
func TestSetupMakesTheBaseCommit(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed")
	}
	data, err := Dataset()
	if err != nil {
		t.Fatal(err)
	}
	for _, in := range data.Instances {
		dir := t.TempDir()
		unpack(t, in.ID, dir)
		script, err := tasks.ReadFile(path.Join(root, "setup.sh"))
		if err != nil {
			t.Fatal(err)
		}
		text := strings.ReplaceAll(string(script), "/testbed", dir)
		text = strings.ReplaceAll(text, "/tmp/recipe", dir+".recipe")
		text = text[:strings.Index(text, "if [ -f go.mod ]")]
		if err := os.Mkdir(dir+".recipe", 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir+".recipe", "gold.patch"), []byte(in.Patch), 0o600); err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command("sh", "-c", text+"\ngit rev-parse HEAD")
		cmd.Env = append(os.Environ(), "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null", "HOME="+dir+".recipe")
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%s: %v\n%s", in.ID, err, out)
		}
		if got := strings.TrimSpace(string(out)); got != in.BaseCommit {
			t.Errorf("%s: the base commit is %s, the row says %s", in.ID, got, in.BaseCommit)
		}
	}
}

func unpack(t *testing.T, id, dir string) {
	t.Helper()
	from := path.Join(root, id, "repo")
	err := fs.WalkDir(tasks, from, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		to := filepath.Join(dir, strings.TrimSuffix(strings.TrimPrefix(name, from), ".txt"))
		if d.IsDir() {
			return os.MkdirAll(to, 0o755)
		}
		content, err := tasks.ReadFile(name)
		if err != nil {
			return err
		}
		return os.WriteFile(to, content, 0o644)
	})
	if err != nil {
		t.Fatal(err)
	}
}

// A change of the recipe is another image.
func TestImageNamesFollowTheRecipe(t *testing.T) {
	t.Parallel()
	names := map[string]bool{}
	for _, id := range IDs {
		name, err := ImageName(id)
		if err != nil {
			t.Fatal(err)
		}
		names[name] = true
	}
	if len(names) != len(IDs) {
		t.Errorf("image names %v", names)
	}
	if _, err := ImageName("hindsight__none-1"); err == nil {
		t.Error("an instance without a recipe has an image")
	}
	if base := baseName(); !strings.HasPrefix(base, "hindsight/swebench-base:") || bytes.ContainsAny([]byte(base), " /:") && strings.Count(base, ":") != 1 {
		t.Errorf("base image %q", base)
	}
}
