package feed

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"unsafe"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// headerKey is where a stream's schema holds its Header, as JSON.
const headerKey = "hindsight"

// castBytes views a slice as bytes. Arrow's buffers are little-endian, as is every machine that this
// runs on; ArrowWriter refuses the others.
func castBytes[T fixed](v []T) []byte {
	if len(v) == 0 {
		return []byte{}
	}
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(v))), len(v)*int(unsafe.Sizeof(v[0])))
}

// valuesOf views the values of a primitive array, null or not; nil where it is of another type.
func valuesOf[T fixed](a arrow.Array) []T {
	var v any
	switch a := a.(type) {
	case *array.Uint8:
		v = []byte(a.Uint8Values())
	case *array.Int32:
		v = a.Int32Values()
	case *array.Int64:
		v = a.Int64Values()
	case *array.Float32:
		v = a.Float32Values()
	case *array.Float64:
		v = a.Float64Values()
	}
	out, _ := v.([]T)
	return out
}

// rewardColumn is the struct of reward parts.
func rewardColumn() column {
	return column{
		name: "reward_parts", typ: parts,
		build: func(s *scratch, rows []Row) arrow.ArrayData {
			n := len(rows)
			reals := [3][]float64{room[float64](s, n), room[float64](s, n), room[float64](s, n)}
			bits := [2][]byte{room[byte](s, n), room[byte](s, n)}
			for i := range rows {
				p := &rows[i].RewardParts
				reals[0][i], reals[1][i], reals[2][i] = p.Step, p.Episode, p.Score
				bits[0][i], bits[1][i] = flag(p.Won), flag(p.Valid)
			}
			var children []arrow.ArrayData
			for _, v := range reals {
				children = append(children, array.NewData(arrow.PrimitiveTypes.Float64, n, []*memory.Buffer{nil, buffer(v)}, nil, 0, 0))
			}
			for _, v := range bits {
				children = append(children, array.NewData(arrow.PrimitiveTypes.Uint8, n, []*memory.Buffer{nil, buffer(v)}, nil, 0, 0))
			}
			return array.NewData(parts, n, []*memory.Buffer{nil}, children, 0, 0)
		},
		read: func(a arrow.Array, rows []Row) error {
			s, ok := a.(*array.Struct)
			if !ok || !arrow.TypeEqual(a.DataType(), parts) {
				return fmt.Errorf("is a %v, want %v", a.DataType(), parts)
			}
			step, episode, score := valuesOf[float64](s.Field(0)), valuesOf[float64](s.Field(1)), valuesOf[float64](s.Field(2))
			won, valid := valuesOf[byte](s.Field(3)), valuesOf[byte](s.Field(4))
			for i := range rows {
				rows[i].RewardParts = RewardParts{step[i], episode[i], score[i], won[i] == 1, valid[i] == 1}
			}
			return nil
		},
	}
}

func flag(b bool) byte {
	if b {
		return 1
	}
	return 0
}

// Schema is the Arrow schema of a batch. Its metadata holds h under "hindsight".
func Schema(h *Header) (*arrow.Schema, error) {
	raw, err := json.Marshal(h)
	if err != nil {
		return nil, fmt.Errorf("encode the header: %w", err)
	}
	fields := make([]arrow.Field, len(columns))
	for i, c := range columns {
		fields[i] = arrow.Field{Name: c.name, Type: c.typ, Nullable: true}
	}
	md := arrow.NewMetadata([]string{headerKey}, []string{string(raw)})
	return arrow.NewSchema(fields, &md), nil
}

// Record lays rows out as one Arrow record batch. A column of more than 2^31 values does not fit.
func Record(schema *arrow.Schema, rows []Row) (arrow.RecordBatch, error) {
	return record(schema, nil, rows)
}

// record is Record in memory that is valid until s is reset.
func record(schema *arrow.Schema, s *scratch, rows []Row) (arrow.RecordBatch, error) {
	prompt, response := 0, 0
	for i := range rows {
		prompt += len(rows[i].PromptIDs)
		response += len(rows[i].ResponseIDs)
	}
	if max(prompt, response) > math.MaxInt32 {
		return nil, fmt.Errorf("%d prompt and %d response tokens in one record batch: Arrow lists take %d", prompt, response, math.MaxInt32)
	}
	cols := make([]arrow.Array, len(columns))
	for i, c := range columns {
		cols[i] = array.MakeFromData(c.build(s, rows))
	}
	return array.NewRecordBatch(schema, cols, int64(len(rows))), nil
}

// ArrowWriter writes groups as record batches of one Arrow IPC stream.
type ArrowWriter struct {
	schema *arrow.Schema
	w      *ipc.Writer
}

// NewArrowWriter begins a stream; zstd compresses its buffers.
func NewArrowWriter(w io.Writer, h *Header, zstd bool) (*ArrowWriter, error) {
	if x := uint16(1); *(*byte)(unsafe.Pointer(&x)) != 1 {
		return nil, errors.New("write Arrow stream: only little-endian machines can")
	}
	schema, err := Schema(h)
	if err != nil {
		return nil, err
	}
	opts := []ipc.Option{ipc.WithSchema(schema)}
	if zstd {
		opts = append(opts, ipc.WithZstd())
	}
	return &ArrowWriter{schema, ipc.NewWriter(w, opts...)}, nil
}

// Write adds the rows of a group.
func (a *ArrowWriter) Write(rows []Row) error {
	s := scratches.Get().(*scratch)
	defer scratches.Put(s)
	s.reset()
	rec, err := record(a.schema, s, rows)
	if err != nil {
		return err
	}
	return a.w.Write(rec)
}

// Close ends the stream.
func (a *ArrowWriter) Close() error { return a.w.Close() }

// Bounds on what a stream may say about itself: the memory for it is taken before it is read.
const (
	maxMetadata = 64 << 20 // bytes of the header, or of a group's layout
	maxGroup    = 4 << 30  // bytes of a group
)

// ReadArrow reads a stream that ArrowWriter wrote. The rows share the stream's buffers.
func ReadArrow(r io.Reader) (h Header, rows []Row, err error) {
	rd, err := ipc.NewReader(r, ipc.WithMetadataSizeLimit(maxMetadata), ipc.WithBodySizeLimit(maxGroup))
	if err != nil {
		return h, nil, fmt.Errorf("read Arrow stream: %w", err)
	}
	defer rd.Release()
	md := rd.Schema().Metadata()
	at := md.FindKey(headerKey)
	if at < 0 {
		return h, nil, errors.New("read Arrow stream: its schema has no header")
	}
	if err := json.Unmarshal([]byte(md.Values()[at]), &h); err != nil {
		return h, nil, fmt.Errorf("read Arrow stream: header: %w", err)
	}
	for rd.Next() {
		rec := rd.RecordBatch()
		rec.Retain()
		part, err := readRecord(rec)
		if err != nil {
			return h, nil, fmt.Errorf("read Arrow stream: %w", err)
		}
		rows = append(rows, part...)
	}
	if err := rd.Err(); err != nil && !errors.Is(err, io.EOF) {
		return h, nil, fmt.Errorf("read Arrow stream: %w", err)
	}
	return h, rows, nil
}

func readRecord(rec arrow.RecordBatch) ([]Row, error) {
	out := make([]Row, rec.NumRows())
	if int(rec.NumCols()) != len(columns) {
		return nil, fmt.Errorf("%d columns, want %d", rec.NumCols(), len(columns))
	}
	for i, c := range columns {
		if name := rec.ColumnName(i); name != c.name {
			return nil, fmt.Errorf("column %d is %q, want %q", i, name, c.name)
		}
		if err := c.read(rec.Column(i), out); err != nil {
			return nil, fmt.Errorf("column %q %w", c.name, err)
		}
	}
	return out, nil
}
