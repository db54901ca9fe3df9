package feed

import (
	"math"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// column is one field of the row in Arrow. Columns per token are lists; those that a row does not have
// are null.
type column struct {
	name  string
	typ   arrow.DataType
	build func(s *scratch, rows []Row) arrow.ArrayData // s may be nil
	read  func(a arrow.Array, rows []Row) error        // a is of the type and has a value, or none, for each row
}

var (
	ints  = arrow.ListOfNonNullable(arrow.PrimitiveTypes.Int32)
	reals = arrow.ListOfNonNullable(arrow.PrimitiveTypes.Float32)
	flags = arrow.ListOfNonNullable(arrow.PrimitiveTypes.Uint8)
	parts = arrow.StructOf(
		arrow.Field{Name: "step", Type: arrow.PrimitiveTypes.Float64}, arrow.Field{Name: "episode", Type: arrow.PrimitiveTypes.Float64},
		arrow.Field{Name: "score", Type: arrow.PrimitiveTypes.Float64}, arrow.Field{Name: "won", Type: arrow.PrimitiveTypes.Uint8},
		arrow.Field{Name: "valid", Type: arrow.PrimitiveTypes.Uint8},
	)
)

// columns are the fields in the order of the schema.
var columns = []column{
	scalarColumn("step_id", arrow.PrimitiveTypes.Int64, func(r *Row) *int64 { return &r.StepID }),
	scalarColumn("group", arrow.PrimitiveTypes.Int32, func(r *Row) *int32 { return &r.Group }),
	scalarColumn("episode", arrow.PrimitiveTypes.Int64, func(r *Row) *int64 { return &r.Episode }),
	scalarColumn("sample", arrow.PrimitiveTypes.Int32, func(r *Row) *int32 { return &r.Sample }),
	scalarColumn("step", arrow.PrimitiveTypes.Int32, func(r *Row) *int32 { return &r.Step }),
	scalarColumn("sequence_id", arrow.PrimitiveTypes.Int64, func(r *Row) *int64 { return &r.SequenceID }),
	textColumn("task", func(r *Row) *string { return &r.Task }),
	textColumn("stop", func(r *Row) *string { return &r.Stop }),
	textColumn("finish", func(r *Row) *string { return &r.Finish }),
	listColumn("prompt_ids", ints, func(r *Row) *[]int32 { return &r.PromptIDs }),
	listColumn("response_ids", ints, func(r *Row) *[]int32 { return &r.ResponseIDs }),
	listColumn("response_mask", flags, func(r *Row) *[]byte { return (*[]byte)(&r.ResponseMask) }),
	listColumn("action_mask", flags, func(r *Row) *[]byte { return (*[]byte)(&r.ActionMask) }),
	optionalFlag("context_mask", func(r *Row) **bool { return &r.ContextMask }),
	listColumn("versions", ints, func(r *Row) *[]int32 { return &r.Versions }),
	listColumn("logprobs", reals, func(r *Row) *[]float32 { return (*[]float32)(&r.Logprobs) }),
	listColumn("student_logprobs", reals, func(r *Row) *[]float32 { return (*[]float32)(&r.StudentLogprobs) }),
	listColumn("teacher_logprobs", reals, func(r *Row) *[]float32 { return (*[]float32)(&r.TeacherLogprobs) }),
	listColumn("entropies", reals, func(r *Row) *[]float32 { return (*[]float32)(&r.Entropies) }),
	optionalReal("temperature", func(r *Row) **float64 { return &r.Temperature }),
	optionalReal("base_advantage", func(r *Row) **float64 { return &r.BaseAdvantage }),
	optionalReal("factor", func(r *Row) **float64 { return &r.Factor }),
	listColumn("weights", reals, func(r *Row) *[]float32 { return (*[]float32)(&r.Weights) }),
	listColumn("advantages", reals, func(r *Row) *[]float32 { return (*[]float32)(&r.Advantages) }),
	optionalReal("loss_weight", func(r *Row) **float64 { return &r.LossWeight }),
	optionalID("parent", func(r *Row) **int64 { return &r.Parent }),
	scalarColumn("shared_tokens", arrow.PrimitiveTypes.Int32, func(r *Row) *int32 { return &r.SharedTokens }),
	listColumn("token_shares", reals, func(r *Row) *[]float32 { return (*[]float32)(&r.TokenShares) }),
	rewardColumn(),
	optionalReal("reward", func(r *Row) **float64 { return &r.Reward }),
	flagColumn("won", func(r *Row) *bool { return &r.Won }),
	scalarColumn("score", arrow.PrimitiveTypes.Float64, func(r *Row) *float64 { return &r.Score }),
}

// fixed is what an Arrow buffer holds as is.
type fixed interface {
	byte | int32 | int64 | float32 | float64
}

// buffer wraps values without copying them.
func buffer[T fixed](v []T) *memory.Buffer {
	return memory.NewBufferBytes(castBytes(v))
}

// bitmap is one bit per row that has a value, and the number of rows that have none; no buffer where
// all have one.
func bitmap(s *scratch, rows []Row, has func(*Row) bool) (*memory.Buffer, int) {
	bits, nulls := cleared[byte](s, (len(rows)+7)/8), 0
	for i := range rows {
		if has(&rows[i]) {
			bits[i/8] |= 1 << (i % 8)
		} else {
			nulls++
		}
	}
	if nulls == 0 {
		return nil, 0
	}
	return memory.NewBufferBytes(bits), nulls
}

func scalarColumn[T int32 | int64 | float64](name string, typ arrow.DataType, at func(*Row) *T) column {
	return column{
		name: name, typ: typ,
		build: func(s *scratch, rows []Row) arrow.ArrayData {
			v := room[T](s, len(rows))
			for i := range rows {
				v[i] = *at(&rows[i])
			}
			return array.NewData(typ, len(rows), []*memory.Buffer{nil, buffer(v)}, nil, 0, 0)
		},
		read: func(a arrow.Array, rows []Row) error {
			for i, v := range valuesOf[T](a) {
				*at(&rows[i]) = v
			}
			return nil
		},
	}
}

func textColumn(name string, at func(*Row) *string) column {
	return column{
		name: name, typ: arrow.BinaryTypes.String,
		build: func(s *scratch, rows []Row) arrow.ArrayData {
			total := 0
			for i := range rows {
				total += len(*at(&rows[i]))
			}
			text, offsets, end := room[byte](s, total), room[int32](s, len(rows)+1), 0
			offsets[0] = 0
			for i := range rows {
				end += copy(text[end:], *at(&rows[i]))
				offsets[i+1] = int32(end)
			}
			return array.NewData(arrow.BinaryTypes.String, len(rows), []*memory.Buffer{nil, buffer(offsets), buffer(text)}, nil, 0, 0)
		},
		read: func(a arrow.Array, rows []Row) error {
			s := a.(*array.String)
			if len(rows) == 0 {
				return nil
			}
			text := 0
			if b := s.Data().Buffers()[2]; b != nil {
				text = b.Len()
			}
			if err := checkOffsets(s.ValueOffsets(), len(rows), text); err != nil {
				return err
			}
			for i := range rows {
				*at(&rows[i]) = s.Value(i)
			}
			return nil
		},
	}
}

// listColumn copies the rows' slices into one buffer of values with offsets.
func listColumn[T byte | int32 | float32](name string, typ *arrow.ListType, at func(*Row) *[]T) column {
	return column{
		name: name, typ: typ,
		build: func(s *scratch, rows []Row) arrow.ArrayData {
			total := 0
			for i := range rows {
				total += len(*at(&rows[i]))
			}
			values, offsets, end := room[T](s, total), room[int32](s, len(rows)+1), 0
			offsets[0] = 0
			for i := range rows {
				end += copy(values[end:], *at(&rows[i]))
				offsets[i+1] = int32(end)
			}
			valid, nulls := bitmap(s, rows, func(r *Row) bool { return *at(r) != nil })
			child := array.NewData(typ.Elem(), total, []*memory.Buffer{nil, buffer(values)}, nil, 0, 0)
			return array.NewData(typ, len(rows), []*memory.Buffer{valid, buffer(offsets)}, []arrow.ArrayData{child}, nulls, 0)
		},
		read: func(a arrow.Array, rows []Row) error {
			l := a.(*array.List)
			all, offsets := valuesOf[T](l.ListValues()), l.Offsets()
			if len(rows) == 0 {
				return nil
			}
			if err := checkOffsets(offsets, len(rows), len(all)); err != nil {
				return err
			}
			for i := range rows {
				if l.IsNull(i) {
					continue
				}
				from, to := offsets[i], offsets[i+1]
				*at(&rows[i]) = all[from:to:to]
			}
			return nil
		},
	}
}

func optionalReal(name string, at func(*Row) **float64) column {
	return column{
		name: name, typ: arrow.PrimitiveTypes.Float64,
		build: func(s *scratch, rows []Row) arrow.ArrayData {
			v := room[float64](s, len(rows))
			for i := range rows {
				v[i] = math.NaN()
				if p := *at(&rows[i]); p != nil {
					v[i] = *p
				}
			}
			valid, nulls := bitmap(s, rows, func(r *Row) bool { return *at(r) != nil })
			return array.NewData(arrow.PrimitiveTypes.Float64, len(rows), []*memory.Buffer{valid, buffer(v)}, nil, nulls, 0)
		},
		read: func(a arrow.Array, rows []Row) error {
			for i, v := range valuesOf[float64](a) {
				if a.IsValid(i) {
					*at(&rows[i]) = &v
				}
			}
			return nil
		},
	}
}

func optionalID(name string, at func(*Row) **int64) column {
	return column{
		name: name, typ: arrow.PrimitiveTypes.Int64,
		build: func(s *scratch, rows []Row) arrow.ArrayData {
			v := make([]int64, len(rows))
			for i := range rows {
				if p := *at(&rows[i]); p != nil {
					v[i] = *p
				}
			}
			valid, nulls := bitmap(s, rows, func(r *Row) bool { return *at(r) != nil })
			return array.NewData(arrow.PrimitiveTypes.Int64, len(rows), []*memory.Buffer{valid, buffer(v)}, nil, nulls, 0)
		},
		read: func(a arrow.Array, rows []Row) error {
			for i, v := range valuesOf[int64](a) {
				if a.IsValid(i) {
					*at(&rows[i]) = &v
				}
			}
			return nil
		},
	}
}

func flagColumn(name string, at func(*Row) *bool) column {
	return column{
		name: name, typ: arrow.PrimitiveTypes.Uint8,
		build: func(s *scratch, rows []Row) arrow.ArrayData {
			v := room[byte](s, len(rows))
			for i := range rows {
				v[i] = flag(*at(&rows[i]))
			}
			return array.NewData(arrow.PrimitiveTypes.Uint8, len(rows), []*memory.Buffer{nil, buffer(v)}, nil, 0, 0)
		},
		read: func(a arrow.Array, rows []Row) error {
			for i, v := range valuesOf[byte](a) {
				*at(&rows[i]) = v == 1
			}
			return nil
		},
	}
}

func optionalFlag(name string, at func(*Row) **bool) column {
	return column{
		name: name, typ: arrow.PrimitiveTypes.Uint8,
		build: func(s *scratch, rows []Row) arrow.ArrayData {
			v := cleared[byte](s, len(rows))
			for i := range rows {
				if p := *at(&rows[i]); p != nil && *p {
					v[i] = 1
				}
			}
			valid, nulls := bitmap(s, rows, func(r *Row) bool { return *at(r) != nil })
			return array.NewData(arrow.PrimitiveTypes.Uint8, len(rows), []*memory.Buffer{valid, buffer(v)}, nil, nulls, 0)
		},
		read: func(a arrow.Array, rows []Row) error {
			for i, v := range valuesOf[byte](a) {
				if set := v == 1; a.IsValid(i) {
					*at(&rows[i]) = &set
				}
			}
			return nil
		},
	}
}
