package feed

import (
	"io"
	"sync"
	"unsafe"
)

// scratch is the memory that columns are laid out in. It is used again for the next group, because fresh
// memory costs more than everything else about a column: it has to be found, cleared and collected. The
// zero value and nil give fresh memory.
type scratch struct {
	mem  []byte
	used int
}

// align is Arrow's recommended alignment of buffers in memory.
const align = 64

// reset gives all memory back, and makes room for n bytes.
func (s *scratch) reset(n int) {
	if n > len(s.mem) {
		s.mem = make([]byte, n)
	}
	s.used = 0
}

// roomFor is what the columns of a group take at most.
func roomFor(rows []Row) int {
	const perRow = 512 // numbers, offsets and bits of all columns
	n := len(rows)*perRow + 4*len(columns)*align
	for i := range rows {
		r := &rows[i]
		n += len(r.PromptIDs)*bytesPerPrompt/2 + r.Tokens()*bytesPerToken/2 + len(r.Task) + len(r.Stop) + len(r.Finish)
	}
	return n
}

// room returns n values, not cleared.
func room[T fixed](s *scratch, n int) []T {
	var zero T
	size := n * int(unsafe.Sizeof(zero))
	if s == nil || size == 0 {
		return make([]T, n)
	}
	if s.used+size > len(s.mem) {
		return make([]T, n)
	}
	at := unsafe.Pointer(&s.mem[s.used])
	if uintptr(at)%unsafe.Alignof(zero) != 0 { // byte slices of this size are aligned to pages
		return make([]T, n)
	}
	s.used = min(len(s.mem), (s.used+size+align-1)&^(align-1))
	return unsafe.Slice((*T)(at), n)
}

// cleared is room for values that are not all written.
func cleared[T fixed](s *scratch, n int) []T {
	v := room[T](s, n)
	clear(v)
	return v
}

var scratches = sync.Pool{New: func() any { return new(scratch) }}

// gather joins small writes and passes large ones on as they are: Arrow writes each column's values in one
// piece, and dozens of words and paddings between them.
type gather struct {
	w     io.Writer
	small []byte
}

// Bounds of a gather.
const (
	gathered  = 64 << 10 // small writes that wait for one another
	passedOn  = 16 << 10 // what is at least so large is not copied
	wsBuffers = 64 << 10 // of a WebSocket; what is more than twice as large is not copied there either
)

func (g *gather) Write(p []byte) (int, error) {
	if len(p) < passedOn {
		if len(g.small)+len(p) > cap(g.small) {
			if err := g.Flush(); err != nil {
				return 0, err
			}
		}
		g.small = append(g.small, p...)
		return len(p), nil
	}
	if err := g.Flush(); err != nil {
		return 0, err
	}
	return g.w.Write(p)
}

// Flush writes what waits.
func (g *gather) Flush() error {
	if len(g.small) == 0 {
		return nil
	}
	_, err := g.w.Write(g.small)
	g.small = g.small[:0]
	return err
}

var gathers = sync.Pool{New: func() any { return &gather{small: make([]byte, 0, gathered)} }}

// ones is a mask of n tokens that the policy produced. It is shared and must not be written.
func ones(n int) Mask {
	onesMu.RLock()
	m := allOnes
	onesMu.RUnlock()
	if n <= len(m) {
		return m[:n:n]
	}
	onesMu.Lock()
	defer onesMu.Unlock()
	if n > len(allOnes) {
		more := make(Mask, n+n/2)
		for i := range more {
			more[i] = 1
		}
		allOnes = more
	}
	return allOnes[:n:n]
}

var (
	onesMu  sync.RWMutex
	allOnes Mask
)
