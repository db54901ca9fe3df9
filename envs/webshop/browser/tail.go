package browser

import (
	"strings"
	"sync"
)

// keptOutput bounds what is kept of the browser's messages, in bytes.
const keptOutput = 4 << 10

// tail keeps the end of what is written.
type tail struct {
	mu  sync.Mutex
	buf []byte
}

// Write implements io.Writer.
func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.buf = append(t.buf, p...)
	if n := len(t.buf) - keptOutput; n > 0 {
		t.buf = append(t.buf[:0], t.buf[n:]...)
	}
	return len(p), nil
}

// lines are the last lines, n at most, in one line.
func (t *tail) lines(n int) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	all := strings.Split(strings.TrimSpace(string(t.buf)), "\n")
	return strings.Join(all[max(0, len(all)-n):], " | ")
}
