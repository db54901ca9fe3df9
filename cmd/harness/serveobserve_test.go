package main

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hindsightrl/harness"
	"github.com/hindsightrl/harness/creditrun"
	"github.com/hindsightrl/harness/feed"
	"github.com/hindsightrl/harness/internal/testutil"
	"github.com/hindsightrl/harness/store"
)

// TestServeSaysWhatItDelivers: in the log, each batch and how the feed stands at the end, and in the metrics.
func TestServeSaysWhatItDelivers(t *testing.T) {
	t.Parallel()
	db, addr := filepath.Join(t.TempDir(), "t.db"), testutil.Address(t)
	if code, _, stderr := inMemory(never(t), nil, "rollout", "--db", db, "--name", "run", "--policy", "refmodel", "--tasks", "1", "--group", "2", "--max-steps", "2", "--quiet"); code != exitOK {
		t.Fatal(stderr)
	}
	type ended struct {
		code   int
		stderr *buffer
	}
	done := make(chan ended, 1)
	go func() {
		code, _, stderr := inMemory(never(t), nil, "serve", "--db", db, "--credit", "none", "--listen", addr, "--drain", "--log-level", "debug", "--log-format", "json")
		done <- ended{code, stderr}
	}()
	post := func(op, body string) *http.Response {
		t.Helper()
		for until := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
			resp, err := http.Post("http://"+addr+"/v1/"+op, "application/json", strings.NewReader(body))
			if err == nil {
				t.Cleanup(func() { resp.Body.Close() })
				return resp
			}
			if time.Now().After(until) {
				t.Fatal(err)
			}
		}
	}
	resp := post("lease", `{"lease":"a","consumer":"trainer-0"}`)
	_, rows, err := feed.ReadArrow(resp.Body)
	if err != nil || len(rows) == 0 {
		t.Fatalf("%s: %d rows, %v", resp.Status, len(rows), err)
	}
	if waits := post("lease", `{"lease":"b","consumer":"trainer-0"}`); waits.StatusCode != http.StatusNoContent || !strings.HasPrefix(waits.Header.Get("Hindsight-Held"), "1 by trainer-0 for ") {
		t.Errorf("while all is leased: %s %v", waits.Status, waits.Header)
	}
	scrape, err := http.Get("http://" + addr + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer scrape.Body.Close()
	raw, err := io.ReadAll(scrape.Body)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`hindsight_groups{state="held"} 1`, `hindsight_sent_total{what="groups"} 1`, "hindsight_connections 0", `hindsight_leases_ended_total{how="expired"} 0`} {
		if !strings.Contains(string(raw), want+"\n") {
			t.Errorf("the metrics lack %s", want)
		}
	}
	if resp := post("ack", `{"lease":"a"}`); resp.StatusCode != http.StatusOK {
		t.Fatal(resp.Status)
	}
	end := <-done
	if end.code != exitOK {
		t.Fatal(end.stderr)
	}
	seen := map[string]map[string]any{}
	for line := range strings.Lines(end.stderr.String()) {
		var m map[string]any
		if json.Unmarshal([]byte(line), &m) == nil {
			seen[m["msg"].(string)] = m
		}
	}
	for msg, level := range map[string]string{"batch leased": "DEBUG", "batch acknowledged": "DEBUG", "trainer waits for groups that are leased": "INFO", "ended": "INFO"} {
		if seen[msg]["level"] != level {
			t.Errorf("%q: %v, want level %s", msg, seen[msg], level)
		}
	}
	if a := seen["batch acknowledged"]; a["lease"] != "a" || a["consumer"] != "trainer-0" || a["rows"] != float64(len(rows)) {
		t.Errorf("the acknowledgement: %v", a)
	}
	if e := seen["ended"]; e["run"] != "run" || e["feed"] != "default" || e["delivered"] != 1.0 || e["rows"] != float64(len(rows)) {
		t.Errorf("the end: %v", e)
	}
	if t.Failed() {
		t.Log(end.stderr)
	}
}

func TestServeRefusesLogsThatAreNone(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		env  map[string]string
		args []string
		says string
	}{
		{nil, []string{"--log-level", "loud"}, `--log-level is "loud", want debug`},
		{nil, []string{"--log-format", "xml"}, `--log-format is "xml", want text or json`},
		{map[string]string{"HARNESS_LOG": "loud"}, nil, `HARNESS_LOG is "loud", want debug`},
	} {
		code, _, stderr := inMemory(never(t), c.env, append([]string{"serve", "--db", "none.db"}, c.args...)...)
		if code != exitUsage || !strings.Contains(stderr.String(), c.says) {
			t.Errorf("%v %v: exit code %d: %s", c.env, c.args, code, stderr)
		}
	}
}

// TestFeedKnowsTheEnvironmentsRewards: both packages call them by one name.
func TestFeedKnowsTheEnvironmentsRewards(t *testing.T) {
	t.Parallel()
	if creditrun.DefaultReward().Name() != feed.RewardEnvironment {
		t.Errorf("%q, the feed says %q", creditrun.DefaultReward().Name(), feed.RewardEnvironment)
	}
}

// TestAReportThatCannotBeReadEndsNothing: it is a line of the log; trainers are served on.
func TestAReportThatCannotBeReadEndsNothing(t *testing.T) {
	t.Parallel()
	db, err := store.Open(t.Context(), filepath.Join(t.TempDir(), "t.db"), store.Config{Now: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	run, err := db.CreateRun(t.Context(), store.RunSpec{Name: "run", GroupSize: 1, Panel: harness.Panel{Name: "p", Tasks: []harness.Task{{Env: "alfworld", ID: "game"}}}})
	if err != nil {
		t.Fatal(err)
	}
	book, err := db.Feed(t.Context(), harness.FeedSpec{RunID: run.ID, Name: "default"})
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	var log strings.Builder
	r := &feedReport{log: slog.New(slog.NewTextHandler(&log, nil)), run: "run", feed: "default", src: newLedgerSource(db, book, feedPlan{})}
	over, cancel := context.WithCancel(t.Context())
	cancel()
	r.until(over, time.Hour)
	if !strings.Contains(log.String(), "level=WARN") || !strings.Contains(log.String(), "database is closed") {
		t.Errorf("%s", log.String())
	}
}
