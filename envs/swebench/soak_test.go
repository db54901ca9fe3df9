//go:build e2e

package swebench_test

import (
	"os"
	"runtime"
	"strconv"
	"testing"
	"time"

	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/filters"
	"github.com/docker/docker/client"
	"golang.org/x/sync/errgroup"

	"github.com/hindsightrl/harness"
	own "github.com/hindsightrl/harness/envs/internal/container"
	"github.com/hindsightrl/harness/envs/swebench"
	"github.com/hindsightrl/harness/envs/swebench/embedded/embtest"
)

// soakEpisodes is how many episodes the soak plays; HARNESS_SOAK asks for another number.
func soakEpisodes() int {
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
}

func measure(t *testing.T, api *client.Client, owner string) usage {
	t.Helper()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	files, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Skip("open files cannot be counted here")
	}
	list, err := api.ContainerList(t.Context(), container.ListOptions{All: true, Filters: filters.NewArgs(filters.Arg("label", own.LabelOwner+"="+owner))})
	if err != nil {
		t.Fatal(err)
	}
	return usage{m.HeapAlloc, runtime.NumGoroutine(), len(files), len(list)}
}

// soakScripts are what the agents of the soak do: all that they may, in turn.
var soakScripts = [][]string{
	{"sed -i 's/interval.end)$/max(last.end, interval.end))/' shiftplan/interval.py", "echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT"},
	{"ls", "no command", "cat README.md"},
	{"yes | head -c 5000000", "sleep 1000"},
	{"setsid sleep 1000 & kill -9 $$", "rm -rf .git"},
	{"f() { f | f & }; f; sleep 1000"},
}

// Hundreds of episodes, well-behaved and not, finished and abandoned, leave no memory, goroutines, open
// files or containers behind.
func TestSoak(t *testing.T) {
	engine, data := embtest.Open(t)
	api, err := client.NewClientWithOpts(client.FromEnv, client.WithAPIVersionNegotiation())
	if err != nil {
		t.Fatal(err)
	}
	defer api.Close()
	s, err := swebench.New(engine, data, swebench.Config{StepTimeout: 2 * time.Second, Limits: swebench.Limits{Processes: 128, Memory: 256 << 20}})
	if err != nil {
		t.Fatal(err)
	}
	task := swebench.TaskOf(data.Instances[0])
	var first usage
	const round = 20
	for done := 0; done < soakEpisodes(); done += round {
		var g errgroup.Group
		g.SetLimit(4)
		for i := range round {
			g.Go(func() error { return soakEpisode(t, s, task, done+i) })
		}
		if err := g.Wait(); err != nil {
			t.Fatal(err)
		}
		now := measure(t, api, embtest.Owner(t))
		t.Logf("%d episodes: %+v", done+round, now)
		if now.containers != 0 {
			t.Fatalf("%d containers are left", now.containers)
		}
		if done == round { // the second round: everything is warm
			first = now
		}
	}
	if last := measure(t, api, embtest.Owner(t)); first != (usage{}) &&
		(last.heap > first.heap+8<<20 || last.goroutines > first.goroutines+10 || last.files > first.files+10) {
		t.Errorf("after %d episodes %+v, after %d %+v", 2*round, first, soakEpisodes(), last)
	}
}

func soakEpisode(t *testing.T, s *swebench.Suite, task harness.Task, n int) error {
	env, err := s.NewEnv(t.Context())
	if err != nil {
		return err
	}
	defer env.Close()
	if _, err := env.Reset(t.Context(), task); err != nil {
		return err
	}
	for _, command := range soakScripts[n%len(soakScripts)] {
		if _, err := env.Step(t.Context(), command); err != nil {
			if harness.KindOf(err) == harness.FailEnv { // a container that had to be ended
				return nil
			}
			return err
		}
	}
	if n%3 == 0 {
		return nil // abandoned
	}
	_, err = env.(harness.Finisher).Finish(t.Context())
	if harness.KindOf(err) == harness.FailEnv {
		return nil
	}
	return err
}
