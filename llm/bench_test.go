package llm_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/hindsightrl/harness/llm"
)

// canned answers from memory: a benchmark measures the client and nothing else.
type canned map[string]string

func (c canned) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Body != nil {
		if _, err := io.Copy(io.Discard, r.Body); err != nil {
			return nil, err
		}
	}
	body, ok := c[r.URL.Path]
	code := http.StatusOK
	if !ok {
		code = http.StatusNotFound
	}
	return &http.Response{StatusCode: code, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(body)), Request: r}, nil
}

const (
	benchPrompt   = 2000
	benchResponse = 200
)

func benchIDs(n int) []int32 {
	ids := make([]int32, n)
	for i := range ids {
		ids[i] = int32(1000 + i*73%150000)
	}
	return ids
}

func mustJSON(b testing.TB, v any) string {
	b.Helper()
	j, err := json.Marshal(v)
	if err != nil {
		b.Fatal(err)
	}
	return string(j)
}

// vllmReplies are replies of the size that vLLM gives, with k alternatives per token.
func vllmReplies(b testing.TB, k int) canned {
	b.Helper()
	prompt, resp := benchIDs(benchPrompt), benchIDs(benchResponse)
	entry := func(id int32) map[string]any {
		return map[string]any{"token": fmt.Sprintf("token_id:%d", id), "logprob": -0.10536051541566849, "bytes": []int{116, 111}}
	}
	content := make([]any, len(resp))
	for i, id := range resp {
		e, top := entry(id), []any{}
		for j := range k {
			alt := entry(id + int32(j))
			alt["logprob"] = -2.3 - float64(j)
			top = append(top, alt)
		}
		e["top_logprobs"] = top
		content[i] = e
	}
	rows := []any{nil}
	for _, id := range append(prompt, resp...)[1:] {
		row := map[string]any{fmt.Sprint(id): map[string]any{"logprob": -2.3025851249694824, "rank": 3, "decoded_token": " tok"}}
		for j := range k {
			row[fmt.Sprint(id+1+int32(j))] = map[string]any{"logprob": -3.3025851249694824 - float64(j), "rank": 1, "decoded_token": " tok"}
		}
		rows = append(rows, row)
	}
	return canned{
		"/v1/models": `{"data":[{"id":"m"}]}`,
		"/v1/chat/completions": mustJSON(b, map[string]any{"model": "m", "prompt_token_ids": prompt, "choices": []any{map[string]any{
			"message": map[string]any{"role": "assistant", "content": strings.Repeat("word ", benchResponse)}, "finish_reason": "stop",
			"token_ids": resp, "logprobs": map[string]any{"content": content},
		}}}),
		"/v1/completions": mustJSON(b, map[string]any{"model": "m", "choices": []any{map[string]any{
			"text": "x", "finish_reason": "length", "token_ids": []int{1}, "prompt_logprobs": rows,
		}}}),
	}
}

// cpuTime is what this process has used of the processors, which a busy machine does not inflate.
func cpuTime(b *testing.B) time.Duration {
	b.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// reportCPU adds the CPU time per call, in milliseconds.
func reportCPU(b *testing.B, since time.Duration) {
	b.Helper()
	b.ReportMetric(float64(cpuTime(b)-since)/float64(b.N)/1e6, "cpu-ms/op")
}

// BenchmarkGenerate measures the client's own CPU per call at 2,000 prompt and 200 response tokens.
func BenchmarkGenerate(b *testing.B) {
	for _, k := range []int{0, 5, 20} {
		b.Run(fmt.Sprintf("vllm/top%d", k), func(b *testing.B) {
			c, err := llm.NewVLLM("http://h", llm.Config{HTTPClient: &http.Client{Transport: vllmReplies(b, k)}})
			if err != nil {
				b.Fatal(err)
			}
			messages := chat(strings.Repeat("words of a prompt ", benchPrompt/4))
			b.ReportAllocs()
			start := cpuTime(b)
			defer func() { reportCPU(b, start) }()
			for b.Loop() {
				gen, err := c.Generate(b.Context(), llm.Request{Messages: messages, Sampling: llm.DefaultSampling(), TopLogprobs: k})
				if err != nil || len(gen.Tokens.IDs) != benchResponse || len(gen.Tokens.PromptIDs) != benchPrompt {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkScore measures scoring of 200 tokens behind 2,000: the reply lists all 2,200 positions.
func BenchmarkScore(b *testing.B) {
	for _, k := range []int{0, 1} {
		b.Run(fmt.Sprintf("vllm/top%d", k), func(b *testing.B) {
			c, err := llm.NewVLLM("http://h", llm.Config{HTTPClient: &http.Client{Transport: vllmReplies(b, k)}})
			if err != nil {
				b.Fatal(err)
			}
			req := llm.ScoreRequest{Prefix: benchIDs(benchPrompt), Continuation: benchIDs(benchResponse), TopLogprobs: k}
			b.ReportAllocs()
			start := cpuTime(b)
			defer func() { reportCPU(b, start) }()
			for b.Loop() {
				if sc, err := c.Score(b.Context(), req); err != nil || len(sc.Logprobs) != benchResponse {
					b.Fatal(err)
				}
			}
		})
	}
	b.Run("sglang", func(b *testing.B) {
		rows := []any{[]any{nil, benchIDs(benchPrompt)[benchPrompt-1], nil}}
		for _, id := range benchIDs(benchResponse) {
			rows = append(rows, []any{-2.3025851249694824, id, nil})
		}
		c, err := llm.NewSGLang("http://h", llm.Config{HTTPClient: &http.Client{Transport: canned{
			"/model_info": `{"model_path":"m"}`,
			"/generate":   mustJSON(b, map[string]any{"text": "", "output_ids": []int{}, "meta_info": map[string]any{"input_token_logprobs": rows}}),
		}}})
		if err != nil {
			b.Fatal(err)
		}
		req := llm.ScoreRequest{Prefix: benchIDs(benchPrompt), Continuation: benchIDs(benchResponse)}
		b.ReportAllocs()
		start := cpuTime(b)
		defer func() { reportCPU(b, start) }()
		for b.Loop() {
			if _, err := c.Score(b.Context(), req); err != nil {
				b.Fatal(err)
			}
		}
	})
}
