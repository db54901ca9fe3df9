package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/hindsightrl/harness"
	"github.com/hindsightrl/harness/agent"
	"github.com/hindsightrl/harness/credit"
	"github.com/hindsightrl/harness/creditrun"
	"github.com/hindsightrl/harness/feed"
	"github.com/hindsightrl/harness/internal/testutil"
	"github.com/hindsightrl/harness/llm"
)

// collector takes traces as an OTLP endpoint does.
type collector struct {
	mu   sync.Mutex
	path string
	body strings.Builder
}

func (c *collector) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	raw, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.path = r.URL.Path
	c.body.Write(raw)
	w.Header().Set("Content-Type", "application/x-protobuf")
}

func body(t *testing.T, url string) string {
	t.Helper()
	resp, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// TestTrainFeedIsSeenFromOutside: metrics beside the feed and at an address of their own, logs in JSON, and
// spans of groups with their stages.
func TestTrainFeedIsSeenFromOutside(t *testing.T) {
	t.Parallel()
	spans := &collector{}
	metrics := testutil.Address(t)
	l := startLoop(t, filepath.Join(t.TempDir(), "t.db"), fmt.Sprintf(`
run: r
rounds: 1
collect: {policy: refmodel, tasks: 2, group: 2, max-steps: 2}
score: {mode: immediate_feedback}
serve: {listen: "ADDR"}
metrics: "%s"
traces: "%s"
log: {level: info, format: json}
`, metrics, serveHTTPTest(t, spans)))
	l.until("2 ready groups", func(c harness.FeedCounts) bool { return c.Ready == 2 })
	if h, _, _ := l.take("a", 2, 2, 1000); len(h.Groups) != 2 {
		t.Fatalf("%+v", h)
	}
	for _, url := range []string{"http://" + metrics + "/metrics", strings.TrimSuffix(l.url, "v1/") + "metrics"} {
		missing := []string{
			`hindsight_groups{state="held"} 2`, `hindsight_steps_total 8`, `hindsight_episodes_total{result="lost"} 4`, `hindsight_groups_started_total 2`,
			`hindsight_staleness_versions_count 2`, `hindsight_staleness_versions_bucket{le="0"} 2`, `hindsight_sent_total{what="groups"} 2`,
			`hindsight_ready_seconds_count 2`, `hindsight_credit_seconds_count 2`, `hindsight_score_answers_total{source="asked"}`, "go_goroutines",
		}
		// A group can be taken before it is counted what it took to make it ready.
		for until := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
			said := body(t, url)
			missing = slices.DeleteFunc(missing, func(want string) bool { return strings.Contains(said, want) })
			if len(missing) == 0 {
				break
			}
			if time.Now().After(until) {
				t.Errorf("%s does not say %q", url, missing)
				break
			}
		}
	}
	l.ack("a")
	if code := l.end(); code != exitOK {
		t.Errorf("exit code %d", code)
	}
	if log := l.stderr.String(); !strings.Contains(log, `"msg":"round","run":"r","round":0`) || !strings.Contains(log, `"msg":"ended"`) || !strings.Contains(log, `"delivered":2`) {
		t.Errorf("log: %s", log)
	}
	spans.mu.Lock()
	defer spans.mu.Unlock()
	if spans.path != "/v1/traces" {
		t.Errorf("spans were sent to %q", spans.path)
	}
	for _, name := range []string{"group", "collect", "episode", "score", "credit", "hindsight"} {
		if !strings.Contains(spans.body.String(), name) {
			t.Errorf("no span %q", name)
		}
	}
}

// TestTracesKeepTheCreditOfAGroupThatWasTakenAtOnce: a trainer that waits has the group as soon as its credit
// is in the ledger, before anybody could say how long that took.
func TestTracesKeepTheCreditOfAGroupThatWasTakenAtOnce(t *testing.T) {
	t.Parallel()
	spans := &collector{}
	now := time.Unix(1000, 0)
	traces, err := newTrainTraces(t.Context(), serveHTTPTest(t, spans), func() time.Time { return now })
	if err != nil {
		t.Fatal(err)
	}
	for g := range 2 {
		ref := harness.EpisodeRef{ID: int64(g + 1), Group: g, Task: harness.Task{Env: "alfworld", ID: "game"}}
		traces.event(agent.Event{Kind: agent.EventStarted, Episode: ref})
		traces.event(agent.Event{Kind: agent.EventFinished, Episode: ref, Outcome: &harness.Outcome{}})
		traces.crediting(g)
		traces.over(g, "sent")
		if g == 0 {
			traces.credited(g, now, now.Add(time.Second))
		}
	}
	if len(traces.groups) != 1 || traces.groups[1] == nil {
		t.Errorf("open are %v, want group 1 alone", traces.groups)
	}
	if err := traces.close(); err != nil { // and no credit of group 1, whose writing failed
		t.Fatal(err)
	}
	spans.mu.Lock()
	defer spans.mu.Unlock()
	if n := strings.Count(spans.body.String(), "credit"); n != 1 {
		t.Errorf("%d spans of credit, want 1", n)
	}
}

// TestReportsAddUp: the report of groups that got credit one by one is that of all together, where both are
// defined by groups.
func TestReportsAddUp(t *testing.T) {
	t.Parallel()
	steps := func(g int) []creditrun.Step {
		var out []creditrun.Step
		for e := range 4 {
			for i := range 2 + e {
				n := 3 + i
				s := creditrun.Step{ID: int64(100*g + 10*e + i), Episode: int64(10*g + e), Group: g, Sample: e, Index: i, Return: float64((e + g) % 2), Valid: true, Tokens: n}
				sc := &creditrun.Score{}
				for k := range n {
					sc.Student = append(sc.Student, -1)
					sc.Teacher = append(sc.Teacher, -1+float32(k-g)/10)
					sc.Action = append(sc.Action, k > 0)
				}
				s.Score = sc
				out = append(out, s)
			}
		}
		return out
	}
	cfg := creditrun.DefaultConfig(credit.GRPO, true)
	one := func(s []creditrun.Step) creditrun.Report {
		res, err := creditrun.Run(s, cfg)
		if err != nil {
			t.Fatal(err)
		}
		return res.Report
	}
	want := one(append(append(steps(0), steps(1)...), steps(2)...))
	got := addReports(addReports(one(steps(0)), one(steps(1))), one(steps(2)))
	if diff := cmp.Diff(want, got, cmpopts.EquateApprox(1e-9, 1e-9)); diff != "" {
		t.Error(diff)
	}
}

// TestAgesForgetRatherThanGrow: ends are told once, and the memory for them is bounded.
func TestAgesForgetRatherThanGrow(t *testing.T) {
	t.Parallel()
	var a ages
	if _, ok := a.ready(1); ok {
		t.Error("a group that never ended")
	}
	now := time.Unix(5, 0)
	a.ended(1, now)
	if at, ok := a.ready(1); !ok || !at.Equal(now) {
		t.Error("the end was lost")
	}
	if _, ok := a.ready(1); ok {
		t.Error("it ended twice")
	}
	steps := []harness.FeedStep{{Tokens: &harness.Tokens{Versions: []int32{4, 3}}}, {Tokens: &harness.Tokens{Versions: []int32{5}}}, {}}
	if v, ok := a.see(7, steps); !ok || v != 3 {
		t.Errorf("oldest %d, %v", v, ok)
	}
	if v, ok := a.oldest(7); !ok || v != 3 {
		t.Errorf("oldest %d, %v", v, ok)
	}
	if _, ok := a.see(8, steps[2:]); ok {
		t.Error("a version was made up")
	}
	for g := range maxAges + 10 {
		a.ended(g, now)
		a.see(g, steps)
	}
	if len(a.ends) > maxAges || len(a.versions) > maxAges {
		t.Errorf("%d ends and %d versions are remembered", len(a.ends), len(a.versions))
	}
}

// TestGateHoldsCallsBack: closed it lets nobody in, draining waits for those inside, and tokens without a
// version get the one that was known before and after.
func TestGateHoldsCallsBack(t *testing.T) {
	t.Parallel()
	inside, leave := make(chan struct{}), make(chan struct{})
	g := newPolicyGate(agent.PolicyFunc(func(context.Context, agent.Turn) (agent.Answer, error) {
		inside <- struct{}{}
		<-leave
		return agent.Answer{Tokens: &harness.Tokens{IDs: []int32{1, 2}}}, nil
	}))
	g.loaded(4)
	answers := make(chan agent.Answer)
	call := func() {
		a, err := g.Act(t.Context(), agent.Turn{})
		if err != nil {
			t.Error(err)
		}
		answers <- a
	}
	go call()
	<-inside
	drained := make(chan error, 1)
	go func() { drained <- g.hold(t.Context(), true) }()
	if err := g.until(t.Context(), func() bool { return g.closed }); err != nil {
		t.Fatal(err)
	}
	g.mu.Unlock()
	go call() // waits outside
	select {
	case <-drained:
		t.Fatal("it was drained with a call inside")
	default:
	}
	leave <- struct{}{}
	if err := <-drained; err != nil {
		t.Fatal(err)
	}
	if a := <-answers; !slices.Equal(a.Tokens.Versions, []int32{4, 4}) {
		t.Errorf("versions %v", a.Tokens.Versions)
	}
	g.loaded(5)
	g.release()
	<-inside
	g.loaded(6) // while the call is under way: nobody knows
	leave <- struct{}{}
	if a := <-answers; a.Tokens.Versions != nil {
		t.Errorf("versions %v were made up", a.Tokens.Versions)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := g.hold(ended, false); err != nil {
		t.Error(err)
	}
	if _, err := g.Act(ended, agent.Turn{}); !errors.Is(err, context.Canceled) {
		t.Errorf("a call before a closed gate: %v", err)
	}
}

// TestReloadKnowsItsWeights: templates, what the trainer says, and what nobody says.
func TestReloadKnowsItsWeights(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		reload trainReload
		posted string
		path   string
		info   map[string]any
		err    string
	}{
		{trainReload{Weights: "/w/step-{version}"}, "/elsewhere", "/w/step-7", nil, ""},
		{trainReload{}, "/posted", "/posted", nil, ""},
		{trainReload{Info: `{"a":["{weights}@{version}", 1]}`}, "/posted", "/posted", map[string]any{"a": []any{"/posted@7", 1.0}}, ""},
		{trainReload{}, "", "", nil, "nobody says where the weights of version 7 are"},
	} {
		u, err := c.reload.update(feed.Posted{Version: 7, Weights: c.posted})
		if c.err != "" {
			if err == nil || !strings.Contains(err.Error(), c.err) {
				t.Errorf("%+v: %v", c, err)
			}
			continue
		}
		if diff := cmp.Diff(llm.Update{Version: 7, Path: c.path, Info: c.info}, u); diff != "" || err != nil {
			t.Errorf("%s, %v", diff, err)
		}
	}
}
