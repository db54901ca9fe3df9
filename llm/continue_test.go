package llm_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/hindsightrl/harness/llm"
)

// spellLetters: token 1..26 are letters, 100+n is letter n twice.
func spellLetters(id int32) ([]byte, error) {
	if id >= 100 {
		l := byte('a' + id - 101)
		return []byte{l, l}, nil
	}
	return []byte{byte('a' + id - 1)}, nil
}

func TestContinuation(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name              string
		earlier, rendered []int32
		want              []int32
		drift             llm.Drift
	}{
		{"clean", []int32{1, 2}, []int32{1, 2, 3}, []int32{1, 2, 3}, llm.DriftClean},
		{"nothing new", []int32{1, 2}, []int32{1, 2}, []int32{1, 2}, llm.DriftClean},
		{"split otherwise", []int32{1, 2, 2}, []int32{1, 102, 3, 4}, []int32{1, 2, 2, 3, 4}, llm.DriftRealigned},
		{"joined otherwise", []int32{1, 102}, []int32{1, 2, 2, 3}, []int32{1, 102, 3}, llm.DriftRealigned},
		{"split otherwise, nothing new", []int32{102}, []int32{2, 2}, []int32{102}, llm.DriftRealigned},
		{"a token spans the seam", []int32{1, 3, 2}, []int32{1, 3, 102, 4}, []int32{1, 3, 102, 4}, llm.DriftForked},
		{"other text", []int32{1, 2}, []int32{1, 3, 4}, []int32{1, 3, 4}, llm.DriftForked},
		{"history was cut", []int32{1, 2, 3}, []int32{1, 2}, []int32{1, 2}, llm.DriftForked},
		{"first turn", nil, []int32{5}, []int32{5}, llm.DriftClean},
	} {
		got, drift, err := llm.Continuation(c.earlier, c.rendered, spellLetters)
		if err != nil || drift != c.drift || !slices.Equal(got, c.want) {
			t.Errorf("%s: got %v %s %v, want %v %s", c.name, got, drift, err, c.want, c.drift)
		}
	}
}

func TestContinuationKeepsEarlierTokensOrSaysForked(t *testing.T) {
	t.Parallel()
	// Every pair of short sequences over letters and doubled letters.
	alphabet := []int32{1, 2, 101, 102}
	var seqs [][]int32
	for n := range 4 {
		for i := range 1 << (2 * n) {
			var s []int32
			for k := range n {
				s = append(s, alphabet[i>>(2*k)&3])
			}
			seqs = append(seqs, s)
		}
	}
	text := func(ids []int32) (s string) {
		for _, id := range ids {
			b, _ := spellLetters(id)
			s += string(b)
		}
		return s
	}
	for _, earlier := range seqs {
		for _, rendered := range seqs {
			ids, drift, err := llm.Continuation(earlier, rendered, spellLetters)
			if err != nil {
				t.Fatal(err)
			}
			if text(ids) != text(rendered) {
				t.Fatalf("%v then %v: the prompt's text changed: %v", earlier, rendered, ids)
			}
			kept := len(ids) >= len(earlier) && slices.Equal(ids[:len(earlier)], earlier)
			if kept == (drift == llm.DriftForked) && !slices.Equal(ids, rendered) {
				t.Fatalf("%v then %v: %v is called %s", earlier, rendered, ids, drift)
			}
		}
	}
}

func TestContinuationReportsASpellerThatFails(t *testing.T) {
	t.Parallel()
	broken := errors.New("no such token")
	_, _, err := llm.Continuation([]int32{1}, []int32{2}, func(int32) ([]byte, error) { return nil, broken })
	if !errors.Is(err, broken) {
		t.Errorf("got %v", err)
	}
}
