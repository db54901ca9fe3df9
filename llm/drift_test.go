package llm

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/hindsightrl/harness"
)

// spellTable spells ids 0–25 as letters, 100 as "ab", 101 as "bc", 102 as nothing.
func spellTable(id int32) ([]byte, error) {
	switch {
	case id >= 0 && id < 26:
		return []byte{byte('a' + id)}, nil
	case id == 100:
		return []byte("ab"), nil
	case id == 101:
		return []byte("bc"), nil
	case id == 102:
		return nil, nil
	}
	return nil, fmt.Errorf("no token %d", id)
}

func TestDriftIsFoundAndNothingOldSurvivesIt(t *testing.T) {
	t.Parallel()
	none := float32(math.NaN())
	tests := []struct {
		name   string
		next   []int32
		want   Drift
		lps    []float32
		counts DriftCounts
	}{
		{"continued", []int32{3, 0, 1, 2, 4}, DriftClean, []float32{none, -0.1, -0.2, -0.3, none}, DriftCounts{Clean: 1}},
		{"same length", []int32{3, 0, 1, 2}, DriftClean, []float32{none, -0.1, -0.2, -0.3}, DriftCounts{Clean: 1}},
		// "a","b" came back as "ab"; "c" has the same id, and stands behind other tokens.
		{"joined", []int32{3, 100, 2, 4}, DriftRealigned, []float32{none, none, none, none}, DriftCounts{Realigned: 1, Lost: 3}},
		{"joined over the turn's end", []int32{3, 0, 101, 4}, DriftRealigned, []float32{none, -0.1, none, none}, DriftCounts{Realigned: 1, Lost: 2}},
		{"a silent token slipped in", []int32{3, 0, 102, 1, 2}, DriftRealigned, []float32{none, -0.1, none, none, none}, DriftCounts{Realigned: 1, Lost: 2}},
		{"other text", []int32{3, 0, 9, 2, 4}, DriftForked, []float32{none, -0.1, none, none, none}, DriftCounts{Forked: 1, Lost: 2}},
		{"history cut", []int32{3, 0}, DriftForked, []float32{none, -0.1}, DriftCounts{Forked: 1, Lost: 2}},
		{"history cut at the front", []int32{0, 1, 2}, DriftForked, []float32{none, none, none}, DriftCounts{Forked: 1, Lost: 3}},
		{"emptied", nil, DriftForked, []float32{}, DriftCounts{Forked: 1, Lost: 3}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var th Thread
			if d, err := th.Continue([]int32{3}, spellTable); d != DriftClean || err != nil || th.Counts != (DriftCounts{}) {
				t.Fatalf("first prompt: %v, %v, %+v", d, err, th.Counts)
			}
			if err := th.Respond(&harness.Tokens{PromptIDs: []int32{3}, IDs: []int32{0, 1, 2}, Logprobs: []float32{-0.1, -0.2, -0.3}, Versions: []int32{7, 7, 8}}); err != nil {
				t.Fatal(err)
			}
			got, err := th.Continue(tt.next, spellTable)
			if err != nil || got != tt.want {
				t.Fatalf("%q, %v, want %q", got, err, tt.want)
			}
			if diff := cmp.Diff(tt.lps, th.Logprobs, cmpopts.EquateNaNs()); diff != "" {
				t.Errorf("log-probabilities: %s", diff)
			}
			if diff := cmp.Diff(tt.counts, th.Counts); diff != "" {
				t.Errorf("counts: %s", diff)
			}
			for i, lp := range th.Logprobs {
				if math.IsNaN(float64(lp)) != (th.Versions[i] < 0) {
					t.Errorf("token %d: log-probability %g, version %d", i, lp, th.Versions[i])
				}
			}
		})
	}
}

// TestDriftKeepsExactlyTheCommonPrefix compares with the plain definition: token i keeps its value
// if and only if all ids up to and including i are unchanged.
func TestDriftKeepsExactlyTheCommonPrefix(t *testing.T) {
	t.Parallel()
	const seed = 11
	rng := rand.New(rand.NewPCG(seed, 2))
	for n := range 3000 {
		var th Thread
		old := make([]int32, 1+rng.IntN(8))
		lps := make([]float32, len(old))
		for i := range old {
			old[i], lps[i] = int32(rng.IntN(2)), -rng.Float32()
		}
		if err := th.Respond(&harness.Tokens{IDs: old, Logprobs: lps}); err != nil {
			t.Fatal(err)
		}
		next := make([]int32, rng.IntN(10))
		for i := range next {
			next[i] = int32(rng.IntN(2))
		}
		drift, err := th.Continue(next, spellTable)
		if err != nil || !equalIDs(th.IDs, next) || len(th.Logprobs) != len(next) || len(th.Versions) != len(next) {
			t.Fatalf("seed %d, case %d: %+v, %v", seed, n, th, err)
		}
		same := true
		for i, id := range next {
			same = same && i < len(old) && old[i] == id
			kept := !math.IsNaN(float64(th.Logprobs[i]))
			if kept != same || kept && th.Logprobs[i] != lps[i] {
				t.Fatalf("seed %d, case %d: token %d of %v after %v has %g", seed, n, i, next, old, th.Logprobs[i])
			}
		}
		if clean := len(next) >= len(old) && equalIDs(next[:len(old)], old); clean != (drift == DriftClean) {
			t.Fatalf("seed %d, case %d: %v after %v is %q", seed, n, next, old, drift)
		}
	}
}

func TestThreadRefusesForeignResponses(t *testing.T) {
	t.Parallel()
	th := Thread{}
	if err := th.Respond(&harness.Tokens{PromptIDs: []int32{1}, IDs: []int32{2}}); err == nil {
		t.Error("a response to another prompt was appended")
	}
	if err := th.Respond(&harness.Tokens{IDs: []int32{2}, Logprobs: []float32{-1, -2}}); err == nil {
		t.Error("a response with too many values was appended")
	}
	if err := th.Respond(&harness.Tokens{IDs: []int32{0, 1}}); err != nil {
		t.Fatal(err)
	}
	boom := errors.New("no tokenizer")
	if _, err := th.Continue([]int32{0, 9}, func(int32) ([]byte, error) { return nil, boom }); !errors.Is(err, boom) {
		t.Errorf("%v, want the speller's error", err)
	}
	if got := (DriftCounts{1, 2, 3, 4}).Add(DriftCounts{1, 1, 1, 1}); got != (DriftCounts{2, 3, 4, 5}) {
		t.Errorf("sum %+v", got)
	}
}
