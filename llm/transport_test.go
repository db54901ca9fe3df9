package llm_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hindsightrl/harness"
	"github.com/hindsightrl/harness/llm"
	"github.com/hindsightrl/harness/llm/llmtest"
)

func newLog(w io.Writer) *slog.Logger { return slog.New(slog.NewTextHandler(w, nil)) }

// inBubble runs f with a fake clock and a server without a network.
func inBubble(t *testing.T, cfg llm.Config, f func(t *testing.T, c *llm.VLLM, srv *llmtest.Server)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		srv := llmtest.NewHandler(llmtest.Options{Dialect: llmtest.VLLM})
		cfg.HTTPClient, cfg.Now = srv.Client(), time.Now
		c, err := llm.NewVLLM(srv.URL, cfg)
		if err != nil {
			t.Fatal(err)
		}
		f(t, c, srv)
	})
}

func TestRetryAfterIsObeyed(t *testing.T) {
	t.Parallel()
	const path = "/v1/chat/completions"
	tests := []struct {
		name  string
		fault llmtest.Fault
		want  time.Duration
	}{
		{"seconds", llmtest.Status(429, "Retry-After", "70"), 70 * time.Second},
		{"503 too", llmtest.Status(503, "Retry-After", "70"), 70 * time.Second},
		{"date from the reply's own clock", llmtest.Status(429, "Date", "Mon, 02 Jan 2006 15:00:00 GMT", "Retry-After", "Mon, 02 Jan 2006 15:01:30 GMT"), 90 * time.Second},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			inBubble(t, llm.Config{}, func(t *testing.T, c *llm.VLLM, srv *llmtest.Server) {
				srv.Inject(path, tt.fault, tt.fault)
				start := time.Now()
				if _, err := generateOp(t.Context(), c); err != nil {
					t.Fatal(err)
				}
				if got := time.Since(start); got != 2*tt.want {
					t.Errorf("two such answers took %v, want %v", got, 2*tt.want)
				}
			})
		})
	}
}

func TestTooLongRetryAfterEndsTheCall(t *testing.T) {
	t.Parallel()
	inBubble(t, llm.Config{}, func(t *testing.T, c *llm.VLLM, srv *llmtest.Server) {
		srv.Inject("/v1/chat/completions", llmtest.Status(429, "Retry-After", "3600"))
		start := time.Now()
		_, err := generateOp(t.Context(), c)
		var f *harness.Failure
		if !errors.As(err, &f) || !f.Retryable || !strings.Contains(err.Error(), "1h0m0s") || time.Since(start) != 0 {
			t.Errorf("after %v: %v", time.Since(start), err)
		}
	})
}

func TestBackoffGrowsAndIsBounded(t *testing.T) {
	t.Parallel()
	inBubble(t, llm.Config{MaxTries: 8, BackoffFirst: time.Second, BackoffMax: 4 * time.Second}, func(t *testing.T, c *llm.VLLM, srv *llmtest.Server) {
		for range 8 {
			srv.Inject("/v1/chat/completions", llmtest.Status(500))
		}
		start := time.Now()
		_, err := generateOp(t.Context(), c)
		// Waits of 1, 2, 4, 4, 4, 4, 4 seconds, each half to one and a half times as long.
		if got := time.Since(start); err == nil || got < 23*time.Second/2 || got > 23*time.Second*3/2 {
			t.Errorf("%v after %v", err, got)
		}
		if s := c.Stats(); s.Failures != 1 || s.Attempts < 8 || s.Retries != 7 {
			t.Errorf("stats %+v", s)
		}
	})
}

// Each request that is sent again is told, with what went wrong; the last one of a call is not sent again.
func TestRetriesAreTold(t *testing.T) {
	t.Parallel()
	var told []string
	cfg := llm.Config{MaxTries: 3, OnRetry: func(r llm.Retry) {
		if r.Wait < 0 {
			t.Errorf("wait %v", r.Wait)
		}
		told = append(told, fmt.Sprintf("%s %d: %v", r.Op, r.Attempt, r.Err))
	}}
	inBubble(t, cfg, func(t *testing.T, c *llm.VLLM, srv *llmtest.Server) {
		srv.Inject("/v1/chat/completions", llmtest.Status(429, "Retry-After", "1"), llmtest.Status(503), llmtest.Status(500))
		if _, err := generateOp(t.Context(), c); err == nil {
			t.Error("three failures in three tries are no failure")
		}
	})
	if len(told) != 2 || !strings.HasPrefix(told[0], "generate 1: ") || !strings.Contains(told[0], "429") || !strings.HasPrefix(told[1], "generate 2: ") || !strings.Contains(told[1], "503") {
		t.Errorf("told %q", told)
	}
}

func TestHangingServerTimesOut(t *testing.T) {
	t.Parallel()
	inBubble(t, llm.Config{Timeout: time.Minute, MaxTries: 2, BackoffFirst: 1}, func(t *testing.T, c *llm.VLLM, srv *llmtest.Server) {
		srv.Inject("/v1/chat/completions", llmtest.Hang())
		if _, err := generateOp(t.Context(), c); err != nil {
			t.Fatalf("one hang: %v", err)
		}
		srv.Inject("/v1/chat/completions", llmtest.Hang(), llmtest.Hang())
		_, err := generateOp(t.Context(), c)
		var f *harness.Failure
		if !errors.As(err, &f) || !f.Retryable || !strings.Contains(err.Error(), "within 1m0s") || errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("two hangs: %v; the caller's own deadline did not pass", err)
		}
	})
}

func TestCancelledCallsAreNoFailure(t *testing.T) {
	t.Parallel()
	boom := errors.New("the run ends")
	tests := map[string]llmtest.Fault{"while hanging": llmtest.Hang(), "while waiting to retry": llmtest.Status(429, "Retry-After", "100")}
	for name, fault := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inBubble(t, llm.Config{}, func(t *testing.T, c *llm.VLLM, srv *llmtest.Server) {
				srv.Inject("/v1/chat/completions", fault)
				ctx, cancel := context.WithCancelCause(t.Context())
				time.AfterFunc(10*time.Second, func() { cancel(boom) })
				_, err := generateOp(ctx, c)
				if f := (*harness.Failure)(nil); !errors.Is(err, boom) || errors.As(err, &f) {
					t.Errorf("%v, want the cause of the cancellation and no failure", err)
				}
			})
		})
	}
}

func TestConcurrencyIsBoundedAndMeasured(t *testing.T) {
	t.Parallel()
	inBubble(t, llm.Config{MaxConcurrent: 3}, func(t *testing.T, c *llm.VLLM, srv *llmtest.Server) {
		if _, err := generateOp(t.Context(), c); err != nil { // fetches the identity
			t.Fatal(err)
		}
		base := c.Stats()
		var wg sync.WaitGroup
		for range 12 {
			srv.Inject("/v1/chat/completions", llmtest.Slow(2*time.Second))
			wg.Go(func() {
				if _, err := generateOp(t.Context(), c); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		s := c.Stats()
		if srv.MostInFlight() != 3 || s.MaxInFlight != 3 || s.InFlight != 0 {
			t.Errorf("in flight: server saw %d, stats %+v", srv.MostInFlight(), s)
		}
		if s.Busy != 8*time.Second || s.P50 != 2*time.Second || s.P95 != 2*time.Second || s.Max != 2*time.Second {
			t.Errorf("12 calls of 2 s, 3 at once: %+v", s)
		}
		if got := s.CompletionTokens - base.CompletionTokens; got != 12*8 || s.TokensPerSecond() < 12 || s.TokensPerSecond() > 14 {
			t.Errorf("%d tokens, %g per second", got, s.TokensPerSecond())
		}
	})
}

func TestWaitingForASlotEndsWithTheCaller(t *testing.T) {
	t.Parallel()
	inBubble(t, llm.Config{MaxConcurrent: 1}, func(t *testing.T, c *llm.VLLM, srv *llmtest.Server) {
		if _, err := generateOp(t.Context(), c); err != nil {
			t.Fatal(err)
		}
		srv.Inject("/v1/chat/completions", llmtest.Slow(time.Minute))
		var wg sync.WaitGroup
		wg.Go(func() {
			if _, err := generateOp(t.Context(), c); err != nil {
				t.Error(err)
			}
		})
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := generateOp(ctx, c); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%v, want the caller's deadline", err)
		}
		wg.Wait()
	})
}

func TestOversizedReplyIsFinal(t *testing.T) {
	t.Parallel()
	inBubble(t, llm.Config{MaxReply: 4096}, func(t *testing.T, c *llm.VLLM, srv *llmtest.Server) {
		srv.Inject("/v1/chat/completions", llmtest.Body(`{"x":"`+strings.Repeat("a", 5000)+`"}`))
		_, err := generateOp(t.Context(), c)
		if f := (*harness.Failure)(nil); !errors.As(err, &f) || f.Retryable || !strings.Contains(err.Error(), "4096 bytes") {
			t.Errorf("%v", err)
		}
	})
}

func TestSecretsDoNotPrint(t *testing.T) {
	t.Parallel()
	var log strings.Builder
	s := llm.Secret("hunter2")
	newLog(&log).Info("x", "key", s)
	j, err := json.Marshal(struct{ Key llm.Secret }{s})
	if err != nil {
		t.Fatal(err)
	}
	all := fmt.Sprintf("%v %s %q %#v %+v", s, s, s, s, llm.Config{APIKey: s}) + log.String() + string(j)
	for _, b := range backends() {
		b.cfg.APIKey = s
		srv := llmtest.New(t, b.opt)
		c := b.connect(t, srv)
		text := fmt.Sprintf("%v %+v %#v %s", c, c, c, c)
		if !strings.Contains(text, " at http://127.0.0.1") {
			t.Errorf("%s prints as %s", b.name, text)
		}
		all += text
	}
	if strings.Contains(all, "hunter2") || llm.Secret("").String() != "" {
		t.Errorf("the secret shows: %s", all)
	}
}

func TestBadAddressesAndConfigs(t *testing.T) {
	t.Parallel()
	for _, addr := range []string{"", "host:8000", "ftp://x", "http://", "http://h/v1?key=sesame", "http://user:sesame@[bad"} {
		if _, err := llm.NewVLLM(addr, llm.Config{}); err == nil || strings.Contains(err.Error(), "sesame") {
			t.Errorf("%q: %v", addr, err)
		}
	}
	for _, cfg := range []llm.Config{{Route: "x"}, {LogprobMode: "x"}, {MaxTries: -1}, {Timeout: -1}, {MaxReply: -1}} {
		if _, err := llm.NewOpenAI("http://h", cfg); err == nil {
			t.Errorf("%+v passed", cfg)
		}
	}
}
