package teacher

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/hindsightrl/harness"
	"github.com/hindsightrl/harness/llm"
)

func isFailure(err error) bool {
	f := (*harness.Failure)(nil)
	return errors.As(err, &f)
}

// studentPrompt is a step's prompt as the policy saw it and as the teacher would write it.
type studentPrompt struct {
	recorded []int32 // what the policy was given; what the student is scored behind
	rendered []int32 // the same messages through the teacher's chat template
}

// renderStudent renders a step's prompt through the teacher.
func renderStudent(ctx context.Context, r llm.Renderer, s *harness.Step) (studentPrompt, error) {
	rendered, err := r.Render(ctx, s.Prompt)
	if err != nil {
		return studentPrompt{}, fmt.Errorf("render prompt: %w", err)
	}
	p := studentPrompt{recorded: s.Tokens.PromptIDs, rendered: rendered}
	if p.recorded == nil { // the policy did not say: the teacher's own rendering stands in for both
		p.recorded = rendered
	}
	return p, nil
}

// same reports whether the teacher writes the prompt as the policy got it.
func (p studentPrompt) same() bool { return slices.Equal(p.recorded, p.rendered) }

// teacher turns the rendered prompt with a context into the ids that the teacher is given. Where the
// policy's ids are those that rendering gives, they are the rendered ones. In a conversation that was
// continued in token space the earlier turns may be split otherwise than rendering splits them: there,
// what the context changes is put onto the policy's own ids, so that student and teacher differ in the
// context alone. ok is false where the two prompts have no common end to do that at.
func (p studentPrompt) teacher(withContext []int32) (ids []int32, ok bool) {
	if p.same() {
		return withContext, true
	}
	common := 0
	for common < len(p.rendered) && common < len(withContext) && p.rendered[common] == withContext[common] {
		common++
	}
	tail := p.rendered[common:]
	if len(tail) > len(p.recorded) || !slices.Equal(p.recorded[len(p.recorded)-len(tail):], tail) {
		return nil, false
	}
	head := p.recorded[:len(p.recorded)-len(tail)]
	return slices.Concat(head, withContext[common:]), true
}
