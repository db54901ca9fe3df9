package llm

import "testing"

// Prompt tokens that a server had in its prefix cache are counted where it says so, and nowhere else.
func TestCachedTokens(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		parse func([]byte, *sample) error
		reply string
		want  int
	}{
		"vllm":         {parseCompletion, `{"choices":[{"text":"x"}],"usage":{"prompt_tokens":9,"prompt_tokens_details":{"cached_tokens":6},"completion_tokens":1}}`, 6},
		"vllm, null":   {parseCompletion, `{"choices":[{"text":"x"}],"usage":{"prompt_tokens":9,"prompt_tokens_details":null,"completion_tokens":1}}`, 0},
		"vllm, nulls":  {parseCompletion, `{"choices":[{"text":"x"}],"usage":{"prompt_tokens":9,"prompt_tokens_details":{"cached_tokens":null},"completion_tokens":1}}`, 0},
		"vllm, silent": {parseChat, `{"choices":[{"message":{"content":"x"}}],"usage":{"prompt_tokens":9,"completion_tokens":1}}`, 0},
		"sglang":       {parseSGLang, `{"text":"x","output_ids":[1],"meta_info":{"finish_reason":{"type":"stop"},"prompt_tokens":9,"completion_tokens":1,"cached_tokens":7,"output_token_logprobs":[[-0.5,1,null]]}}`, 7},
	} {
		s := newSample()
		if err := c.parse([]byte(c.reply), &s); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if s.usage != (Usage{PromptTokens: 9, CompletionTokens: 1, CachedTokens: c.want}) {
			t.Errorf("%s: %+v, want %d cached", name, s.usage, c.want)
		}
	}
	var m meter
	m.cached(3)
	m.cached(-1)
	m.cached(4)
	if got := m.stats.CachedTokens; got != 7 {
		t.Errorf("counted %d", got)
	}
}
