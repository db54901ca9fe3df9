package main

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hindsightrl/harness/credit"
	"github.com/hindsightrl/harness/llm/llmtest"
	"github.com/hindsightrl/harness/llm/serve"
)

// TestETMRBehindServers grows answers behind servers that take token ids: the shared beginnings are sent,
// not sampled, and every leaf is there.
func TestETMRBehindServers(t *testing.T) {
	t.Parallel()
	for name, spec := range map[string]func(t *testing.T) string{
		"vllm": func(t *testing.T) string { return "vllm:" + llmtest.New(t, llmtest.Options{Dialect: llmtest.VLLM}).URL },
		"llamacpp": func(t *testing.T) string {
			return "llamacpp:" + llmtest.New(t, llmtest.Options{Dialect: llmtest.LlamaCpp}).URL
		},
		"harness": func(t *testing.T) string { return "vllm:" + refServer(t, serve.Config{}).URL },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db := filepath.Join(t.TempDir(), "ledger.db")
			code, stdout, stderr := inMemory(never(t), nil, "rollout", "--db", db, "--env", "qa", "--tasks", "2", "--sampler", "etmr", "--trees", "2",
				"--policy", spec(t), "--max-tokens", "24", "--quiet")
			if code != exitOK {
				t.Fatalf("exit code %d\n%s%s", code, stdout, stderr)
			}
			code, stdout, stderr = inMemory(never(t), nil, "vote", "--db", db, "--json")
			var r voteReport
			if err := json.Unmarshal([]byte(stdout.String()), &r); err != nil || code != exitOK {
				t.Fatalf("exit code %d, %v\n%s%s", code, err, stdout, stderr)
			}
			if r.Total.Responses != 20 || r.Cost.Branches != 16 || r.Formula != credit.TreeTokenRatio(2, 2) {
				t.Errorf("%+v, %+v, formula %v", r.Total, r.Cost, r.Formula)
			}
			if r.Cost.Sampled+r.Cost.Shared != r.Cost.Leaves || r.Cost.Shared == 0 {
				t.Errorf("tokens do not add up, or nothing is shared: %+v", r.Cost)
			}
			if code, stdout, _ := inMemory(never(t), nil, "db", "check", "--db", db); code != exitOK {
				t.Errorf("exit code %d\n%s", code, stdout)
			}
		})
	}
}

// TestETMRIsRefused: a server that gives text only cannot grow trees, and the offer is the sampler that
// needs none of it. Nothing is left in the ledger.
func TestETMRIsRefused(t *testing.T) {
	t.Parallel()
	srv := llmtest.New(t, llmtest.Options{Dialect: llmtest.OpenAI})
	db := filepath.Join(t.TempDir(), "ledger.db")
	code, stdout, stderr := inMemory(never(t), nil, "rollout", "--db", db, "--env", "qa", "--tasks", "1", "--sampler", "etmr", "--policy", "openai:"+srv.URL, "--quiet")
	if code != exitUsage || !strings.Contains(stderr.String(), "the server gives no token ids") || !strings.Contains(stderr.String(), "--sampler parallel") {
		t.Errorf("exit code %d\n%s%s", code, stdout, stderr)
	}
	if code, stdout, _ := inMemory(never(t), nil, "runs", "--db", db, "--json"); code != exitOK || strings.Contains(stdout.String(), `"name"`) {
		t.Errorf("runs: exit code %d\n%s", code, stdout)
	}
}
