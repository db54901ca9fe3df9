package gguf

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/hindsightrl/harness"
	"github.com/hindsightrl/harness/internal/errext"
	"github.com/hindsightrl/harness/internal/testutil"
	"github.com/hindsightrl/harness/llm"
)

func TestMain(m *testing.M) { os.Exit(testutil.RunAndFindLeaks(m)) }

// library skips the test where llama.cpp is not installed.
func library(tb testing.TB) string {
	tb.Helper()
	dir, err := FindLib(os.Getenv("HARNESS_LLAMA_LIB"))
	if err != nil {
		tb.Skipf("%v: %s (or set HARNESS_LLAMA_LIB)", err, errext.Hint(err))
	}
	return dir
}

// stories opens the small reference model.
func stories(tb testing.TB, cfg Config) *Model {
	tb.Helper()
	cfg.LibDir = library(tb)
	m, err := Open(tb.Context(), testutil.Shared(tb, "data/models/stories260K.gguf"), cfg)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { m.Close() })
	return m
}

var chat = []harness.Message{{Role: "system", Content: "Tell a story."}, {Role: "user", Content: "Once upon a time"}}

// sample draws n tokens at temperature 1 from the model's own distribution.
func sample(tb testing.TB, m *Model, prompt []int32, n int, seed int64) (events []llm.TokenEvent) {
	tb.Helper()
	s := llm.Sampling{Temperature: 1, TopP: 1, MaxTokens: n, Seed: &seed}
	_, err := m.Stream(tb.Context(), llm.StreamRequest{Prompt: prompt, Sampling: s, TopLogprobs: 5}, func(e llm.TokenEvent) error {
		events = append(events, e)
		return nil
	})
	if err != nil {
		tb.Fatal(err)
	}
	return events
}

func idsOf(events []llm.TokenEvent) (ids []int32) {
	for _, e := range events {
		ids = append(ids, e.ID)
	}
	return ids
}

func TestInfoOfARealModel(t *testing.T) {
	t.Parallel()
	m := stories(t, Config{Slots: 1})
	info := m.Info()
	if info.Name != "stories260K" || info.Engine != "llama.cpp" || info.VocabSize != 512 || info.ContextLength != 512 || info.BOS != 1 || info.EOS != 2 {
		t.Errorf("info = %+v", info)
	}
	for _, part := range []string{"weights ", "cpu ", "template plain", "fast"} {
		if !strings.Contains(info.Version, part) {
			t.Errorf("version %q lacks %q", info.Version, part)
		}
	}
}

func TestTokensSpellTheText(t *testing.T) {
	t.Parallel()
	m := stories(t, Config{Slots: 1})
	for _, text := range []string{"Once upon a time", " two  spaces", "naïve €5 😀", "a\nb\t\xff", "</s> is text"} {
		ids, err := m.Tokenize(text, false)
		if err != nil {
			t.Fatal(err)
		}
		// SentencePiece puts a space before every text, as the reference tokenizer does.
		if got := string(m.vocab.join(ids)); got != " "+text {
			t.Errorf("%q became %q", text, got)
		}
		if got := m.Detokenize(ids); got != text {
			t.Errorf("%q came back as %q", text, got)
		}
	}
	special, err := m.Tokenize("Once</s>", true)
	if err != nil || special[0] != 1 || special[len(special)-1] != 2 || m.Detokenize(special) != "<s>Once</s>" {
		t.Errorf("with control tokens: %v, %q, %v", special, m.Detokenize(special), err)
	}
	if ids, err := m.Tokenize("", true); err != nil || !slices.Equal(ids, []int32{1}) {
		t.Errorf("empty text: %v, %v", ids, err)
	}
	if _, err := m.Tokenize("a\x00b", false); err == nil {
		t.Error("a zero byte was cut off without a word")
	}
	if m.TokenBytes(-1) != nil || m.TokenBytes(512) != nil || string(m.TokenBytes(2)) != "</s>" {
		t.Error("bytes of tokens at the edges of the vocabulary")
	}
	if !m.EndsResponse(2) || m.EndsResponse(1) || m.EndsResponse(-1) || !m.IsControl(1) || m.IsControl(300) {
		t.Error("control tokens")
	}
}

func TestRender(t *testing.T) {
	t.Parallel()
	plain := stories(t, Config{Slots: 1})
	ids, err := plain.Render(chat)
	if err != nil || plain.Detokenize(ids) != "<s>Tell a story.\n\nOnce upon a time" || ids[0] != 1 {
		t.Errorf("plain: %q, %v", plain.Detokenize(ids), err)
	}
	chatml := stories(t, Config{Slots: 1, ChatTemplate: "chatml"})
	want := "<s><|im_start|>system\nTell a story.<|im_end|>\n<|im_start|>user\nOnce upon a time<|im_end|>\n<|im_start|>assistant\n"
	if ids, err = chatml.Render(chat); err != nil || chatml.Detokenize(ids) != want {
		t.Errorf("chatml: %q, %v", chatml.Detokenize(ids), err)
	}
	if ids, err = chatml.RenderOpen(chat, false); err != nil || chatml.Detokenize(ids) != strings.TrimSuffix(want, "<|im_start|>assistant\n") {
		t.Errorf("chatml without the response's opening: %q, %v", chatml.Detokenize(ids), err)
	}
	unknown := stories(t, Config{Slots: 1, ChatTemplate: "{{ nothing that is known }}"})
	if _, err := unknown.Render(chat); errext.Hint(err) == "" {
		t.Errorf("unknown template: %v, without a hint", err)
	}
	for name, messages := range map[string][]harness.Message{
		"none": nil, "zero byte": {{Role: "user", Content: "a\x00"}},
	} {
		if _, err := chatml.Render(messages); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	if plain.Info().Version == chatml.Info().Version {
		t.Error("two templates, one version")
	}
}

// Sampled tokens score what they were sampled with; after another context they do not.
func TestDeterministicModeIsExact(t *testing.T) {
	t.Parallel()
	m := stories(t, Config{Deterministic: true, Slots: 3})
	prompt, err := m.Tokenize("Once upon a time", true)
	if err != nil {
		t.Fatal(err)
	}
	events := sample(t, m, prompt, 200, 7)
	ids := idsOf(events)
	if len(ids) != 200 {
		t.Fatalf("%d tokens; the seed is chosen so that the story does not end", len(ids))
	}
	whole := append(slices.Clone(prompt), ids...)
	for name, req := range map[string]llm.ScoreRequest{
		"after the prompt":          {Prefix: prompt, Continuation: ids, TopLogprobs: 5},
		"prompt and response":       {Prefix: whole[:1], Continuation: whole[1:], TopLogprobs: 5},
		"the last tokens (a reuse)": {Prefix: whole[:150], Continuation: whole[150:], TopLogprobs: 5},
	} {
		s, err := m.Score(t.Context(), req)
		if err != nil {
			t.Fatal(err)
		}
		skip := len(s.Logprobs) - len(ids)
		for i, e := range events {
			if i+skip < 0 {
				continue
			}
			// Equal, not near: every token goes through the same computation in this mode.
			if got := s.Logprobs[i+skip]; got != e.Logprob || s.Ranks[i+skip] != e.Rank || !slices.Equal(s.Top[i+skip], e.Top) {
				t.Fatalf("%s: token %d has %v (rank %d), was sampled with %v (rank %d)", name, i, got, s.Ranks[i+skip], e.Logprob, e.Rank)
			}
		}
	}
	other, err := m.Tokenize("The red car is very fast and", true)
	if err != nil {
		t.Fatal(err)
	}
	s, err := m.Score(t.Context(), llm.ScoreRequest{Prefix: other, Continuation: ids})
	if err != nil {
		t.Fatal(err)
	}
	if d := s.Logprobs[0] - events[0].Logprob; d > -0.01 && d < 0.01 {
		t.Errorf("another context changed the first token's log-probability by %v only", d)
	}
}

// The numbers of a request are the same alone and in a crowd, and in a second opening.
func TestDeterministicModeUnderLoad(t *testing.T) {
	t.Parallel()
	m := stories(t, Config{Deterministic: true, Slots: 4})
	prompts := make([][]int32, 12)
	alone := make([][]llm.TokenEvent, len(prompts))
	for i := range prompts {
		var err error
		if prompts[i], err = m.Tokenize(strings.Repeat("One day, ", i+1), true); err != nil {
			t.Fatal(err)
		}
		alone[i] = sample(t, m, prompts[i], 60, int64(i))
	}
	again := stories(t, Config{Deterministic: true, Slots: 4})
	var wg sync.WaitGroup
	for i := range prompts {
		wg.Go(func() {
			for k, e := range sample(t, again, prompts[i], 60, int64(i)) {
				if w := alone[i][k]; e.ID != w.ID || e.Logprob != w.Logprob || e.Entropy != w.Entropy {
					t.Errorf("request %d, token %d: %+v, alone it was %+v", i, k, e, w)
					return
				}
			}
		})
	}
	wg.Wait()
}

// The fast mode is near: measured up to 1e-2 nats per token (F16 cache, batches).
func TestFastModeIsNear(t *testing.T) {
	t.Parallel()
	m := stories(t, Config{Slots: 2, Threads: 1})
	prompt, err := m.Tokenize("Lily went to the", true)
	if err != nil {
		t.Fatal(err)
	}
	events := sample(t, m, prompt, 100, 3)
	s, err := m.Score(t.Context(), llm.ScoreRequest{Prefix: prompt, Continuation: idsOf(events)})
	if err != nil {
		t.Fatal(err)
	}
	for i, e := range events {
		if d := e.Logprob - s.Logprobs[i]; d > 0.1 || d < -0.1 {
			t.Errorf("token %d: sampled with %v, scored with %v", i, e.Logprob, s.Logprobs[i])
		}
		if e.Entropy <= 0 || e.Top[0].Logprob < e.Logprob || int(e.Rank) <= len(e.Top) && e.Top[e.Rank-1].ID != e.ID {
			t.Errorf("token %d: %+v does not fit together", i, e)
		}
	}
}

func TestOpenErrors(t *testing.T) {
	t.Parallel()
	good := testutil.Shared(t, "data/models/stories260K.gguf")
	data, err := os.ReadFile(good)
	if err != nil {
		t.Fatal(err)
	}
	cut := filepath.Join(t.TempDir(), "cut.gguf")
	if err := os.WriteFile(cut, data[:len(data)/2], 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(t.Context(), cut, Config{}); !errors.Is(err, ErrBroken) || errext.Hint(err) == "" {
		t.Errorf("half a file: %v", err)
	}
	_, err = Open(t.Context(), good, Config{LibDir: t.TempDir()})
	if !errors.Is(err, ErrNoLibrary) || !strings.Contains(errext.Hint(err), "harness model install") {
		t.Errorf("no library: %v, hint %q", err, errext.Hint(err))
	}
	if _, err := Open(t.Context(), good, Config{Slots: -1}); err == nil {
		t.Error("minus one slots were accepted")
	}
	dir := library(t)
	if _, err := Open(t.Context(), good, Config{LibDir: dir, ContextLength: 1000}); err == nil || !strings.Contains(err.Error(), "trained for 512") {
		t.Errorf("context beyond the model's: %v", err)
	}
	empty := filepath.Join(t.TempDir(), "empty.gguf")
	if err := os.WriteFile(empty, small(), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(t.Context(), empty, Config{LibDir: dir}); err == nil || !strings.Contains(err.Error(), "llama.cpp:") {
		t.Errorf("a file without a model: %v, without the library's reason", err)
	}
}
