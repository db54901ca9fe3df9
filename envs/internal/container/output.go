package container

import "unicode/utf8"

// capped keeps the head and the tail of what is written to it, each up to half of the limit, and counts
// the rest. It never fails, so that a command that writes without end is read, and bounded.
type capped struct {
	half    int
	head    []byte
	tail    []byte // a ring once it is full
	next    int    // where the ring goes on
	dropped int64
}

func newCapped(limit int) *capped { return &capped{half: max(limit/2, utf8.UTFMax)} }

func (c *capped) Write(p []byte) (int, error) {
	n := len(p)
	if room := c.half - len(c.head); room > 0 {
		take := min(room, len(p))
		c.head = append(c.head, p[:take]...)
		p = p[take:]
	}
	if over := len(p) - c.half; over > 0 { // only its end can stay
		c.dropped += int64(over)
		p = p[over:]
	}
	for len(p) > 0 {
		if len(c.tail) < c.half {
			take := min(c.half-len(c.tail), len(p))
			c.tail = append(c.tail, p[:take]...)
			p = p[take:]
			continue
		}
		take := copy(c.tail[c.next:], p)
		c.dropped += int64(take)
		c.next = (c.next + take) % c.half
		p = p[take:]
	}
	return n, nil
}

// parts returns head and tail without the halves of characters at the cut, and the bytes between them.
// Without a cut, head is everything.
func (c *capped) parts() (head, tail []byte, dropped int64) {
	tail = append(c.tail[c.next:len(c.tail):len(c.tail)], c.tail[:c.next]...)
	if c.dropped == 0 {
		return append(c.head[:len(c.head):len(c.head)], tail...), nil, 0
	}
	head = c.head
	dropped = c.dropped
	for i := 1; i < utf8.UTFMax && i <= len(head); i++ {
		if b := head[len(head)-i]; utf8.RuneStart(b) {
			if b >= utf8.RuneSelf && !utf8.FullRune(head[len(head)-i:]) {
				head = head[:len(head)-i]
				dropped += int64(i)
			}
			break
		}
	}
	for i := 0; i < utf8.UTFMax-1 && len(tail) > 0 && !utf8.RuneStart(tail[0]); i++ {
		tail = tail[1:]
		dropped++
	}
	return head, tail, dropped
}
