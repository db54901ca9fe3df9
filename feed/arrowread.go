package feed

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync/atomic"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// Bounds on what a stream may say about itself.
const (
	maxMetadata = 64 << 20 // bytes of the header, or of a group's layout
	maxGroup    = 4 << 30  // bytes of a group
	ahead       = 4 << 20  // bytes of memory that are taken before as many have come
)

// ReadArrow reads a stream that ArrowWriter wrote. The rows share the stream's buffers. Memory is taken as
// bytes come: what a stream merely claims to hold costs nothing.
func ReadArrow(r io.Reader) (h Header, rows []Row, err error) {
	m := &messages{r: r}
	m.refs.Add(1)
	rd, err := ipc.NewReaderFromMessageReader(m)
	if err != nil {
		return h, nil, fmt.Errorf("read Arrow stream: %w", err)
	}
	defer rd.Release()
	if err := checkSchema(rd.Schema()); err != nil {
		return h, nil, fmt.Errorf("read Arrow stream: %w", err)
	}
	md := rd.Schema().Metadata()
	at := md.FindKey(headerKey)
	if at < 0 {
		return h, nil, errors.New("read Arrow stream: its schema has no header")
	}
	if err := json.Unmarshal([]byte(md.Values()[at]), &h); err != nil {
		return h, nil, fmt.Errorf("read Arrow stream: header: %w", err)
	}
	var groups [][]Row
	for rd.Next() {
		rec := rd.RecordBatch()
		rec.Retain() // for good: the rows look into it
		group, err := readRecord(rec)
		if err != nil {
			return h, nil, fmt.Errorf("read Arrow stream: %w", err)
		}
		groups = append(groups, group)
	}
	if err := rd.Err(); err != nil && !errors.Is(err, io.EOF) {
		return h, nil, fmt.Errorf("read Arrow stream: %w", err)
	}
	if len(groups) == 1 {
		return h, groups[0], nil
	}
	return h, slices.Concat(groups...), nil
}

// checkSchema compares the fields of a stream with those that it must have.
func checkSchema(s *arrow.Schema) error {
	if s.NumFields() != len(columns) {
		return fmt.Errorf("%d columns, want %d", s.NumFields(), len(columns))
	}
	for i, c := range columns {
		switch f := s.Field(i); {
		case f.Name != c.name:
			return fmt.Errorf("column %d is %q, want %q", i, f.Name, c.name)
		case !arrow.TypeEqual(f.Type, c.typ):
			return fmt.Errorf("column %q is a %v, want %v", c.name, f.Type, c.typ)
		}
	}
	return nil
}

// readRecord reads a group of a stream whose schema was checked. arrow-go holds its buffers against the
// claimed lengths of plain columns only, and panics where it is asked for what they do not hold.
func readRecord(rec arrow.RecordBatch) (out []Row, err error) {
	defer func() {
		if r := recover(); r != nil {
			out, err = nil, fmt.Errorf("a column that does not hold what it claims: %v", r)
		}
	}()
	n := rec.NumRows()
	for i, c := range columns {
		a := rec.Column(i)
		if int64(a.Len()) != n {
			return nil, fmt.Errorf("column %q has %d values for %d rows", c.name, a.Len(), n)
		}
		if bits := a.NullBitmapBytes(); len(bits) > 0 && int64(len(bits)) < (n+7)/8 {
			return nil, fmt.Errorf("column %q says of %d of %d rows whether they have a value", c.name, 8*len(bits), n)
		}
	}
	out = make([]Row, n)
	for i, c := range columns {
		if err := c.read(rec.Column(i), out); err != nil {
			return nil, fmt.Errorf("column %q %w", c.name, err)
		}
	}
	return out, nil
}

// checkOffsets holds the n + 1 bounds of n lists or texts against the number of values that they divide.
func checkOffsets(offsets []int32, n, values int) error {
	if len(offsets) <= n {
		return fmt.Errorf("has %d offsets for %d rows", len(offsets), n)
	}
	last := int32(0)
	for i, o := range offsets[:n+1] {
		if o < last || int(o) > values {
			return fmt.Errorf("has offset %d of row %d after %d, among %d values", o, i, last, values)
		}
		last = o
	}
	return nil
}

// messages splits a stream into its messages. arrow-go's own splitter takes the memory that a message
// claims before a byte of it has come, and its parser that of every vector.
type messages struct {
	r    io.Reader
	refs atomic.Int64
	now  *ipc.Message
	past bool // the schema has been read
}

var _ ipc.MessageReader = (*messages)(nil)

func (m *messages) Retain() { m.refs.Add(1) }

func (m *messages) Release() {
	if m.refs.Add(-1) == 0 && m.now != nil {
		m.now.Release()
		m.now = nil
	}
}

// continuation begins every message of the format's present version.
const continuation = 0xFFFFFFFF

// Message reads the next message, which is valid until the one after it; io.EOF at the stream's end.
func (m *messages) Message() (*ipc.Message, error) {
	size, err := m.size()
	if err != nil {
		return nil, err
	}
	meta, err := arrived(m.r, size)
	if err != nil {
		return nil, fmt.Errorf("metadata of %d bytes: %w", size, err)
	}
	defer meta.Release()
	length, err := checkMessage(meta.Bytes(), !m.past)
	if err != nil {
		return nil, err
	}
	m.past = true
	body, err := arrived(m.r, length)
	if err != nil {
		return nil, fmt.Errorf("body of %d bytes: %w", length, err)
	}
	defer body.Release()
	if m.now != nil {
		m.now.Release()
	}
	m.now = ipc.NewMessage(meta, body)
	return m.now, nil
}

// size reads how long the metadata of the next message are.
func (m *messages) size() (int64, error) {
	var word [4]byte
	if _, err := io.ReadFull(m.r, word[:]); err != nil {
		return 0, whole(err) // a stream says where it ends: one that breaks off between two groups lacks some
	}
	if got := binary.LittleEndian.Uint32(word[:]); got != continuation {
		return 0, fmt.Errorf("a message begins with %08x, want %08x", got, uint32(continuation))
	}
	if _, err := io.ReadFull(m.r, word[:]); err != nil {
		return 0, whole(err)
	}
	n := int64(binary.LittleEndian.Uint32(word[:]))
	switch {
	case n == 0:
		return 0, io.EOF // how a stream says that it ends
	case n > maxMetadata:
		return 0, fmt.Errorf("metadata of %d bytes, more than %d", n, maxMetadata)
	}
	return n, nil
}

// arrived reads n bytes. The memory for them grows with what has come, to no more than twice as much.
func arrived(r io.Reader, n int64) (*memory.Buffer, error) {
	b := memory.NewResizableBuffer(memory.DefaultAllocator)
	for have := int64(0); have < n; {
		next := min(n, max(ahead, 2*have))
		b.Resize(int(next))
		if _, err := io.ReadFull(r, b.Bytes()[have:]); err != nil {
			b.Release()
			return nil, whole(err)
		}
		have = next
	}
	return b, nil
}

// whole is err of a read in the middle of something, where the stream may not end.
func whole(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}
