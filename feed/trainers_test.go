package feed

import (
	"bytes"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hindsightrl/harness"
)

// logged is a log that a test reads while a server writes.
type logged struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (l *logged) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(p)
}

func (l *logged) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.String()
}

// until waits for a line that has all of the words.
func (l *logged) until(t *testing.T, words ...string) {
	t.Helper()
	for end := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
		for line := range strings.Lines(l.String()) {
			has := true
			for _, w := range words {
				has = has && strings.Contains(line, w)
			}
			if has {
				return
			}
		}
		if time.Now().After(end) {
			t.Fatalf("no line with %q in\n%s", words, l)
		}
	}
}

func (l *logged) option(c *Config) {
	c.Log = slog.New(slog.NewTextHandler(l, &slog.HandlerOptions{Level: slog.LevelDebug}))
}

// TestARestartedTrainerGetsWhatItLostAtOnce: it says that it has lost it, under its name; what others hold stays
// theirs, and what was acknowledged stays delivered.
func TestARestartedTrainerGetsWhatItLostAtOnce(t *testing.T) {
	t.Parallel()
	m := newMemory(4, 1, 2, 3)
	_, url := startServer(t, m, nil)
	other := dial(t, url)
	take(t, other, "theirs", "trainer-1", 1)
	dead := dial(t, url)
	take(t, dead, "done", "trainer-0", 1)
	if a := call(t, dead, `{"op":"ack","lease":"done"}`); !a.OK {
		t.Fatalf("%+v", a)
	}
	take(t, dead, "lost", "trainer-0", 2)

	again := dial(t, url)
	const lost = `{"op":"lost","consumer":"trainer-0"}`
	a := call(t, again, lost)
	if a.Error == nil || a.Error.Code != codeConnected || !strings.Contains(a.Error.Message, "trainer-0") {
		t.Fatalf("while the first connection is there: %+v", a)
	}
	if resp := post(t, url, "lost", `{"consumer":"trainer-0"}`); resp.StatusCode != http.StatusConflict {
		t.Errorf("over HTTP, while the first connection is there: %d", resp.StatusCode)
	}
	dead.Close()
	for end := time.Now().Add(time.Minute); a.Error != nil; a = call(t, again, lost) {
		if time.Now().After(end) || a.Error.Code != codeConnected {
			t.Fatalf("after it is gone: %+v", a.Error)
		}
	}
	if fmt.Sprint(a.Lost) != "[lost]" {
		t.Errorf("given back: %v", a.Lost)
	}
	if a := call(t, again, lost); !a.OK || len(a.Lost) != 0 {
		t.Errorf("said again: %+v", a)
	}
	if a := call(t, again, `{"op":"ack","lease":"lost"}`); a.Error == nil || a.Error.Code != codeClosed {
		t.Errorf("acknowledged after all: %+v", a)
	}
	take(t, again, "anew", "trainer-0", 2)
	if a := call(t, again, lost); fmt.Sprint(a.Lost) != "[anew]" {
		t.Errorf("its own connection is no other one: %+v", a)
	}
	if a := call(t, other, `{"op":"ack","lease":"theirs"}`); !a.OK {
		t.Errorf("somebody else's lease: %+v", a)
	}
}

// take leases groups and reads the batch to its end.
func take(t *testing.T, c interface {
	WriteMessage(kind int, data []byte) error
	ReadJSON(v any) error
	ReadMessage() (int, []byte, error)
}, lease, consumer string, groups int,
) {
	t.Helper()
	if err := c.WriteMessage(1, fmt.Appendf(nil, `{"op":"lease","lease":%q,"consumer":%q,"groups":%d}`, lease, consumer, groups)); err != nil {
		t.Fatal(err)
	}
	var a answer
	if err := c.ReadJSON(&a); err != nil || a.Batch == nil || len(a.Batch.Groups) != groups {
		t.Fatalf("lease %q: %+v, %v", lease, a, err)
	}
	if _, _, err := c.ReadMessage(); err != nil {
		t.Fatal(err)
	}
}

// TestThoseWhoWaitAreToldWhoHolds: for how long, and under which name.
func TestThoseWhoWaitAreToldWhoHolds(t *testing.T) {
	t.Parallel()
	m, log := newMemory(3, 1, 2, 3), new(logged)
	start := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	m.now = func() time.Time { return start }
	s, err := NewServer(Config{
		Book: m, Source: m, Versions: m, Now: func() time.Time { return start.Add(17 * time.Second) },
		Log: slog.New(slog.NewTextHandler(log, nil)),
	})
	if err != nil {
		t.Fatal(err)
	}
	held, err := s.holdings(t.Context())
	if err != nil || held != nil {
		t.Fatalf("nothing is held: %v, %v", held, err)
	}
	for _, l := range []harness.LeaseRequest{
		{ID: "a", Consumer: "trainer-0", Groups: 2, TTL: time.Minute}, {ID: "b", Consumer: "", Groups: 1, TTL: 5 * time.Second},
	} {
		if _, err := m.Lease(t.Context(), l); err != nil {
			t.Fatal(err)
		}
	}
	o, err := s.lease(t.Context(), &request{Op: opLease, Lease: "c", Consumer: "trainer-0", Groups: 1, TTL: 1000})
	if err != nil || o.drained || len(o.held) != 2 {
		t.Fatalf("%+v, %v", o, err)
	}
	if want := (holding{"", 1, start.Add(5 * time.Second), 0}); o.held[0] != want {
		t.Errorf("the first that ends: %+v, want %+v", o.held[0], want)
	}
	if want := (holding{"trainer-0", 2, start.Add(time.Minute), 43000}); o.held[1] != want {
		t.Errorf("the second: %+v, want %+v", o.held[1], want)
	}
	log.until(t, "level=INFO", "trainer waits for groups that are leased", "consumer=trainer-0", `held="1 by \"\" for 0s, 2 by trainer-0 for 43s"`)
}

// TestDeliveriesAreLogged: who came and went, and what became of each batch.
func TestDeliveriesAreLogged(t *testing.T) {
	t.Parallel()
	m, log := newMemory(3, 1, 2, 3), new(logged)
	_, url := startServer(t, m, log.option)
	c := dial(t, url)
	take(t, c, "a", "trainer-0", 2)
	log.until(t, "level=INFO", `msg="trainer connected"`, "client=127.0.0.1:", "consumer=trainer-0")
	what := []string{"consumer=trainer-0", `groups="[0 1]"`, "rows=2", "tokens=6", "prompt_tokens=4"}
	log.until(t, append(what, "level=DEBUG", `msg="batch leased"`, "lease=a", "expires=")...)
	if a := call(t, c, `{"op":"ack","lease":"a"}`); !a.OK {
		t.Fatalf("%+v", a)
	}
	log.until(t, append(what, "level=DEBUG", `msg="batch acknowledged"`, "lease=a")...)
	take(t, c, "b", "trainer-0", 1)
	if a := call(t, c, `{"op":"return","lease":"b","reason":"no memory"}`); !a.OK {
		t.Fatalf("%+v", a)
	}
	log.until(t, "level=DEBUG", `msg="batch returned"`, "lease=b", `groups=[2]`, `reason="no memory"`)
	take(t, c, "c", "trainer-0", 1)
	m.mu.Lock()
	m.leases["c"].Expires = time.Now().Add(-time.Second)
	m.mu.Unlock()
	take(t, c, "d", "trainer-0", 1)
	log.until(t, "level=DEBUG", `msg="batch expired"`, "lease=c", `groups=[2]`)
	if a := call(t, c, `{"op":"lost","consumer":"trainer-0"}`); !a.OK {
		t.Fatalf("%+v", a)
	}
	log.until(t, "level=DEBUG", `msg="batch returned"`, "lease=d", `reason=lost`)
	c.Close()
	log.until(t, "level=INFO", `msg="trainer left"`, "consumer=trainer-0", "leases=4")
}

// TestAConnectionHasABoundedNumberOfNames: a client that says a new one each time is answered, and the later ones
// are there while they ask for something, as over HTTP.
func TestAConnectionHasABoundedNumberOfNames(t *testing.T) {
	t.Parallel()
	s, url := startServer(t, newMemory(1, 1, 1, 1), nil)
	c := dial(t, url)
	for i := range 2 * maxNames {
		if a := call(t, c, fmt.Sprintf(`{"op":"status","consumer":"t%d"}`, i)); !a.OK {
			t.Fatalf("name %d: %+v", i, a)
		}
	}
	waits := fmt.Sprintf(`{"op":"lease","lease":%%q,"consumer":"t%d","wait_ms":600000}`, 2*maxNames)
	take(t, c, "a", "one more", 1)
	if err := c.WriteMessage(1, fmt.Appendf(nil, waits, "b")); err != nil {
		t.Fatal(err)
	}
	other := dial(t, url)
	lost := func(name string, refused bool) {
		t.Helper()
		for end := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
			a := call(t, other, fmt.Sprintf(`{"op":"lost","consumer":%q}`, name))
			if refused == (a.Error != nil && a.Error.Code == codeConnected) {
				return
			}
			if time.Now().After(end) {
				t.Fatalf("lost of %s: %+v", name, a)
			}
		}
	}
	lost("t0", true)
	lost(fmt.Sprint("t", 2*maxNames), true)
	lost("one more", false)
	c.Close()
	lost("t0", false)
	lost(fmt.Sprint("t", 2*maxNames), false)
	s.trainers.mu.Lock()
	defer s.trainers.mu.Unlock()
	for name, n := range s.trainers.n {
		if n < 1 {
			t.Errorf("%s is there %d times", name, n)
		}
	}
}

// TestNobodyIsSaidToHoldWhatWasDelivered: who held groups when a request began to wait does not hold them any more
// when it ends.
func TestNobodyIsSaidToHoldWhatWasDelivered(t *testing.T) {
	t.Parallel()
	m, log := newMemory(1, 1, 2, 3), new(logged)
	_, url := startServer(t, m, log.option)
	c, waiting := dial(t, url), dial(t, url)
	take(t, c, "a", "trainer-0", 1)
	got := make(chan answer, 1)
	go func() { got <- call(t, waiting, `{"op":"lease","lease":"b","consumer":"trainer-1","wait_ms":600000}`) }()
	log.until(t, "trainer waits for groups that are leased", "consumer=trainer-1")
	if a := call(t, c, `{"op":"ack","lease":"a"}`); !a.OK {
		t.Fatalf("%+v", a)
	}
	if a := <-got; !a.OK || !a.Drained || a.Held != nil {
		t.Errorf("%+v", a)
	}
}

// TestAWaitIsLoggedOnce: however often a trainer that gets nothing asks, and again when it waits again.
func TestAWaitIsLoggedOnce(t *testing.T) {
	t.Parallel()
	m, log := newMemory(1, 1, 2, 3), new(logged)
	s, url := startServer(t, m, log.option)
	c := dial(t, url)
	lines := func() int { return strings.Count(log.String(), "trainer waits for groups that are leased") }
	poll := func(times int) {
		t.Helper()
		for i := range times {
			if a := call(t, c, fmt.Sprintf(`{"op":"lease","lease":"p%d","consumer":"trainer-1"}`, i)); !a.OK || len(a.Held) != 1 {
				t.Fatalf("%+v", a)
			}
		}
	}
	take(t, c, "a", "trainer-0", 1)
	poll(20)
	if n := lines(); n != 1 {
		t.Errorf("20 polls made %d lines", n)
	}
	if a := call(t, c, `{"op":"return","lease":"a"}`); !a.OK {
		t.Fatalf("%+v", a)
	}
	take(t, c, "b", "trainer-1", 1)
	poll(20)
	if n := lines(); n != 2 {
		t.Errorf("it waited twice: %d lines", n)
	}
	for i := range 3 * maxWaiting {
		s.logWait(&request{Consumer: fmt.Sprint("t", i)}, []holding{{"trainer-1", 1, time.Time{}, 1000}})
	}
	if n := len(s.waiting.said); n > maxWaiting {
		t.Errorf("%d names are kept", n)
	}
}

// TestWhoHoldsFitsALine: a header that clients take, and a line of a log, however many hold groups.
func TestWhoHoldsFitsALine(t *testing.T) {
	t.Parallel()
	var leases []harness.Lease
	for range 100 {
		leases = append(leases, harness.Lease{Consumer: strings.Repeat("\x01", maxName), Groups: make([]harness.FeedGroup, 2)})
	}
	text := heldText(holdings(leases, time.Time{}))
	if len(text) > 8<<10 {
		t.Errorf("%d bytes", len(text))
	}
	if want := ", and more"; !strings.HasSuffix(text, want) {
		t.Errorf("%s: want %s", text[len(text)-50:], want)
	}
}
