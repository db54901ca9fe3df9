package llm

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/cenkalti/backoff/v5"
	"golang.org/x/sync/semaphore"

	"github.com/hindsightrl/harness/internal/errext"
)

// maxErrorBody is how much of an error reply is quoted.
const maxErrorBody = 512

// transport carries every request of one client: it bounds how many are under way, repeats what is
// worth repeating, limits what it reads, hides keys, and counts.
type transport struct {
	base  *url.URL // no trailing slash, no /v1
	cfg   Config   // with defaults
	slots *semaphore.Weighted
	meter meter
	bufs  sync.Pool
}

// request is one call. decode reads a whole reply and must not keep it; an error from decode counts
// as a bad reply and is retried like a lost one.
type request struct {
	op           string // for messages: "generate", "score"
	method, path string
	body         any // marshalled to JSON; nil = none
	decode       func(body []byte) error
	aside        bool // no generation and no score: left out of call counts and latencies
}

// outcome says how a successful call went.
type outcome struct {
	attempts  int
	disturbed bool // an attempt died in a way that a restarting server shows
	latency   time.Duration
}

func newTransport(baseURL string, cfg Config) (*transport, error) {
	if err := cfg.Validate(); err != nil {
		return nil, fmt.Errorf("configure client: %w", err)
	}
	base, err := parseBase(baseURL)
	if err != nil {
		return nil, err
	}
	cfg = cfg.withDefaults()
	t := &transport{base: base, cfg: cfg, slots: semaphore.NewWeighted(int64(cfg.MaxConcurrent))}
	t.bufs.New = func() any { return new(bytes.Buffer) }
	return t, nil
}

// writeAddress is the remedy for an address that is none, most often one without its scheme.
const writeAddress = "write the whole address, http:// included: vllm:http://127.0.0.1:8000"

// parseBase accepts a server's root with or without the "/v1" that OpenAI clients are given.
func parseBase(raw string) (*url.URL, error) {
	u, err := url.Parse(strings.TrimSpace(raw))
	if err != nil {
		// The parser's message quotes the address, which may hold a password.
		return nil, errext.WithHint(errors.New("parse server address: not a URL"), writeAddress)
	}
	if u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return nil, errext.WithHint(fmt.Errorf("parse server address %q: want http://host:port or https://host", u.Redacted()), writeAddress)
	}
	if u.RawQuery != "" || u.Fragment != "" {
		return nil, fmt.Errorf("parse server address %q: no query or fragment allowed; give keys separately", u.Host)
	}
	u.Path = strings.TrimSuffix(strings.TrimRight(u.Path, "/"), "/v1")
	return u, nil
}

func newHTTPClient(idle int) *http.Client {
	tr := http.DefaultTransport.(*http.Transport).Clone()
	tr.MaxIdleConns = 0
	tr.MaxIdleConnsPerHost = idle
	return &http.Client{
		Transport: tr,
		// A redirected POST silently becomes a GET; better to name the new address and stop.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

func randomSalt() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails: crypto/rand ends the program instead
	return hex.EncodeToString(b[:])
}

// do performs a call with its retries, inside one of the client's slots. The slot is kept while
// waiting to retry, so an overloaded server sees less load and not more.
func (t *transport) do(ctx context.Context, req request) (outcome, error) {
	var payload []byte
	if req.body != nil {
		var err error
		if payload, err = json.Marshal(req.body); err != nil {
			return outcome{}, fmt.Errorf("%s: encode request: %w", req.op, err)
		}
	}
	if err := t.slots.Acquire(ctx, 1); err != nil {
		return outcome{}, fmt.Errorf("%s: wait for a free slot: %w", req.op, context.Cause(ctx))
	}
	defer t.slots.Release(1)

	var out outcome
	start := t.cfg.Now()
	t.meter.begin(start)
	err := t.retry(ctx, req, payload, &out)
	end := t.cfg.Now()
	out.latency = end.Sub(start)
	if req.aside {
		t.meter.endAside(end, out.attempts)
	} else {
		t.meter.end(end, out.latency, out.attempts, err == nil)
	}
	switch {
	case err == nil:
		return out, nil
	case ctx.Err() != nil: // the caller gave up: that is nobody's failure
		return out, fmt.Errorf("%s: %w", req.op, context.Cause(ctx))
	case out.attempts > 1:
		err = fmt.Errorf("after %d attempts: %w", out.attempts, err)
	}
	return out, failServer(req.op, err)
}

func (t *transport) retry(ctx context.Context, req request, payload []byte, out *outcome) error {
	wait := backoff.NewExponentialBackOff()
	wait.InitialInterval = t.cfg.BackoffFirst
	wait.MaxInterval = t.cfg.BackoffMax
	wait.Multiplier = 2
	_, err := backoff.Retry(ctx, func() (struct{}, error) {
		out.attempts++
		err := t.attempt(ctx, req, payload)
		out.disturbed = out.disturbed || looksRestarted(err)
		return struct{}{}, t.verdict(ctx, err)
	},
		backoff.WithBackOff(wait),
		backoff.WithMaxTries(uint(t.cfg.MaxTries)),
		backoff.WithMaxElapsedTime(0),
		backoff.WithNotify(func(err error, d time.Duration) {
			t.cfg.Log.Warn("model server call failed, will retry", "op", req.op, "attempt", out.attempts, "wait", d, "error", err)
			t.meter.retried()
			t.cfg.OnRetry(Retry{req.op, out.attempts, d, err})
		}))
	return err
}

// looksRestarted reports a failure after which another process may answer at the same address.
func looksRestarted(err error) bool {
	if err == nil || errors.Is(err, ErrBadReply) {
		return false
	}
	var status *StatusError
	return !errors.As(err, &status) || status.Code >= 500
}

// waitError carries the server's own Retry-After to the retry loop beside the cause.
type waitError struct {
	cause error
	after backoff.RetryAfterError
}

func (e *waitError) Error() string   { return e.cause.Error() }
func (e *waitError) Unwrap() []error { return []error{e.cause, &e.after} }

// verdict decides whether and when an attempt is repeated.
func (t *transport) verdict(ctx context.Context, err error) error {
	var status *StatusError
	var final finalError
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil, errors.As(err, &final):
		return backoff.Permanent(err)
	case !errors.As(err, &status):
		return err // lost connection, timeout, bad reply
	case !status.retryable():
		return backoff.Permanent(err)
	case status.RetryAfter > t.cfg.MaxRetryAfter:
		return backoff.Permanent(fmt.Errorf("the server asks to wait %s, more than the %s allowed: %w", status.RetryAfter, t.cfg.MaxRetryAfter, err))
	case status.RetryAfter > 0:
		return &waitError{err, backoff.RetryAfterError{Duration: status.RetryAfter}}
	}
	return err
}

func (t *transport) attempt(ctx context.Context, req request, payload []byte) error {
	ctx, cancel := context.WithTimeout(ctx, t.cfg.Timeout)
	defer cancel()
	hr, err := t.newRequest(ctx, req, payload)
	if err != nil {
		return finalError{err}
	}
	resp, err := t.cfg.HTTPClient.Do(hr)
	if err != nil {
		return t.lost(ctx, err)
	}
	defer resp.Body.Close()

	buf := t.bufs.Get().(*bytes.Buffer)
	defer t.bufs.Put(buf)
	buf.Reset()
	if _, err = buf.ReadFrom(io.LimitReader(resp.Body, t.cfg.MaxReply+1)); err != nil && resp.StatusCode == http.StatusOK {
		return t.lost(ctx, fmt.Errorf("read reply after %d bytes: %w", buf.Len(), err))
	}
	if resp.StatusCode != http.StatusOK {
		return t.statusError(hr, resp, buf.Bytes())
	}
	if int64(buf.Len()) > t.cfg.MaxReply {
		return finalError{badReply("longer than the limit of %d bytes", t.cfg.MaxReply)}
	}
	if err := req.decode(buf.Bytes()); err != nil {
		if errors.Is(err, ErrBadReply) || errors.Is(err, ErrAborted) || errors.As(err, new(finalError)) {
			return err
		}
		return badReply("%w: %q", err, t.redact(clip(buf.Bytes(), 120)))
	}
	return nil
}

func (t *transport) newRequest(ctx context.Context, req request, payload []byte) (*http.Request, error) {
	var body io.Reader
	if payload != nil {
		body = bytes.NewReader(payload)
	}
	hr, err := http.NewRequestWithContext(ctx, req.method, t.base.String()+req.path, body)
	if err != nil {
		return nil, fmt.Errorf("build request: %s", t.redact(err.Error()))
	}
	if payload != nil {
		hr.Header.Set("Content-Type", "application/json")
	}
	hr.Header.Set("Accept", "application/json")
	if t.cfg.APIKey != "" {
		hr.Header.Set("Authorization", "Bearer "+string(t.cfg.APIKey))
	}
	return hr, nil
}

// lost names the time limit where that ended the attempt; net/http's own words hide it.
func (t *transport) lost(ctx context.Context, err error) error {
	if errors.Is(context.Cause(ctx), context.DeadlineExceeded) {
		return fmt.Errorf("no whole reply within %s: %s", t.cfg.Timeout, t.redact(err.Error()))
	}
	return err
}

func (t *transport) statusError(hr *http.Request, resp *http.Response, body []byte) error {
	e := &StatusError{
		Method:     hr.Method,
		URL:        hr.URL.Redacted(),
		Code:       resp.StatusCode,
		Body:       t.redact(clip(bytes.TrimSpace(body), maxErrorBody)),
		RetryAfter: retryAfter(resp.Header, t.cfg.Now()),
	}
	if to := resp.Header.Get("Location"); to != "" && resp.StatusCode/100 == 3 {
		return fmt.Errorf("the server redirects to %s; use that address: %w", t.redact(to), e)
	}
	return e
}

// retryAfter reads seconds or an HTTP date. A date counts from the reply's own Date, so the two
// machines' clocks need not agree.
func retryAfter(h http.Header, now time.Time) time.Duration {
	v := strings.TrimSpace(h.Get("Retry-After"))
	if v == "" {
		return 0
	}
	if s, err := strconv.ParseFloat(v, 64); err == nil {
		const most = 365 * 24 * time.Hour
		if !(s > 0) {
			return 0
		}
		return time.Duration(min(s, most.Seconds()) * float64(time.Second))
	}
	until, err := http.ParseTime(v)
	if err != nil {
		return 0
	}
	if date, err := http.ParseTime(h.Get("Date")); err == nil {
		now = date
	}
	if now.IsZero() {
		return 0
	}
	return max(until.Sub(now), 0)
}

// redact removes the key from text that a server may have echoed.
func (t *transport) redact(s string) string {
	if t.cfg.APIKey == "" {
		return s
	}
	return strings.ReplaceAll(s, string(t.cfg.APIKey), redacted)
}

func clip(b []byte, n int) string {
	if len(b) > n {
		return string(b[:n]) + "…"
	}
	return string(b)
}
