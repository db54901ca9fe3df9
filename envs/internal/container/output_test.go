package container

import (
	"bytes"
	"math/rand/v2"
	"strings"
	"testing"
	"unicode/utf8"
)

// However the writes are cut, head and tail are those of the whole, and nothing is lost count of.
func TestCappedKeepsHeadAndTail(t *testing.T) {
	t.Parallel()
	seed := rand.Uint64()
	rng := rand.New(rand.NewPCG(seed, 1))
	for range 5000 {
		text := strings.Repeat("aé€😀", rng.IntN(20))
		limit := 8 + rng.IntN(60)
		c := newCapped(limit)
		for rest := text; rest != ""; {
			n := min(1+rng.IntN(30), len(rest))
			if got, err := c.Write([]byte(rest[:n])); got != n || err != nil {
				t.Fatalf("seed %d: wrote %d, %v", seed, got, err)
			}
			rest = rest[n:]
		}
		head, tail, dropped := c.parts()
		if len(head)+len(tail)+int(dropped) != len(text) || !strings.HasPrefix(text, string(head)) || !strings.HasSuffix(text, string(tail)) {
			t.Fatalf("seed %d: limit %d: %q %q %d of %q", seed, limit, head, tail, dropped, text)
		}
		if !utf8.Valid(head) || !utf8.Valid(tail) {
			t.Fatalf("seed %d: half a character in %q or %q", seed, head, tail)
		}
		if len(text) <= 2*(limit/2) && (dropped != 0 || string(head) != text) {
			t.Fatalf("seed %d: %d bytes were cut by limit %d", seed, len(text), limit)
		}
	}
}

func TestCappedLeavesBrokenTextAlone(t *testing.T) {
	t.Parallel()
	c := newCapped(16)
	text := bytes.Repeat([]byte{0xff, 0x80}, 50)
	if _, err := c.Write(text); err != nil {
		t.Fatal(err)
	}
	head, tail, dropped := c.parts()
	if len(head)+len(tail)+int(dropped) != len(text) || len(head) != 8 || len(tail) < 5 {
		t.Errorf("%d, %d, %d", len(head), len(tail), dropped)
	}
}
