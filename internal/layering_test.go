package internal_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"strings"
	"testing"
)

const module = "github.com/hindsightrl/harness"

// layer says what the packages under a folder may import: of this module (by folder) and of others
// (by module path). The standard library is free, except where pure says otherwise.
type layer struct {
	folder string
	own    []string
	others []string
	pure   []string // when set: the only standard-library packages allowed
}

// layers is docs/ARCHITECTURE.md's table, longest folder first: the first match decides.
var layers = []layer{
	{folder: "cmd/harness", own: []string{""}, others: []string{"*"}},
	{
		folder: "credit/creditverify", own: []string{"credit", "internal"},
	},
	{
		folder: "credit",
		pure:   []string{"math", "slices", "errors", "fmt", "cmp", "sort", "strings", "strconv"},
		own:    []string{"internal/difflib"},
	},
	{folder: "creditrun", own: []string{".", "credit", "internal"}},
	{
		folder: "envs/alfworld", own: []string{".", "internal", "envs/internal", "envs/alfworld"},
		others: []string{"golang.org/x/sync", "github.com/ulikunitz/xz", "github.com/klauspost/compress"},
	},
	{
		folder: "envs/webshop", own: []string{".", "internal", "envs/internal", "envs/webshop"},
		others: []string{
			"golang.org/x/sync", "golang.org/x/net", "github.com/klauspost/compress", "github.com/blevesearch/segment",
			"github.com/blevesearch/go-porterstemmer", "github.com/jdkato/prose/v2", "github.com/go-rod/rod",
		},
	},
	{folder: "envs/openenv", own: []string{".", "internal"}, others: []string{"github.com/gorilla/websocket"}},
	{
		folder: "envs/swebench", own: []string{".", "internal", "envs/internal", "envs/swebench"},
		others: []string{"golang.org/x/sync", "github.com/parquet-go/parquet-go", "github.com/ulikunitz/xz"},
	},
	{folder: "envs/qa", own: []string{".", "internal", "envs/qa"}},
	{
		folder: "envs/internal", own: []string{".", "internal"},
		others: []string{"golang.org/x/sync", "github.com/docker/docker", "github.com/containerd/errdefs", "github.com/gorilla/websocket"},
	},
	{folder: "envs/originaltest", own: []string{".", "internal", "envs/internal"}},
	{folder: "envs/envdiff", own: []string{".", "internal"}},
	{folder: "envs/envtest", own: []string{".", "internal"}, others: []string{"github.com/google/go-cmp"}},
	{
		folder: "llm/gguf", own: []string{".", "llm", "internal"},
		others: []string{"golang.org/x/sync", "github.com/hybridgroup/yzma", "github.com/jupiterrider/ffi", "github.com/ebitengine/purego"},
	},
	{
		folder: "llm", own: []string{".", "llm", "internal"},
		others: []string{"golang.org/x/sync", "golang.org/x/text", "github.com/cenkalti/backoff/v5", "github.com/klauspost/compress"},
	},
	{
		folder: "agent", own: []string{".", "llm", "internal", "agent"},
		others: []string{"golang.org/x/sync", "golang.org/x/text", "github.com/cenkalti/backoff/v5", "gopkg.in/yaml.v3"},
	},
	{
		folder: "teacher", own: []string{".", "llm", "agent", "internal", "teacher"},
		others: []string{"golang.org/x/sync", "golang.org/x/text", "github.com/cenkalti/backoff/v5", "gopkg.in/yaml.v3"},
	},
	{
		folder: "store", own: []string{".", "internal", "store"},
		others: []string{"github.com/mattn/go-sqlite3", "github.com/klauspost/compress", "golang.org/x/sys"},
	},
	{
		folder: "feed", own: []string{".", "credit", "internal"},
		others: []string{
			"github.com/gorilla/websocket", "github.com/apache/arrow-go/v18", "github.com/google/flatbuffers", "github.com/vmihailenco/msgpack/v5", "golang.org/x/sync",
		},
	},
	{folder: "importer", own: []string{".", "internal"}},
	{folder: "internal/testutil", others: []string{"go.uber.org/goleak"}},
	{folder: "internal", own: []string{".", "internal"}, others: []string{"github.com/klauspost/compress", "golang.org/x/text", "gopkg.in/yaml.v3", "gonum.org/v1/gonum"}},
	{folder: "scripts", own: []string{""}, others: []string{"*"}},
	{folder: "."},
}

type listed struct {
	ImportPath string
	Name       string
	Imports    []string
	Standard   bool
	Module     *struct{ Path string }
}

// TestLayering holds every package to what its folder may import. Generators (package main outside
// cmd) are tools that nothing imports, and free.
func TestLayering(t *testing.T) {
	byPath := goList(t)
	checked := 0
	for path, p := range byPath {
		folder, own := folderOf(path)
		if !own || p.Name == "main" && !within(folder, "cmd") {
			continue
		}
		rule, ok := ruleFor(folder)
		if !ok {
			t.Errorf("%s: no layering rule for this folder: add one to the table", path)
			continue
		}
		for _, imp := range p.Imports {
			checked++
			if why := refuse(rule, imp, byPath[imp]); why != "" {
				t.Errorf("%s imports %s: %s", path, imp, why)
			}
		}
	}
	if checked == 0 {
		t.Fatal("no imports were checked")
	}
}

func refuse(r layer, imp string, p listed) string {
	if folder, own := folderOf(imp); own {
		if allowed(r.own, folder) || within(folder, r.folder) && r.folder != "." {
			return ""
		}
		return "packages in " + r.folder + " may not import this folder"
	}
	if p.Module == nil { // standard library
		if r.pure == nil {
			return ""
		}
		for _, s := range r.pure {
			if s == imp {
				return ""
			}
		}
		return "only " + strings.Join(r.pure, ", ") + " of the standard library"
	}
	for _, m := range r.others {
		if m == "*" || m == p.Module.Path {
			return ""
		}
	}
	return "packages in " + r.folder + " may not import module " + p.Module.Path
}

// allowed reports whether folder lies in one of the listed ones; "." is the root package alone and
// "" is everything.
func allowed(list []string, folder string) bool {
	for _, l := range list {
		if l == "" || l == folder || l != "." && within(folder, l) {
			return true
		}
	}
	return false
}

func within(folder, parent string) bool {
	return folder == parent || strings.HasPrefix(folder, parent+"/")
}

func ruleFor(folder string) (layer, bool) {
	for _, l := range layers {
		if folder == l.folder || l.folder != "." && within(folder, l.folder) {
			return l, true
		}
	}
	return layer{}, false
}

func folderOf(path string) (string, bool) {
	if path == module {
		return ".", true
	}
	return strings.CutPrefix(path, module+"/")
}

func goList(t *testing.T) map[string]listed {
	t.Helper()
	cmd := exec.Command("go", "list", "-deps", "-json=ImportPath,Name,Imports,Standard,Module", "./...")
	cmd.Dir = ".."
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v\n%s", err, stderr.String())
	}
	pkgs := map[string]listed{}
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var p listed
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			return pkgs
		} else if err != nil {
			t.Fatal(err)
		}
		pkgs[p.ImportPath] = p
	}
}
