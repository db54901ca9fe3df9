package serve

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/hindsightrl/harness"
	"github.com/hindsightrl/harness/internal/testutil"
	"github.com/hindsightrl/harness/llm"
)

func TestMain(m *testing.M) { os.Exit(testutil.RunAndFindLeaks(m)) }

// The fake model's vocabulary: one token per byte, then the control tokens.
const (
	fakeBOS   = 256
	fakeEOS   = 257
	fakeVocab = 258
	fakeLimit = 120
)

// fake is a byte-level model that wants to say what is written in script, then the end. Its logits are
// a function of the tokens before, so sampling and scoring agree.
type fake struct {
	name   string
	script string
	shift  int           // sets its logits apart from another fake's
	gate   chan struct{} // each token takes one value from it; nil = no waiting
	closed atomic.Bool
	broken error // of every generation
	open   sync.WaitGroup
}

var (
	_ llm.Model    = (*fake)(nil)
	_ adjuster     = (*fake)(nil)
	_ openRenderer = (*fake)(nil)
)

func (f *fake) Info() llm.ModelInfo {
	return llm.ModelInfo{Name: cmp.Or(f.name, "fake"), Engine: "test", Version: "fake 1 " + f.script, VocabSize: fakeVocab, ContextLength: fakeLimit, BOS: fakeBOS, EOS: fakeEOS}
}

func (f *fake) Tokenize(text string, special bool) ([]int32, error) {
	var ids []int32
	if special {
		ids = append(ids, fakeBOS)
	}
	for _, b := range []byte(text) {
		ids = append(ids, int32(b))
	}
	return ids, nil
}

func (f *fake) TokenBytes(id int32) []byte {
	switch {
	case id >= 0 && id < 256:
		return []byte{byte(id)}
	case id == fakeBOS:
		return []byte("<s>")
	case id == fakeEOS:
		return []byte("</s>")
	}
	return nil
}

func (f *fake) Render(m []harness.Message) ([]int32, error) { return f.RenderOpen(m, true) }

func (f *fake) RenderOpen(m []harness.Message, opened bool) ([]int32, error) {
	var b strings.Builder
	for _, m := range m {
		b.WriteString(m.Role + ":" + m.Content + "\n")
	}
	if opened {
		b.WriteString(">")
	}
	return f.Tokenize(b.String(), true)
}

// logits after the given tokens; said is how many of them the model has sampled.
func (f *fake) logits(before []int32, said int) []float32 {
	out := make([]float32, fakeVocab)
	h := uint32(7 + f.shift)
	for _, id := range before {
		h = h*31 + uint32(id)
	}
	for i := range out {
		h = h*1664525 + 1013904223
		out[i] = float32(h>>16) / 65536
	}
	next := int32(fakeEOS)
	if said < len(f.script) {
		next = int32(f.script[said])
	}
	out[next] += 8
	return out
}

func logprobs(logits []float32) []float64 {
	sum := 0.0
	for _, x := range logits {
		sum += math.Exp(float64(x))
	}
	out := make([]float64, len(logits))
	for i, x := range logits {
		out[i] = float64(x) - math.Log(sum)
	}
	return out
}

func bestOf(lps []float64, n int) (top []llm.TokenLogprob) {
	for i, lp := range lps {
		top = append(top, llm.TokenLogprob{ID: int32(i), Logprob: float32(lp)})
	}
	slices.SortStableFunc(top, func(a, b llm.TokenLogprob) int { return cmp.Compare(b.Logprob, a.Logprob) })
	return top[:n]
}

func (f *fake) Stream(ctx context.Context, req llm.StreamRequest, emit func(llm.TokenEvent) error) (string, error) {
	return f.StreamAdjusted(ctx, req, nil, emit)
}

func (f *fake) StreamAdjusted(ctx context.Context, req llm.StreamRequest, adjust func([]int32, []float32), emit func(llm.TokenEvent) error) (string, error) {
	f.open.Add(1)
	defer f.open.Done()
	if f.broken != nil {
		return "", f.broken
	}
	seq := slices.Clone(req.Prompt)
	// A response that another model began goes on where it was.
	said := 0
	for n := range f.script {
		if strings.HasSuffix(string(f.spell(seq)), ">"+f.script[:n+1]) {
			said = n + 1
		}
	}
	for n := range req.Sampling.MaxTokens {
		if f.gate != nil {
			select {
			case <-f.gate:
			case <-ctx.Done():
				return "", context.Cause(ctx)
			}
		}
		logits := f.logits(seq, said+n)
		lps := logprobs(logits)
		if adjust != nil {
			adjust(seq[len(req.Prompt):], logits)
		}
		id := bestOf(logprobs(logits), 1)[0].ID
		seq = append(seq, id)
		ev := llm.TokenEvent{ID: id, Logprob: float32(lps[id]), Rank: 1}
		if req.TopLogprobs > 0 {
			ev.Top = bestOf(lps, req.TopLogprobs)
		}
		if err := emit(ev); err != nil {
			return "", err
		}
		if id == fakeEOS {
			return "stop", nil
		}
	}
	return "length", nil
}

func (f *fake) spell(ids []int32) (b []byte) {
	for _, id := range ids {
		b = append(b, f.TokenBytes(id)...)
	}
	return b
}

// Score says what sampling said: the response begins where the prompt's ">" is.
func (f *fake) Score(ctx context.Context, req llm.ScoreRequest) (llm.Score, error) {
	if err := context.Cause(ctx); err != nil {
		return llm.Score{}, err
	}
	s := llm.Score{}
	seq := slices.Clone(req.Prefix)
	for _, id := range req.Continuation {
		said := len(seq) - 1 - slices.Index(seq, '>')
		if slices.Index(seq, '>') < 0 {
			said = len(f.script)
		}
		lps := logprobs(f.logits(seq, said))
		s.Logprobs = append(s.Logprobs, float32(lps[id]))
		s.Ranks = append(s.Ranks, 3)
		if req.TopLogprobs > 0 {
			s.Top = append(s.Top, bestOf(lps, req.TopLogprobs))
		}
		seq = append(seq, id)
	}
	return s, nil
}

func (f *fake) Close() error {
	f.closed.Store(true)
	return nil
}

// plainModel hides what a fake can beyond llm.Model.
type plainModel struct{ llm.Model }

// serving starts a server with a model.
func serving(t *testing.T, m llm.Model, cfg Config) *httptest.Server {
	t.Helper()
	s, err := New(m, cfg)
	if err != nil {
		t.Fatal(err)
	}
	ts := httptest.NewServer(s)
	t.Cleanup(ts.Close)
	t.Cleanup(http.DefaultClient.CloseIdleConnections)
	return ts
}

// do sends a request and returns status and body. body is JSON text, or a value to encode; nil = GET.
func do(t *testing.T, ts *httptest.Server, path string, body any) (int, []byte) {
	t.Helper()
	method, data := http.MethodPost, []byte(nil)
	switch b := body.(type) {
	case nil:
		method = http.MethodGet
	case string:
		data = []byte(b)
	default:
		var err error
		if data, err = json.Marshal(b); err != nil {
			t.Fatal(err)
		}
	}
	req, err := http.NewRequestWithContext(t.Context(), method, ts.URL+path, bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	res, err := ts.Client().Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	out, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, out
}

// ask is do for requests that must succeed, with the reply decoded into a T.
func ask[T any](t *testing.T, ts *httptest.Server, path string, body any) T {
	t.Helper()
	status, b := do(t, ts, path, body)
	if status != http.StatusOK {
		t.Fatalf("%s: status %d: %s", path, status, b)
	}
	var v T
	if err := json.Unmarshal(b, &v); err != nil {
		t.Fatalf("%s: %v in %s", path, err, b)
	}
	return v
}

// chunks asks for a stream and returns its events, which must end with [DONE].
func chunks[T any](t *testing.T, ts *httptest.Server, path string, body any) (list []T) {
	t.Helper()
	status, b := do(t, ts, path, body)
	if status != http.StatusOK {
		t.Fatalf("%s: status %d: %s", path, status, b)
	}
	parts := strings.Split(strings.TrimSuffix(string(b), "\n\n"), "\n\n")
	if parts[len(parts)-1] != "data: [DONE]" {
		t.Fatalf("%s: the stream ends with %q", path, parts[len(parts)-1])
	}
	for _, p := range parts[:len(parts)-1] {
		var v T
		if err := json.Unmarshal([]byte(strings.TrimPrefix(p, "data: ")), &v); err != nil {
			t.Fatalf("%s: %v in %q", path, err, p)
		}
		list = append(list, v)
	}
	return list
}

// UnmarshalJSON keeps the order, for tests of it.
func (o *ordered) UnmarshalJSON(b []byte) error {
	if string(b) == "null" {
		*o = nil
		return nil
	}
	d := json.NewDecoder(bytes.NewReader(b))
	if _, err := d.Token(); err != nil {
		return err
	}
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return err
		}
		var v any
		if err := d.Decode(&v); err != nil {
			return err
		}
		*o = append(*o, member{key.(string), v})
	}
	return nil
}

type object = map[string]any

func user(text string) []any { return []any{object{"role": "user", "content": text}} }

// serveOnce calls the handler without a network.
func serveOnce(t testing.TB, s *Server, path, body string) (int, []byte) {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, path, strings.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	return w.Code, w.Body.Bytes()
}
