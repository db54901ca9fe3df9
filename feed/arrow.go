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
			s := a.(*array.Struct)
			for i := range s.NumField() {
				if n := s.Field(i).Len(); n != len(rows) {
					return fmt.Errorf("has %d values of part %d for %d rows", n, i, len(rows))
				}
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
	room   *scratch // nil once it is closed
}

// NewArrowWriter begins a stream.
func NewArrowWriter(w io.Writer, h *Header) (*ArrowWriter, error) {
	if x := uint16(1); *(*byte)(unsafe.Pointer(&x)) != 1 {
		return nil, errors.New("write Arrow stream: only little-endian machines can")
	}
	schema, err := Schema(h)
	if err != nil {
		return nil, err
	}
	return &ArrowWriter{schema, ipc.NewWriter(w, ipc.WithSchema(schema)), scratches.Get().(*scratch)}, nil
}

// Write adds the rows of a group.
func (a *ArrowWriter) Write(rows []Row) error {
	if a.room == nil {
		return errors.New("write Arrow stream: it is closed")
	}
	a.room.reset(roomFor(rows))
	rec, err := record(a.schema, a.room, rows)
	if err != nil {
		return err
	}
	return a.w.Write(rec)
}

// Close ends the stream.
func (a *ArrowWriter) Close() error {
	if a.room != nil {
		scratches.Put(a.room)
		a.room = nil
	}
	return a.w.Close()
}
