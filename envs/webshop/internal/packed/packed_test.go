package packed

import (
	"bytes"
	"errors"
	"math"
	"slices"
	"testing"
)

func write(t *testing.T) []byte {
	t.Helper()
	var b bytes.Buffer
	w := NewWriter(&b)
	Write(w, []byte("text"))
	Write(w, []uint32{})
	long := make([]uint16, 300_000)
	for i := range long {
		long[i] = uint16(i)
	}
	Write(w, long)
	Write(w, []float64{math.Inf(-1), 0.1})
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func read(b []byte) (text []byte, none []uint32, long []uint16, floats []float64, err error) {
	r := NewReader(bytes.NewReader(b), int64(len(b)))
	text, none, long, floats = Read[byte](r), Read[uint32](r), Read[uint16](r), Read[float64](r)
	return text, none, long, floats, r.Close()
}

func TestRoundTrip(t *testing.T) {
	t.Parallel()
	text, none, long, floats, err := read(write(t))
	if err != nil || string(text) != "text" || len(none) != 0 || len(long) != 300_000 || long[299_999] != 299_999&0xffff || !slices.Equal(floats, []float64{math.Inf(-1), 0.1}) {
		t.Errorf("%q, %v, %d numbers, %v: %v", text, none, len(long), floats, err)
	}
}

// Each byte that changes and each byte that is missing is found.
func TestDamage(t *testing.T) {
	t.Parallel()
	whole := write(t)
	for i := 0; i < len(whole); i += 1 + i/3 {
		b := slices.Clone(whole)
		b[i] ^= 0x40
		if _, _, _, _, err := read(b); !errors.Is(err, ErrDamaged) {
			t.Errorf("byte %d changed: %v", i, err)
		}
		if _, _, _, _, err := read(whole[:i]); !errors.Is(err, ErrDamaged) {
			t.Errorf("cut off at byte %d: %v", i, err)
		}
	}
	if _, _, _, _, err := read(append(slices.Clone(whole), 0)); !errors.Is(err, ErrDamaged) {
		t.Errorf("a byte too many: %v", err)
	}
}
