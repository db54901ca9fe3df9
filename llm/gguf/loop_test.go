package gguf

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/hindsightrl/harness/llm"
)

// fake is a backend whose next token is a function of the sequence, and which checks what the loop
// hands it. Token 0 ends a response.
type fake struct {
	mu      sync.Mutex
	cache   map[int32][]int32
	last    [][]float32
	passes  [][]row
	fail    error
	partial bool // whether a part of a sequence can be forgotten
	gate    chan struct{}
}

const fakeVocab = 50

func nextToken(seq []int32) int32 {
	h := uint32(17)
	for _, t := range seq {
		h = h*31 + uint32(t)
	}
	return int32(h%(fakeVocab-1)) + 1
}

func (f *fake) Decode(rows []row) error {
	if f.gate != nil {
		<-f.gate
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.passes = append(f.passes, slices.Clone(rows))
	if f.fail != nil {
		return f.fail
	}
	f.last = make([][]float32, len(rows))
	for i, r := range rows {
		if int(r.pos) != len(f.cache[r.seq]) {
			return fmt.Errorf("row at position %d of a cache of %d", r.pos, len(f.cache[r.seq]))
		}
		f.cache[r.seq] = append(f.cache[r.seq], r.token)
		logits := make([]float32, fakeVocab)
		logits[nextToken(f.cache[r.seq])] = 10
		f.last[i] = logits
	}
	return nil
}

func (f *fake) Logits(i int) []float32 { return f.last[i] }

func (f *fake) Forget(seq int32, from int) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if from > 0 && !f.partial {
		return false
	}
	f.cache[seq] = f.cache[seq][:min(from, len(f.cache[seq]))]
	return true
}

// rows counts the tokens that were decoded.
func (f *fake) rows() (n, widest int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, p := range f.passes {
		n, widest = n+len(p), max(widest, len(p))
	}
	return n, widest
}

// fakeModel is a Model on a fake backend.
func fakeModel(t *testing.T, f *fake, slots, batch int, alone bool) *Model {
	t.Helper()
	f.cache = map[int32][]int32{}
	v := &vocabulary{bos: -1, eos: 0, pieces: make([][]byte, fakeVocab), ends: make([]bool, fakeVocab), control: make([]bool, fakeVocab)}
	for i := range v.pieces {
		v.pieces[i] = []byte{byte('A' + i)}
	}
	v.ends[0] = true
	m := &Model{
		vocab: v, eng: &engine{}, loop: newLoop(f, slots, batch, 2, alone),
		info: llm.ModelInfo{VocabSize: fakeVocab, ContextLength: 64, BOS: -1, EOS: 0},
	}
	t.Cleanup(func() { m.Close() })
	return m
}

// expect is what greedy sampling must give.
func expect(prompt []int32, n int) (ids []int32) {
	seq := slices.Clone(prompt)
	for range n {
		id := nextToken(seq)
		seq, ids = append(seq, id), append(ids, id)
	}
	return ids
}

func collect(ctx context.Context, m *Model, prompt []int32, n int) (ids []int32, finish string, err error) {
	finish, err = m.Stream(ctx, llm.StreamRequest{Prompt: prompt, Sampling: llm.Sampling{MaxTokens: n}}, func(e llm.TokenEvent) error {
		ids = append(ids, e.ID)
		return nil
	})
	return ids, finish, err
}

// More requests than slots, prompts longer than a batch, in every mode: each gets its own answer.
func TestLoopServesManyAtOnce(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		slots, batch   int
		alone, partial bool
	}{{1, 4, false, true}, {3, 4, false, true}, {3, 64, false, false}, {4, 8, true, true}, {2, 1, false, false}} {
		t.Run(fmt.Sprintf("%+v", tc), func(t *testing.T) {
			t.Parallel()
			f := &fake{partial: tc.partial}
			m := fakeModel(t, f, tc.slots, tc.batch, tc.alone)
			var wg sync.WaitGroup
			for i := range 24 {
				wg.Go(func() {
					prompt := expect([]int32{int32(i%5 + 1)}, i%11+1)
					want := expect(prompt, 20)
					ids, finish, err := collect(t.Context(), m, prompt, 20)
					if err != nil || finish != "length" || !slices.Equal(ids, want) {
						t.Errorf("request %d: %v, %q, %v; want %v", i, ids, finish, err, want)
					}
					s, err := m.Score(t.Context(), llm.ScoreRequest{Prefix: prompt, Continuation: want, TopLogprobs: 1})
					if err != nil {
						t.Errorf("score %d: %v", i, err)
						return
					}
					for k := range want {
						if s.Ranks[k] != 1 || s.Top[k][0].ID != want[k] || s.Top[k][0].Logprob != s.Logprobs[k] {
							t.Errorf("score %d, token %d: rank %d, top %v", i, k, s.Ranks[k], s.Top[k])
						}
					}
				})
			}
			wg.Wait()
			_, widest := f.rows()
			if most := map[bool]int{true: 1, false: tc.batch}[tc.alone]; widest > most {
				t.Errorf("a pass had %d rows, the limit is %d", widest, most)
			}
		})
	}
}

func TestLoopPutsSequencesIntoOneBatch(t *testing.T) {
	t.Parallel()
	f := &fake{gate: make(chan struct{})}
	m := fakeModel(t, f, 4, 64, false)
	var wg sync.WaitGroup
	for i := range 4 {
		wg.Go(func() {
			if _, _, err := collect(t.Context(), m, []int32{int32(i + 1), 2, 3}, 5); err != nil {
				t.Error(err)
			}
		})
	}
	done := make(chan struct{})
	go func() {
		for {
			select {
			case f.gate <- struct{}{}:
			case <-done:
				return
			}
		}
	}()
	wg.Wait()
	close(done)
	total, widest := f.rows()
	if total != 4*(3+4) || widest < 2 {
		t.Errorf("%d rows, widest pass %d; want 28 rows and passes with several sequences", total, widest)
	}
}

func TestLoopReusesAPrefix(t *testing.T) {
	t.Parallel()
	prompt := []int32{1, 2, 3, 4, 5, 6}
	for _, tc := range []struct {
		partial bool
		want    int // rows of the second request
	}{{true, 2}, {false, 7}} {
		f := &fake{partial: tc.partial}
		m := fakeModel(t, f, 2, 64, false)
		if _, _, err := collect(t.Context(), m, prompt, 3); err != nil {
			t.Fatal(err)
		}
		before, _ := f.rows()
		ids, _, err := collect(t.Context(), m, append(slices.Clone(prompt), 9), 1)
		if want := expect(append(slices.Clone(prompt), 9), 1); err != nil || !slices.Equal(ids, want) {
			t.Fatalf("partial %v: %v, %v; want %v", tc.partial, ids, err, want)
		}
		after, _ := f.rows()
		if got := after - before; got > tc.want {
			t.Errorf("partial %v: the second request decoded %d rows, want at most %d", tc.partial, got, tc.want)
		}
		if want := map[bool]int64{true: 6, false: 0}[tc.partial]; m.CachedTokens() != want {
			t.Errorf("partial %v: %d prompt tokens lay in a cache, want %d", tc.partial, m.CachedTokens(), want)
		}
	}
}

func TestLoopEndsWhatIsCancelled(t *testing.T) {
	t.Parallel()
	f := &fake{}
	m := fakeModel(t, f, 1, 8, false)
	ctx, cancel := context.WithCancel(t.Context())
	started, waiting := make(chan struct{}), make(chan error, 1)
	go func() { // takes the only slot and does not read on
		_, err := m.Stream(ctx, llm.StreamRequest{Prompt: []int32{1}}, func(llm.TokenEvent) error {
			select {
			case <-started:
			default:
				close(started)
			}
			<-ctx.Done()
			return nil
		})
		waiting <- err
	}()
	<-started
	queued, cancelQueued := context.WithCancel(t.Context())
	cancelQueued()
	if _, err := m.Score(queued, llm.ScoreRequest{Prefix: []int32{1}, Continuation: []int32{2}}); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled while queued: %v", err)
	}
	cancel()
	if err := <-waiting; !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled while running: %v", err)
	}
	if _, _, err := collect(t.Context(), m, []int32{1}, 3); err != nil {
		t.Errorf("the slot did not come free: %v", err)
	}
}

// A reader that takes nothing holds up its own slot only.
func TestLoopGoesOnBesideASlowReader(t *testing.T) {
	t.Parallel()
	f := &fake{}
	m := fakeModel(t, f, 2, 8, false)
	release, done := make(chan struct{}), make(chan error, 1)
	go func() {
		_, err := m.Stream(t.Context(), llm.StreamRequest{Prompt: []int32{1}, Sampling: llm.Sampling{MaxTokens: 40}}, func(llm.TokenEvent) error {
			<-release
			return nil
		})
		done <- err
	}()
	if ids, _, err := collect(t.Context(), m, []int32{7}, 40); err != nil || len(ids) != 40 {
		t.Errorf("beside a slow reader: %d tokens, %v", len(ids), err)
	}
	close(release)
	if err := <-done; err != nil {
		t.Errorf("the slow reader: %v", err)
	}
}

func TestLoopErrors(t *testing.T) {
	t.Parallel()
	broken := errors.New("no memory")
	f := &fake{fail: broken}
	m := fakeModel(t, f, 2, 8, false)
	if _, _, err := collect(t.Context(), m, []int32{1}, 3); !errors.Is(err, broken) {
		t.Errorf("failed decode: %v", err)
	}
	if _, err := m.Score(t.Context(), llm.ScoreRequest{Prefix: []int32{1}, Continuation: []int32{2}}); !errors.Is(err, broken) {
		t.Errorf("failed decode in a score: %v", err)
	}
	f.mu.Lock()
	f.fail = nil
	f.mu.Unlock()
	if ids, _, err := collect(t.Context(), m, []int32{1}, 3); err != nil || !slices.Equal(ids, expect([]int32{1}, 3)) {
		t.Errorf("after a failure: %v, %v", ids, err)
	}
	if err := m.Close(); err != nil {
		t.Error(err)
	}
	if _, _, err := collect(t.Context(), m, []int32{1}, 3); !errors.Is(err, ErrClosed) {
		t.Errorf("after Close: %v", err)
	}
	if _, err := m.Tokenize("x", false); !errors.Is(err, ErrClosed) {
		t.Errorf("tokenize after Close: %v", err)
	}
}

func TestRequestsThatCannotBe(t *testing.T) {
	t.Parallel()
	m := fakeModel(t, &fake{}, 1, 8, false)
	long := make([]int32, 64)
	for name, tc := range map[string]struct {
		prefix, continuation []int32
		context              bool
	}{
		"no tokens":             {nil, []int32{1}, false},
		"negative id":           {[]int32{-1}, []int32{1}, false},
		"beyond the vocabulary": {[]int32{fakeVocab}, []int32{1}, false},
		"bad continuation":      {[]int32{1}, []int32{fakeVocab}, false},
		"too long":              {long, []int32{1}, true},
	} {
		_, err := m.Score(t.Context(), llm.ScoreRequest{Prefix: tc.prefix, Continuation: tc.continuation})
		if err == nil || errors.Is(err, llm.ErrContextLength) != tc.context {
			t.Errorf("score, %s: %v", name, err)
		}
	}
	if _, _, err := collect(t.Context(), m, long, 1); !errors.Is(err, llm.ErrContextLength) {
		t.Errorf("generate beyond the context: %v", err)
	}
	if ids, finish, err := collect(t.Context(), m, long[:60], 0); err != nil || len(ids) != 4 || finish != "length" {
		t.Errorf("up to the context's end: %d tokens, %q, %v", len(ids), finish, err)
	}
}

func TestStreamEnds(t *testing.T) {
	t.Parallel()
	m := fakeModel(t, &fake{}, 1, 8, false)
	ids := expect([]int32{3}, 10)
	stop := string([]byte{byte('A' + ids[2]), byte('A' + ids[3])})
	n := 0
	count := func(llm.TokenEvent) error { n++; return nil }
	finish, err := m.Stream(t.Context(), llm.StreamRequest{Prompt: []int32{3}, Sampling: llm.Sampling{MaxTokens: 10, Stop: []string{stop}}}, count)
	if err != nil || finish != "stop" || n != 4 {
		t.Errorf("stop string: %d tokens, %q, %v; want 4 and stop", n, finish, err)
	}
	n = 0
	end := func(_ []int32, logits []float32) { logits[0] = 99 }
	finish, err = m.StreamAdjusted(t.Context(), llm.StreamRequest{Prompt: []int32{3}}, end, count)
	if err != nil || finish != "stop" || n != 1 {
		t.Errorf("end of sequence: %d tokens, %q, %v; want it handed over and stop", n, finish, err)
	}
	enough := errors.New("enough")
	_, err = m.Stream(t.Context(), llm.StreamRequest{Prompt: []int32{3}}, func(llm.TokenEvent) error { return enough })
	if !errors.Is(err, enough) {
		t.Errorf("error of emit: %v", err)
	}
}
