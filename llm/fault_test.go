package llm_test

import (
	"context"
	"errors"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/hindsightrl/harness"
	"github.com/hindsightrl/harness/internal/errext"
	"github.com/hindsightrl/harness/llm"
	"github.com/hindsightrl/harness/llm/llmtest"
)

// operation is a model call of a backend, the path that it takes there, and how its reply can be
// broken without ceasing to be JSON.
type operation struct {
	path  string
	run   func(context.Context, llm.Client) (any, error)
	lists []string      // of one value per token
	nan   llmtest.Fault // a value that is no number
	worst llmtest.Fault // −9999
	null  llmtest.Fault // a missing value
}

func generateOp(ctx context.Context, c llm.Client) (any, error) {
	return c.Generate(ctx, llm.Request{Messages: chat("open drawer"), Sampling: seeded(2, 8), TopLogprobs: 3})
}

func generateTextOp(ctx context.Context, c llm.Client) (any, error) {
	return c.Generate(ctx, llm.Request{Messages: chat("open drawer"), Sampling: seeded(2, 8)})
}

func scoreOp(ctx context.Context, c llm.Client) (any, error) {
	return c.(llm.Scorer).Score(ctx, llm.ScoreRequest{Prefix: llmtest.Render(chat("open")), Continuation: llmtest.Tokenize("go to", false), TopLogprobs: 2})
}

// entryFaults breaks formats whose entries have a member "logprob".
func entryFaults(op operation) operation {
	op.nan = llmtest.Replace(`"logprob":`, `"logprob":NaN,"x":`, -1)
	op.worst, op.null = llmtest.Set("logprob", -9999), llmtest.Set("logprob", nil)
	return op
}

// listFaults breaks formats whose list starts with the value.
func listFaults(op operation, start string) operation {
	op.nan = llmtest.Replace(start, start+"NaN,", 1)
	op.worst, op.null = llmtest.Replace(start, start+"-9999.0,1],[", 1), llmtest.Replace(start, start+"null,1],[", 1)
	return op
}

func operations(b backend) map[string]operation {
	switch b.opt.Dialect {
	case llmtest.OpenAI:
		return map[string]operation{"generate": {path: "/v1/chat/completions", run: generateTextOp}}
	case llmtest.LlamaCpp:
		return map[string]operation{
			"generate": entryFaults(operation{path: "/completion", run: generateOp, lists: []string{"tokens", "completion_probabilities"}}),
			"score":    entryFaults(operation{path: "/completion", run: scoreOp, lists: []string{"completion_probabilities"}}),
		}
	case llmtest.SGLang:
		return map[string]operation{
			"generate": listFaults(operation{path: "/generate", run: generateOp, lists: []string{"output_ids", "output_token_logprobs", "output_top_logprobs"}}, `"output_token_logprobs":[[`),
			"score":    listFaults(operation{path: "/generate", run: scoreOp, lists: []string{"input_token_logprobs", "input_top_logprobs"}}, `"input_token_logprobs":[[`),
		}
	}
	score := entryFaults(operation{path: "/v1/completions", run: scoreOp, lists: []string{"prompt_logprobs"}})
	switch b.cfg.Route {
	case llm.RouteTokens:
		score.path = "/inference/v1/generate"
		return map[string]operation{
			"score":    score,
			"generate": entryFaults(operation{path: "/inference/v1/generate", run: generateOp, lists: []string{"token_ids", "content"}}),
		}
	case llm.RouteCompletions:
		start := `"token_logprobs":[`
		gen := operation{
			path: "/v1/completions", run: generateOp, lists: []string{"token_ids", "token_logprobs", "top_logprobs"},
			nan: llmtest.Replace(start, start+"NaN,", 1), worst: llmtest.Set("token_logprobs", slices.Repeat([]float64{-9999}, 8)),
			null: llmtest.Set("token_logprobs", make([]any, 8)),
		}
		return map[string]operation{"score": score, "generate": gen}
	}
	return map[string]operation{
		"score":    score,
		"generate": entryFaults(operation{path: "/v1/chat/completions", run: generateOp, lists: []string{"token_ids", "content"}}),
	}
}

// faults lists every passing fault of an operation by name.
func (op operation) faults() map[string]llmtest.Fault {
	all := map[string]llmtest.Fault{
		"408": llmtest.Status(408), "429": llmtest.Status(429, "Retry-After", "0"), "500": llmtest.Status(500), "502": llmtest.Status(502),
		"503": llmtest.Status(503), "504": llmtest.Status(504), "529": llmtest.Status(529),
		"connection reset": llmtest.Reset(), "death in mid-stream": llmtest.MidStream(), "truncated JSON": llmtest.Truncate(),
		"a proxy's page": llmtest.Body("<html>busy</html>"), "an empty body": llmtest.Body(""), "an empty object": llmtest.Body("{}"), "a list": llmtest.Body("[]"),
		"text after the reply": llmtest.Body(`{} {}`), "an error with status 200": llmtest.Body(`{"error":{"message":"overloaded"}}`),
	}
	for _, list := range op.lists {
		all["too short: "+list] = llmtest.DropLast(list)
	}
	for name, f := range map[string]llmtest.Fault{"NaN": op.nan, "-9999": op.worst, "null": op.null} {
		if f != nil {
			all[name] = f
		}
	}
	return all
}

// sameAnswer compares results apart from how long they took.
var sameAnswer = cmp.Options{cmpopts.IgnoreFields(llm.Generation{}, "Latency"), cmpopts.IgnoreFields(llm.Score{}, "Latency")}

// faulty are the backends that meet every fault; variants that only write a reply otherwise are left
// out of short runs.
func faulty() []backend {
	if !testing.Short() {
		return backends()
	}
	return slices.DeleteFunc(backends(), func(b backend) bool { return strings.Contains(b.name, ",") })
}

func TestPassingFaultsLoseNothing(t *testing.T) {
	t.Parallel()
	for _, b := range faulty() {
		for opName, op := range operations(b) {
			t.Run(b.name+"/"+opName, func(t *testing.T) {
				t.Parallel()
				c, srv := b.open(t)
				want, err := op.run(t.Context(), c)
				if err != nil {
					t.Fatal(err)
				}
				faults := op.faults()
				for _, name := range slices.Sorted(maps.Keys(faults)) {
					before := len(srv.Requests(op.path))
					srv.Inject(op.path, faults[name], faults[name])
					got, err := op.run(t.Context(), c)
					if err != nil {
						t.Errorf("%s, twice: %v", name, err)
						continue
					}
					if diff := cmp.Diff(want, got, sameAnswer); diff != "" {
						t.Errorf("%s: the answer differs: %s", name, diff)
					}
					if n := len(srv.Requests(op.path)) - before; n < 3 {
						t.Errorf("%s: %d requests, want at least 3", name, n)
					}
				}
			})
		}
	}
}

func TestLastingFaultsAreTypedAndBounded(t *testing.T) {
	t.Parallel()
	for _, b := range faulty() {
		for opName, op := range operations(b) {
			t.Run(b.name+"/"+opName, func(t *testing.T) {
				t.Parallel()
				b := b // both operations of a backend run at the same time
				b.cfg.MaxTries = 3
				c, srv := b.open(t)
				want, err := op.run(t.Context(), c)
				if err != nil {
					t.Fatal(err)
				}
				faults := op.faults()
				for _, name := range slices.Sorted(maps.Keys(faults)) {
					before := len(srv.Requests(op.path))
					srv.Inject(op.path, slices.Repeat([]llmtest.Fault{faults[name]}, 3)...)
					_, err := op.run(t.Context(), c)
					var f *harness.Failure
					if !errors.As(err, &f) || f.Kind != harness.FailServer || !f.Retryable {
						t.Errorf("%s: %v, want a retryable failure of the model server", name, err)
					}
					if n := len(srv.Requests(op.path)) - before; n != 3 {
						t.Errorf("%s: %d requests, want 3", name, n)
					}
					if got, err := op.run(t.Context(), c); err != nil || !cmp.Equal(want, got, sameAnswer) {
						t.Errorf("after %s: %v, %v", name, got, err)
					}
				}
			})
		}
	}
}

func TestRefusalsAreFinal(t *testing.T) {
	t.Parallel()
	for _, b := range backends() {
		for opName, op := range operations(b) {
			t.Run(b.name+"/"+opName, func(t *testing.T) {
				t.Parallel()
				c, srv := b.open(t)
				if _, err := op.run(t.Context(), c); err != nil {
					t.Fatal(err)
				}
				for code, hint := range map[int]string{400: "", 401: "key", 403: "key", 404: "doctor", 307: ""} {
					before := len(srv.Requests(op.path))
					srv.Inject(op.path, llmtest.Status(code, "Location", "http://else.test/"))
					_, err := op.run(t.Context(), c)
					var f *harness.Failure
					if !errors.As(err, &f) || f.Kind != harness.FailServer || f.Retryable {
						t.Errorf("%d: %v, want a final failure of the model server", code, err)
					}
					if n := len(srv.Requests(op.path)) - before; n != 1 {
						t.Errorf("%d: %d requests, want 1", code, n)
					}
					if hint != "" && !strings.Contains(errext.Hint(err), hint) {
						t.Errorf("%d: hint %q", code, errext.Hint(err))
					}
				}
			})
		}
	}
}

func TestContextLengthIsRecognised(t *testing.T) {
	t.Parallel()
	for _, b := range backends() {
		if b.text {
			continue
		}
		t.Run(b.name, func(t *testing.T) {
			t.Parallel()
			b.opt.ContextLength = 20
			c, _ := b.open(t)
			_, err := c.Generate(t.Context(), llm.Request{Messages: chat(strings.Repeat("long ", 20)), Sampling: seeded(1, 4)})
			if !errors.Is(err, llm.ErrContextLength) || errext.Hint(err) == "" {
				t.Errorf("%v (hint %q)", err, errext.Hint(err))
			}
		})
	}
}

func TestAbortedGenerationIsNoResponse(t *testing.T) {
	t.Parallel()
	for name, abort := range map[string]llmtest.Fault{
		"vllm/chat": llmtest.Set("finish_reason", "abort"),
		"sglang":    llmtest.Set("finish_reason", map[string]any{"type": "abort", "message": "paused"}),
		"openai":    llmtest.Set("finish_reason", "abort"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := backends()[slices.IndexFunc(backends(), func(b backend) bool { return b.name == name })]
			b.cfg.MaxTries = 2
			c, srv := b.open(t)
			srv.Inject(operations(b)["generate"].path, abort, abort)
			_, err := generateTextOp(t.Context(), c)
			if f := (*harness.Failure)(nil); !errors.Is(err, llm.ErrAborted) || !errors.As(err, &f) || !f.Retryable {
				t.Errorf("%v, want a retryable ErrAborted", err)
			}
		})
	}
}

func TestSwappedModelEndsTheRun(t *testing.T) {
	t.Parallel()
	other := func(o *llmtest.Options) { o.Name, o.Model.Weights = "other", 5 }
	for _, b := range backends() {
		for opName, op := range operations(b) {
			t.Run(b.name+"/"+opName, func(t *testing.T) {
				t.Parallel()
				c, srv := b.open(t)
				if _, err := op.run(t.Context(), c); err != nil {
					t.Fatal(err)
				}
				srv.Inject(op.path, llmtest.Restart(other))
				_, err := op.run(t.Context(), c)
				var f *harness.Failure
				if !errors.Is(err, llm.ErrModelSwapped) || !errors.As(err, &f) || f.Retryable || errext.Hint(err) == "" {
					t.Fatalf("%v, want a final ErrModelSwapped with a hint", err)
				}
				before := len(srv.Requests(op.path))
				if _, err := op.run(t.Context(), c); !errors.Is(err, llm.ErrModelSwapped) || len(srv.Requests(op.path)) != before {
					t.Errorf("a swapped server was asked again: %v", err)
				}
			})
		}
	}
}

// TestSwapDuringAnOutageIsFound: the call that met the restart failed; the next one meets the new
// process at its first attempt.
func TestSwapDuringAnOutageIsFound(t *testing.T) {
	t.Parallel()
	// The same name, other weights behind it, as after a restart with another checkpoint.
	other := func(o *llmtest.Options) { o.Version = "another build" }
	for _, b := range backends() {
		if b.text {
			continue // a provider that lists names only: nothing else tells models apart
		}
		t.Run(b.name, func(t *testing.T) {
			t.Parallel()
			b.cfg.MaxTries = 1
			c, srv := b.open(t)
			op := operations(b)["generate"]
			if _, err := op.run(t.Context(), c); err != nil {
				t.Fatal(err)
			}
			srv.Inject(op.path, llmtest.Restart(other))
			if _, err := op.run(t.Context(), c); err == nil || errors.Is(err, llm.ErrModelSwapped) {
				t.Fatalf("%v, want a lost connection", err)
			}
			if _, err := op.run(t.Context(), c); !errors.Is(err, llm.ErrModelSwapped) {
				t.Errorf("%v, want ErrModelSwapped", err)
			}
		})
	}
}

func TestSwapWithoutARestartIsFoundByTheCheck(t *testing.T) {
	t.Parallel()
	for _, b := range backends() {
		t.Run(b.name, func(t *testing.T) {
			t.Parallel()
			b.cfg.CheckEvery = 4
			c, srv := b.open(t)
			if _, err := generateTextOp(t.Context(), c); err != nil {
				t.Fatal(err)
			}
			srv.Update(func(o *llmtest.Options) { o.Name = "other" })
			var err error
			for range 4 {
				if _, err = generateTextOp(t.Context(), c); err != nil {
					break
				}
			}
			if !errors.Is(err, llm.ErrModelSwapped) {
				t.Errorf("after %d calls: %v", b.cfg.CheckEvery, err)
			}
		})
	}
}

func TestOtherListedModelsAreNoSwap(t *testing.T) {
	t.Parallel()
	for _, dialect := range []string{llmtest.VLLM, llmtest.LlamaCpp, llmtest.OpenAI} {
		t.Run(dialect, func(t *testing.T) {
			t.Parallel()
			c, srv := backend{opt: llmtest.Options{Dialect: dialect}, cfg: llm.Config{CheckEvery: 1}}.open(t)
			if _, err := generateTextOp(t.Context(), c); err != nil {
				t.Fatal(err)
			}
			srv.Update(func(o *llmtest.Options) { o.Adapters = []string{"an adapter", "another"} })
			if _, err := generateTextOp(t.Context(), c); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestNewWeightsAreNoSwap(t *testing.T) {
	t.Parallel()
	for _, b := range backends() {
		t.Run(b.name, func(t *testing.T) {
			t.Parallel()
			b.cfg.CheckEvery = 1
			c, srv := b.open(t)
			for v := range 3 {
				srv.Update(func(o *llmtest.Options) { o.Model.Weights = v })
				if _, err := generateTextOp(t.Context(), c); err != nil {
					t.Errorf("weights %d: %v", v, err)
				}
			}
		})
	}
}

func TestKeysAreHiddenEverywhere(t *testing.T) {
	t.Parallel()
	const key = "sk-very-secret"
	for _, b := range backends() {
		t.Run(b.name, func(t *testing.T) {
			t.Parallel()
			b.opt.APIKey = key
			srv := llmtest.New(t, b.opt)
			if _, err := llm.Open(t.Context(), b.opt.Dialect+":"+srv.URL, llm.Config{APIKey: "wrong"}); err == nil || errext.Hint(err) == "" {
				t.Errorf("a wrong key passed: %v", err)
			}
			var logged strings.Builder
			b.cfg.APIKey, b.cfg.Log = key, newLog(&logged)
			c := b.connect(t, srv)
			op := operations(b)["generate"]
			srv.Inject(op.path, llmtest.Body(`{"echo":"Bearer `+key+`"}`), func(_ *llmtest.Server, w http.ResponseWriter, _ *http.Request, _ func(http.ResponseWriter)) {
				http.Error(w, "bad key "+key, 500)
			}, func(_ *llmtest.Server, w http.ResponseWriter, _ *http.Request, _ func(http.ResponseWriter)) {
				http.Error(w, "bad key "+key, 400)
			})
			_, err := op.run(t.Context(), c)
			if err == nil || strings.Contains(err.Error(), key) || strings.Contains(logged.String(), key) || !strings.Contains(err.Error(), "[redacted]") {
				t.Errorf("the key shows, or the error is gone: %v\n%s", err, logged.String())
			}
		})
	}
}
