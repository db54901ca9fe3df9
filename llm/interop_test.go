package llm_test

import (
	"net/http/httptest"
	"slices"
	"testing"

	"github.com/hindsightrl/harness/llm"
	"github.com/hindsightrl/harness/llm/refmodel"
	"github.com/hindsightrl/harness/llm/serve"
)

// TestClientsAgainstTheLocalServer plays against a server that was written to vLLM's documents and
// not to this client.
func TestClientsAgainstTheLocalServer(t *testing.T) {
	t.Parallel()
	model, err := refmodel.New(refmodel.Config{})
	if err != nil {
		t.Fatal(err)
	}
	srv, err := serve.New(model, serve.Config{WeightVersion: "4"})
	if err != nil {
		t.Fatal(err)
	}
	ts := httptest.NewServer(srv)
	t.Cleanup(ts.Close)
	for _, route := range []llm.Route{llm.RouteChat, llm.RouteCompletions, llm.RouteTokens} {
		t.Run(string(route), func(t *testing.T) {
			t.Parallel()
			c, err := llm.Open(t.Context(), ts.URL, llm.Config{Route: route, TrackVersions: true})
			if err != nil {
				t.Fatal(err)
			}
			rep, err := llm.Probe(t.Context(), c, llm.ProbeConfig{})
			if err != nil {
				t.Fatal(err)
			}
			if !rep.OK() || slices.ContainsFunc(rep.Verdicts, func(v llm.Verdict) bool { return !v.OK }) {
				t.Errorf("%s", rep)
			}
			// Sampling and scoring share one forward pass there; float32 on the wire is exact.
			if rep.Consistency.Tokens == 0 || rep.Consistency.Max > 1e-6 || rep.Repeat.Max != 0 {
				t.Errorf("consistency %+v, repeat %+v", rep.Consistency, rep.Repeat)
			}
			gen, err := c.Generate(t.Context(), llm.Request{Messages: chat("open the drawer"), Sampling: seeded(1, 30), TopLogprobs: 4})
			if err != nil {
				t.Fatal(err)
			}
			for _, v := range gen.Tokens.Versions {
				if v != 4 {
					t.Fatalf("versions %v", gen.Tokens.Versions)
				}
			}
			pieces, err := llm.NewSpeller(c.(llm.Tokenizer)).Split(t.Context(), gen.Text, gen.Tokens.IDs)
			if err != nil || string(slices.Concat(pieces...)) != gen.Text {
				t.Errorf("split %q: %q, %v", gen.Text, pieces, err)
			}
			t.Logf("%q (%s)\n%s", gen.Text, gen.Finish, rep)
		})
	}
}
