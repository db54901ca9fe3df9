package llm

import (
	"net/http"
	"testing"
	"time"
)

// FuzzRetryAfter: whatever a server sends, the wait is a sane duration.
func FuzzRetryAfter(f *testing.F) {
	for _, s := range []string{"", "0", "7", "-1", "1e300", "NaN", "inf", "0.5", "Mon, 02 Jan 2006 15:04:05 GMT", "soon"} {
		f.Add(s, "Mon, 02 Jan 2006 15:04:00 GMT")
	}
	f.Fuzz(func(t *testing.T, after, date string) {
		h := http.Header{"Retry-After": {after}, "Date": {date}}
		if d := retryAfter(h, time.Time{}); d < 0 {
			t.Errorf("%q at %q: %v", after, date, d)
		}
	})
}

func TestRetryAfterValues(t *testing.T) {
	t.Parallel()
	now := time.Date(2006, 1, 2, 15, 4, 0, 0, time.UTC)
	for value, want := range map[string]time.Duration{
		"": 0, "7": 7 * time.Second, " 0.5 ": time.Second / 2, "-3": 0, "NaN": 0, "soon": 0,
		"1e300": 365 * 24 * time.Hour, "Mon, 02 Jan 2006 15:04:05 GMT": 5 * time.Second, "Mon, 02 Jan 2006 15:03:00 GMT": 0,
	} {
		if got := retryAfter(http.Header{"Retry-After": {value}}, now); got != want {
			t.Errorf("%q: %v, want %v", value, got, want)
		}
	}
	// Without any clock a date says nothing.
	if got := retryAfter(http.Header{"Retry-After": {"Mon, 02 Jan 2006 15:04:05 GMT"}}, time.Time{}); got != 0 {
		t.Errorf("without a clock: %v", got)
	}
}
