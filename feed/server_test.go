package feed

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/gorilla/websocket"
	"go.uber.org/goleak"

	"github.com/hindsightrl/harness"
	"github.com/hindsightrl/harness/internal/testutil"
)

func TestMain(m *testing.M) {
	os.Exit(testutil.RunAndFindLeaks(m, goleak.IgnoreTopFunction("internal/poll.runtime_pollWait"), goleak.IgnoreAnyFunction("net/http.(*persistConn).writeLoop")))
}

func stringBody(s string) io.Reader { return strings.NewReader(s) }

// readBatch reads the message after the header of a batch.
func readBatch(tb testing.TB, c *websocket.Conn) []Row {
	tb.Helper()
	kind, raw, err := c.ReadMessage()
	if err != nil {
		tb.Fatal(err)
	}
	if kind == websocket.TextMessage {
		_, rows := decodeJSON(tb, raw)
		return rows
	}
	_, rows, err := ReadArrow(bytes.NewReader(raw))
	if err != nil {
		tb.Fatal(err)
	}
	return rows
}

func decodeJSON(tb testing.TB, raw []byte) (Header, []Row) {
	tb.Helper()
	var doc struct {
		Batch Header `json:"batch"`
		Rows  []Row  `json:"rows"`
	}
	if err := json.Unmarshal(raw, &doc); err != nil {
		tb.Fatalf("%v in %.200s", err, raw)
	}
	return doc.Batch, doc.Rows
}

func wantRows(tb testing.TB, m *memoryBook, groups ...int) []Row {
	tb.Helper()
	var out []Row
	for _, g := range groups {
		size := harness.FeedGroup{Index: g, Rows: len(m.groups[g])}
		for _, st := range m.groups[g] {
			if st.Tokens != nil {
				size.Tokens += len(st.Tokens.IDs)
			}
		}
		h := NewHeader(harness.Lease{Groups: []harness.FeedGroup{size}}, testPass(), -1)
		part, err := rows(context.Background(), m, harness.Lease{}, h, g)
		if err != nil {
			tb.Fatal(err)
		}
		out = append(out, part...)
	}
	return out
}

func TestBatchesOverWebSocketAndHTTP(t *testing.T) {
	t.Parallel()
	m := newMemory(4, 7, 20, 11)
	_, url := startServer(t, m, nil)
	c := dial(t, url)
	a := call(t, c, `{"id":7,"op":"lease","lease":"a","consumer":"me"}`)
	if !a.OK || string(a.ID) != "7" || a.Batch.Rows != 7 || a.Batch.Lease != "a" || a.Batch.Hints.ClipHigh != 0.28 {
		t.Fatalf("answer %+v", a)
	}
	if diff := cmp.Diff(wantRows(t, m, 0), readBatch(t, c)); diff != "" {
		t.Errorf("Arrow over WebSocket: %s", diff)
	}
	if a := call(t, c, `{"op":"lease","lease":"b","format":"json","groups":1}`); !a.OK {
		t.Fatalf("answer %+v", a)
	}
	if diff := cmp.Diff(wantRows(t, m, 1), readBatch(t, c)); diff != "" {
		t.Errorf("JSON over WebSocket: %s", diff)
	}
	resp := post(t, url, "lease", `{"lease":"c"}`)
	h, got, err := ReadArrow(resp.Body)
	if err != nil || h.Lease != "c" || resp.Header.Get("Hindsight-Lease") != "c" {
		t.Fatalf("%+v %v", h, err)
	}
	if diff := cmp.Diff(wantRows(t, m, 2), got); diff != "" {
		t.Errorf("Arrow over HTTP: %s", diff)
	}
	raw, err := io.ReadAll(post(t, url, "lease", `{"lease":"d","format":"json"}`).Body)
	if err != nil {
		t.Fatal(err)
	}
	h, got = decodeJSON(t, raw)
	if diff := cmp.Diff(wantRows(t, m, 3), got); diff != "" || h.Lease != "d" {
		t.Errorf("JSON over HTTP: %+v %s", h, diff)
	}
	for _, id := range []string{"a", "b", "c"} {
		if a := call(t, c, fmt.Sprintf(`{"op":"ack","lease":%q}`, id)); !a.OK {
			t.Errorf("ack %s: %+v", id, a.Error)
		}
	}
	if a := call(t, c, `{"op":"lease","lease":"e"}`); !a.OK || a.Batch != nil || a.Drained {
		t.Errorf("one group is held: %+v", a)
	}
	if resp := post(t, url, "return", `{"lease":"d","reason":"full"}`); resp.StatusCode != http.StatusOK {
		t.Errorf("return: %v", resp.Status)
	}
	if a := call(t, c, `{"op":"extend","lease":"f"}`); a.Error == nil || a.Error.Code != codeUnknown {
		t.Errorf("extend of nothing: %+v", a)
	}
	if resp := post(t, url, "lease", `{"lease":"f","ttl_ms":60000}`); resp.StatusCode != http.StatusOK {
		t.Errorf("lease after return: %v", resp.Status)
	}
	if a := call(t, c, `{"op":"extend","lease":"f","ttl_ms":120000}`); !a.OK || a.Expires == nil {
		t.Errorf("extend: %+v", a)
	}
	if resp := post(t, url, "ack", `{"lease":"f"}`); resp.StatusCode != http.StatusOK {
		t.Errorf("ack over HTTP: %v", resp.Status)
	}
	resp = post(t, url, "lease", `{"lease":"g","wait_ms":60000}`)
	if resp.StatusCode != http.StatusNoContent || resp.Header.Get("Hindsight-Drained") != "true" {
		t.Errorf("drained feed: %v %v", resp.Status, resp.Header)
	}
	a = call(t, c, `{"op":"status"}`)
	if want := (harness.FeedCounts{Acked: 4}); *a.Status != want || *a.Version != -1 {
		t.Errorf("status %+v", a.Status)
	}
}

func TestClearErrors(t *testing.T) {
	t.Parallel()
	m := newMemory(1, 1, 1, 1)
	_, url := startServer(t, m, nil)
	c := dial(t, url)
	for _, tc := range []struct{ msg, code, says string }{
		{`nonsense`, codeBad, "no request"},
		{`{}`, codeBad, "want lease, ack"},
		{`{"op":"fly"}`, codeBad, `op "fly"`},
		{`{"op":"status"} {"op":"status"}`, codeBad, "goes on"},
		{`{"op":"status","speed":1}`, codeBad, "speed"},
		{`{"op":"ack"}`, codeBad, "needs a lease"},
		{`{"op":"lost"}`, codeBad, "needs the consumer's name"},
		{`{"op":"ack","lease":"nobody's"}`, codeUnknown, "no such lease"},
		{`{"op":"lease","lease":"x","groups":-1}`, codeBad, "groups is -1"},
		{`{"op":"lease","lease":"x","tokens":-1}`, codeBad, "tokens is -1"},
		{`{"op":"lease","lease":"x","ttl_ms":-5}`, codeBad, "ttl_ms"},
		{`{"op":"lease","lease":"x","wait_ms":99999999}`, codeBad, "wait_ms"},
		{`{"op":"lease","lease":"x","format":"xml"}`, codeBad, "arrow or json"},
		{`{"op":"lease","lease":"` + strings.Repeat("x", 300) + `"}`, codeBad, "200 bytes"},
		{`{"op":"lease","lease":"a\u0000"}`, codeBad, "NUL"},
		{`{"op":"version","version":-3}`, codeBackwards, "only go up"},
		{`{"op":"version","version":1e99}`, codeBad, "no request"},
		{"{\"op\":\"\xff\"}", codeBad, "UTF-8"},
	} {
		a := call(t, c, tc.msg)
		if a.OK || a.Error == nil || a.Error.Code != tc.code || !strings.Contains(a.Error.Message, tc.says) {
			t.Errorf("%.60s: %+v, want %s … %s", tc.msg, a.Error, tc.code, tc.says)
		}
	}
	if err := c.WriteMessage(websocket.BinaryMessage, []byte{1, 2}); err != nil {
		t.Fatal(err)
	}
	var a answer
	if err := c.ReadJSON(&a); err != nil || a.Error == nil || a.Error.Code != codeBad {
		t.Errorf("binary message: %+v %v", a, err)
	}
	if a := call(t, c, `{"op":"status"}`); !a.OK || a.Status.Ready != 1 {
		t.Errorf("after all that: %+v", a)
	}
}

func TestHTTPRefuses(t *testing.T) {
	t.Parallel()
	_, url := startServer(t, newMemory(1, 1, 1, 1), nil)
	for _, tc := range []struct {
		name, method, path, ctype, host, body string
		status                                int
	}{
		{"form", "POST", "/v1/ack", "application/x-www-form-urlencoded", "", "{}", 415},
		{"no type", "POST", "/v1/ack", "", "", "{}", 415},
		{"large", "POST", "/v1/ack", "application/json", "", strings.Repeat(" ", maxMessage+1), 413},
		{"other op", "POST", "/v1/ack", "application/json", "", `{"op":"lease","lease":"a"}`, 400},
		{"unknown lease", "POST", "/v1/ack", "application/json; charset=utf-8", "", `{"lease":"a"}`, 404},
		{"method", "GET", "/v1/ack", "", "", "", 404},
		{"address", "GET", "/", "", "", "", 404},
		{"rebound name", "GET", "/v1/status", "", "evil.example", "", 403},
		{"status", "GET", "/v1/status", "", "", "", 200},
		{"health", "GET", "/healthz", "", "evil.example", "", 204},
	} {
		req, err := http.NewRequest(tc.method, url+tc.path, strings.NewReader(tc.body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", tc.ctype)
		if tc.host != "" {
			req.Host = tc.host
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != tc.status {
			t.Errorf("%s: %d, want %d", tc.name, resp.StatusCode, tc.status)
		}
	}
}

func TestTokenIsAsked(t *testing.T) {
	t.Parallel()
	_, url := startServer(t, newMemory(1, 1, 1, 1), func(c *Config) { c.Token = "secret" })
	for header, want := range map[string]int{"": 401, "secret": 401, "Bearer other": 401, "Bearer secret": 200} {
		req, _ := http.NewRequest("GET", url+"/v1/status", nil)
		req.Header.Set("Authorization", header)
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != want {
			t.Errorf("%q: %d, want %d", header, resp.StatusCode, want)
		}
	}
	if _, _, err := websocket.DefaultDialer.Dial("ws"+url[4:]+"/v1/ws", nil); err == nil {
		t.Error("a WebSocket opened without the token")
	}
	if _, _, err := websocket.DefaultDialer.Dial("ws"+url[4:]+"/v1/ws", http.Header{"Authorization": {"Bearer secret"}, "Origin": {"http://evil.example"}}); err == nil {
		t.Error("a WebSocket opened for another site's page")
	}
}

func TestVersionsReachTheHookOnce(t *testing.T) {
	t.Parallel()
	m := newMemory(1, 1, 1, 1)
	var mu sync.Mutex
	var got []int32
	_, url := startServer(t, m, func(c *Config) {
		c.OnVersion = func(_ context.Context, p Posted) error {
			mu.Lock()
			defer mu.Unlock()
			v := p.Version
			got = append(got, v)
			if p.Weights == "nowhere" {
				return errors.New("no file")
			}
			return nil
		}
	})
	c := dial(t, url)
	for _, v := range []int{1, 1, 2} {
		if a := call(t, c, fmt.Sprintf(`{"op":"version","version":%d}`, v)); !a.OK || *a.Version != int32(v) {
			t.Errorf("post %d: %+v", v, a)
		}
	}
	if a := call(t, c, `{"op":"version","version":3,"weights":"nowhere"}`); a.Error == nil || a.Error.Code != codeReload || !strings.Contains(a.Error.Message, "no file") {
		t.Errorf("reload that fails: %+v", a)
	}
	if a := call(t, c, `{"op":"version"}`); *a.Version != 3 {
		t.Errorf("version: %+v", a)
	}
	for range 2 { // the first tries again what failed, the second finds it done
		if a := call(t, c, `{"op":"version","version":3,"weights":"here"}`); !a.OK {
			t.Errorf("post again: %+v", a)
		}
	}
	mu.Lock()
	defer mu.Unlock()
	if diff := cmp.Diff([]int32{1, 2, 3, 3}, got); diff != "" {
		t.Error(diff)
	}
}

func TestWaitingClientIsWokenByANewGroup(t *testing.T) {
	t.Parallel()
	m := newMemory(0, 0, 0, 0)
	m.open = true
	_, url := startServer(t, m, nil)
	c := dial(t, url)
	if err := c.WriteMessage(websocket.TextMessage, []byte(`{"op":"lease","lease":"a","wait_ms":600000}`)); err != nil {
		t.Fatal(err)
	}
	if a := call(t, c, `{"op":"status"}`); !a.OK || a.Status == nil {
		t.Fatalf("a waiting request holds up the others: %+v", a)
	}
	m.add(testGroup(0, 2, 3, 4))
	var a answer
	if err := c.ReadJSON(&a); err != nil || a.Batch == nil || a.Batch.Rows != 2 {
		t.Fatalf("%+v %v", a, err)
	}
	readBatch(t, c)
}

// TestStalledClientIsCutOffAndLosesNothing asks for a batch that fills every buffer and never reads it.
func TestStalledClientIsCutOffAndLosesNothing(t *testing.T) {
	t.Parallel()
	m := newMemory(1, 60, 100000, 2000)
	_, url := startServer(t, m, func(c *Config) { c.Stall, c.Memory = time.Second, 1 })
	stalled(t, strings.TrimPrefix(url, "http://"), `{"lease":"a","ttl_ms":3600000}`)
	// The bound of one byte lets one group out at a time: the next request waits until the stalled one is cut.
	// On a busy machine a reader may be taken for stalled as well, even before anything has reached it; it asks
	// again, as the protocol allows.
	for {
		resp, err := http.Post(url+"/v1/lease", "application/json", stringBody(`{"lease":"a"}`))
		if err != nil {
			t.Logf("cut off before the answer: %v", err)
			continue
		}
		h, got, err := ReadArrow(resp.Body)
		resp.Body.Close()
		if err == nil && h.Lease == "a" && len(got) == 60 {
			return
		}
		t.Logf("cut off after %d rows: %v", len(got), err)
	}
}

func TestBrokenSourceCutsTheBatch(t *testing.T) {
	t.Parallel()
	m := newMemory(1, 2, 2, 2)
	m.stepsErr = errors.New("disk on fire at /secret/path")
	_, url := startServer(t, m, nil)
	resp := post(t, url, "lease", `{"lease":"a"}`)
	raw, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusInternalServerError || bytes.Contains(raw, []byte("secret")) {
		t.Errorf("HTTP: %v %q, %v", resp.Status, raw, err)
	}
	c := dial(t, url)
	if a := call(t, c, `{"op":"lease","lease":"a"}`); a.Batch == nil {
		t.Fatalf("%+v", a)
	}
	if _, _, err := c.ReadMessage(); err == nil {
		t.Error("WebSocket: an unfinished batch looked whole")
	}
}

func TestManyClientsShareTheGroups(t *testing.T) {
	t.Parallel()
	const clients, groups = 64, 200
	m := newMemory(groups, 2, 5, 5)
	_, url := startServer(t, m, nil)
	var mu sync.Mutex
	seen := map[int64]int{}
	var wg sync.WaitGroup
	for k := range clients {
		c := dial(t, url)
		wg.Go(func() {
			for i := 0; ; i++ {
				id := fmt.Sprintf("%d-%d", k, i)
				a := call(t, c, fmt.Sprintf(`{"op":"lease","lease":%q,"wait_ms":60000}`, id))
				if a.Drained {
					return
				}
				if a.Batch == nil {
					t.Errorf("%+v", a)
					return
				}
				got := readBatch(t, c)
				if a := call(t, c, fmt.Sprintf(`{"op":"ack","lease":%q}`, id)); !a.OK {
					t.Errorf("ack: %+v", a.Error)
				}
				mu.Lock()
				for _, r := range got {
					seen[r.StepID]++
				}
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	if len(seen) != 2*groups {
		t.Errorf("%d rows, want %d", len(seen), 2*groups)
	}
	for id, n := range seen {
		if n != 1 {
			t.Errorf("row %d came %d times", id, n)
		}
	}
}

func TestTooManyConnections(t *testing.T) {
	t.Parallel()
	_, url := startServer(t, newMemory(1, 1, 1, 1), func(c *Config) { c.MaxConns = 1 })
	dial(t, url)
	_, resp, err := websocket.DefaultDialer.Dial("ws"+url[4:]+"/v1/ws", nil)
	if err == nil || resp == nil || resp.StatusCode != http.StatusServiceUnavailable {
		t.Errorf("second connection: %v", err)
	}
}

// comingIn is a connection whose handshake is answered when hold lets it.
type comingIn struct {
	net.Conn
	http.ResponseWriter
	hold func()
}

func (c *comingIn) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	return c, bufio.NewReadWriter(bufio.NewReader(c.Conn), bufio.NewWriter(c.Conn)), nil
}

func (c *comingIn) Write(p []byte) (int, error) {
	c.hold()
	return c.Conn.Write(p)
}

// TestRunWaitsForAConnectionThatIsComingIn: one whose handshake is not over yet when the server goes down is
// closed and waited for as well.
func TestRunWaitsForAConnectionThatIsComingIn(t *testing.T) {
	t.Parallel()
	m := newMemory(1, 1, 1, 1)
	s, err := NewServer(Config{Book: m, Source: m, Versions: m, Now: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ran := make(chan struct{})
	go func() {
		defer close(ran)
		if err := s.Run(ctx); err != nil {
			t.Error(err)
		}
	}()
	here, there := net.Pipe()
	defer there.Close()
	go io.Copy(io.Discard, there) // it ends with the connection
	served := make(chan struct{})
	var once sync.Once
	w := &comingIn{Conn: here, ResponseWriter: httptest.NewRecorder(), hold: func() {
		once.Do(func() {
			cancel()
			<-s.stop.Done()
			select {
			case <-ran:
				t.Error("Run ended before a connection did")
			case <-time.After(50 * time.Millisecond): // a mistake shows within that; its absence always
			}
		})
	}}
	r := httptest.NewRequest(http.MethodGet, "http://localhost/v1/ws", nil)
	for k, v := range map[string]string{"Connection": "Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Version": "13", "Sec-WebSocket-Key": "AAAAAAAAAAAAAAAAAAAAAA=="} {
		r.Header.Set(k, v)
	}
	go func() {
		defer close(served)
		s.Handler().ServeHTTP(w, r)
	}()
	<-ran
	select {
	case <-served:
	case <-time.After(time.Minute):
		t.Error("the connection outlives the server")
	}
}

func TestConfigIsChecked(t *testing.T) {
	t.Parallel()
	m := newMemory(0, 0, 0, 0)
	for _, c := range []Config{{}, {Book: m, Source: m, Versions: m}, {Book: m, Source: m, Versions: m, Now: time.Now, Stall: -1}} {
		if _, err := NewServer(c); err == nil {
			t.Errorf("%+v was accepted", c)
		}
	}
}

// FuzzRequest sends messages as a client would: every answer is a success or names an error, and no
// group is lost.
func FuzzRequest(f *testing.F) {
	for _, seed := range []string{
		`{"op":"lease","lease":"a"}`, `{"op":"ack","lease":"a"}`, `{"op":"return","lease":"a","reason":"r"}`, `{"op":"extend","lease":"a","ttl_ms":5}`,
		`{"op":"lost","consumer":"c"}`, `{"op":"version","version":1}`, `{"op":"status"}`, `{`, `[]`, `null`, `{"id":{"a":[1]},"op":"status"}`, `{"op":"lease","lease":"a","groups":9e9}`, "\xff",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		m := newMemory(2, 1, 1, 1)
		s, err := NewServer(Config{Book: m, Source: m, Versions: m, Now: time.Now})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		req, err := parseRequest(raw)
		if err == nil {
			err = req.check(&s.cfg)
		}
		req.Wait = 0
		if err == nil && req.Op == opLease {
			_, err = s.lease(ctx, &req)
		} else if err == nil {
			_, err = s.do(ctx, &req, nil)
		}
		if err != nil {
			if e := clientError(err); e.Code == codeInternal || e.Message == "" || e.status == 0 {
				t.Errorf("%q: %+v", raw, e)
			}
		}
		c, err := m.Counts(ctx)
		if err != nil || c.Ready+c.Held+c.Acked != 2 {
			t.Errorf("%q: groups are %+v", raw, c)
		}
	})
}
