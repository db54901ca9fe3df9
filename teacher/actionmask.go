package teacher

import (
	"context"
	"fmt"
	"slices"

	"github.com/hindsightrl/harness"
	"github.com/hindsightrl/harness/agent"
	"github.com/hindsightrl/harness/llm"
)

// misalignedError is a response that the teacher's tokenizer does not spell, with the reason.
type misalignedError struct{ err error }

func (e *misalignedError) Error() string { return e.err.Error() }
func (e *misalignedError) Unwrap() error { return e.err }

// masker finds the action tokens of responses.
type masker struct {
	kind    Mask
	tok     llm.Tokenizer
	speller *llm.Speller
}

func newMasker(kind Mask, tok llm.Tokenizer) *masker {
	return &masker{kind: kind, tok: tok, speller: llm.NewSpeller(tok)}
}

// mask marks the response tokens of a step that belong to its action; it has one flag per token. A
// *misalignedError says that the tokens do not spell the response.
func (m *masker) mask(ctx context.Context, s *harness.Step) ([]bool, error) {
	offsets, err := m.stepOffsets(ctx, s)
	if err != nil {
		return nil, err
	}
	if m.kind == MaskExact {
		return agent.MaskFromSpans(offsets, s.Spans), nil
	}
	return m.compat(ctx, s, offsets)
}

// stepOffsets are the bytes that each response token printed: as the policy's server said when it
// answered, or else as the teacher spells them. A step without prompt ids is spelled in any case, for nothing
// else shows there that the tokenizers are the same.
func (m *masker) stepOffsets(ctx context.Context, s *harness.Step) ([]harness.Span, error) {
	if s.Tokens.Lengths == nil || s.Tokens.PromptIDs == nil {
		return m.offsets(ctx, s.Response, s.Tokens.IDs)
	}
	offsets, err := s.Tokens.Spans(s.Response)
	if err != nil {
		return nil, &misalignedError{err}
	}
	return offsets, nil
}

func (m *masker) offsets(ctx context.Context, text string, ids []int32) ([]harness.Span, error) {
	pieces, err := m.speller.Split(ctx, text, ids)
	if err != nil {
		if ctx.Err() != nil || isFailure(err) {
			return nil, err
		}
		return nil, &misalignedError{err}
	}
	offsets, err := agent.TokenOffsets(text, pieces)
	if err != nil {
		return nil, &misalignedError{err}
	}
	return offsets, nil
}

// compat is the reference's mask: the text is tokenised anew, the tokens that overlap its spans are found
// there, and their indices are marked among the real ids, shifted or not. Only where that marks nothing are
// the real tokens looked at.
// Source: OliverLeeXZ/SERL@5a2a85b recipe/serl/serl_ray_trainer.py:_build_action_token_mask.
func (m *masker) compat(ctx context.Context, s *harness.Step, real []harness.Span) ([]bool, error) {
	spans := agent.CompatByteSpans(s.Response)
	out := make([]bool, len(real))
	if len(spans) == 0 {
		return out, nil
	}
	again, err := m.tok.Tokenize(ctx, s.Response, false)
	if err != nil {
		return nil, fmt.Errorf("tokenize response: %w", err)
	}
	offsets, err := m.offsets(ctx, s.Response, again)
	if err != nil {
		return nil, err
	}
	copy(out, agent.MaskFromSpans(offsets, spans))
	if !slices.Contains(out, true) {
		return agent.MaskFromSpans(real, spans), nil
	}
	return out, nil
}
