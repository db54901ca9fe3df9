// Package packed writes columns of numbers to a file and reads them back, with a checksum: what a cache
// of large tables is made of. All numbers are little-endian.
//
// A file is a sequence of columns, each its length as 8 bytes and then its values; the last four bytes
// are the CRC-32C of all before them.
package packed

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
)

// Number is what a column holds.
type Number interface {
	uint8 | uint16 | uint32 | uint64 | int32 | int64 | float32 | float64
}

// ErrDamaged marks a file that is cut off or was changed.
var ErrDamaged = errors.New("the file is damaged")

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// chunk is how many bytes are converted at a time.
const chunk = 256 << 10

// Writer writes columns. After the first error nothing more is written; Close returns it.
type Writer struct {
	w   *bufio.Writer
	sum uint32
	buf []byte
	err error
}

// NewWriter writes to w.
func NewWriter(w io.Writer) *Writer {
	return &Writer{w: bufio.NewWriterSize(w, 1<<20), buf: make([]byte, 0, chunk)}
}

func (w *Writer) write(b []byte) {
	if w.err == nil {
		w.sum = crc32.Update(w.sum, castagnoli, b)
		_, w.err = w.w.Write(b)
	}
}

// Write writes a column.
func Write[T Number](w *Writer, column []T) {
	w.write(binary.LittleEndian.AppendUint64(nil, uint64(len(column))))
	per := chunk / size[T]()
	for len(column) > 0 && w.err == nil {
		n := min(per, len(column))
		var b []byte
		if b, w.err = binary.Append(w.buf[:0], binary.LittleEndian, column[:n]); w.err == nil {
			w.write(b)
		}
		column = column[n:]
	}
}

// Close writes the checksum. It does not close what is written to.
func (w *Writer) Close() error {
	w.write(binary.LittleEndian.AppendUint32(nil, w.sum))
	if w.err != nil {
		return w.err
	}
	return w.w.Flush()
}

// Reader reads columns in the order in which they were written. After the first error all columns are
// empty; Close returns it.
type Reader struct {
	r    io.Reader
	left int64 // bytes before the checksum
	sum  uint32
	buf  []byte
	err  error
}

// NewReader reads a file of a size.
func NewReader(r io.Reader, bytes int64) *Reader {
	return &Reader{r: r, left: bytes - 4, buf: make([]byte, chunk)}
}

// read fills b.
func (r *Reader) read(b []byte) {
	if r.err != nil {
		return
	}
	if int64(len(b)) > r.left {
		r.err = fmt.Errorf("%w: it ends too early", ErrDamaged)
		return
	}
	r.left -= int64(len(b))
	if _, err := io.ReadFull(r.r, b); err != nil {
		r.err = fmt.Errorf("%w: %w", ErrDamaged, err)
		return
	}
	r.sum = crc32.Update(r.sum, castagnoli, b)
}

// Read reads a column.
func Read[T Number](r *Reader) []T {
	b := r.buf[:8]
	r.read(b)
	n, width := binary.LittleEndian.Uint64(b), uint64(size[T]())
	if r.err == nil && n > uint64(r.left)/width {
		r.err = fmt.Errorf("%w: a column of %d values where %d bytes are left", ErrDamaged, n, r.left)
	}
	if r.err != nil {
		return nil
	}
	column := make([]T, n)
	if bytes, ok := any(column).([]byte); ok {
		r.read(bytes)
		return column
	}
	for rest := column; len(rest) > 0 && r.err == nil; {
		k := min(chunk/int(width), len(rest))
		b := r.buf[:k*int(width)]
		if r.read(b); r.err == nil {
			_, r.err = binary.Decode(b, binary.LittleEndian, rest[:k])
		}
		rest = rest[k:]
	}
	return column
}

// Close checks that everything was read and is as it was written.
func (r *Reader) Close() error {
	if r.err != nil {
		return r.err
	}
	if r.left != 0 {
		return fmt.Errorf("%w: %d bytes are left over", ErrDamaged, r.left)
	}
	var b [4]byte
	if _, err := io.ReadFull(r.r, b[:]); err != nil {
		return fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	if got := binary.LittleEndian.Uint32(b[:]); got != r.sum {
		return fmt.Errorf("%w: its checksum is %08x and not %08x", ErrDamaged, r.sum, got)
	}
	return nil
}

// Err is the first error, or nil.
func (r *Reader) Err() error { return r.err }

func size[T Number]() int {
	var v T
	return binary.Size(v)
}
