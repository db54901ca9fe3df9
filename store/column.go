package store

import (
	"encoding/binary"
	"math"
	"math/bits"
	"sync"
	"unsafe"
)

// A column is a slice of 32-bit words, little-endian. Three forms beside raw, zstd and delta suit
// what such columns hold: one policy version for all tokens, and token ids that need 2 or 3 bytes.
//
//	narrow = width (1, 2 or 3) and the low width bytes of each word, whose upper bytes are zero
//	repeat = word uvarint(count)

// maxRepeat bounds what a damaged count can make the decoder allocate.
const maxRepeat = 1 << 22

// narrowColumn frames ids or versions: 32-bit words that are mostly small and not negative.
func narrowColumn(v []int32) []byte {
	if v == nil {
		return nil
	}
	top, same := uint32(0), len(v) >= 4 && len(v) <= maxRepeat
	for _, x := range v {
		top |= uint32(x)
		same = same && x == v[0]
	}
	if same {
		return binary.AppendUvarint(binary.LittleEndian.AppendUint32([]byte{codecRepeat}, uint32(v[0])), uint64(len(v)))
	}
	switch width := widthOf(top); width {
	case 4:
		return frame(words(v), nil)
	case 3: // the width of today's vocabularies, without the inner loop
		out := make([]byte, 2+3*len(v)+1)
		out[0], out[1] = codecNarrow, 3
		for i, x := range v { // the fourth byte is the next word's first
			binary.LittleEndian.PutUint32(out[2+3*i:], uint32(x))
		}
		return out[: 2+3*len(v) : 2+3*len(v)]
	default:
		out := make([]byte, 2, 2+width*len(v))
		out[0], out[1] = codecNarrow, byte(width)
		for _, x := range v {
			for i := range width {
				out = append(out, byte(uint32(x)>>(8*i)))
			}
		}
		return out
	}
}

// widthOf is the number of low bytes of a word that are in use.
func widthOf(top uint32) int {
	return max(1, (bits.Len32(top)+7)/8)
}

// floatColumn frames log-probabilities and entropies. The bits of sampled values are noise that zstd
// shortens by little and at a high price in time, so it is tried only where values repeat (greedy
// sampling, servers that round).
func floatColumn(v []float32) []byte {
	if v == nil {
		return nil
	}
	repeats := 0
	for i := 1; i < len(v); i++ {
		if v[i] == v[i-1] || v[i] == 0 {
			repeats++
		}
	}
	if 4*repeats >= len(v) {
		return frame(words(v), nil)
	}
	return appendWords(append(make([]byte, 0, 1+4*len(v)), codecRaw), v)
}

// promptColumn frames prompt ids, whose words are raw, against the ids that the step before left.
func promptColumn(v []int32, raw, base []byte) []byte {
	if len(base) >= deltaWindow && len(v) > 0 {
		top := uint32(0)
		for _, x := range v {
			top |= uint32(x)
		}
		d := frameBy(raw, base, 4)
		if (d[0] == codecDelta || d[0] == codecDeltaZstd) && len(d) < 2+widthOf(top)*len(v) {
			return d
		}
	}
	return narrowColumn(v)
}

// littleEndian reports whether words lie in memory as they do in the file.
var littleEndian = binary.NativeEndian.Uint16([]byte{1, 0}) == 1

// words returns v's bytes in little-endian order.
func words[T int32 | float32](v []T) []byte {
	return appendWords(make([]byte, 0, 4*len(v)), v)
}

func appendWords[T int32 | float32](out []byte, v []T) []byte {
	if len(v) == 0 {
		return out
	}
	if littleEndian {
		return append(out, bytesOf(v)...)
	}
	switch v := any(v).(type) {
	case []int32:
		for _, x := range v {
			out = binary.LittleEndian.AppendUint32(out, uint32(x))
		}
	case []float32:
		for _, x := range v {
			out = binary.LittleEndian.AppendUint32(out, math.Float32bits(x))
		}
	}
	return out
}

// column decodes a framed column to its words.
func column(blob, base []byte) ([]uint32, error) {
	if len(blob) == 0 {
		return nil, badBlob("no codec byte")
	}
	switch blob[0] {
	case codecNarrow:
		return widen(blob[1:])
	case codecRepeat:
		return repeat(blob[1:])
	case codecDelta, codecDeltaZstd: // what it gives is read here and not again
		room := rooms.Get().(*[]byte)
		defer rooms.Put(room)
		raw, err := undelta((*room)[:0], blob, base)
		if err != nil {
			return nil, err
		}
		*room = raw
		return wordsOf(raw)
	}
	raw, err := unframe(blob, base)
	if err != nil {
		return nil, err
	}
	return wordsOf(raw)
}

var rooms = sync.Pool{New: func() any { return new([]byte) }}

// wordsOf is the inverse of words.
func wordsOf(raw []byte) ([]uint32, error) {
	if len(raw)%4 != 0 {
		return nil, badBlob("column of %d bytes", len(raw))
	}
	out := make([]uint32, len(raw)/4)
	if littleEndian {
		copy(bytesOf(out), raw)
		return out, nil
	}
	for i := range out {
		out[i] = binary.LittleEndian.Uint32(raw[4*i:])
	}
	return out, nil
}

// bytesOf are words as they lie in memory.
func bytesOf[T int32 | uint32 | float32](w []T) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(w))), 4*len(w))
}

// valuesOf are words as what they are the bits of, in the same memory.
func valuesOf[T int32 | float32](w []uint32) []T {
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(w))), len(w))
}

func widen(b []byte) ([]uint32, error) {
	if len(b) == 0 || b[0] < 1 || b[0] > 3 || (len(b)-1)%int(b[0]) != 0 {
		return nil, badBlob("narrow column")
	}
	width, b := int(b[0]), b[1:]
	out := make([]uint32, len(b)/width)
	if width == 3 { // the width of today's vocabularies, without the inner loop
		for i := range out {
			at := b[3*i : 3*i+3 : 3*i+3]
			out[i] = uint32(at[0]) | uint32(at[1])<<8 | uint32(at[2])<<16
		}
		return out, nil
	}
	for i := range out {
		for k := range width {
			out[i] |= uint32(b[i*width+k]) << (8 * k)
		}
	}
	return out, nil
}

func repeat(b []byte) ([]uint32, error) {
	if len(b) < 5 {
		return nil, badBlob("repeated column")
	}
	n, rest, err := uvarint(b[4:])
	if err != nil || len(rest) != 0 || n > maxRepeat {
		return nil, badBlob("repeated column")
	}
	out := make([]uint32, n)
	for i := range out {
		out[i] = binary.LittleEndian.Uint32(b)
	}
	return out, nil
}

func int32s(v any, base []byte) ([]int32, error) {
	blob, ok, err := blobOf(v)
	if err != nil || !ok {
		return nil, err
	}
	w, err := column(blob, base)
	return valuesOf[int32](w), err
}

func float32s(v any) ([]float32, error) {
	blob, ok, err := blobOf(v)
	if err != nil || !ok {
		return nil, err
	}
	w, err := column(blob, nil)
	return valuesOf[float32](w), err
}

// takeFloat32s is float32s of a BLOB that nobody else reads: what is raw in it becomes the column where it
// lies, in memory that is used already.
func takeFloat32s(v any) ([]float32, error) {
	blob, ok := v.([]byte)
	if !ok || !littleEndian || len(blob) < 5 || blob[0] != codecRaw || len(blob)%4 != 1 || uintptr(unsafe.Pointer(unsafe.SliceData(blob)))%4 != 0 {
		return float32s(v)
	}
	copy(blob, blob[1:])
	return unsafe.Slice((*float32)(unsafe.Pointer(unsafe.SliceData(blob))), len(blob)/4), nil
}

// blobOf returns the bytes of a BLOB; ok is false for NULL.
func blobOf(v any) (b []byte, ok bool, err error) {
	switch v := v.(type) {
	case nil:
		return nil, false, nil
	case []byte:
		return v, true, nil
	}
	return nil, false, badBlob("blob is a %T", v)
}
