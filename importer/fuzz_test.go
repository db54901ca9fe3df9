package importer

import (
	"math"
	"os"
	"strings"
	"testing"
)

// checkEpisode holds what was read to what the ledger asks.
func checkEpisode(t *testing.T, ep *Episode) {
	t.Helper()
	sum := 0.0
	for i := range ep.Steps {
		s := &ep.Steps[i]
		sum += s.Reward
		if s.Index != i {
			t.Errorf("step %d has index %d", i, s.Index)
		}
		if err := s.Tokens.Validate(); err != nil {
			t.Error(err)
		}
		for _, sp := range s.Spans {
			if sp.Start < 0 || sp.End < sp.Start || sp.End > len(s.Response) {
				t.Errorf("span %v of %d bytes", sp, len(s.Response))
			}
		}
	}
	if ep.Failure == nil && (sum != ep.Outcome.Reward && !math.IsNaN(sum) || len(ep.Steps) != ep.Outcome.Steps || ep.Outcome.Stop == "" || len(ep.Steps) == 0) {
		t.Errorf("%d steps of reward %v, outcome %+v", len(ep.Steps), sum, ep.Outcome)
	}
}

func fuzz(f *testing.F, format string, files ...string) {
	for _, name := range files {
		raw, err := os.ReadFile("testdata/" + name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(raw))
		for line := range strings.Lines(string(raw)) {
			f.Add(line)
		}
	}
	f.Fuzz(func(t *testing.T, text string) {
		r, err := NewReader(format, Options{Result: reward(1)})
		if err != nil {
			t.Fatal(err)
		}
		var p Panel
		err = r.Read(t.Context(), "f", strings.NewReader(text), func(ep *Episode) error {
			checkEpisode(t, ep)
			_, _, _ = p.Add(ep)
			return nil
		}, func(b *BadRecordError) error {
			if b.Line < 1 || b.Line > strings.Count(text, "\n")+1 || b.Err == nil {
				t.Errorf("a bad record at line %d: %v", b.Line, b.Err)
			}
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	})
}

// FuzzVerifiers: every file is read or refused, and what is read can be written down.
func FuzzVerifiers(f *testing.F) { fuzz(f, FormatVerifiers, "traces.jsonl", "results.jsonl") }

// FuzzATIF is FuzzVerifiers for trajectories.
func FuzzATIF(f *testing.F) {
	f.Add(inStep(`{"step_id":2,"source":"agent","message":"a","is_copied_context":true}`))
	fuzz(f, FormatATIF, "trajectory.json")
}
