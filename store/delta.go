package store

import (
	"encoding/binary"
	"math/bits"
	"slices"
	"sync"
)

// A delta rebuilds a target from a base, as git's packs do: consecutive prompts of an episode differ
// in a few lines, so most of a prompt is copied from the one before.
//
//	delta  = uvarint(length of target) op*
//	op     = uvarint(n<<1)   n bytes            insert n bytes (n > 0)
//	       | uvarint(n<<1|1) varint(skip)       copy n bytes (n > 0) of base, from skip bytes after
//	                                            the end of the previous copy (0 at first)
//
// The encoder is greedy: it finds matches that cover an aligned window of the base.

const (
	deltaWindow = 8 // bytes that must agree for a match to be looked at
	deltaStride = 4 // distance of indexed windows in the base
)

type deltaIndex struct {
	slots []uint32 // position + 1 in the base, by hash
	shift uint
}

var deltaIndexes = sync.Pool{New: func() any { return new(deltaIndex) }}

const hashFactor = 0x9e3779b97f4a7c15

func hash8(b []byte, shift uint) uint64 {
	return binary.LittleEndian.Uint64(b) * hashFactor >> shift
}

func (x *deltaIndex) build(base []byte) {
	size := bits.Len(uint(len(base) / deltaStride)) // about two slots for each window
	if size < 6 {
		size = 6
	}
	if n := 1 << size; cap(x.slots) < n {
		x.slots = make([]uint32, n)
	} else {
		x.slots = x.slots[:n]
		clear(x.slots)
	}
	x.shift = uint(64 - size)
	for i := 0; i+deltaWindow <= len(base); i += deltaStride {
		x.slots[hash8(base[i:], x.shift)] = uint32(i + 1)
	}
}

// appendDelta appends a delta that turns base into target. Only the first 4 GiB of base are used. Matches
// are looked for at multiples of unit, a power of two, in the target: words match as wholes.
func appendDelta(dst, base, target []byte, unit int) []byte {
	dst = binary.AppendUvarint(dst, uint64(len(target)))
	e := deltaEncoder{dst: dst, base: base, target: target}
	// Prompts of a chat grow at the end, so the common head is found without the index.
	if n := commonPrefix(base, target); n >= deltaWindow {
		e.copy(0, 0, n)
	}
	if len(target)-e.done >= deltaWindow {
		x := deltaIndexes.Get().(*deltaIndex)
		x.build(base)
		e.scan(x, unit)
		deltaIndexes.Put(x)
	}
	e.insert(len(target))
	return e.dst
}

type deltaEncoder struct {
	dst, base, target []byte
	done              int // bytes of target that dst covers
	last              int // end of the previous copy in base
}

func (e *deltaEncoder) scan(x *deltaIndex, unit int) {
	align := func(i int) int { return (i + unit - 1) &^ (unit - 1) }
	slots, shift := x.slots, x.shift
	for i := align(e.done); i+deltaWindow <= len(e.target); {
		window := binary.LittleEndian.Uint64(e.target[i:])
		p := int(slots[window*hashFactor>>shift]) - 1
		if p < 0 || binary.LittleEndian.Uint64(e.base[p:]) != window {
			i += unit
			continue
		}
		from, start := p, i
		for start > e.done && from > 0 && e.base[from-1] == e.target[start-1] {
			start--
			from--
		}
		n := i - start + commonPrefix(e.base[p:], e.target[i:])
		e.copy(from, start, n)
		i = align(e.done)
	}
}

func (e *deltaEncoder) copy(from, start, n int) {
	e.insert(start)
	e.dst = binary.AppendUvarint(e.dst, uint64(n)<<1|1)
	e.dst = binary.AppendVarint(e.dst, int64(from-e.last))
	e.last = from + n
	e.done = start + n
}

func (e *deltaEncoder) insert(end int) {
	if n := end - e.done; n > 0 {
		e.dst = binary.AppendUvarint(e.dst, uint64(n)<<1)
		e.dst = append(e.dst, e.target[e.done:end]...)
		e.done = end
	}
}

func commonPrefix(a, b []byte) int {
	n := min(len(a), len(b))
	i := 0
	for ; i+8 <= n; i += 8 {
		if d := binary.LittleEndian.Uint64(a[i:]) ^ binary.LittleEndian.Uint64(b[i:]); d != 0 {
			return i + bits.TrailingZeros64(d)/8
		}
	}
	for ; i < n && a[i] == b[i]; i++ {
	}
	return i
}

// applyDelta is the inverse of appendDelta. Its input may be anything; its output never exceeds maxBlob.
func applyDelta(out, base, delta []byte) ([]byte, error) {
	size, rest, err := uvarint(delta)
	if err != nil || size > maxBlob {
		return nil, badBlob("delta: length")
	}
	out = slices.Grow(out, min(int(size), len(base)+len(delta)))
	last := 0
	for len(rest) > 0 {
		var tag uint64
		if tag, rest, err = uvarint(rest); err != nil {
			return nil, badBlob("delta: operation")
		}
		n := tag >> 1
		if n == 0 || n > size-uint64(len(out)) {
			return nil, badBlob("delta: %d bytes beyond the length %d", n, size)
		}
		if tag&1 == 0 {
			if n > uint64(len(rest)) {
				return nil, badBlob("delta: insert of %d bytes, %d left", n, len(rest))
			}
			out, rest = append(out, rest[:n]...), rest[n:]
			continue
		}
		skip, w := binary.Varint(rest)
		from := int64(last) + skip
		if w <= 0 || from < 0 || from > int64(len(base)) || n > uint64(int64(len(base))-from) {
			return nil, badBlob("delta: copy outside the base of %d bytes", len(base))
		}
		rest = rest[w:]
		out = append(out, base[from:from+int64(n)]...)
		last = int(from) + int(n)
	}
	if uint64(len(out)) != size {
		return nil, badBlob("delta: %d bytes, want %d", len(out), size)
	}
	return out, nil
}

func uvarint(b []byte) (uint64, []byte, error) {
	v, n := binary.Uvarint(b)
	if n <= 0 {
		return 0, nil, errBlob
	}
	return v, b[n:], nil
}
