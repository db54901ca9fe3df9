package llm_test

import (
	"context"
	"fmt"
	"log"
	"net/http/httptest"
	"slices"

	"github.com/hindsightrl/harness"
	"github.com/hindsightrl/harness/llm"
	"github.com/hindsightrl/harness/llm/llmtest"
)

// A server is opened by its address, asked what it can do, and then sampled from and scored with.
func Example() {
	server := httptest.NewServer(llmtest.NewHandler(llmtest.Options{Dialect: llmtest.VLLM}))
	defer server.Close()
	ctx := context.Background()

	client, err := llm.Open(ctx, "vllm:"+server.URL, llm.Config{MaxConcurrent: 8})
	if err != nil {
		log.Fatal(err)
	}
	report, err := llm.Probe(ctx, client, llm.ProbeConfig{})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("scores agree:", report.Consistent(), "- stale cache:", report.Stale())

	seed := int64(7)
	sampling := llm.DefaultSampling()
	sampling.MaxTokens, sampling.Seed = 16, &seed
	gen, err := client.Generate(ctx, llm.Request{
		Messages: []harness.Message{{Role: "user", Content: "open the drawer"}}, Sampling: sampling, TopLogprobs: 5,
	})
	if err != nil {
		log.Fatal(err)
	}
	score, err := client.(llm.Scorer).Score(ctx, llm.ScoreRequest{Prefix: gen.Tokens.PromptIDs, Continuation: gen.Tokens.IDs})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("sampled and scored alike:", slices.Equal(gen.Tokens.Logprobs, score.Logprobs))
	// Output:
	// scores agree: true - stale cache: false
	// sampled and scored alike: true
}
