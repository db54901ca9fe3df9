package llm_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hindsightrl/harness/llm"
	"github.com/hindsightrl/harness/llm/llmtest"
)

// local decodes as servers do: invalid bytes become U+FFFD, and, for a SentencePiece model, the first
// token loses its leading space.
type local struct {
	llm.Tokenizer
	trim  bool
	calls *int
}

func (l local) Detokenize(_ context.Context, ids []int32) (string, error) {
	*l.calls++
	text := llmtest.Decode(ids, true)
	if l.trim {
		text = strings.TrimPrefix(text, " ")
	}
	return text, nil
}

func TestSplitGivesEachTokenItsBytes(t *testing.T) {
	t.Parallel()
	end := []int32{llmtest.EOS}
	tests := map[string]struct {
		text   string
		ids    []int32
		pieces []string
	}{
		"pieces and bytes":     {"go to the", llmtest.Tokenize("go to the", false), []string{"go", " to ", "the"}},
		"end token":            {"go", append(llmtest.Tokenize("go", false), end...), []string{"go", ""}},
		"space before a piece": {"x the", llmtest.Tokenize("x the", false), []string{"x", " the"}},
		"only the end":         {"", end, []string{""}},
		"a character in bytes": {"aöb", llmtest.Tokenize("aöb", false), []string{"a", "\xc3", "\xb6", "b"}},
		"single spaces":        {"x  y", []int32{'x', ' ', ' ', 'y'}, []string{"x", " ", " ", "y"}},
		"two in a row":         {"öä", llmtest.Tokenize("öä", false), []string{"\xc3", "\xb6", "\xc3", "\xa4"}},
		"four bytes":           {"😀!", llmtest.Tokenize("😀!", false), []string{"\xf0", "\x9f", "\x98", "\x80", "!"}},
		"stop string cut off":  {"go", llmtest.Tokenize("go#", false), []string{"go", ""}},
		"a broken byte shown":  {"a\ufffdb", []int32{'a', 0xff, 'b'}, []string{"a", "\ufffd", "b"}},
	}
	for name, tt := range tests {
		for _, trim := range []bool{false, true} {
			calls := 0
			got, err := llm.NewSpeller(local{trim: trim, calls: &calls}).Split(t.Context(), tt.text, tt.ids)
			if err != nil {
				t.Errorf("%s, trim %v: %v", name, trim, err)
				continue
			}
			var pieces []string
			for _, p := range got {
				pieces = append(pieces, string(p))
			}
			if diff := cmp.Diff(tt.pieces, pieces); diff != "" {
				t.Errorf("%s, trim %v: %s", name, trim, diff)
			}
		}
	}
}

func TestSplitRefusesTokensThatDoNotSpellTheText(t *testing.T) {
	t.Parallel()
	calls := 0
	s := llm.NewSpeller(local{calls: &calls})
	for text, ids := range map[string][]int32{"go the": llmtest.Tokenize("go", false), "x": {0xc3, 'x'}, "öx": {0xc3, 'x'}} {
		if got, err := s.Split(t.Context(), text, ids); err == nil {
			t.Errorf("%q was split into %q", text, got)
		}
	}
}

func TestSpellerAsksOncePerToken(t *testing.T) {
	t.Parallel()
	calls := 0
	s := llm.NewSpeller(local{calls: &calls})
	ids := llmtest.Tokenize(strings.Repeat("go to the ", 50), false)
	for range 3 {
		if _, err := s.Split(t.Context(), strings.Repeat("go to the ", 50), ids); err != nil {
			t.Fatal(err)
		}
	}
	if distinct := len(slices.Compact(slices.Sorted(slices.Values(ids)))); calls != distinct {
		t.Errorf("%d calls for %d distinct tokens", calls, distinct)
	}
}

func TestSplitOfWhatServersGenerate(t *testing.T) {
	t.Parallel()
	for _, b := range backends() {
		t.Run(b.name, func(t *testing.T) {
			t.Parallel()
			b.opt.Model.EndBias = 3
			c, srv := b.open(t)
			tok, ok := c.(llm.Tokenizer)
			if !ok {
				return
			}
			s := llm.NewSpeller(tok)
			for seed := range int64(4) {
				gen, err := c.Generate(t.Context(), llm.Request{Messages: chat("日本"), Sampling: seeded(seed, 16)})
				if err != nil {
					t.Fatal(err)
				}
				pieces, err := s.Split(t.Context(), gen.Text, gen.Tokens.IDs)
				if err != nil || string(slices.Concat(pieces...)) != gen.Text {
					t.Errorf("seed %d: %q, %v, text %q", seed, pieces, err, gen.Text)
				}
			}
			srv.Inject("/detokenize", llmtest.Refuse("no"))
			if _, err := llm.NewSpeller(tok).Split(t.Context(), "x", []int32{1}); err == nil {
				t.Error("a tokenizer's refusal was swallowed")
			}
		})
	}
}
