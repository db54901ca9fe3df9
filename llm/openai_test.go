package llm_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hindsightrl/harness/llm/llmtest"
)

func TestNewOpenAIModelsGetTheirOwnLimitField(t *testing.T) {
	t.Parallel()
	c, srv := backend{opt: llmtest.Options{Dialect: llmtest.OpenAI}}.open(t)
	srv.Inject("/v1/chat/completions", llmtest.Refuse("Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead."))
	for range 2 {
		if _, err := generateTextOp(t.Context(), c); err != nil {
			t.Fatal(err)
		}
	}
	var limits []any
	for _, r := range srv.Requests("/v1/chat/completions") {
		limits = append(limits, r.Body["max_tokens"], r.Body["max_completion_tokens"])
	}
	if diff := cmp.Diff([]any{8.0, nil, nil, 8.0, nil, 8.0}, limits); diff != "" {
		t.Error(diff)
	}
}
