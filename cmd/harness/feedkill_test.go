package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os/exec"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hindsightrl/harness/feed"
	"github.com/hindsightrl/harness/internal/testutil"
	"github.com/hindsightrl/harness/store"
)

// TestFeedSurvivesKillsOfEitherSide kills the server with SIGKILL and cuts, drops and restarts clients at
// random moments, and counts every token: each group reaches the trainers once.
func TestFeedSurvivesKillsOfEitherSide(t *testing.T) {
	t.Parallel()
	kills := 200
	if testing.Short() {
		kills = 12
	}
	bin := harnessPath(t)
	db := filepath.Join(t.TempDir(), "feed.db")
	for _, args := range [][]string{
		{"rollout", "--db", db, "--name", "run", "--policy", "refmodel", "--group", "2", "--tasks", "24", "--max-steps", "3", "--quiet"},
		{"credit", "--db", db},
	} {
		if out, err := exec.Command(bin, args...).CombinedOutput(); err != nil {
			t.Fatalf("%v: %v\n%s", args, err, out)
		}
	}
	want := ledgerTokens(t, db)
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d, %d groups", seed, len(want))
	rng := rand.New(rand.NewPCG(seed, 1))
	var total killCount
	for round := 0; int(total.servers.Load()+total.clients.Load()) < kills; round++ {
		got := feedRound(t, bin, db, fmt.Sprint("round-", round), rng, &total)
		for g, n := range want {
			if len(got[g]) != 1 || got[g][0] != n {
				t.Fatalf("round %d: group %d of %d tokens was delivered as %v", round, g, n, got[g])
			}
		}
		if len(got) != len(want) {
			t.Fatalf("round %d: %d groups delivered, want %d", round, len(got), len(want))
		}
	}
	t.Logf("%d kills of the server, %d of clients", total.servers.Load(), total.clients.Load())
	if total.servers.Load() == 0 || total.clients.Load() == 0 {
		t.Error("one side was never killed")
	}
}

type killCount struct{ servers, clients atomic.Int64 }

// ledgerTokens counts the response tokens of each group in the ledger itself.
func ledgerTokens(t *testing.T, path string) map[int]int {
	t.Helper()
	db, err := store.OpenReadOnly(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	out := map[int]int{}
	sources, err := db.CreditSources(t.Context(), 1)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range sources {
		out[s.Group] += s.Tokens
	}
	return out
}

// feedRound delivers a whole feed through kills and returns the tokens of each delivery, by group.
func feedRound(t *testing.T, bin, db, name string, rng *rand.Rand, total *killCount) map[int][]int {
	t.Helper()
	addr := testutil.Address(t)
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	done := make(chan struct{})
	var (
		mu        sync.Mutex
		delivered = map[int][]int{}
		wg        sync.WaitGroup
	)
	for k := range 4 {
		c := &killClient{t: t, url: "http://" + addr + "/v1/", name: fmt.Sprint("killed-", k), rng: rand.New(rand.NewPCG(rng.Uint64(), uint64(k))), total: total, deliver: func(tokens map[int]int) {
			mu.Lock()
			defer mu.Unlock()
			for g, n := range tokens {
				delivered[g] = append(delivered[g], n)
			}
		}}
		wg.Go(func() { c.run(ctx) })
	}
	go func() { wg.Wait(); close(done) }()
	for {
		var out bytes.Buffer
		cmd := exec.Command(bin, "serve", "--db", db, "--feed", name, "--listen", addr, "--ttl", "2s") // longer than a slow trainer takes: else its work counts for nothing, for ever
		cmd.Stdout, cmd.Stderr = &out, &out
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		// Some die while they start, the others after having served for a while: on a slow machine all would be
		// killed before, and nothing was ever delivered.
		if rng.IntN(4) > 0 {
			awaitServer(ctx, "http://"+addr, done)
		}
		select {
		case <-time.After(time.Duration(20+rng.IntN(400)) * time.Millisecond):
			total.servers.Add(1)
		case <-done:
		}
		cmd.Process.Kill()
		if err := cmd.Wait(); err == nil || err.Error() != "signal: killed" {
			t.Fatalf("serve: %v\n%s", err, out.String())
		}
		select {
		case <-done:
			if ctx.Err() != nil {
				t.Fatalf("the feed was not drained\n%s", out.String())
			}
			return delivered
		default:
		}
	}
}

// awaitServer returns once the server answers, or when it is waited for no more.
func awaitServer(ctx context.Context, url string, done <-chan struct{}) {
	for ctx.Err() == nil {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, url+"/healthz", nil)
		if err != nil {
			return
		}
		if resp, err := http.DefaultClient.Do(req); err == nil {
			resp.Body.Close()
			return
		}
		select {
		case <-done:
			return
		case <-time.After(5 * time.Millisecond):
		}
	}
}

// killClient is a trainer that dies a lot. What it keeps over a death is what a trainer's checkpoint
// would: the id of the lease that it trained on and is about to acknowledge.
type killClient struct {
	t       *testing.T
	url     string
	name    string // the consumer's: the same after each restart
	rng     *rand.Rand
	total   *killCount
	deliver func(tokens map[int]int)
	n       int
}

func (c *killClient) run(ctx context.Context) {
	for ctx.Err() == nil {
		id := fmt.Sprintf("%x-%d", c.rng.Uint64(), c.n)
		c.n++
		tokens, drained := c.lease(ctx, id)
		if drained {
			return
		}
		if tokens == nil {
			continue
		}
		if c.rng.IntN(4) == 0 { // dies before it has trained
			c.total.clients.Add(1)
			if c.rng.IntN(2) == 0 {
				continue // and says nothing: the lease runs out
			}
			if c.lost(ctx) && c.ack(ctx, id) {
				c.t.Errorf("lease %s was given back as lost and could be acknowledged", id)
			}
			continue
		}
		if c.rng.IntN(8) == 0 {
			c.post(ctx, "return", id)
			continue
		}
		if c.ack(ctx, id) {
			c.deliver(tokens)
		}
	}
}

// lease asks until it has a whole batch, under one id; now and then it dies while the batch is coming.
func (c *killClient) lease(ctx context.Context, id string) (tokens map[int]int, drained bool) {
	for ctx.Err() == nil {
		cut := ctx
		if c.rng.IntN(3) == 0 {
			var cancel context.CancelFunc
			cut, cancel = context.WithTimeout(ctx, time.Duration(c.rng.IntN(4000))*time.Microsecond)
			defer cancel()
		}
		resp, err := c.post(cut, "lease", id)
		if err == nil {
			defer resp.Body.Close()
			if resp.StatusCode == http.StatusNoContent {
				return nil, resp.Header.Get("Hindsight-Drained") == "true"
			}
			if resp.StatusCode == http.StatusConflict { // it ran out while we were away
				return nil, false
			}
			if h, rows, err := feed.ReadArrow(resp.Body); err == nil && resp.StatusCode == http.StatusOK && len(rows) == h.Rows {
				tokens = map[int]int{}
				for i := range rows {
					tokens[int(rows[i].Group)] += rows[i].Tokens()
				}
				return tokens, false
			}
		}
		if cut.Err() != nil && ctx.Err() == nil {
			c.total.clients.Add(1)
			if c.rng.IntN(2) == 0 {
				return nil, false // and does not come back for it
			}
		}
		time.Sleep(5 * time.Millisecond)
	}
	return nil, false
}

// ack asks until the server says how it stands; a trainer that dies meanwhile asks again after.
func (c *killClient) ack(ctx context.Context, id string) bool {
	for ctx.Err() == nil {
		resp, err := c.post(ctx, "ack", id)
		if err != nil {
			time.Sleep(5 * time.Millisecond)
			continue
		}
		resp.Body.Close()
		switch resp.StatusCode {
		case http.StatusOK:
			return true
		case http.StatusConflict, http.StatusNotFound:
			return false
		case http.StatusBadRequest:
			c.t.Errorf("lease %s: the acknowledgement is refused", id)
			return false
		}
	}
	return false
}

// lost says, until the server takes it, that nothing is left of what was leased before.
func (c *killClient) lost(ctx context.Context) bool {
	for ctx.Err() == nil {
		resp, err := c.post(ctx, "lost", "")
		if err == nil {
			resp.Body.Close()
			switch resp.StatusCode {
			case http.StatusOK:
				return true
			case http.StatusBadRequest: // the same question would be refused for ever
				c.t.Errorf("%s may not say that its leases are lost", c.name)
				return false
			}
		}
		time.Sleep(5 * time.Millisecond)
	}
	return false
}

func (c *killClient) post(ctx context.Context, op, id string) (*http.Response, error) {
	msg := map[string]any{"lease": id, "consumer": c.name}
	if op == "lease" {
		msg["groups"], msg["wait_ms"] = 1+c.rng.IntN(3), 50
	}
	raw, err := json.Marshal(msg)
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.url+op, bytes.NewReader(raw))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	return http.DefaultClient.Do(req)
}

var (
	_ feed.Book     = (*store.Feed)(nil)
	_ feed.Versions = (*store.Feed)(nil)
	_ feed.Source   = (*ledgerSource)(nil)
)
