package gguf

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"math/bits"
	"os"
)

// ErrBroken marks a file that is no complete GGUF.
var ErrBroken = errors.New("not a complete GGUF file")

// Header is what the file check learns about a GGUF file.
type Header struct {
	Version      uint32
	Tensors      int
	Architecture string // general.architecture
	Name         string // general.name, "" where absent
	Size         int64  // bytes
}

// Limits on what a header may claim; real files stay far below.
const (
	maxEntries = 1 << 20
	maxKeyLen  = 1 << 16
	maxDims    = 4
)

// CheckFile reads a GGUF file's header and proves that everything it points to lies inside the file.
// The C library trusts these numbers more than a server can afford, so they are checked before it
// sees them. Errors wrap ErrBroken, or are those of the file system.
func CheckFile(path string) (Header, error) {
	f, err := os.Open(path)
	if err != nil {
		return Header{}, err
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return Header{}, err
	}
	if !st.Mode().IsRegular() {
		return Header{}, fmt.Errorf("%q is no regular file: %w", path, ErrBroken)
	}
	h, err := readHeader(f, st.Size())
	if err != nil {
		return Header{}, fmt.Errorf("check %q: %w: %w", path, ErrBroken, err)
	}
	return h, nil
}

// reader reads little-endian values and never past the file's size.
type reader struct {
	r    *bufio.Reader
	pos  int64
	size int64
}

func (r *reader) bytes(n uint64) ([]byte, error) {
	if n > uint64(r.size-r.pos) {
		return nil, fmt.Errorf("%d bytes wanted at %d, the file has %d", n, r.pos, r.size)
	}
	b := make([]byte, n)
	if _, err := io.ReadFull(r.r, b); err != nil {
		return nil, err
	}
	r.pos += int64(n)
	return b, nil
}

func (r *reader) skip(n uint64) error {
	if n > uint64(r.size-r.pos) {
		return fmt.Errorf("%d bytes wanted at %d, the file has %d", n, r.pos, r.size)
	}
	for left := int(n); left > 0; {
		k, err := r.r.Discard(min(left, math.MaxInt32))
		if err != nil {
			return err
		}
		left -= k
	}
	r.pos += int64(n)
	return nil
}

func (r *reader) u32() (uint32, error) {
	b, err := r.bytes(4)
	if err != nil {
		return 0, err
	}
	return binary.LittleEndian.Uint32(b), nil
}

func (r *reader) u64() (uint64, error) {
	b, err := r.bytes(8)
	if err != nil {
		return 0, err
	}
	return binary.LittleEndian.Uint64(b), nil
}

func (r *reader) count(what string) (int, error) {
	n, err := r.u64()
	if err == nil && n > maxEntries {
		err = fmt.Errorf("%d %s", n, what)
	}
	return int(n), err
}

func (r *reader) key() (string, error) {
	n, err := r.u64()
	if err != nil {
		return "", err
	}
	if n > maxKeyLen {
		return "", fmt.Errorf("name of %d bytes at %d", n, r.pos)
	}
	b, err := r.bytes(n)
	return string(b), err
}

func readHeader(f io.Reader, size int64) (Header, error) {
	r := &reader{r: bufio.NewReaderSize(f, 1<<16), size: size}
	h := Header{Size: size}
	magic, err := r.bytes(4)
	if err != nil {
		return h, err
	}
	if string(magic) != "GGUF" {
		return h, fmt.Errorf("it begins with %q", magic)
	}
	if h.Version, err = r.u32(); err != nil {
		return h, err
	}
	if h.Version != 2 && h.Version != 3 {
		return h, fmt.Errorf("version %d (2 and 3 can be read; big-endian files cannot)", h.Version)
	}
	if h.Tensors, err = r.count("tensors"); err != nil {
		return h, err
	}
	entries, err := r.count("metadata entries")
	if err != nil {
		return h, err
	}
	align := uint64(32)
	for range entries {
		key, v, err := readEntry(r)
		if err != nil {
			return h, fmt.Errorf("metadata %q: %w", key, err)
		}
		switch key {
		case "general.architecture":
			h.Architecture, _ = v.(string)
		case "general.name":
			h.Name, _ = v.(string)
		case "general.alignment":
			a, ok := v.(uint32)
			if !ok || bits.OnesCount32(a) != 1 || a > 1<<20 {
				return h, fmt.Errorf("alignment %v", v)
			}
			align = uint64(a)
		}
	}
	return h, checkTensors(r, h.Tensors, align)
}
