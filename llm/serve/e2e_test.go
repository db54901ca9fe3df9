//go:build e2e

package serve

import (
	"testing"

	"github.com/hindsightrl/harness"
	"github.com/hindsightrl/harness/llm"
	"github.com/hindsightrl/harness/llm/gguf"
	"github.com/hindsightrl/harness/llm/llmtest"
)

func TestRealModel(t *testing.T) {
	path := llmtest.SmolLM2(t)
	ts := ggufServer(t, path, gguf.Config{Name: "smollm2", Slots: 2, ContextLength: 1024})
	t.Run("sampled tokens score the same", func(t *testing.T) {
		sampledAgreesWithScored(t, dial(t, ts, llm.RouteChat), 200, 3)
	})
	t.Run("the template is the model's own", func(t *testing.T) {
		c := dial(t, ts, llm.RouteTokens)
		g, err := c.Generate(t.Context(), llm.Request{
			Messages: []harness.Message{{Role: "user", Content: "What is the capital of France? Answer in one word."}},
			Sampling: llm.Sampling{MaxTokens: 30},
		})
		if err != nil {
			t.Fatal(err)
		}
		prompt, err := c.Detokenize(t.Context(), g.Tokens.PromptIDs)
		if want := "<|im_start|>user\nWhat is the capital of France? Answer in one word.<|im_end|>\n<|im_start|>assistant\n"; err != nil || prompt != want {
			t.Errorf("prompt %q, %v", prompt, err)
		}
		t.Logf("answer %q, ended by %s", g.Text, g.Finish)
		if g.Finish != "stop" {
			t.Errorf("the instruct model did not end its turn: %q", g.Text)
		}
	})
	t.Run("OpenAI's client", func(t *testing.T) { openAISDK(t, ts, "smollm2") })
}
