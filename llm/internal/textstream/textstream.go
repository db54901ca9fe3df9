// Package textstream turns a stream of token bytes into text that can be shown: it finds stop strings
// that lie across tokens and holds back what may still become one, or a multi-byte character.
package textstream

import (
	"bytes"
	"strings"
	"unicode/utf8"
)

// Text collects a response's bytes and releases the part that nothing later can change. The zero
// value has no stop strings.
type Text struct {
	stops   [][]byte
	keep    bool // the stop string stays in the text
	buf     []byte
	shown   int // bytes already released
	stopped int // bytes up to which text counts once a stop string was found; -1 = none found
	stop    string
}

// New returns a Text that ends at the first of the stop strings; empty ones are ignored. With
// keepStop the stop string itself stays in the text.
func New(stops []string, keepStop bool) *Text {
	t := &Text{keep: keepStop, stopped: -1}
	for _, s := range stops {
		if s != "" {
			t.stops = append(t.stops, []byte(s))
		}
	}
	return t
}

// Write adds one token's bytes and reports whether a stop string is complete. Bytes after that are
// ignored.
func (t *Text) Write(b []byte) bool {
	if t.Stopped() {
		return true
	}
	from := len(t.buf)
	t.buf = append(t.buf, b...)
	if len(t.stops) == 0 {
		return false
	}
	best := -1
	for _, s := range t.stops {
		start := max(from-len(s)+1, 0)
		i := bytes.Index(t.buf[start:], s)
		if i < 0 {
			continue
		}
		if i += start; best < 0 || i < best {
			best, t.stop = i, string(s)
		}
	}
	if best < 0 {
		return false
	}
	t.stopped = best
	if t.keep {
		t.stopped += len(t.stop)
	}
	return true
}

// Append adds bytes in which no stop string is looked for.
func (t *Text) Append(b []byte) { t.buf = append(t.buf, b...) }

// Stopped reports whether a stop string was found.
func (t *Text) Stopped() bool { return t.stop != "" }

// Stop is the stop string that was found, or "".
func (t *Text) Stop() string { return t.stop }

// Next releases the text that is certain by now: complete characters that are no beginning of a stop
// string.
func (t *Text) Next() string {
	end := len(t.buf)
	if t.Stopped() {
		end = t.stopped
	} else {
		end -= t.partialStop()
		end -= partialRune(t.buf[:end])
	}
	return t.release(end)
}

// Rest releases everything that is left at the end of a response; bytes that are no character become
// U+FFFD.
func (t *Text) Rest() string {
	end := len(t.buf)
	if t.Stopped() {
		end = t.stopped
	}
	return t.release(end)
}

// All is the whole text so far, up to the stop string.
func (t *Text) All() string {
	end := len(t.buf)
	if t.Stopped() {
		end = t.stopped
	}
	return valid(t.buf[:end])
}

// Len is the number of bytes written, a found stop string and what follows it included.
func (t *Text) Len() int { return len(t.buf) }

func (t *Text) release(end int) string {
	if end <= t.shown {
		return ""
	}
	s := valid(t.buf[t.shown:end])
	t.shown = end
	return s
}

// partialStop is the length of the longest end of the text that begins a stop string.
func (t *Text) partialStop() int {
	longest := 0
	for _, s := range t.stops {
		for n := min(len(s)-1, len(t.buf)); n > longest; n-- {
			if bytes.HasSuffix(t.buf, s[:n]) {
				longest = n
				break
			}
		}
	}
	return longest
}

// partialRune is the number of bytes at the end that begin a character without completing it.
func partialRune(b []byte) int {
	for n := 1; n <= min(utf8.UTFMax-1, len(b)); n++ {
		c := b[len(b)-n]
		if utf8.RuneStart(c) {
			if c >= utf8.RuneSelf && !utf8.FullRune(b[len(b)-n:]) {
				return n
			}
			return 0
		}
	}
	return 0
}

func valid(b []byte) string { return strings.ToValidUTF8(string(b), "\uFFFD") }
