package agent

import (
	"context"
	"fmt"
	"slices"

	"github.com/hindsightrl/harness"
	"github.com/hindsightrl/harness/llm"
)

// Continue renders the prompt that follows a response within one conversation: the prompt before, the
// response as the assistant's, and a user message with what the scene shows now. The first prompt of a
// conversation is Prompt's.
func (f Format) Continue(t *Templates, before []harness.Message, response string, s Scene) ([]harness.Message, error) {
	turn, err := t.user(f.Turn, &promptValues{
		task:        s.Task,
		observation: f.Observe(s.Task, s.Observation),
		actions:     f.Actions(s.Observation.Admissible),
		steps:       len(s.History),
	})
	if err != nil {
		return nil, err
	}
	prompt := slices.Grow(slices.Clone(before), 1+len(turn))
	prompt = append(prompt, harness.Message{Role: "assistant", Content: response})
	return append(prompt, turn...), nil
}

// continuer continues conversations in token space: the next prompt begins with the very tokens that
// were sampled, wherever the new text allows it.
type continuer struct {
	renderer llm.Renderer
	spell    func(ctx context.Context, id int32) ([]byte, error)
}

// newContinuer returns nil where the generator cannot turn messages and ids into each other; then
// conversations are sent as messages, and nothing is known about their tokens' drift.
func newContinuer(g llm.Generator, speller *llm.Speller) *continuer {
	r, ok := g.(llm.Renderer)
	if !ok {
		return nil
	}
	if exact, ok := g.(interface{ TokenBytes(id int32) []byte }); ok {
		return &continuer{r, func(_ context.Context, id int32) ([]byte, error) { return exact.TokenBytes(id), nil }}
	}
	if speller == nil {
		return nil
	}
	return &continuer{r, func(ctx context.Context, id int32) ([]byte, error) {
		piece, err := speller.Piece(ctx, id)
		return []byte(piece), err
	}}
}

// next returns the ids of a turn's prompt and how they relate to the turn before.
func (c *continuer) next(ctx context.Context, t Turn) ([]int32, llm.Drift, error) {
	rendered, err := c.renderer.Render(ctx, t.Prompt)
	if err != nil {
		return nil, "", fmt.Errorf("render the conversation: %w", err)
	}
	earlier := slices.Concat(t.Earlier.PromptIDs, t.Earlier.IDs)
	return llm.Continuation(earlier, rendered, func(id int32) ([]byte, error) { return c.spell(ctx, id) })
}
