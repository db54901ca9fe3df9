package llm_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hindsightrl/harness"
	"github.com/hindsightrl/harness/internal/errext"
	"github.com/hindsightrl/harness/llm"
	"github.com/hindsightrl/harness/llm/llmtest"
)

func TestLlamaCppScoringIsPricedAndBounded(t *testing.T) {
	t.Parallel()
	b := backend{opt: llmtest.Options{Dialect: llmtest.LlamaCpp}, cfg: llm.Config{MaxScoreCalls: 10}}
	c, srv := b.open(t)
	prefix := llmtest.Render(chat("x"))
	// The most and the least likely tokens: the latter is not among the first alternatives.
	dist := b.opt.Model.Logprobs(prefix)
	likely, rare := int32(0), int32(0)
	for i := range dist {
		if dist[i] > dist[likely] {
			likely = int32(i)
		}
		if dist[i] < dist[rare] {
			rare = int32(i)
		}
	}
	for name, tt := range map[string]struct {
		cont  []int32
		calls int // 0 = refused
		sent  int
	}{
		"one request for a likely token": {[]int32{likely}, 1, 1},
		"two for a rare one":             {[]int32{rare}, 2, 2},
		"too long from the start":        {make([]int32, 11), 0, 0},
		"too dear on the way":            {append([]int32{rare}, make([]int32, 9)...), 0, 1},
	} {
		before := len(srv.Requests("/completion"))
		sc, err := c.(scorer).Score(t.Context(), llm.ScoreRequest{Prefix: prefix, Continuation: tt.cont})
		sent := len(srv.Requests("/completion")) - before
		if sent != tt.sent || sc.Calls != tt.calls {
			t.Errorf("%s: %d calls, %d sent, %v", name, sc.Calls, sent, err)
		}
		if tt.calls == 0 {
			wantBudget(t, name, err)
		} else if err != nil || !cmp.Equal(sc.Logprobs, []float32{dist[tt.cont[0]]}) {
			t.Errorf("%s: %v, %v", name, sc.Logprobs, err)
		}
	}
	for _, r := range srv.Requests("/completion") {
		if r.Body["cache_prompt"] != false {
			t.Error("scoring used the prompt cache, which is documented as possibly non-deterministic")
		}
	}
}

func wantBudget(t *testing.T, name string, err error) {
	t.Helper()
	if !errors.Is(err, llm.ErrScoreBudget) || harness.KindOf(err) != harness.FailBudget || errext.Hint(err) == "" {
		t.Errorf("%s: %v, want a budget failure with a hint", name, err)
	}
}
