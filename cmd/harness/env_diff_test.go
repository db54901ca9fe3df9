package main

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hindsightrl/harness"
	"github.com/hindsightrl/harness/envs/envdiff"
	"github.com/hindsightrl/harness/envs/originaltest"
)

// Tasks are spread over their types, and the same seed chooses the same ones.
func TestSpread(t *testing.T) {
	t.Parallel()
	var tasks []harness.Task
	for i := range 30 {
		typ := "rare"
		if i >= 3 {
			typ = "common"
		}
		tasks = append(tasks, harness.Task{Env: "x", ID: string(rune('a' + i)), Type: typ})
	}
	count := func(list []harness.Task) (rare int, ids string) {
		seen := map[string]bool{}
		for _, task := range list {
			if seen[task.ID] {
				t.Errorf("%s twice", task.ID)
			}
			seen[task.ID] = true
			ids += task.ID
			if task.Type == "rare" {
				rare++
			}
		}
		return rare, ids
	}
	rare, ids := count(spread(tasks, 10, 1))
	if rare != 3 || len(ids) != 10 {
		t.Errorf("10 of 30: %d of the rare type, %q", rare, ids)
	}
	if _, all := count(spread(tasks, 100, 1)); len(all) != 30 {
		t.Errorf("100 of 30 are %d", len(all))
	}
	if _, other := count(spread(tasks, 10, 2)); other == ids {
		t.Error("another seed chooses the same tasks")
	}
}

// A difference is printed with both texts and fails the command; JSON has it too.
func TestDiffReport(t *testing.T) {
	t.Parallel()
	results := []envdiff.Result{
		{Task: harness.Task{Env: "alfworld", ID: "one"}, Steps: 4, Won: true, Original: time.Second},
		{
			Task: harness.Task{Env: "alfworld", ID: "two"}, Steps: 1,
			Difference: &envdiff.Difference{Step: 2, Action: "look", What: "observation", Native: "You see a cup 1.", Original: "You see a cup 2."},
		},
	}
	var out bytes.Buffer
	c := &envDiff{g: &globals{stdout: &out}}
	err := c.report(results)
	if err == nil || !strings.Contains(err.Error(), "1 game of 2 answered differently") {
		t.Errorf("got error %v", err)
	}
	for _, want := range []string{
		"alfworld/one      4  yes", "observation differs at step 2", `alfworld/two after step 2, "look": observation, from byte 14 on`,
		`native   "You see a cup 1."`, `original "You see a cup 2."`, "2 games, 5 steps: 1 differ",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the report lacks %q:\n%s", want, out.String())
		}
	}
	out.Reset()
	c.asJSON = true
	if err := c.report(results[:1]); err != nil {
		t.Fatal(err)
	}
	var got struct {
		Games  []envdiff.Result `json:"games"`
		Steps  int              `json:"steps"`
		Differ int              `json:"differ"`
	}
	if err := json.Unmarshal(out.Bytes(), &got); err != nil || got.Differ != 0 || got.Steps != 4 || len(got.Games) != 1 {
		t.Errorf("got %+v (%v)", got, err)
	}
}

// The command plays games in the native engine and in the original, and finds no difference; a rollout
// takes the original as its backend, and the native engine replays it.
func TestDiffALFWorld(t *testing.T) {
	t.Parallel()
	image := originaltest.ALFWorld(t)
	db := filepath.Join(t.TempDir(), "ledger.db")
	for _, args := range []string{
		"env diff alfworld --games 2 --steps 8 --image " + image,
		"rollout --env alfworld --backend container --original-image " + image + " --policy expert --tasks 1 --group 1 --name original --quiet --db " + db,
		"replay --run original --env alfworld --db " + db,
	} {
		var out, log bytes.Buffer
		g := &globals{stdin: strings.NewReader(""), stdout: &out, stderr: &log, env: os.Getenv, now: time.Now, log: slog.New(slog.DiscardHandler)}
		if code := run(stops{soft: t.Context(), hard: t.Context()}, g, strings.Fields(args)); code != exitOK {
			t.Fatalf("harness %s: exit code %d\n%s%s", args, code, out.String(), log.String())
		}
		t.Logf("harness %s\n%s", args, out.String())
		if strings.HasPrefix(args, "env diff") && !strings.Contains(out.String(), "2 games, ") {
			t.Errorf("the comparison did not play 2 games:\n%s", out.String())
		}
		if strings.HasPrefix(args, "replay") && !strings.Contains(out.String(), " 0 differ") {
			t.Errorf("the replay does not say that nothing differs:\n%s", out.String())
		}
	}
}
