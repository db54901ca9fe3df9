package main

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hindsightrl/harness/internal/testutil"
	"github.com/hindsightrl/harness/store"
)

// TestKilledTrainFeedGoesOn kills train-feed with SIGKILL and its trainers at random moments, starts it again
// each time, and compares: each group was delivered once, and the ledger holds the episodes of a run that
// nobody disturbed.
func TestKilledTrainFeedGoesOn(t *testing.T) {
	t.Parallel()
	kills := 25
	if testing.Short() {
		kills = 3
	}
	bin := harnessPath(t)
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 2))
	whole := trainUntilDelivered(t, bin, 0, rng)
	killed := trainUntilDelivered(t, bin, kills, rng)
	if whole != killed {
		t.Errorf("the ledger differs from that of an undisturbed run:\n%s", firstDifference(whole, killed))
	}
}

// trainUntilDelivered runs train-feed to its end through so many kills, checks what was delivered, and returns
// the ledger's contents.
func trainUntilDelivered(t *testing.T, bin string, kills int, rng *rand.Rand) string {
	t.Helper()
	dir, addr := t.TempDir(), testutil.Address(t)
	file, db := filepath.Join(dir, "run.yaml"), filepath.Join(dir, "t.db")
	config := fmt.Sprintf(`
ledger: %s
run: r
rounds: 6
collect: {policy: refmodel, env: alfworld, tasks: 6, group: 2, max-steps: 3, seed: 5}
score: {mode: immediate_feedback}
serve: {listen: "%s", ttl: 2s} # longer than a slow trainer takes: else its work counts for nothing, for ever
pace: {max_backlog: 5}
log: {level: warn}
`, db, addr)
	if err := os.WriteFile(file, []byte(config), 0o644); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	var (
		mu        sync.Mutex
		delivered = map[int][]int{}
		wg        sync.WaitGroup
		total     killCount
	)
	for k := range 3 {
		c := &killClient{t: t, name: fmt.Sprint("trainer-", k), url: "http://" + addr + "/v1/", rng: rand.New(rand.NewPCG(rng.Uint64(), uint64(k))), total: &total, deliver: func(tokens map[int]int) {
			mu.Lock()
			defer mu.Unlock()
			for g, n := range tokens {
				delivered[g] = append(delivered[g], n)
			}
		}}
		wg.Go(func() { c.run(ctx) })
	}
	for n := 0; ; n++ {
		var out bytes.Buffer
		cmd := exec.CommandContext(ctx, bin, "train-feed", "--config", file)
		cmd.Stdout, cmd.Stderr = &out, &out
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		if n < kills {
			time.Sleep(time.Duration(100+rng.IntN(1200)) * time.Millisecond)
			cmd.Process.Kill()
			total.servers.Add(1)
		}
		err := cmd.Wait()
		if err == nil {
			break
		}
		if err.Error() != "signal: killed" || ctx.Err() != nil {
			t.Fatalf("train-feed: %v\n%s", err, out.String())
		}
	}
	// All is delivered. A trainer that was too slow to hear it asks a server that is gone.
	time.AfterFunc(time.Minute, cancel)
	wg.Wait()
	t.Logf("%d kills of train-feed, %d of trainers", total.servers.Load(), total.clients.Load())
	return checkDelivered(t, db, delivered)
}

func checkDelivered(t *testing.T, path string, delivered map[int][]int) string {
	t.Helper()
	want := ledgerTokens(t, path)
	if len(want) != 36 || len(delivered) != len(want) {
		t.Errorf("%d groups in the ledger, %d delivered, want 36", len(want), len(delivered))
	}
	for g, n := range want {
		if len(delivered[g]) != 1 || delivered[g][0] != n {
			t.Errorf("group %d of %d tokens was delivered as %v", g, n, delivered[g])
		}
	}
	db, err := store.OpenReadOnly(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if found, err := db.Check(t.Context()); err != nil || len(found) > 0 {
		t.Errorf("check: %v, %v", found, err)
	}
	checkScoreReport(t, db, 1, 36)
	var b strings.Builder
	if err := db.DumpCanonical(t.Context(), 1, &b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// firstDifference are the first lines that differ.
func firstDifference(a, b string) string {
	x, y := strings.Split(a, "\n"), strings.Split(b, "\n")
	for i := range min(len(x), len(y)) {
		if x[i] != y[i] {
			return fmt.Sprintf("line %d:\n%s\n%s", i, x[i], y[i])
		}
	}
	return fmt.Sprintf("%d and %d lines", len(x), len(y))
}
