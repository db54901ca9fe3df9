package gguf

import (
	"fmt"
	"math/bits"
)

// Types of metadata values. Source: the GGUF specification (ggml docs/gguf.md).
const (
	kindU8 uint32 = iota
	kindI8
	kindU16
	kindI16
	kindU32
	kindI32
	kindF32
	kindBool
	kindString
	kindArray
	kindU64
	kindI64
	kindF64
)

var kindSize = map[uint32]uint64{
	kindU8: 1, kindI8: 1, kindBool: 1, kindU16: 2, kindI16: 2, kindU32: 4, kindI32: 4, kindF32: 4,
	kindU64: 8, kindI64: 8, kindF64: 8,
}

// readEntry reads one metadata entry; the value is given for strings and uint32, else nil.
func readEntry(r *reader) (key string, value any, err error) {
	if key, err = r.key(); err != nil {
		return key, nil, err
	}
	kind, err := r.u32()
	if err != nil {
		return key, nil, err
	}
	switch kind {
	case kindString:
		n, err := r.u64()
		if err != nil {
			return key, nil, err
		}
		if n > maxKeyLen { // a chat template or a merge table; nothing that the check looks at
			return key, nil, r.skip(n)
		}
		b, err := r.bytes(n)
		return key, string(b), err
	case kindU32:
		v, err := r.u32()
		return key, v, err
	case kindArray:
		return key, nil, skipArray(r)
	}
	size, ok := kindSize[kind]
	if !ok {
		return key, nil, fmt.Errorf("unknown type %d", kind)
	}
	return key, nil, r.skip(size)
}

func skipArray(r *reader) error {
	kind, err := r.u32()
	if err != nil {
		return err
	}
	n, err := r.u64()
	if err != nil {
		return err
	}
	if n > uint64(r.size) {
		return fmt.Errorf("array of %d values", n)
	}
	if size, ok := kindSize[kind]; ok {
		return r.skip(n * size)
	}
	if kind != kindString {
		return fmt.Errorf("array of type %d", kind)
	}
	for range n {
		l, err := r.u64()
		if err != nil {
			return err
		}
		if err := r.skip(l); err != nil {
			return err
		}
	}
	return nil
}

// blocks holds, per tensor type, the elements of a block and its bytes. Source: ggml.c type_traits.
var blocks = map[uint32][2]uint64{
	0: {1, 4}, 1: {1, 2}, 2: {32, 18}, 3: {32, 20}, 6: {32, 22}, 7: {32, 24}, 8: {32, 34}, 9: {32, 36},
	10: {256, 84}, 11: {256, 110}, 12: {256, 144}, 13: {256, 176}, 14: {256, 210}, 15: {256, 292},
	16: {256, 66}, 17: {256, 74}, 18: {256, 98}, 19: {256, 50}, 20: {32, 18}, 21: {256, 110},
	22: {256, 82}, 23: {256, 136}, 24: {1, 1}, 25: {1, 2}, 26: {1, 4}, 27: {1, 8}, 28: {1, 8},
	29: {256, 56}, 30: {1, 2}, 34: {256, 54}, 35: {256, 66}, 39: {32, 17},
}

// checkTensors reads the tensor table and proves that each tensor ends inside the file. A type that
// is newer than this table is checked by its offset alone.
func checkTensors(r *reader, n int, align uint64) error {
	var end uint64 // of the data section, from its start
	for range n {
		name, last, err := readTensor(r)
		if err != nil {
			return fmt.Errorf("tensor %q: %w", name, err)
		}
		end = max(end, last)
	}
	start := (uint64(r.pos) + align - 1) / align * align
	if n > 0 && (start > uint64(r.size) || end > uint64(r.size)-start) {
		return fmt.Errorf("tensor data ends at %d, the file at %d: it was cut short", start+end, r.size)
	}
	return nil
}

// readTensor returns where the tensor ends, counted from the start of the data section.
func readTensor(r *reader) (name string, end uint64, err error) {
	if name, err = r.key(); err != nil {
		return name, 0, err
	}
	dims, err := r.u32()
	if err != nil {
		return name, 0, err
	}
	if dims > maxDims {
		return name, 0, fmt.Errorf("%d dimensions", dims)
	}
	elements := uint64(1)
	for range dims {
		d, err := r.u64()
		if err != nil {
			return name, 0, err
		}
		hi, lo := bits.Mul64(elements, d)
		if hi != 0 || lo > 1<<48 {
			return name, 0, fmt.Errorf("more than 2^48 elements")
		}
		elements = lo
	}
	kind, err := r.u32()
	if err != nil {
		return name, 0, err
	}
	offset, err := r.u64()
	if err != nil {
		return name, 0, err
	}
	if offset > uint64(r.size) {
		return name, 0, fmt.Errorf("it begins at %d, beyond the file", offset)
	}
	if b, ok := blocks[kind]; ok {
		if elements%b[0] != 0 {
			return name, 0, fmt.Errorf("%d elements are no multiple of the block of %d", elements, b[0])
		}
		return name, offset + elements/b[0]*b[1], nil
	}
	return name, offset, nil
}
