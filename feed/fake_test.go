package feed

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"github.com/hindsightrl/harness"
	"github.com/hindsightrl/harness/credit"
)

// memoryBook is a Book, Source and Versions in memory: the plain twin of the ledger.
type memoryBook struct {
	mu       sync.Mutex
	now      func() time.Time
	groups   [][]harness.FeedStep
	owner    map[int]string // group → lease
	leases   map[string]*harness.Lease
	version  int32
	open     bool // more groups may come
	changed  chan struct{}
	stepsErr error
}

func newMemory(groups, rows, prompt, tokens int) *memoryBook {
	m := &memoryBook{now: time.Now, owner: map[int]string{}, leases: map[string]*harness.Lease{}, version: -1, changed: make(chan struct{}, 100)}
	for g := range groups {
		m.groups = append(m.groups, testGroup(g, rows, prompt, tokens))
	}
	return m
}

// testGroup makes steps with every column.
func testGroup(g, rows, prompt, tokens int) []harness.FeedStep {
	r := rand.New(rand.NewPCG(uint64(g), 9))
	reals := func() []float32 {
		v := make([]float32, tokens)
		for i := range v {
			v[i] = -float32(r.ExpFloat64())
		}
		return v
	}
	ids := func(n int) []int32 {
		v := make([]int32, n)
		for i := range v {
			v[i] = r.Int32N(150000)
		}
		return v
	}
	out := make([]harness.FeedStep, rows)
	for i := range out {
		mask := make([]bool, tokens)
		for j := tokens * 9 / 10; j < tokens; j++ {
			mask[j] = true
		}
		versions := make([]int32, tokens)
		for j := range versions {
			versions[j] = int32(g)
		}
		out[i] = harness.FeedStep{
			StepID: int64(g*rows + i + 1), Episode: int64(g*10 + i/5 + 1), Group: g, Sample: i / 5, Index: i % 5,
			Task: harness.Task{Env: "alfworld", ID: fmt.Sprint("game-", g)}, Reward: float64(i % 2), Valid: i%3 > 0,
			Outcome: harness.Outcome{Reward: float64(i % 2), Score: 1, Won: i%2 == 1},
			Tokens:  &harness.Tokens{PromptIDs: ids(prompt), IDs: ids(tokens), Logprobs: reals(), Entropies: reals(), Versions: versions, Meta: &harness.TokenMeta{Temperature: 0.7}},
			Scored: &harness.StepScore{
				Status: harness.ScoreDone, ActionMask: mask,
				Student: harness.LogprobColumn{Values: reals()}, Teacher: harness.LogprobColumn{Values: reals()},
			},
			Credit: &harness.StepCredit{Base: r.NormFloat64(), Factor: 1.1, Tokens: reals()},
		}
	}
	return out
}

func (m *memoryBook) Lease(_ context.Context, req harness.LeaseRequest) (harness.Lease, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if l := m.leases[req.ID]; l != nil {
		if l.State != harness.LeaseHeld {
			return harness.Lease{}, harness.ErrLeaseClosed
		}
		return *l, nil
	}
	var lapsed []harness.Lease
	for _, l := range m.leases {
		if l.State == harness.LeaseHeld && !l.Expires.After(m.now()) {
			m.free(l, harness.LeaseExpired)
			lapsed = append(lapsed, *l)
		}
	}
	l := harness.Lease{Lapsed: lapsed, ID: req.ID, Consumer: req.Consumer, State: harness.LeaseHeld, Expires: m.now().Add(req.TTL).UTC(), Credit: 1}
	for g := range m.groups {
		if len(l.Groups) < req.Groups && m.owner[g] == "" {
			m.owner[g] = req.ID
			fg := harness.FeedGroup{Index: g, Rows: len(m.groups[g])}
			for _, st := range m.groups[g] {
				fg.Tokens, fg.PromptTokens = fg.Tokens+len(st.Tokens.IDs), fg.PromptTokens+len(st.Tokens.PromptIDs)
			}
			l.Groups = append(l.Groups, fg)
		}
	}
	if len(l.Groups) < req.Min {
		for _, g := range l.Groups {
			delete(m.owner, g.Index)
		}
		l.Groups = nil
	}
	if len(l.Groups) > 0 {
		m.leases[req.ID] = &l
	}
	return l, nil
}

func (m *memoryBook) free(l *harness.Lease, to harness.LeaseState) {
	l.State = to
	for _, g := range l.Groups {
		delete(m.owner, g.Index)
	}
}

func (m *memoryBook) held(id string, then func(*harness.Lease)) (harness.Lease, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	switch l := m.leases[id]; {
	case l == nil:
		return harness.Lease{}, harness.ErrLeaseUnknown
	case l.State != harness.LeaseHeld:
		return harness.Lease{}, harness.ErrLeaseClosed
	default:
		then(l)
		return *l, nil
	}
}

func (m *memoryBook) Ack(_ context.Context, id string) (harness.Lease, error) {
	return m.held(id, func(l *harness.Lease) { l.State = harness.LeaseAcked })
}

func (m *memoryBook) Return(_ context.Context, id, _ string) (harness.Lease, error) {
	return m.held(id, func(l *harness.Lease) { m.free(l, harness.LeaseReturned) })
}

func (m *memoryBook) Lost(_ context.Context, consumer string) (out []harness.Lease, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, l := range m.leases {
		if l.State == harness.LeaseHeld && l.Consumer == consumer {
			m.free(l, harness.LeaseReturned)
			out = append(out, *l)
		}
	}
	slices.SortFunc(out, func(a, b harness.Lease) int { return strings.Compare(a.ID, b.ID) })
	return out, nil
}

func (m *memoryBook) Held(context.Context) (out []harness.Lease, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, l := range m.leases {
		if l.State == harness.LeaseHeld {
			out = append(out, *l)
		}
	}
	slices.SortFunc(out, func(a, b harness.Lease) int { return a.Expires.Compare(b.Expires) })
	return out, nil
}

func (m *memoryBook) Extend(_ context.Context, id string, ttl time.Duration) (time.Time, error) {
	until := m.now().Add(ttl).UTC()
	_, err := m.held(id, func(l *harness.Lease) { l.Expires = until })
	return until, err
}

func (m *memoryBook) Pass(context.Context, harness.Lease) (*Pass, error) { return testPass(), nil }

func testPass() *Pass {
	hints, _ := credit.HintsFor("dapo")
	serl := credit.DefaultSERL()
	return &Pass{
		Run: "run", ConfigHash: ConfigHash("a", "b"), Credit: "c", Score: "s", Estimator: credit.GRPO, Response: credit.ResponseEAR,
		Token: credit.TokenSERL, SERL: &serl, Lambda: 0.5, Hints: &hints, Sequences: SequenceStep, PassID: 1,
	}
}

func (m *memoryBook) Steps(_ context.Context, _ harness.Lease, g int) ([]harness.FeedStep, error) {
	return m.groups[g], m.stepsErr
}

func (m *memoryBook) Counts(context.Context) (c harness.FeedCounts, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for g := range m.groups {
		switch l := m.leases[m.owner[g]]; {
		case l == nil:
			c.Ready++
		case l.State == harness.LeaseAcked:
			c.Acked++
		default:
			c.Held++
		}
	}
	if m.open {
		c.Open++
	}
	return c, nil
}

func (m *memoryBook) Watch(ctx context.Context, changed func()) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-m.changed:
			changed()
		}
	}
}

func (m *memoryBook) add(g []harness.FeedStep) {
	m.mu.Lock()
	m.groups = append(m.groups, g)
	m.mu.Unlock()
	m.changed <- struct{}{}
}

func (m *memoryBook) PostVersion(_ context.Context, v int32, _ string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if v < max(m.version, 0) {
		return harness.ErrVersionBackwards
	}
	m.version = v
	return nil
}

func (m *memoryBook) Version(context.Context) (int32, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.version, nil
}

// startServer serves m on a loopback port until the test ends.
func startServer(tb testing.TB, m *memoryBook, change func(*Config)) (s *Server, url string) {
	tb.Helper()
	cfg := Config{Book: m, Source: m, Versions: m, Now: time.Now}
	if change != nil {
		change(&cfg)
	}
	s, err := NewServer(cfg)
	if err != nil {
		tb.Fatal(err)
	}
	hs := httptest.NewServer(s.Handler())
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	tb.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			tb.Error(err)
		}
		hs.CloseClientConnections()
		hs.Close()
	})
	return s, hs.URL
}

// dial opens a WebSocket to a test server.
func dial(tb testing.TB, url string) *websocket.Conn {
	tb.Helper()
	c, resp, err := websocket.DefaultDialer.Dial("ws"+url[len("http"):]+"/v1/ws", nil)
	if err != nil {
		tb.Fatal(err)
	}
	resp.Body.Close()
	tb.Cleanup(func() { c.Close() })
	return c
}

// call sends a message as it stands and reads the answer.
func call(tb testing.TB, c *websocket.Conn, msg string) answer {
	tb.Helper()
	if err := c.WriteMessage(websocket.TextMessage, []byte(msg)); err != nil {
		tb.Fatal(err)
	}
	var a answer
	if err := c.ReadJSON(&a); err != nil {
		tb.Fatal(err)
	}
	return a
}

// post sends a message over plain HTTP.
func post(tb testing.TB, url, op, msg string) *http.Response {
	tb.Helper()
	resp, err := http.Post(url+"/v1/"+op, "application/json", stringBody(msg))
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { resp.Body.Close() })
	return resp
}

// stalled is a connection on which a lease was asked for and nothing is read.
func stalled(tb testing.TB, addr, msg string) {
	tb.Helper()
	c, err := net.Dial("tcp", addr)
	if err != nil {
		tb.Fatal(err)
	}
	if err := c.(*net.TCPConn).SetReadBuffer(4096); err != nil {
		tb.Fatal(err)
	}
	fmt.Fprintf(c, "POST /v1/lease HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", len(msg), msg)
	tb.Cleanup(func() { c.Close() })
}
