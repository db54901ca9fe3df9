package llm

import "fmt"

// Continuation returns the ids of a conversation's next prompt so that the earlier tokens stay as
// they were sampled: a trainer that joins the turns of an episode then joins what the policy really
// saw. earlier are the ids of the turn before, prompt and response; rendered is the whole new prompt
// as the chat template and tokenizer give it. spell gives a token's bytes and is called only where
// the ids differ.
//
// DriftClean: rendered begins with earlier and is the answer. DriftRealigned: its text begins with
// earlier's text but is split otherwise; the answer is earlier and then rendered's tokens behind that
// text. DriftForked: the texts differ, or a token of rendered spans the seam; the answer is rendered,
// and the tokens before it belong to another sequence.
func Continuation(earlier, rendered []int32, spell func(id int32) ([]byte, error)) ([]int32, Drift, error) {
	common := 0
	for common < len(earlier) && common < len(rendered) && earlier[common] == rendered[common] {
		common++
	}
	if common == len(earlier) {
		return rendered, DriftClean, nil
	}
	seam, err := seamOf(earlier[common:], rendered[common:], spell)
	if err != nil {
		return nil, "", fmt.Errorf("continue the conversation: %w", err)
	}
	if seam < 0 {
		return rendered, DriftForked, nil
	}
	ids := make([]int32, 0, len(earlier)+len(rendered)-common-seam)
	ids = append(ids, earlier...)
	return append(ids, rendered[common+seam:]...), DriftRealigned, nil
}

// seamOf returns how many tokens of next spell exactly the text of old, or −1 where none do.
func seamOf(old, next []int32, spell func(id int32) ([]byte, error)) (int, error) {
	var want, got []byte
	for _, id := range old {
		b, err := spell(id)
		if err != nil {
			return 0, err
		}
		want = append(want, b...)
	}
	for i, id := range next {
		if len(got) >= len(want) {
			if string(got) == string(want) {
				return i, nil
			}
			return -1, nil
		}
		b, err := spell(id)
		if err != nil {
			return 0, err
		}
		if len(got)+len(b) > len(want) || string(want[len(got):len(got)+len(b)]) != string(b) {
			return -1, nil
		}
		got = append(got, b...)
	}
	if len(got) == len(want) {
		return len(next), nil
	}
	return -1, nil
}
