package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hindsightrl/harness"
	"github.com/hindsightrl/harness/credit"
	"github.com/hindsightrl/harness/feed"
	"github.com/hindsightrl/harness/internal/testutil"
	"github.com/hindsightrl/harness/llm"
	"github.com/hindsightrl/harness/llm/refmodel"
	"github.com/hindsightrl/harness/llm/serve"
	"github.com/hindsightrl/harness/store"
)

// loop is a harness train-feed under test, with the trainer's side of it.
type loop struct {
	t      *testing.T
	db     string
	url    string
	cancel context.CancelFunc
	done   chan int
	stderr *buffer
}

// startLoop runs train-feed on a file of this text; ADDR and DB stand for the feed's address and the ledger.
func startLoop(t *testing.T, db, config string) *loop {
	t.Helper()
	addr := testutil.Address(t)
	file := filepath.Join(t.TempDir(), "run.yaml")
	config = "ledger: " + db + "\n" + strings.ReplaceAll(config, "ADDR", addr)
	if err := os.WriteFile(file, []byte(config), 0o644); err != nil {
		t.Fatal(err)
	}
	soft, cancel := context.WithCancel(t.Context())
	l := &loop{t: t, db: db, url: "http://" + addr + "/v1/", cancel: cancel, done: make(chan int, 1), stderr: &buffer{}}
	go func() {
		l.done <- run(stops{soft: soft, hard: t.Context()}, memoryGlobals(io.Discard, l.stderr, nil), []string{"train-feed", "--config", file})
	}()
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(l.stderr.String())
		}
	})
	return l
}

// end waits for the command's exit code.
func (l *loop) end() int {
	l.t.Helper()
	select {
	case code := <-l.done:
		l.done <- code
		return code
	case <-time.After(2 * time.Minute):
		l.t.Fatalf("train-feed does not end:\n%s", l.stderr)
		return 0
	}
}

// post sends an operation and asks again while nobody listens yet.
func (l *loop) post(op string, msg map[string]any) (int, http.Header, []byte) {
	l.t.Helper()
	raw, err := json.Marshal(msg)
	if err != nil {
		l.t.Fatal(err)
	}
	for until := time.Now().Add(time.Minute); ; {
		resp, err := http.Post(l.url+op, "application/json", bytes.NewReader(raw))
		if err == nil {
			defer resp.Body.Close()
			body, err := io.ReadAll(resp.Body)
			if err != nil {
				l.t.Fatal(err)
			}
			return resp.StatusCode, resp.Header, body
		}
		if time.Now().After(until) {
			l.t.Fatalf("%s: %v\n%s", op, err, l.stderr)
		}
		select {
		case code := <-l.done:
			l.done <- code
			l.t.Fatalf("train-feed ended with code %d:\n%s", code, l.stderr)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// take leases a batch; nil rows: none came, and drained says whether none will.
func (l *loop) take(id string, groups, least, wait int) (h feed.Header, rows []feed.Row, drained bool) {
	l.t.Helper()
	status, header, body := l.post("lease", map[string]any{"lease": id, "groups": groups, "min_groups": least, "wait_ms": wait, "consumer": "test"})
	switch status {
	case http.StatusNoContent:
		return h, nil, header.Get("Hindsight-Drained") == "true"
	case http.StatusOK:
		h, rows, err := feed.ReadArrow(bytes.NewReader(body))
		if err != nil {
			l.t.Fatal(err)
		}
		return h, rows, false
	}
	l.t.Fatalf("lease %s: %d %s", id, status, body)
	return h, nil, false
}

func (l *loop) ack(id string) {
	l.t.Helper()
	if status, _, body := l.post("ack", map[string]any{"lease": id}); status != http.StatusOK {
		l.t.Errorf("ack %s: %d %s", id, status, body)
	}
}

func (l *loop) version(v int, weights string) (int, string) {
	l.t.Helper()
	status, _, body := l.post("version", map[string]any{"version": v, "weights": weights, "consumer": "test"})
	return status, string(body)
}

func (l *loop) counts() harness.FeedCounts {
	l.t.Helper()
	resp, err := http.Get(l.url + "status")
	if err != nil {
		l.t.Fatal(err)
	}
	defer resp.Body.Close()
	var a struct {
		Status harness.FeedCounts `json:"status"`
	}
	if err := json.NewDecoder(resp.Body).Decode(&a); err != nil {
		l.t.Fatal(err)
	}
	return a.Status
}

// until waits until the counts are as wanted.
func (l *loop) until(what string, ok func(harness.FeedCounts) bool) {
	l.t.Helper()
	l.post("version", map[string]any{}) // it listens
	for until := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
		c := l.counts()
		if ok(c) {
			return
		}
		if time.Now().After(until) {
			l.t.Fatalf("%s did not come about: %+v\n%s", what, c, l.stderr)
		}
	}
}

// readDB hands the ledger to f once nobody writes it any more.
func (l *loop) readDB(f func(*store.Store, store.Run)) {
	l.t.Helper()
	db, err := store.OpenReadOnly(l.t.Context(), l.db)
	if err != nil {
		l.t.Fatal(err)
	}
	defer db.Close()
	run, err := db.RunByName(l.t.Context(), "r")
	if err != nil {
		l.t.Fatal(err)
	}
	f(db, run)
	if found, err := db.Check(l.t.Context()); err != nil || len(found) > 0 {
		l.t.Errorf("check: %v, %v", found, err)
	}
}

const smallRun = `
run: r
collect: {policy: refmodel, tasks: 3, group: 2, max-steps: 3}
serve: {listen: "ADDR", loss: grpo}
log: {level: warn}
`

// TestTrainFeedGoesFromTasksToATrainer: two rounds with a teacher; every group comes once, with credit, masks
// and scores, and the command ends when all is delivered.
func TestTrainFeedGoesFromTasksToATrainer(t *testing.T) {
	t.Parallel()
	l := startLoop(t, filepath.Join(t.TempDir(), "t.db"), smallRun+"rounds: 2\nscore: {mode: immediate_feedback, teacher: refmodel}\n")
	seen := map[int32]int{}
	first := map[string][]int32{} // task and sample → the first response of round 0
	for n := 0; ; n++ {
		id := fmt.Sprint("lease-", n)
		h, rows, drained := l.take(id, 4, 4, 60000)
		if drained {
			break
		}
		if rows == nil {
			continue
		}
		if h.Token != credit.TokenSERL || h.Score == "" || h.Lambda != 0.5 {
			t.Errorf("header: %+v", h)
		}
		sum := 0.0
		for i := range rows {
			r := &rows[i]
			if r.Advantages == nil || r.TeacherLogprobs == nil || r.ActionMask == nil || r.Weights == nil || r.LossWeight == nil {
				t.Fatalf("row without a column: %+v", r)
			}
			seen[r.Group] += r.Tokens()
			sum += *r.LossWeight * float64(r.Tokens())
			key := fmt.Sprint(r.Task, r.Sample)
			if r.Step == 0 && r.Group < 3 {
				first[key] = r.ResponseIDs
			} else if r.Step == 0 && cmp.Equal(first[key], r.ResponseIDs) && cmp.Equal(first[key], []int32(nil)) {
				t.Errorf("group %d repeats the round before", r.Group)
			}
		}
		if sum < 0.999 || sum > 1.001 { // every response of the batch weighs the same, all together 1
			t.Errorf("loss weights add up to %v", sum)
		}
		l.ack(id)
	}
	if code := l.end(); code != exitOK {
		t.Errorf("exit code %d", code)
	}
	l.readDB(func(db *store.Store, r store.Run) {
		if r.State != store.RunDone {
			t.Errorf("the run is %s", r.State)
		}
		want := map[int32]int{}
		src, err := db.CreditSources(t.Context(), r.ID)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range src {
			want[int32(s.Group)] += s.Tokens
		}
		if diff := cmp.Diff(want, seen); diff != "" || len(seen) != 6 {
			t.Errorf("tokens by group: %s", diff)
		}
	})
}

// TestTrainFeedKeepsPace: without versions only the groups of the first update start, and each version lets
// the next start. A failed group does not hold the others up.
func TestTrainFeedKeepsPace(t *testing.T) {
	t.Parallel()
	l := startLoop(t, filepath.Join(t.TempDir(), "t.db"), smallRun+"rounds: 2\npace: {groups_per_update: 2, max_staleness: 0}\n")
	for update := range 3 {
		l.until(fmt.Sprintf("update %d", update), func(c harness.FeedCounts) bool { return c.Ready == 2 })
		id := fmt.Sprint("lease-", update)
		h, rows, _ := l.take(id, 9, 2, 1000)
		if len(h.Groups) != 2 || len(rows) == 0 {
			t.Errorf("update %d: groups %+v", update, h.Groups)
		}
		if want := 2 * update; h.Groups[0].Index != want {
			t.Errorf("update %d: group %d, want %d", update, h.Groups[0].Index, want)
		}
		if c := l.counts(); update < 2 && (c.Ready != 0 || !c.More) {
			t.Errorf("update %d: %+v", update, c)
		}
		l.ack(id)
		if status, body := l.version(update+1, ""); status != http.StatusOK {
			t.Fatalf("version: %d %s", status, body)
		}
	}
	if code := l.end(); code != exitOK {
		t.Errorf("exit code %d", code)
	}
}

// TestTrainFeedBoundsItsBacklog: with no versions, groups that nobody takes hold further starts back.
func TestTrainFeedBoundsItsBacklog(t *testing.T) {
	t.Parallel()
	l := startLoop(t, filepath.Join(t.TempDir(), "t.db"), smallRun+"pace: {max_backlog: 2}\n")
	for n := range 3 {
		l.until("a backlog of 2", func(c harness.FeedCounts) bool { return c.Ready == 2 })
		id := fmt.Sprint("lease-", n)
		if h, _, _ := l.take(id, 1, 1, 1000); len(h.Groups) != 1 || h.Groups[0].Index != n {
			t.Errorf("groups %+v", h.Groups)
		}
		l.ack(id)
	}
	l.cancel()
	if code := l.end(); code != exitInterrupted || !strings.Contains(l.stderr.String(), "hint: harness train-feed --config") {
		t.Errorf("exit code %d: %s", code, l.stderr)
	}
	l.readDB(func(_ *store.Store, r store.Run) {
		if r.State != store.RunInterrupted {
			t.Errorf("the run is %s", r.State)
		}
	})
}

// TestTrainFeedFollowsTheSchedule: λ and the credit of what waits follow the version; when λ is 0 no teacher
// is asked.
func TestTrainFeedFollowsTheSchedule(t *testing.T) {
	t.Parallel()
	l := startLoop(t, filepath.Join(t.TempDir(), "t.db"), smallRun+"rounds: 1\nscore: {mode: immediate_feedback}\ncredit: {serl: {decay_steps: 4}}\n")
	for n, want := range []struct {
		version int
		lambda  float64
		token   string
	}{{0, 0.5, "serl"}, {2, 0.25, "serl"}, {4, 0, "none"}} {
		if status, body := l.version(want.version, ""); status != http.StatusOK {
			t.Fatalf("version: %d %s", status, body)
		}
		var h feed.Header
		for until := time.Now().Add(time.Minute); ; n += 10 { // what was ready under the version before is taken back
			id := fmt.Sprint("lease-", n)
			h, _, _ = l.take(id, 1, 1, 1000)
			if h.Lambda == want.lambda && string(h.Token) == want.token && len(h.Groups) == 1 {
				l.ack(id)
				break
			}
			l.post("return", map[string]any{"lease": id})
			if time.Now().After(until) {
				t.Fatalf("version %d: λ %v, token %s", want.version, h.Lambda, h.Token)
			}
		}
		if h.PolicyVersion != int32(want.version) {
			t.Errorf("version %d in the header", h.PolicyVersion)
		}
	}
	if code := l.end(); code != exitOK {
		t.Errorf("exit code %d", code)
	}
}

// weightServer is a policy server over the reference model that keeps the order of its weights' calls.
type weightServer struct {
	mu    sync.Mutex
	calls []string
	fail  map[string]int // path → how often it still fails
	h     http.Handler
}

func (w *weightServer) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	w.mu.Lock()
	control := strings.Contains(r.URL.Path, "weight") && r.Method == http.MethodPost || r.URL.Path == "/pause" || r.URL.Path == "/resume"
	if control {
		w.calls = append(w.calls, r.URL.Path)
	}
	broken := w.fail[r.URL.Path] > 0
	if broken {
		w.fail[r.URL.Path]--
	}
	w.mu.Unlock()
	if broken {
		http.Error(rw, `{"error":{"message":"out of memory"}}`, http.StatusBadRequest)
		return
	}
	w.h.ServeHTTP(rw, r)
}

func newWeightServer(t *testing.T) (*weightServer, string) {
	t.Helper()
	open := func(context.Context, string) (llm.Model, error) { return refmodel.New(refmodel.Config{}) }
	m, err := open(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	h, err := serve.New(m, serve.Config{Reload: open})
	if err != nil {
		t.Fatal(err)
	}
	w := &weightServer{h: h, fail: map[string]int{}}
	return w, serveHTTPTest(t, w)
}

// TestTrainFeedReloadsThePolicyServer: each version is loaded between a pause and a resume, and every token
// carries the version of the weights that made it, older ones in groups that were started before.
func TestTrainFeedReloadsThePolicyServer(t *testing.T) {
	t.Parallel()
	w, url := newWeightServer(t)
	w.fail["/update_weights"] = 1
	l := startLoop(t, filepath.Join(t.TempDir(), "t.db"), fmt.Sprintf(`
run: r
rounds: 3
collect: {policy: "vllm:%s", tasks: 2, group: 2, max-steps: 2}
serve: {listen: "ADDR"}
pace: {groups_per_update: 2, max_staleness: 0}
reload: {enabled: true, weights: "/w/{version}"}
log: {level: error}
`, url))
	for update := range 3 {
		id := fmt.Sprint("lease-", update)
		h, rows, _ := l.take(id, 2, 2, 60000)
		if len(h.Groups) != 2 {
			t.Fatalf("update %d: %+v", update, h)
		}
		for i := range rows {
			oldest, known := rows[i].Oldest()
			if update > 0 && (!known || oldest != int32(update)) || update == 0 && known && oldest != 0 {
				t.Errorf("update %d: versions %v", update, rows[i].Versions)
			}
		}
		l.ack(id)
		status, body := l.version(update+1, "")
		if update == 0 { // it fails half-way: the server stays paused, and posting again loads anew
			if status != http.StatusBadGateway || !strings.Contains(body, "reload_failed") || !strings.Contains(body, "post the version again") {
				t.Errorf("a reload that fails: %d %s", status, body)
			}
			status, body = l.version(update+1, "")
		}
		if status != http.StatusOK {
			t.Fatalf("version: %d %s", status, body)
		}
	}
	if code := l.end(); code != exitOK {
		t.Errorf("exit code %d", code)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	once := []string{"/pause", "/start_weight_update", "/update_weights", "/finish_weight_update", "/update_weight_version", "/resume"}
	want := append(append(append([]string{"/pause", "/start_weight_update", "/update_weights"}, once...), once...), once...)
	if diff := cmp.Diff(want, w.calls); diff != "" {
		t.Error(diff)
	}
}

// TestTrainFeedDropsStaleGroups: what is too old when a version comes is given up, said and counted, and
// reaches nobody.
func TestTrainFeedDropsStaleGroups(t *testing.T) {
	t.Parallel()
	_, url := newWeightServer(t)
	l := startLoop(t, filepath.Join(t.TempDir(), "t.db"), fmt.Sprintf(`
run: r
rounds: 1
collect: {policy: "vllm:%s", route: tokens, tasks: 3, group: 2, max-steps: 2}
serve: {listen: "ADDR"}
pace: {drop_staler: 1}
log: {level: error}
`, url))
	l.until("3 ready groups", func(c harness.FeedCounts) bool { return c.Ready == 3 })
	h, _, _ := l.take("kept", 1, 1, 0)
	if status, body := l.version(1, ""); status != http.StatusOK {
		t.Fatalf("%d %s", status, body)
	}
	if c := l.counts(); c.Dropped != 0 || c.Ready != 2 {
		t.Errorf("1 version old: %+v", c)
	}
	if status, body := l.version(2, ""); status != http.StatusOK {
		t.Fatalf("%d %s", status, body)
	}
	l.until("2 dropped groups", func(c harness.FeedCounts) bool { return c.Dropped == 2 && c.Ready == 0 })
	if len(h.Groups) != 1 {
		t.Errorf("%+v", h)
	}
	l.ack("kept") // what somebody holds is his
	if _, rows, drained := l.take("more", 1, 1, 0); rows != nil || !drained {
		t.Errorf("a dropped group was sent: %d rows, drained %v", len(rows), drained)
	}
	if code := l.end(); code != exitOK {
		t.Errorf("exit code %d", code)
	}
	l.readDB(func(*store.Store, store.Run) {})
}

func serveHTTPTest(t *testing.T, h http.Handler) string {
	t.Helper()
	ts := httptest.NewServer(h)
	t.Cleanup(ts.Close)
	return ts.URL
}
