package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/hindsightrl/harness"
	"github.com/hindsightrl/harness/envs/swebench"
	"github.com/hindsightrl/harness/envs/swebench/embedded/embtest"
	"github.com/hindsightrl/harness/internal/errext"
	"github.com/hindsightrl/harness/store"
)

// Whole episodes of the embedded pair in containers: a scripted agent repairs both by either interface,
// also where a limit cuts it short, and whoever does nothing gets nothing.
func TestRolloutsRepair(t *testing.T) {
	t.Parallel()
	embtest.Open(t)
	dir := t.TempDir()
	db, rows := filepath.Join(dir, "ledger.db"), filepath.Join(dir, "pair.jsonl")
	if got := command(t, nil, "swebench", "images", "--rows", rows); got.code != exitOK || strings.Count(got.stdout, " there") != 2 {
		t.Fatalf("images: exit %d\n%s\n%s", got.code, got.stdout, got.stderr)
	}
	for _, c := range []struct {
		name, args string
		want       string // of the last line of the summary
	}{
		{"bash", "--policy expert --data " + rows, `^all +2 +2 +0 +100.0% +1.000 +1.000`},
		{"tools", "--policy expert --interface tools", `^all +2 +2 +0 +100.0% +1.000 +1.000`},
		{"cut", "--policy expert --tasks 1 --max-steps 1", `^swebench .* 1 +1 +0 +100.0% +1.000 +1.000 +1.0`},
		{"none", "--policy random --tasks 1", `^swebench .* 1 +1 +0 +0.0% +0.000 +0.000`},
		{"unjudged", "--policy expert --tasks 1 --evaluate=false", `^swebench .* 1 +1 +0 +0.0% +0.000 +0.000`},
	} {
		args := append([]string{"rollout", "--env", "swebench", "--group", "1", "--quiet", "--db", db, "--name", c.name}, strings.Fields(c.args)...)
		got := command(t, nil, args...)
		lines := strings.Split(strings.TrimSpace(got.stdout), "\n")
		if last := lines[len(lines)-1]; got.code != exitOK || !regexp.MustCompile(c.want).MatchString(last) {
			t.Errorf("%s: exit %d\n%s\n%s", c.name, got.code, got.stdout, got.stderr)
		}
	}
	keptByRollouts(t, db)
	if got := command(t, nil, "db", "check", "--db", db); got.code != exitOK {
		t.Errorf("check: %s", got.stdout)
	}
	if got := command(t, nil, "replay", "--run", "cut", "--db", db); got.code == exitBelow && !strings.Contains(got.stderr, "which no second run repeats") {
		t.Errorf("replay: %s", got.stderr)
	}
}

// keptByRollouts looks at what the ledger holds of the runs.
func keptByRollouts(t *testing.T, path string) {
	t.Helper()
	db, err := store.OpenReadOnly(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for name, want := range map[string]struct {
		stop     harness.StopReason
		feedback string
		report   bool
	}{
		"bash":     {harness.StopWon, "The patch resolves the issue: 3 of 3 tests", true},
		"cut":      {harness.StopMaxSteps, "The patch resolves the issue: 3 of 3 tests", true},
		"unjudged": {harness.StopDone, "nobody judged it", false},
	} {
		run, err := db.RunByName(t.Context(), name)
		if err != nil {
			t.Fatal(err)
		}
		for _, fact := range []string{`"swebench_interface":"bash"`, `"swebench_future_history":"removed"`, `"swebench_relaxed":""`, fmt.Sprintf(`"swebench_evaluated":"%v"`, want.report)} {
			if !strings.Contains(strings.ReplaceAll(string(run.Info), `": "`, `":"`), fact) {
				t.Errorf("%s: %s says nothing of %s", name, run.Info, fact)
			}
		}
		for ep, err := range db.Episodes(t.Context(), run.ID, store.Filter{}) {
			if err != nil {
				t.Fatal(err)
			}
			if ep.Task.ID != "hindsight__shiftplan-1" {
				continue
			}
			if ep.Outcome == nil || ep.Outcome.Stop != want.stop {
				t.Fatalf("%s: outcome %+v", name, ep.Outcome)
			}
			var last harness.Step
			for s, err := range db.Steps(t.Context(), ep.Attempt) {
				if err != nil {
					t.Fatal(err)
				}
				last = s
			}
			if !strings.Contains(last.Feedback, want.feedback) || want.report && !strings.Contains(last.Feedback, "PASSED tests/test_interval.py::") {
				t.Errorf("%s: the last step's feedback is %q", name, last.Feedback)
			}
			patch, err := db.Artifact(t.Context(), ep.Attempt, swebench.FilePatch)
			if err != nil || !strings.Contains(patch.Content, "max(last.end, interval.end)") {
				t.Errorf("%s: patch %q, %v", name, patch.Content, err)
			}
			if _, err := db.Artifact(t.Context(), ep.Attempt, swebench.FileReport); (err == nil) != want.report {
				t.Errorf("%s: report: %v", name, err)
			}
		}
	}
}

// An image that is nowhere is a failure of the environment and no reward; the error says what to do.
func TestRolloutWithoutAnImage(t *testing.T) {
	t.Parallel()
	embtest.Engine(t)
	rows := filepath.Join(t.TempDir(), "absent.jsonl")
	const row = `{"instance_id": "a__b-1", "repo": "a/b", "base_commit": "abc", "problem_statement": "x", "FAIL_TO_PASS": "[\"t\"]", ` +
		`"PASS_TO_PASS": "[]", "image": "localhost:1/absent:1", "eval_script": "true", "log_parser": "parse_log_pytest"}`
	if err := os.WriteFile(rows, []byte(row+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	db := filepath.Join(filepath.Dir(rows), "ledger.db")
	got := command(t, nil, "rollout", "--env", "swebench", "--data", rows, "--image-namespace", "none", "--policy", "expert", "--group", "1", "--quiet", "--db", db, "--name", "absent")
	if got.code != exitFailed || !strings.Contains(got.stderr, `every episode of run "absent" failed`) || !strings.Contains(got.stderr, "localhost:1/absent:1") {
		t.Errorf("exit %d\n%s\n%s", got.code, got.stdout, got.stderr)
	}
}

func TestRepairFlagsAreChecked(t *testing.T) {
	t.Parallel()
	good := repairFlags{face: "tools", tests: 1, relax: "network=bridge, new-privileges", memory: 0.5, disk: 1}
	cfg, err := good.config()
	if err != nil || cfg.Limits.Memory != 1<<29 || cfg.Relax.Network != "bridge" || !cfg.Relax.Privileges || cfg.Interface != swebench.Tools {
		t.Errorf("config %+v, %v", cfg, err)
	}
	if cfg.Ready != swebench.NoReady {
		t.Errorf("--prepared 0 prepares %d", cfg.Ready)
	}
	if f := good.formats(); f.For("swebench").MaxSteps != 50 || f.For("swebench").First != "agent_swebench_tools_first" || f.For("alfworld").First != "agent_alfworld_first" {
		t.Errorf("formats: %+v", f)
	}
	for name, bad := range map[string]func(*repairFlags){
		"interface": func(f *repairFlags) { f.face = "voice" },
		"relax":     func(f *repairFlags) { f.relax = "everything" },
		"memory":    func(f *repairFlags) { f.memory = -1 },
		"prepared":  func(f *repairFlags) { f.prepared = -1 },
		"timeout":   func(f *repairFlags) { f.command = -1 },
		"tests":     func(f *repairFlags) { f.tests = 0 },
		"arch":      func(f *repairFlags) { f.images.Arch = "mips" },
	} {
		f := good
		bad(&f)
		if _, err := f.config(); err == nil || errext.Code(err, 0) != exitUsage || errext.Hint(err) == "" {
			t.Errorf("%s: %v, hint %q", name, err, errext.Hint(err))
		}
	}
}

// A new run of repairs takes fewer at a time and longer answers; a resumed one keeps what it recorded.
func TestRepairsSettleWhatNobodyChose(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		args            []string
		fresh           bool
		workers, tokens string
	}{
		{nil, true, "6", "4096"},
		{nil, false, "6", "512"},
		{[]string{"--workers", "9", "--max-tokens", "100"}, true, "9", "100"},
	} {
		cmd := newRollout(stops{}, &globals{env: func(string) string { return "" }})
		if err := cmd.ParseFlags(c.args); err != nil {
			t.Fatal(err)
		}
		if err := new(repairFlags).settle(cmd, c.fresh, 6); err != nil {
			t.Fatal(err)
		}
		if w, m := cmd.Flags().Lookup("workers").Value.String(), cmd.Flags().Lookup("max-tokens").Value.String(); w != c.workers || m != c.tokens {
			t.Errorf("%v: workers %s, max-tokens %s", c.args, w, m)
		}
	}
}

// TestTrainFeedTakesWhatSuitsRepairs: as harness rollout does, where the file does not say how many at a time and how
// long, and it logs what the engine has to say.
func TestTrainFeedTakesWhatSuitsRepairs(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	db, err := store.Open(t.Context(), filepath.Join(dir, "t.db"), store.Config{Now: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for section, want := range map[string][2]string{
		"":                            {fmt.Sprint(max(minRepairs, runtime.NumCPU())), repairMaxTokens},
		", workers: 7, max-tokens: 9": {"7", "9"},
	} {
		g := memoryGlobals(nil, nil, nil)
		absent := filepath.Join(dir, "absent.jsonl") // it is looked for before a daemon is
		plan, err := parseTrainPlan(never(t), g, fmt.Appendf(nil, "collect: {env: swebench, data: %q%s}", absent, section))
		if err != nil {
			t.Fatal(err)
		}
		feed := &trainFeed{st: never(t), g: g, plan: plan, db: db}
		if err := feed.open(t.Context()); !errors.Is(err, fs.ErrNotExist) {
			t.Fatalf("got %v", err)
		}
		flags := plan.collectCmd.Flags()
		if got := [2]string{flags.Lookup("workers").Value.String(), flags.Lookup("max-tokens").Value.String()}; got != want {
			t.Errorf("workers and max-tokens are %v, want %v", got, want)
		}
		if plan.collect.source.repair.log != g.log {
			t.Error("what the engine says is not logged")
		}
	}
}
