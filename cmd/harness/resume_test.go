package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hindsightrl/harness"
	"github.com/hindsightrl/harness/envs/alfworld/embedded"
	"github.com/hindsightrl/harness/store"
)

// printed is what a command left behind.
type printed struct {
	code           int
	stdout, stderr string
}

// command runs one command line in this process with a clock that stands still.
func command(t *testing.T, env map[string]string, args ...string) printed {
	t.Helper()
	var out, errs bytes.Buffer
	g := &globals{
		stdin: strings.NewReader(""), stdout: &out, stderr: &errs, log: slog.New(slog.DiscardHandler),
		env: func(key string) string { return env[key] },
		now: func() time.Time { return time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC) },
	}
	code := run(stops{soft: t.Context(), hard: t.Context()}, g, args)
	return printed{code, out.String(), errs.String()}
}

// writeRun writes a run of two embedded tasks that has not begun. change may edit the tasks.
func writeRun(t *testing.T, policy string, config map[string]string, change func([]harness.Task)) (db string) {
	t.Helper()
	ctx := context.Background()
	suite, err := embedded.Suite(ctx)
	if err != nil {
		t.Fatal(err)
	}
	tasks, err := suite.Tasks(ctx, defaultSplit)
	if err != nil {
		t.Fatal(err)
	}
	panel := harness.Panel{Name: "p", Tasks: append([]harness.Task{}, tasks[:2]...)}
	change(panel.Tasks)
	raw, err := json.Marshal(config)
	if err != nil {
		t.Fatal(err)
	}
	db = filepath.Join(t.TempDir(), "ledger.db")
	s, err := store.Open(ctx, db, store.Config{Now: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.CreateRun(ctx, store.RunSpec{Name: "r", Panel: panel, GroupSize: 1, Policy: policy, Config: raw, CodeVersion: "v"}); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return db
}

func TestResumeOnOtherDataFailsNoEpisode(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func([]harness.Task){
		"another file": func(tasks []harness.Task) { tasks[1].Hash = strings.Repeat("0", 64) },
		"absent":       func(tasks []harness.Task) { tasks[1].ID = "valid_seen/no/such" },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			config := map[string]string{"policy": "expert", "max-steps": "2"}
			db := writeRun(t, "expert", config, change)
			got := command(t, nil, "rollout", "--db", db, "--resume", "r")
			if got.code != exitFailed || !strings.Contains(got.stderr, `resume run "r": the tasks are not in this data`) ||
				!strings.Contains(got.stderr, "hint: give the data that the panel was made from: --data DIR") {
				t.Errorf("exit %d:\n%s", got.code, got.stderr)
			}
			if rows := command(t, nil, "runs", "r", "--db", db).stdout; strings.Count(rows, "pending") != 2 {
				t.Errorf("want both episodes pending:\n%s", rows)
			}
		})
	}
}

// modelServer is an OpenAI-compatible server that lists one model and always looks around.
func modelServer(t *testing.T, model string) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if r.Method == http.MethodGet {
			fmt.Fprintf(w, `{"object":"list","data":[{"id":%q,"object":"model"}]}`, model)
			return
		}
		fmt.Fprintf(w, `{"model":%q,"choices":[{"index":0,"message":{"role":"assistant","content":"<think>t</think><action>look</action>"},"finish_reason":"stop"}],"usage":{"prompt_tokens":1,"completion_tokens":1}}`, model)
	}))
	t.Cleanup(s.Close)
	return s.URL
}

func TestResumeFollowsAServerButNotToAnotherModel(t *testing.T) {
	t.Parallel()
	config := map[string]string{"policy": "openai:http://127.0.0.1:1", "model": "", "max-steps": "2"}
	db := writeRun(t, "openai:http://127.0.0.1:1 mine", config, func([]harness.Task) {})
	again := []string{"rollout", "--db", db, "--resume", "r", "--policy"}

	got := command(t, nil, append(again, "openai:"+modelServer(t, "other"))...)
	if got.code != exitFailed || !strings.Contains(got.stderr, `run "r" was played by openai:http://127.0.0.1:1 mine and cannot go on with openai:`) {
		t.Errorf("another model: exit %d:\n%s", got.code, got.stderr)
	}
	got = command(t, nil, append(again, "expert")...)
	if got.code != exitUsage || !strings.Contains(got.stderr, "cannot go on with expert") {
		t.Errorf("another policy: exit %d:\n%s", got.code, got.stderr)
	}
	got = command(t, nil, append(again, "openai:"+modelServer(t, "mine"), "--model", "mine")...)
	if got.code != exitOK || !strings.Contains(got.stdout, "look_at_obj_in_light") {
		t.Errorf("another address: exit %d:\n%s%s", got.code, got.stdout, got.stderr)
	}
}

func TestEnvironmentYieldsToTheResumedRun(t *testing.T) {
	t.Parallel()
	db := writeRun(t, "expert", map[string]string{"policy": "expert", "max-steps": "2"}, func([]harness.Task) {})
	got := command(t, map[string]string{"HARNESS_POLICY": "random"}, "rollout", "--db", db, "--resume", "r")
	if got.code != exitOK || !strings.Contains(got.stderr, "policy expert") {
		t.Errorf("exit %d:\n%s", got.code, got.stderr)
	}
}

func TestResumeNoticesEditedTemplates(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "t.yaml")
	write := func(text string) {
		if err := os.WriteFile(file, []byte("agent_alfworld_first: \""+text+" {current_observation} {admissible_actions}\"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	db := filepath.Join(t.TempDir(), "ledger.db")
	again := []string{"rollout", "--db", db, "--resume", "r"}
	write("one")
	got := command(t, nil, "rollout", "--db", db, "--name", "r", "--policy", "expert", "--tasks", "1", "--group", "1", "--max-steps", "1", "--templates", file)
	if got.code != exitOK {
		t.Fatalf("exit %d:\n%s", got.code, got.stderr)
	}
	if got := command(t, nil, again...); got.code != exitOK {
		t.Errorf("unchanged: exit %d:\n%s", got.code, got.stderr)
	}
	write("two")
	if got := command(t, nil, again...); got.code != exitFailed || !strings.Contains(got.stderr, `t.yaml" was edited since run "r" began`) {
		t.Errorf("edited: exit %d:\n%s", got.code, got.stderr)
	}
}

func TestRunsOfOneSecondGetNamesOfTheirOwn(t *testing.T) {
	t.Parallel()
	db := filepath.Join(t.TempDir(), "ledger.db")
	for range 3 {
		if got := command(t, nil, "rollout", "--db", db, "--policy", "expert", "--tasks", "1", "--group", "1", "--max-steps", "1"); got.code != exitOK {
			t.Fatalf("exit %d:\n%s", got.code, got.stderr)
		}
	}
	names := command(t, nil, "runs", "--db", db).stdout
	for _, want := range []string{"all-20260102-030405 ", "all-20260102-030405-2 ", "all-20260102-030405-3 "} {
		if !strings.Contains(names, want) {
			t.Errorf("no run %q:\n%s", want, names)
		}
	}
}

func TestFirstStopEndsThePreparation(t *testing.T) {
	t.Parallel()
	hang := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }))
	defer hang.Close()
	soft, stop := context.WithCancel(t.Context())
	var errs bytes.Buffer
	g := &globals{stdout: &errs, stderr: &errs, log: slog.New(slog.DiscardHandler), env: func(string) string { return "" }, now: time.Now}
	code := make(chan int)
	go func() {
		code <- run(stops{soft: soft, hard: t.Context()}, g,
			[]string{"rollout", "--db", filepath.Join(t.TempDir(), "ledger.db"), "--policy", "openai:" + hang.URL})
	}()
	stop()
	if got := <-code; got != exitInterrupted {
		t.Errorf("exit %d, want %d:\n%s", got, exitInterrupted, errs.String())
	}
}

func TestResumeCommandsSurviveAShell(t *testing.T) {
	t.Parallel()
	for word, want := range map[string]string{
		"run-1": "run-1", "": "''", "a b": "'a b'", "it's": `'it'\''s'`, "$HOME": "'$HOME'", "größe": "größe", "a\nb": "'a\nb'",
	} {
		if got := shellWord(word); got != want {
			t.Errorf("shellWord(%q) = %s, want %s", word, got, want)
		}
	}
}
