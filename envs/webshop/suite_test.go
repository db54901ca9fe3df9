package webshop_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/hindsightrl/harness"
	"github.com/hindsightrl/harness/envs/webshop"
	"github.com/hindsightrl/harness/envs/webshop/catalog"
	"github.com/hindsightrl/harness/envs/webshop/embedded"
	"github.com/hindsightrl/harness/internal/testutil"
)

func suiteWith(tb testing.TB, cfg webshop.Config) *webshop.Suite {
	tb.Helper()
	s, err := embedded.SuiteWith(tb.Context(), cfg)
	if err != nil {
		tb.Fatal(err)
	}
	return s
}

func reset(tb testing.TB, s *webshop.Suite, task harness.Task) (*webshop.Env, harness.Observation) {
	tb.Helper()
	env, err := s.NewEnv(tb.Context())
	if err != nil {
		tb.Fatal(err)
	}
	obs, err := env.Reset(tb.Context(), task)
	if err != nil {
		tb.Fatal(err)
	}
	return env.(*webshop.Env), obs
}

func step(tb testing.TB, env *webshop.Env, action string) harness.Transition {
	tb.Helper()
	tr, err := env.Step(tb.Context(), action)
	if err != nil {
		tb.Fatalf("step %q: %v", action, err)
	}
	return tr
}

func first(tb testing.TB, s *webshop.Suite) harness.Task {
	tb.Helper()
	task, err := s.Task(0, 0)
	if err != nil {
		tb.Fatal(err)
	}
	return task
}

func TestTasks(t *testing.T) {
	t.Parallel()
	s := suiteWith(t, webshop.Config{})
	all, err := s.Tasks(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	val, err := s.Tasks(t.Context(), "val")
	if err != nil {
		t.Fatal(err)
	}
	train, err := s.Tasks(t.Context(), "train")
	if err != nil {
		t.Fatal(err)
	}
	if len(val) != 500 || len(val)+len(train) != len(all) || train[0] != all[500] || val[0].Split != "val" || train[0].Split != "train" {
		t.Errorf("%d + %d of %d tasks; %+v", len(val), len(train), len(all), train[0])
	}
	if task := all[3]; task.ID != "serl-synthetic/3" || task.Seed != webshop.DefaultSeed || task.Type == "" || len(task.Hash) != 64 || task.Validate() != nil {
		t.Errorf("task %+v", task)
	}
	p := suiteWith(t, webshop.Config{Variant: catalog.Princeton})
	for split, n := range map[string]int{"test": 500, "eval": 1000} {
		if tasks, err := p.Tasks(t.Context(), split); err != nil || len(tasks) != n {
			t.Errorf("split %s: %d tasks, %v", split, len(tasks), err)
		}
	}
	if _, err := s.Tasks(t.Context(), "eval"); err == nil || !strings.Contains(err.Error(), `no split "eval"`) {
		t.Errorf("a split of the other variant: %v", err)
	}
	h := suiteWith(t, webshop.Config{Human: true})
	if _, err := h.Tasks(t.Context(), "train"); err == nil || !strings.Contains(err.Error(), "is empty") {
		t.Errorf("too few goals for the split: %v", err)
	}
}

// Other seeds are other worlds, within one suite.
func TestSeeds(t *testing.T) {
	t.Parallel()
	s := suiteWith(t, webshop.Config{})
	a, err := s.Task(1, 0)
	if err != nil {
		t.Fatal(err)
	}
	b, err := s.Task(2, 0)
	if err != nil {
		t.Fatal(err)
	}
	if a.Hash == b.Hash || a.ID != b.ID {
		t.Errorf("%+v and %+v", a, b)
	}
	_, obsA := reset(t, s, a)
	_, obsB := reset(t, s, b)
	if obsA.Task == obsB.Task {
		t.Errorf("seeds 1 and 2 give the same goal %q", obsA.Task)
	}
	other := suiteWith(t, webshop.Config{Seed: 1})
	if _, obs := reset(t, other, a); obs.Task != obsA.Task {
		t.Errorf("seed 1 of a task: %q, of a suite: %q", obsA.Task, obs.Task)
	}
}

func TestTasksThatAreRefused(t *testing.T) {
	t.Parallel()
	s := suiteWith(t, webshop.Config{})
	good := first(t, s)
	edited := func(f func(*harness.Task)) harness.Task {
		task := good
		f(&task)
		return task
	}
	env, err := s.NewEnv(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for want, task := range map[string]harness.Task{
		"no task":             edited(func(t *harness.Task) { t.ID = "princeton-synthetic/0" }),
		"there are":           edited(func(t *harness.Task) { t.ID = "serl-synthetic/99999999" }),
		"no task \"alfworld":  edited(func(t *harness.Task) { t.Env = "alfworld" }),
		"is of other data":    edited(func(t *harness.Task) { t.Hash = strings.Repeat("0", 64) }),
		"serl-synthetic/-1":   edited(func(t *harness.Task) { t.ID = "serl-synthetic/-1" }),
		"serl-synthetic/1e2#": edited(func(t *harness.Task) { t.ID = "serl-synthetic/1e2" }),
	} {
		if _, err := env.Reset(t.Context(), task); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("task %+v: %v, want %q", task, err, want)
		}
	}
}

// The serl variant pays 10 for a perfect purchase and nothing else; the score is there all the same.
func TestRewards(t *testing.T) {
	t.Parallel()
	for variant, want := range map[catalog.Variant][2]float64{catalog.SERL: {0, 10}, catalog.Princeton: {-1, 1}} {
		s := suiteWith(t, webshop.Config{Variant: variant})
		task := first(t, s)
		env, obs := reset(t, s, task)
		tr := harness.Transition{}
		for !tr.Done {
			action, err := env.Advise(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			tr = step(t, env, action)
		}
		if tr.Reward != want[1] || tr.Score != 1 || !tr.Won {
			t.Errorf("%s: a perfect purchase: %+v", variant, tr)
		}
		var why map[string]any
		if err := json.Unmarshal([]byte(tr.Privileged), &why); err != nil || why["r_type"] != 1.0 || why["score"] != 1.0 {
			t.Errorf("%s: privileged %q (%v)", variant, tr.Privileged, err)
		}
		if again := step(t, env, "click[back to search]"); again.Reward != 0 || !again.Done || again.Observation.Text != tr.Observation.Text {
			t.Errorf("%s: after the end: %+v", variant, again)
		}
		// The first product that is not asked for, as it is.
		env, obs = reset(t, s, task)
		tr = step(t, env, "search[wall calendar moon phases]")
		link := tr.Observation.Admissible[len(tr.Observation.Admissible)-1]
		step(t, env, link)
		tr = step(t, env, "click[buy now]")
		if tr.Won || tr.Score == 1 || want[0] >= 0 && tr.Reward != want[0] || want[0] < 0 && tr.Reward != tr.Score {
			t.Errorf("%s: a wrong purchase for %q: %+v", variant, obs.Task, tr)
		}
	}
}

// What does nothing says why, and only privately.
func TestNoOps(t *testing.T) {
	t.Parallel()
	s := suiteWith(t, webshop.Config{})
	env, obs := reset(t, s, first(t, s))
	for action, why := range map[string]string{
		"": "no action", "search[]": "no action", "buy now": "no action", "search[a\nb]": "no action", "Search[pan]": `no action "Search"`,
		"click[nothing]": "nothing on this page", "click[search]": "use search[words]", "click[ buy now]": "nothing on this page",
		"search[<a> x]": "by attribute", "search[<c>]": "by category",
	} {
		tr := step(t, env, action)
		if tr.Observation.Text != obs.Text || tr.Done || tr.Reward != 0 || !strings.Contains(tr.Privileged, why) {
			t.Errorf("action %q: %+v, want %q", action, tr, why)
		}
	}
	for _, q := range []string{"search[(.*+?]", "search[a/c]", "search[" + strings.Repeat("pan ", 1<<18) + "]", "search[ ]"} {
		if tr := step(t, env, q); tr.Privileged != "" || !strings.Contains(tr.Observation.Text, "Total results:") {
			t.Errorf("query %.20q: %+v", q, tr)
		}
	}
}

// A random search goes on alike from a snapshot.
func TestSnapshotsOfRandomSearches(t *testing.T) {
	t.Parallel()
	s := suiteWith(t, webshop.Config{})
	env, _ := reset(t, s, first(t, s))
	step(t, env, "search[<r>]")
	snap, err := env.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	want := step(t, env, "search[<r>]").Observation.Text
	if again := step(t, env, "search[<r>]").Observation.Text; again == want {
		t.Error("two random searches find the same")
	}
	other, _ := reset(t, s, first(t, s))
	for _, e := range []*webshop.Env{env, other} {
		if err := e.Restore(snap); err != nil {
			t.Fatal(err)
		}
		if got := step(t, e, "search[<r>]").Observation.Text; got != want {
			t.Errorf("after restore:\n got %.200s\nwant %.200s", got, want)
		}
	}
}

// Each reset of the serl variant's workers is the recorded choice of numpy.
func TestSchedule(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile(testutil.Shared(t, "truth/webshop/rng.json"))
	if err != nil {
		t.Fatal(err)
	}
	var rec struct {
		Numpy []struct {
			Seed   int64
			Choice []int `json:"numpy_RandomState_choice"`
			Train  []int
		}
	}
	if err := json.Unmarshal(raw, &rec); err != nil {
		t.Fatal(err)
	}
	checked := 0
	for _, r := range rec.Numpy {
		check := func(seed int64, train bool, want []int) {
			s, err := webshop.NewSchedule(seed, len(want), 2, 6910, train)
			if err != nil {
				t.Fatal(err)
			}
			base := seed
			if !train {
				base += 1000
			}
			for i, a := range s.Next() {
				if w := (webshop.Assignment{Seed: base + int64(i/2), Goal: want[i/2]}); a != w {
					t.Errorf("seed %d train %v worker %d: %+v, want %+v", seed, train, i, a, w)
				}
				checked++
			}
		}
		check(r.Seed, true, r.Train)
		if r.Seed >= 1000 {
			check(r.Seed-1000, false, r.Choice)
		}
	}
	if checked == 0 {
		t.Error("nothing was checked")
	}
	if _, err := webshop.NewSchedule(0, 600, 1, 6910, false); err == nil {
		t.Error("more environments than goals give no error")
	}
}

// A live episode is small: everything else is shared.
func TestEpisodesAreSmall(t *testing.T) {
	s := suiteWith(t, webshop.Config{})
	tasks, err := s.Tasks(t.Context(), "val")
	if err != nil {
		t.Fatal(err)
	}
	play := func(i int) *webshop.Env {
		env, _ := reset(t, s, tasks[i%len(tasks)])
		tr := step(t, env, "search["+strings.ReplaceAll(tasks[i%len(tasks)].Type, "]", "")+" blue steel]")
		if n := len(tr.Observation.Admissible); n > 3 {
			step(t, env, tr.Observation.Admissible[n-1])
		}
		return env
	}
	for i := range 500 {
		play(i) // fills what is shared
	}
	n := 2000
	if testing.Short() {
		n = 300
	}
	envs := make([]*webshop.Env, n)
	before := heap()
	for i := range envs {
		envs[i] = play(i)
	}
	per := (int64(heap()) - int64(before)) / int64(n)
	t.Logf("%d bytes per live episode", per)
	if per > 16<<10 {
		t.Errorf("a live episode takes %d bytes, want at most 16 KiB", per)
	}
	runtime.KeepAlive(envs)
}

func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// FuzzActions plays three actions: no panic, no error, and every observation is UTF-8 that says
// something.
func FuzzActions(f *testing.F) {
	s := suiteWith(f, webshop.Config{})
	for _, a := range []string{"search[frying pan]", "click[next >]", "click[< prev]", "click[buy now]", "search[<r>]", "search[<q> frying pans]", "\xff[\xfe]", "search[search_results]"} {
		f.Add(a, "click[back to search]", "search[x]")
	}
	task := first(f, s)
	f.Fuzz(func(t *testing.T, a, b, c string) {
		env, _ := reset(t, s, task)
		for _, action := range []string{a, "search[pan]", b, "click[hs00000000]", c} {
			tr := step(t, env, action)
			if tr.Observation.Text == "" {
				t.Fatalf("after %q there is no text", action)
			}
			if tr.Done {
				return
			}
		}
	})
}

// One page after another without a search: links, options, sub pages, and back.
func BenchmarkSteps(b *testing.B) {
	dir := testutil.Shared(b, "data/webshop")
	for _, data := range []string{"embedded", "1000 products"} {
		b.Run(data, func(b *testing.B) {
			s := suiteWith(b, webshop.Config{})
			if data != "embedded" {
				var err error
				if s, err = webshop.New(context.Background(), dir, webshop.Config{}); err != nil {
					b.Fatal(err)
				}
			}
			env, _ := reset(b, s, first(b, s))
			step(b, env, "search[small black]")
			list, err := env.Step(b.Context(), "click[next >]")
			if err != nil {
				b.Fatal(err)
			}
			actions := []string{}
			for _, a := range list.Observation.Admissible[3:] {
				actions = append(actions, a, "click[features]", "click[< prev]", "click[description]", "click[< prev]", "click[black]", "click[small]", "click[< prev]")
			}
			b.ReportAllocs()
			i := 0
			before := cpuSeconds(b)
			for b.Loop() {
				step(b, env, actions[i%len(actions)])
				i++
			}
			b.ReportMetric(float64(b.N)/(cpuSeconds(b)-before), "steps/cpu-s")
		})
	}
}

// cpuSeconds is the processor time that this process has used: on a busy machine the clock tells little.
func cpuSeconds(b *testing.B) float64 {
	b.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return float64(u.Utime.Sec+u.Stime.Sec) + float64(u.Utime.Usec+u.Stime.Usec)/1e6
}

func BenchmarkReset(b *testing.B) {
	s := suiteWith(b, webshop.Config{})
	tasks, err := s.Tasks(b.Context(), "val")
	if err != nil {
		b.Fatal(err)
	}
	env, _ := reset(b, s, tasks[0])
	i := 0
	for b.Loop() {
		if _, err := env.Reset(b.Context(), tasks[i%len(tasks)]); err != nil {
			b.Fatal(err)
		}
		i++
	}
}

func ExampleSuite() {
	ctx := context.Background()
	s, err := embedded.Suite(ctx)
	if err != nil {
		fmt.Println(err)
		return
	}
	task, _ := s.Task(0, 0)
	env, _ := s.NewEnv(ctx)
	first, _ := env.Reset(ctx, task)
	fmt.Println(strings.HasPrefix(first.Text, "WebShop [SEP] Instruction: [SEP] "), first.Admissible)
	// Output: true [search[<your query>] click[search]]
}
