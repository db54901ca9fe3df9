package agent_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/hindsightrl/harness"
	"github.com/hindsightrl/harness/agent"
	"github.com/hindsightrl/harness/envs/envtest"
	"github.com/hindsightrl/harness/llm"
)

// byteChat is a generator whose tokens are bytes, but for "xx", which its tokenizer joins to token 300
// and its sampler never does: text that it generated comes back split otherwise.
type byteChat struct {
	says string
	cut  bool // the template drops the assistant's turns
}

func (g byteChat) ids(text string, join bool) (ids []int32) {
	for i := 0; i < len(text); i++ {
		if join && strings.HasPrefix(text[i:], "xx") {
			ids = append(ids, 300)
			i++
			continue
		}
		ids = append(ids, int32(text[i]))
	}
	return ids
}

func (g byteChat) TokenBytes(id int32) []byte {
	if id == 300 {
		return []byte("xx")
	}
	return []byte{byte(id)}
}

func (g byteChat) Render(_ context.Context, messages []harness.Message) ([]int32, error) {
	var b strings.Builder
	for i, m := range messages {
		if g.cut && m.Role == "assistant" {
			continue
		}
		if i > 0 && m.Role == "user" {
			b.WriteString("\n")
		}
		b.WriteString(m.Content)
		if m.Role == "user" {
			b.WriteString("\n")
		}
	}
	return g.ids(b.String(), true), nil
}

func (g byteChat) Generate(ctx context.Context, req llm.Request) (llm.Generation, error) {
	prompt := req.TokenIDs
	if prompt == nil {
		prompt, _ = g.Render(ctx, req.Messages)
	}
	return llm.Generation{Text: g.says, Tokens: &harness.Tokens{PromptIDs: prompt, IDs: g.ids(g.says, false)}}, nil
}

// converse runs one episode as a conversation and returns its steps.
func converse(t *testing.T, g llm.Generator) []harness.Step {
	t.Helper()
	policy, err := agent.Model(g, llm.DefaultSampling(), 0)
	if err != nil {
		t.Fatal(err)
	}
	suite := envtest.NewFakeSuite(envtest.FakeConfig{}, 20)
	tasks, err := suite.Tasks(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	rec := &keeper{}
	cfg := agent.Config{
		Suites: map[string]harness.Suite{suite.Name(): suite}, Policy: policy, Recorder: rec,
		MaxSteps: 4, Conversation: true,
	}
	if _, err := agent.RunEpisode(t.Context(), t.Context(), harness.EpisodeRef{ID: 1, Task: tasks[0]}, cfg); err != nil {
		t.Fatal(err)
	}
	if len(rec.steps) != 4 {
		t.Fatalf("%d steps", len(rec.steps))
	}
	return rec.steps
}

// keeper is a recorder that keeps the steps of one attempt.
type keeper struct{ steps []harness.Step }

func (k *keeper) Begin(context.Context, harness.EpisodeRef) (int64, []harness.Step, error) {
	return 1, nil, nil
}

func (k *keeper) Step(_ context.Context, _ int64, s harness.Step) error {
	k.steps = append(k.steps, s)
	return nil
}
func (k *keeper) Finish(context.Context, int64, harness.Outcome) error      { return nil }
func (k *keeper) Fail(context.Context, int64, *harness.Failure, bool) error { return nil }

func TestConversationGrowsByResponseAndObservation(t *testing.T) {
	t.Parallel()
	steps := converse(t, byteChat{says: "<think>a</think><action>none</action>"})
	for i, s := range steps[1:] {
		before := steps[i]
		if n := len(before.Prompt); len(s.Prompt) != n+2 || !slices.Equal(s.Prompt[:n], before.Prompt) {
			t.Fatalf("step %d: the prompt does not continue the one before", s.Index)
		}
		tail := s.Prompt[len(s.Prompt)-2:]
		if tail[0].Role != "assistant" || tail[0].Content != before.Response {
			t.Errorf("step %d: the response is not in the conversation", s.Index)
		}
		if tail[1].Role != "user" || !strings.Contains(tail[1].Content, s.Anchor) {
			t.Errorf("step %d: the observation is not in the conversation: %q", s.Index, tail[1].Content)
		}
		if !slices.Equal(before.NextPrompt, s.Prompt) {
			t.Errorf("step %d: the prompt is not what the step before announced", s.Index)
		}
	}
}

func TestConversationKeepsSampledTokens(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		g    byteChat
		want string
		kept bool
	}{
		{"tokenizer agrees", byteChat{says: "<think>a</think><action>none</action>"}, "clean", true},
		{"tokenizer joins what was sampled apart", byteChat{says: "<think>xx</think><action>none</action>"}, "realigned", true},
		{"template drops the response", byteChat{says: "<think>a</think><action>none</action>", cut: true}, "forked", false},
	} {
		steps := converse(t, c.g)
		for i, s := range steps[1:] {
			if got := s.Tokens.Meta.Drift; got != c.want {
				t.Errorf("%s: step %d is %q, want %q", c.name, s.Index, got, c.want)
			}
			earlier := slices.Concat(steps[i].Tokens.PromptIDs, steps[i].Tokens.IDs)
			kept := len(s.Tokens.PromptIDs) > len(earlier) && slices.Equal(s.Tokens.PromptIDs[:len(earlier)], earlier)
			if kept != c.kept {
				t.Errorf("%s: step %d keeps the tokens of the turns before: %v", c.name, s.Index, kept)
			}
		}
		if steps[0].Tokens.Meta != nil && steps[0].Tokens.Meta.Drift != "" {
			t.Errorf("%s: a first turn has drift %q", c.name, steps[0].Tokens.Meta.Drift)
		}
	}
}
