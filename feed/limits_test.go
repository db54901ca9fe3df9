package feed

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hindsightrl/harness"
	"github.com/hindsightrl/harness/credit"
)

// countedSource counts the rows that were read and are not sent yet.
type countedSource struct {
	*memoryBook
	mu        sync.Mutex
	rows, max int
	loads     int
}

func (c *countedSource) add(rows int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.rows += rows
	c.max = max(c.max, c.rows)
	if rows > 0 {
		c.loads++
	}
}

func (c *countedSource) Steps(ctx context.Context, l harness.Lease, g int) ([]harness.FeedStep, error) {
	steps, err := c.memoryBook.Steps(ctx, l, g)
	c.add(len(steps))
	return steps, err
}

func (c *countedSource) state() (rows, most, loads int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.rows, c.max, c.loads
}

// TestRowsInMemoryAreBounded: 64 trainers ask for a backlog of large batches at once, and begin to read when
// the bound is reached. However many wait, the rows in memory are those of the groups that the bound has room
// for.
func TestRowsInMemoryAreBounded(t *testing.T) {
	t.Parallel()
	const trainers, perLease, rows, prompt, tokens, room = 64, 4, 8, 4000, 200, 5
	src := &countedSource{memoryBook: newMemory(trainers*perLease, 0, 0, 0)}
	one := testGroup(0, rows, prompt, tokens) // shared by all: the backlog itself takes no memory here
	for g := range src.groups {
		src.groups[g] = one
	}
	weight := int64(rows * (tokens*bytesPerToken + prompt*bytesPerPrompt))
	_, url := startServer(t, src.memoryBook, func(c *Config) {
		c.Source, c.Memory, c.Stall = src, room*weight, time.Minute
		c.OnSent = func(s Sent) { src.add(-s.Group.Rows) }
	})
	read := make(chan struct{})
	var wg sync.WaitGroup
	for k := range trainers {
		wg.Go(func() {
			resp, err := http.Post(url+"/v1/lease", "application/json", strings.NewReader(fmt.Sprintf(`{"lease":"l%d","groups":%d}`, k, perLease)))
			if err != nil {
				t.Error(err)
				return
			}
			defer resp.Body.Close()
			<-read
			if _, got, err := ReadArrow(resp.Body); err != nil || len(got) != perLease*rows {
				t.Errorf("trainer %d: %d rows, %v", k, len(got), err)
			}
		})
	}
	// What is read ahead waits in sockets as well, so more may be loaded than the bound has room for, and
	// what counts is how much is there at a time.
	for until := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
		if _, _, loads := src.state(); loads >= room {
			break
		}
		if time.Now().After(until) {
			t.Fatal("nothing is loaded")
		}
	}
	close(read)
	wg.Wait()
	left, most, loads := src.state()
	if left != 0 || loads != trainers*perLease {
		t.Errorf("%d rows are left of %d groups", left, loads)
	}
	if most > room*rows || most < rows {
		t.Errorf("%d rows in memory at a time, the bound has room for %d", most, room*rows)
	}
}

// pairedSource reads no group before another one is being read.
type pairedSource struct {
	*memoryBook
	both sync.WaitGroup
}

func (p *pairedSource) Steps(ctx context.Context, l harness.Lease, g int) ([]harness.FeedStep, error) {
	p.both.Done()
	p.both.Wait()
	return p.memoryBook.Steps(ctx, l, g)
}

// TestGroupsAreReadAtTheSameTime: as many of a batch as the bound on memory lets in, and not one after another.
func TestGroupsAreReadAtTheSameTime(t *testing.T) {
	t.Parallel()
	src := &pairedSource{memoryBook: newMemory(1+readAhead, 2, 3, 4)}
	src.both.Add(1 + readAhead)
	_, url := startServer(t, src.memoryBook, func(c *Config) { c.Source = src })
	c := dial(t, url)
	if a := call(t, c, fmt.Sprintf(`{"op":"lease","lease":"a","groups":%d}`, 1+readAhead)); a.Batch == nil {
		t.Fatalf("%+v", a)
	}
	_, raw, err := c.NextReader()
	if err != nil {
		t.Fatal(err)
	}
	_, rows, err := ReadArrow(raw)
	if err != nil || len(rows) != 2*(1+readAhead) {
		t.Fatalf("%d rows, %v", len(rows), err)
	}
	for i := range rows {
		if want := int32(i / 2); rows[i].Group != want {
			t.Errorf("row %d is of group %d, want %d: groups come in the order of the lease", i, rows[i].Group, want)
		}
	}
}

// brokenSource cannot read one group.
type brokenSource struct {
	*memoryBook
	group int
}

func (b *brokenSource) Steps(ctx context.Context, l harness.Lease, g int) ([]harness.FeedStep, error) {
	if g == b.group {
		return nil, errors.New("the disk is gone")
	}
	return b.memoryBook.Steps(ctx, l, g)
}

// TestABatchThatBreaksOffGivesItsMemoryBack: what was read ahead of the group that could not be read included.
func TestABatchThatBreaksOffGivesItsMemoryBack(t *testing.T) {
	t.Parallel()
	const groups = 4
	for broken := range groups {
		src := &brokenSource{newMemory(groups, 2, 3, 4), broken}
		s, _ := startServer(t, src.memoryBook, func(c *Config) { c.Source = src })
		o, err := s.lease(t.Context(), &request{Op: opLease, Lease: "a", Groups: groups, TTL: 1000})
		if err != nil {
			t.Fatal(err)
		}
		b, err := s.open(t.Context(), o.Lease)
		if err != nil {
			t.Fatal(err)
		}
		if err := s.send(t.Context(), io.Discard, b, FormatArrow); err == nil || !strings.Contains(err.Error(), fmt.Sprintf("send group %d", broken)) {
			t.Errorf("group %d is broken: %v", broken, err)
		}
		if !s.memory.TryAcquire(s.cfg.Memory) {
			t.Errorf("group %d is broken: some of the memory is held for good", broken)
		}
	}
}

// TestAtLeastSoManyGroups: a request waits until there are enough, and gets the last ones when no more can come.
func TestAtLeastSoManyGroups(t *testing.T) {
	t.Parallel()
	m := newMemory(2, 1, 2, 3)
	m.open = true
	_, url := startServer(t, m, nil)
	c := dial(t, url)
	if a := call(t, c, `{"op":"lease","lease":"a","groups":3,"min_groups":4}`); a.Error == nil || !strings.Contains(a.Error.Message, "min_groups is 4") {
		t.Errorf("more than the most: %+v", a)
	}
	if a := call(t, c, `{"op":"lease","lease":"a","groups":3,"min_groups":3}`); !a.OK || a.Batch != nil || a.Drained {
		t.Errorf("too few: %+v", a)
	}
	m.add(testGroup(2, 1, 2, 3))
	a := call(t, c, `{"op":"lease","lease":"a","groups":3,"min_groups":3,"wait_ms":60000}`)
	if a.Batch == nil || len(a.Batch.Groups) != 3 {
		t.Fatalf("enough: %+v", a)
	}
	readBatch(t, c)
	m.add(testGroup(3, 1, 2, 3))
	m.mu.Lock()
	m.open = false
	m.mu.Unlock()
	a = call(t, c, `{"op":"lease","lease":"b","groups":3,"min_groups":3,"wait_ms":60000}`)
	if a.Batch == nil || len(a.Batch.Groups) != 1 {
		t.Fatalf("the last: %+v", a)
	}
	readBatch(t, c)
}

// TestStalenessIsCounted: of each group that was sent, between its oldest token and the newest version.
func TestStalenessIsCounted(t *testing.T) {
	t.Parallel()
	m := newMemory(4, 2, 2, 3) // the tokens of group g have version g
	m.groups[3][0].Tokens.Versions, m.groups[3][1].Tokens.Versions = nil, nil
	var mu sync.Mutex
	var unknown int
	_, url := startServer(t, m, func(c *Config) {
		c.OnSent = func(s Sent) {
			mu.Lock()
			defer mu.Unlock()
			if _, known := s.Staleness(); !known {
				unknown++
			}
		}
	})
	c := dial(t, url)
	if a := call(t, c, `{"op":"version","version":2}`); !a.OK {
		t.Fatalf("%+v", a)
	}
	if a := call(t, c, `{"op":"lease","lease":"a","groups":4}`); a.Batch == nil {
		t.Fatalf("%+v", a)
	}
	readBatch(t, c)
	a := call(t, c, `{"op":"status"}`)
	if diff := cmp.Diff(map[int]int64{2: 1, 1: 1, 0: 1}, a.Staleness); diff != "" {
		t.Error(diff)
	}
	mu.Lock()
	defer mu.Unlock()
	if unknown != 1 {
		t.Errorf("%d groups without versions", unknown)
	}
}

func TestLossWeightsAddUp(t *testing.T) {
	t.Parallel()
	for name, length := range map[string]int{"ppo": 0, "grpo": 0, "dapo": 0, "gspo": 0, "dr_grpo": 50} {
		p := passOf(t, name)
		p.LossLength = length
		groups := []harness.FeedGroup{{Index: 0, Rows: 6, Tokens: 6 * 7}, {Index: 1, Rows: 6, Tokens: 6 * 7}}
		h := NewHeader(harness.Lease{Groups: groups}, p, -1)
		sum := 0.0
		for g := range groups {
			rows, err := h.RowsOf(testGroup(g, 6, 2, 7))
			if err != nil {
				t.Fatal(err)
			}
			for i := range rows {
				sum += *rows[i].LossWeight * 7
			}
		}
		want := 1.0
		if length > 0 {
			want = 12 * 7.0 / 50
		}
		if sum < want-1e-9 || sum > want+1e-9 {
			t.Errorf("%s: all tokens of the batch weigh %v, want %v", name, sum, want)
		}
	}
	h := NewHeader(harness.Lease{}, passOf(t, "dr_grpo"), -1)
	if h.LossWeight(5) != nil {
		t.Error("a constant length was made up")
	}
	h.Hints = nil
	if h.LossWeight(5) != nil {
		t.Error("a loss was made up")
	}
}

func TestActionsAreMarkedWithoutATeacher(t *testing.T) {
	t.Parallel()
	st := testGroup(0, 1, 2, 4)[0]
	st.Scored, st.Action = nil, []bool{false, true, true, false}
	r := mustRow(t, st, testPass())
	if diff := cmp.Diff(Mask{0, 1, 1, 0}, r.ActionMask); diff != "" || r.ContextMask != nil {
		t.Errorf("%s, context %v", diff, r.ContextMask)
	}
	st.Action = st.Action[1:]
	if _, err := NewRow(&st, testPass()); err == nil || !strings.Contains(err.Error(), "action mask have 3 values") {
		t.Errorf("a mask of other tokens: %v", err)
	}
}

// TestGatherWritesEverythingInOrder compares with plain writes, for sizes around its bounds.
func TestGatherWritesEverythingInOrder(t *testing.T) {
	t.Parallel()
	var want, got bytes.Buffer
	g := &gather{w: &got, small: make([]byte, 0, gathered)}
	for i, n := range []int{0, 1, passedOn - 1, passedOn, 7, gathered, 3, passedOn - 1, passedOn - 1, passedOn - 1, passedOn - 1, passedOn - 1, 2} {
		p := bytes.Repeat([]byte{byte(i)}, n)
		want.Write(p)
		if m, err := g.Write(p); m != n || err != nil {
			t.Fatal(m, err)
		}
	}
	if err := g.Flush(); err != nil || !bytes.Equal(want.Bytes(), got.Bytes()) {
		t.Errorf("%d bytes, want %d, %v", got.Len(), want.Len(), err)
	}
	g.w = failingWriter{}
	if _, err := g.Write(make([]byte, passedOn)); err == nil {
		t.Error("an error was lost")
	}
}

type failingWriter struct{}

func (failingWriter) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }

// TestScratchIsUsedAgain: groups that are laid out one after the other in the same memory are those that fresh
// memory gives.
func TestScratchIsUsedAgain(t *testing.T) {
	t.Parallel()
	h := &Header{Pass: *testPass()}
	var one bytes.Buffer
	w, err := NewArrowWriter(&one, h)
	if err != nil {
		t.Fatal(err)
	}
	var want []Row
	for g, n := range []int{3, 9, 1, 6} {
		rows, err := h.RowsOf(testGroup(g, n, 5+g, 40*g))
		if err != nil {
			t.Fatal(err)
		}
		rows[0].ContextMask, rows[0].Weights, rows[0].Temperature = nil, nil, nil
		want = append(want, rows...)
		if err := w.Write(rows); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	_, got, err := ReadArrow(&one)
	if err != nil {
		t.Fatal(err)
	}
	for i := range want { // an empty list and its absence are told apart in Arrow by the validity bit
		a, b := fmt.Sprintf("%+v", asJSON(t, &want[i])), fmt.Sprintf("%+v", asJSON(t, &got[i]))
		if a != b {
			t.Errorf("row %d: %s\n%s", i, a, b)
		}
	}
}

func asJSON(t *testing.T, r *Row) string {
	t.Helper()
	raw, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// FuzzConversation sends several messages to a live server, one per line: each answer is a success or names an
// error, and however nonsensical the talk was, a well-behaved trainer gets every group that was not
// acknowledged.
func FuzzConversation(f *testing.F) {
	for _, seed := range []string{
		"lease {\"lease\":\"a\"}\nack {\"lease\":\"a\"}", "lease {\"lease\":\"a\",\"groups\":2,\"min_groups\":2,\"format\":\"json\"}\nreturn {\"lease\":\"a\"}\nextend {\"lease\":\"a\"}",
		"version {\"version\":3,\"weights\":\"w\"}\nversion {\"version\":1}\nack {\"lease\":\"\"}", "lease {\"lease\":\"a\",\"ttl_ms\":1}\nlease {\"lease\":\"b\"}\nack {\"lease\":\"a\"}", "status", "x y\n\xff",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, talk []byte) {
		m := newMemory(3, 1, 2, 2)
		_, url := startServer(t, m, nil)
		for i, line := range bytes.Split(talk, []byte("\n")) {
			if i == 20 {
				break
			}
			op, msg, _ := strings.Cut(string(line), " ")
			if !strings.Contains(" lease ack return extend version ", " "+op+" ") || strings.Contains(msg, "wait_ms") {
				op = "lease"
			}
			resp, err := http.Post(url+"/v1/"+op, "application/json", strings.NewReader(msg))
			if err != nil {
				t.Fatal(err)
			}
			raw, err := io.ReadAll(resp.Body)
			resp.Body.Close()
			if err != nil {
				t.Fatal(err)
			}
			var a answer
			if resp.StatusCode >= 400 && (json.Unmarshal(raw, &a) != nil || a.Error == nil || a.Error.Message == "" || a.Error.Code == codeInternal) {
				t.Errorf("%s %q: %d %s", op, msg, resp.StatusCode, raw)
			}
		}
		m.mu.Lock()
		acked := 0
		for _, l := range m.leases {
			switch l.State {
			case harness.LeaseAcked:
				acked += len(l.Groups)
			case harness.LeaseHeld:
				m.free(l, harness.LeaseReturned)
			}
		}
		m.mu.Unlock()
		resp := post(t, url, "lease", `{"lease":"well-behaved-0123456789","groups":3}`)
		got := 0
		if resp.StatusCode == http.StatusOK {
			h, _, err := ReadArrow(resp.Body)
			if err != nil {
				t.Fatal(err)
			}
			got = len(h.Groups)
		}
		if got+acked != 3 {
			t.Errorf("%d groups acknowledged, %d left, of 3", acked, got)
		}
	})
}

func passOf(t *testing.T, loss string) *Pass {
	t.Helper()
	hints, err := credit.HintsFor(loss)
	if err != nil {
		t.Fatal(err)
	}
	p := testPass()
	p.Hints = &hints
	return p
}
