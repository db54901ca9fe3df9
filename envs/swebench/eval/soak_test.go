//go:build e2e

package eval_test

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/client"

	own "github.com/hindsightrl/harness/envs/internal/container"
	"github.com/hindsightrl/harness/envs/internal/container/containertest"
	"github.com/hindsightrl/harness/envs/swebench"
	"github.com/hindsightrl/harness/envs/swebench/eval"
)

// soakRuns is how many evaluations the soak makes; HARNESS_SOAK asks for another number.
func soakRuns() int {
	if n, err := strconv.Atoi(os.Getenv("HARNESS_SOAK")); err == nil && n > 0 {
		return n
	}
	return 500
}

// usage is what must not grow.
type usage struct {
	heap       uint64
	goroutines int
	files      int
	containers int
	daemonFDs  int   // of the daemon, where it can be seen; else 0
	disk       int64 // of the daemon, where it can be seen: images and containers, also others'
}

func measure(t *testing.T, api *client.Client, owner string) usage {
	t.Helper()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	u := usage{heap: m.HeapAlloc, goroutines: runtime.NumGoroutine(), files: countFiles("/proc/self/fd")}
	list, err := api.ContainerList(t.Context(), container.ListOptions{All: true})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range list {
		if c.Labels[own.LabelOwner] == owner {
			u.containers++
		}
	}
	info, err := api.Info(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	u.disk = sizeOf(filepath.Join(info.DockerRootDir, "overlay2")) + sizeOf(filepath.Join(info.DockerRootDir, "containers"))
	pids, err := filepath.Glob("/proc/[0-9]*/comm")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range pids {
		if comm, err := os.ReadFile(name); err == nil && strings.TrimSpace(string(comm)) == "dockerd" {
			u.daemonFDs += countFiles(filepath.Join(filepath.Dir(name), "fd"))
		}
	}
	return u
}

func countFiles(dir string) int {
	entries, _ := os.ReadDir(dir) // another's process may not be looked into
	return len(entries)
}

// sizeOf adds up the files below a folder, as far as they can be seen; some go while it looks.
func sizeOf(root string) (n int64) {
	_ = filepath.WalkDir(root, func(_ string, d os.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			if info, err := d.Info(); err == nil {
				n += info.Size()
			}
		}
		return nil
	})
	return n
}

func over(t *testing.T, engine *own.Engine, c eval.Config) *eval.Evaluator {
	t.Helper()
	e, err := eval.WithEngine(engine, c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	})
	return e
}

// soakBatch is n evaluations of the patches in turn.
func soakBatch(t *testing.T, image, root string, patches []string, n int) eval.Batch {
	t.Helper()
	b := eval.Batch{Root: root, Workers: 4}
	var ids []string
	for i := range n {
		ids = append(ids, fmt.Sprintf("a__b-%d", i))
		b.Predictions = append(b.Predictions, swebench.Prediction{InstanceID: ids[i], Model: "soak", Patch: patches[i%len(patches)]})
	}
	b.Data = dataset(t, image, nil, ids...)
	return b
}

// Five hundred evaluations, of every kind of patch, leave no memory, goroutines, file descriptors,
// containers or disk behind.
func TestSoak(t *testing.T) {
	const owner = "test-soak"
	c := config()
	c.Warm, c.MaxLog = 4, 1<<20
	engine := containertest.Open(t, own.Config{Owner: owner})
	image := containertest.Image(t, engine, repository(t)...)
	patient, hasty := over(t, engine, c), c
	hasty.Timeout = 2 * time.Second
	cut := over(t, engine, hasty)
	api, err := client.NewClientWithOpts(client.FromEnv, client.WithAPIVersionNegotiation())
	if err != nil {
		t.Fatal(err)
	}
	defer api.Close()
	ends := []string{goldPatch, mode("other"), goldPatch, "nonsense\n", mode("suicide"), goldPatch, goldPatch, ""}
	never := []string{mode("sleep"), mode("flood")}
	const round = 50
	root := t.TempDir()
	good, bad := soakBatch(t, image, root, ends, round*4/5), soakBatch(t, image, root, never, round/5)
	var first, last usage
	began := time.Now()
	for done := 0; done < soakRuns(); done += round {
		good.RunID, bad.RunID = fmt.Sprintf("good-%d", done), fmt.Sprintf("bad-%d", done)
		if sum := evaluate(t, patient, good); sum.Resolved() != round*2/5 || sum.Count(eval.Infrastructure) != 0 {
			t.Fatalf("after %d: %v", done, sum.Models[0].Counts)
		}
		if sum := evaluate(t, cut, bad); sum.Count(eval.TimedOut) != round/5 {
			t.Fatalf("after %d: %v", done, sum.Models[0].Counts)
		}
		last = measure(t, api, owner)
		if done == 0 {
			first = last
		}
		t.Logf("%4d evaluations, %5.1f s: heap %.1f MB, %d goroutines, %d file descriptors, %d containers, daemon %d descriptors, disk %+.1f MB",
			done+round, time.Since(began).Seconds(), float64(last.heap)/1e6, last.goroutines, last.files, last.containers, last.daemonFDs,
			float64(last.disk-first.disk)/1e6)
	}
	// Some slack for what the runtime and idle connections keep; none for containers.
	if last.heap > first.heap+8<<20 || last.goroutines > first.goroutines+10 || last.files > first.files+10 || last.containers > 2*c.Warm {
		t.Errorf("grew from %+v to %+v", first, last)
	}
}

// A patch of 100 MB, for which a model let a build run loose, is evaluated as any other.
func TestHugePatch(t *testing.T) {
	engine := containertest.Open(t, own.Config{})
	e := over(t, engine, config())
	data := dataset(t, containertest.Image(t, engine, repository(t)...), nil, "a__b-1")
	const lines = 1_000_000
	var patch strings.Builder
	patch.WriteString(goldPatch + "diff --git a/log.txt b/log.txt\nnew file mode 100644\n--- /dev/null\n+++ b/log.txt\n")
	fmt.Fprintf(&patch, "@@ -0,0 +1,%d @@\n", lines)
	for i := range lines {
		fmt.Fprintf(&patch, "+%099d\n", i)
	}
	began := time.Now()
	o, err := e.Evaluate(t.Context(), data.Instances[0], prediction("a__b-1", patch.String()))
	if err != nil || !o.Resolved {
		t.Errorf("%+v, %v", o, err)
	}
	t.Logf("%d MB: %v", patch.Len()/1e6, time.Since(began))
	patch.WriteString(strings.Repeat("#", 40<<20))
	if o, err := e.Evaluate(t.Context(), data.Instances[0], prediction("a__b-1", patch.String())); err != nil || o.Kind != eval.LargePatch {
		t.Errorf("above the bound: %+v, %v", o, err)
	}
}
