package main

import (
	"encoding/json"
	"math"
	"strings"
	"testing"

	"github.com/hindsightrl/harness/credit"
	"github.com/hindsightrl/harness/creditrun"
	"github.com/hindsightrl/harness/internal/testutil"
)

// TestAnalysesOnStories runs the analyses on a real, tiny transformer. It needs llama.cpp's library.
func TestAnalysesOnStories(t *testing.T) {
	t.Parallel()
	file := testutil.Shared(t, "data/models/stories260K.gguf")
	args := func(name string) []string {
		return []string{"analyse", name, "--model", "gguf:" + file, "--states", "4", "--samples", "8", "--max-tokens", "12", "--out", t.TempDir(), "--deterministic", "--json"}
	}
	out, logs, code := inProcess(t, args("aem-correlation")...)
	if code != 0 && strings.Contains(logs, "harness model install") {
		t.Skipf("llama.cpp is not installed: %s", logs)
	}
	var found []creditrun.Correlation
	if err := json.Unmarshal([]byte(out), &found); err != nil || code != 0 {
		t.Fatalf("exit %d, %v: %s", code, err, logs)
	}
	if len(found) != 2 || found[0].Responses != 32 || math.Abs(found[0].Pearson) > 1 || found[0].Pearson == 0 {
		t.Errorf("%+v", found)
	}
	again, _, _ := inProcess(t, args("aem-correlation")...)
	if again != out {
		t.Errorf("the same seed gave\n%s\nand\n%s", out, again)
	}
	wants(t, mustRun(t, args("aem-masking")...), `"mask": "A\(α−1\) < 0"`)
}

// TestSamplerSeeds: every response has a stream of its own, and a fair coin.
func TestSamplerSeeds(t *testing.T) {
	t.Parallel()
	s := sampler{seed: 3}
	seen, heads := map[int64]bool{}, 0
	for k := range 50 {
		for i := range 50 {
			seen[s.derive(k, i, "response")] = true
			heads += int(s.rewardOf(state{}, nil, k, i))
		}
	}
	if len(seen) != 2500 {
		t.Errorf("%d seeds of 2500 are different", len(seen))
	}
	if heads < 1150 || heads > 1350 { // 4 standard deviations
		t.Errorf("%d of 2500 coins fell on one side", heads)
	}
	at := state{env: "alfworld", action: "go to desk 1"}
	if s.rewardOf(at, []byte("<think>so</think><action>go to desk 1</action>"), 0, 0) != 1 || s.rewardOf(at, []byte("<think>so</think><action>look</action>"), 0, 0) != 0 {
		t.Error("the reward is not the recorded action's")
	}
}

func TestBinEntropies(t *testing.T) {
	t.Parallel()
	all := []response{
		{0, credit.Exact(1), true}, {1, credit.Exact(3), false}, {2, credit.Interval{Mean: 2, Low: 1, High: 4}, false}, {4, credit.Exact(5), true},
	}
	rows := binEntropies(all, 3)
	if len(rows) != 3 || rows[0].From != 0 || rows[0].To != 1 || rows[2].To != 4 {
		t.Fatalf("%+v", rows)
	}
	if r := rows[0]; r.Mean != 2 || r.Rewarded != 1 || r.MeanYes != 1 || r.MeanNo != 3 {
		t.Errorf("%+v", r)
	}
	if r := rows[1]; r.Low != 1 || r.High != 4 || r.Responses != 1 {
		t.Errorf("%+v", r)
	}
	if rows := binEntropies(all, 1); len(rows) != 1 || rows[0].Responses != 4 {
		t.Errorf("one bin: %+v", rows)
	}
}
