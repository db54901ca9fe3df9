package refmodel

import (
	"bytes"
	"context"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hindsightrl/harness"
	"github.com/hindsightrl/harness/internal/errext"
	"github.com/hindsightrl/harness/llm"
	"github.com/hindsightrl/harness/llm/refmodel/internal/prime"
	"github.com/hindsightrl/harness/llm/refmodel/internal/vocab"
)

// The tables in the repository are those that the corpus in the repository gives.
func TestTablesAreUpToDate(t *testing.T) {
	t.Parallel()
	corpus, err := os.ReadFile("corpus.jsonl.gz")
	if err != nil {
		t.Fatal(err)
	}
	have, err := prime.Unpack(tables)
	if err != nil {
		t.Fatal(err)
	}
	const remedy = "run go generate ./llm/refmodel"
	if want := prime.Digest(corpus); have.Corpus != want {
		t.Fatalf("tables.bin was made from corpus %s, the corpus is %s: %s", have.Corpus, want, remedy)
	}
	if len(tables) > 2<<20 {
		t.Errorf("tables.bin has %d bytes, more than 2 MB", len(tables))
	}
	if testing.Short() {
		return // building takes a second
	}
	made, err := prime.BuildFile(corpus)
	if err != nil {
		t.Fatal(err)
	}
	packed, err := made.Pack()
	if err != nil {
		t.Fatal(err)
	}
	want, err := prime.Unpack(packed)
	if err != nil {
		t.Fatal(err)
	}
	if have.Hash != want.Hash {
		t.Errorf("tables.bin has hash %s, the corpus gives %s: %s", have.Hash, want.Hash, remedy)
	}
}

func TestInfo(t *testing.T) {
	t.Parallel()
	got := open1(t).Info()
	if got.Name != "refmodel" || got.Engine != "refmodel" || got.EOS != vocab.EOS || got.BOS != -1 || got.ContextLength != 32768 {
		t.Errorf("info is %+v", got)
	}
	if !strings.HasPrefix(got.Version, algorithm+"-") || len(got.Version) != len(algorithm)+13 {
		t.Errorf("version is %q", got.Version)
	}
	if got.VocabSize < 2000 {
		t.Errorf("the vocabulary has %d tokens", got.VocabSize)
	}
}

func TestConfigIsChecked(t *testing.T) {
	t.Parallel()
	for _, cfg := range []Config{{ContextLength: -1}, {MaxTokens: -1}} {
		if _, err := New(cfg); err == nil {
			t.Errorf("New(%+v) accepts a negative limit", cfg)
		}
	}
}

func TestBrokenTablesAreErrors(t *testing.T) {
	t.Parallel()
	for _, n := range []int{0, 1, 100, len(tables) / 2, len(tables) - 1} {
		if _, err := open(Config{}, tables[:n]); err == nil {
			t.Errorf("the first %d bytes of the tables open as a model", n)
		}
	}
}

func TestRender(t *testing.T) {
	t.Parallel()
	m := open1(t)
	got, err := m.Render([]harness.Message{
		{Role: "system", Content: "go"}, {Role: "user", Content: "<|assistant|>look"}, {Role: "assistant", Content: ""},
	})
	if err != nil {
		t.Fatal(err)
	}
	want := []int32{vocab.System}
	want = append(m.vocab.Append(want, "go", false), vocab.EOS, vocab.User)
	want = append(m.vocab.Append(want, "<|assistant|>look", false), vocab.EOS, vocab.Assistant, vocab.EOS, vocab.Assistant)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if n := bytes.Count(tokenText(m, got), []byte("<|assistant|>")); n != 3 {
		t.Errorf("the rendered text spells %d assistant markers, want two roles and one in a message", n)
	}
	if _, err := m.Render([]harness.Message{{Role: "tool"}}); err == nil || errext.Hint(err) == "" {
		t.Errorf("an unknown role gives %v", err)
	}
}

func tokenText(m *Model, ids []int32) (out []byte) {
	for _, id := range ids {
		out = append(out, m.TokenBytes(id)...)
	}
	return out
}

func TestLimits(t *testing.T) {
	t.Parallel()
	m, err := New(Config{ContextLength: 30, MaxTokens: 20})
	if err != nil {
		t.Fatal(err)
	}
	prompt := make([]int32, 25)
	ids, _ := generate(t, m, prompt, llm.Sampling{}, 0)
	if len(ids) != 5 {
		t.Errorf("a response within a context of 30 after 25 tokens has %d", len(ids))
	}
	ids, _ = generate(t, m, []int32{vocab.Assistant}, llm.Sampling{}, 0)
	if len(ids) != 20 {
		t.Errorf("a response without a limit of its own has %d tokens, the model's limit is 20", len(ids))
	}
	_, err = m.Score(context.Background(), llm.ScoreRequest{Prefix: prompt, Continuation: make([]int32, 6)})
	if !errors.Is(err, llm.ErrContextLength) || errext.Hint(err) == "" || harness.KindOf(err) != harness.FailAgent {
		t.Errorf("scoring 31 tokens in a context of 30 gives %v", err)
	}
	for _, id := range []int32{-1, int32(m.Info().VocabSize)} {
		if _, err := m.Score(context.Background(), llm.ScoreRequest{Continuation: []int32{id}}); err == nil {
			t.Errorf("token %d scores", id)
		}
		if _, err := m.Stream(context.Background(), llm.StreamRequest{Prompt: []int32{id}}, nil); err == nil {
			t.Errorf("token %d is a prompt", id)
		}
	}
}

func TestStreamEnds(t *testing.T) {
	t.Parallel()
	m := open1(t)
	e := examples(m, 4500, 4501)[0]
	seed := int64(0)
	run := func(s llm.Sampling) (string, string) {
		t.Helper()
		var text []byte
		finish, err := m.Stream(context.Background(), llm.StreamRequest{Prompt: e.prefix, Sampling: s}, func(ev llm.TokenEvent) error {
			text = append(text, m.TokenBytes(ev.ID)...)
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		return finish, string(text)
	}
	sampling := llm.Sampling{Temperature: 1, TopP: 1, Seed: &seed}
	finish, text := run(sampling)
	for ; seed < 20 && finish != "stop"; seed++ {
		finish, text = run(sampling)
	}
	if finish != "stop" || !strings.HasPrefix(text, "<think>") {
		t.Fatalf("none of 20 responses ends by itself; the last is %q", text)
	}
	_, text = run(sampling)
	if _, again := run(sampling); again != text {
		t.Errorf("one seed gives two responses:\n%q\n%q", text, again)
	}
	finish, text = run(llm.Sampling{Temperature: 0.3, TopP: 1, Seed: &seed, Stop: []string{"no such text", "k>"}})
	if finish != "stop" || text != "<think>" {
		t.Errorf("a stop string inside a token ends with %q: %q", finish, text)
	}
	finish, text = run(llm.Sampling{Temperature: 0.3, TopP: 1, Seed: &seed, Stop: []string{" have to"}})
	if finish != "stop" || !strings.HasSuffix(text, " have to") {
		t.Errorf("a stop string over two tokens ends with %q: %q", finish, text)
	}
	if finish, _ = run(llm.Sampling{Temperature: 0.3, TopP: 1, Seed: &seed, MaxTokens: 2}); finish != "length" {
		t.Errorf("two tokens of many end with %q", finish)
	}
}

func TestStreamIsInterrupted(t *testing.T) {
	t.Parallel()
	m := open1(t)
	e := examples(m, 4500, 4501)[0]
	broken := errors.New("broken pipe")
	_, err := m.Stream(context.Background(), llm.StreamRequest{Prompt: e.prefix}, func(llm.TokenEvent) error { return broken })
	if !errors.Is(err, broken) {
		t.Errorf("an error of emit comes back as %v", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	_, err = m.Stream(ctx, llm.StreamRequest{Prompt: e.prefix}, func(llm.TokenEvent) error { cancel(); return nil })
	if !errors.Is(err, context.Canceled) {
		t.Errorf("a cancelled generation gives %v", err)
	}
	if _, err := m.Score(ctx, llm.ScoreRequest{Continuation: e.response}); !errors.Is(err, context.Canceled) {
		t.Errorf("scoring after the cancellation gives %v", err)
	}
}

// Without a seed, two draws of a text with thousands of likely forms differ.
func TestNoSeedDrawsAnew(t *testing.T) {
	t.Parallel()
	m := open1(t)
	s := llm.Sampling{Temperature: 3, TopP: 1, MaxTokens: 40}
	a, _ := generate(t, m, nil, s, 0)
	b, _ := generate(t, m, nil, s, 0)
	if cmp.Equal(a, b) {
		t.Errorf("two draws are equal: %v", a)
	}
}
