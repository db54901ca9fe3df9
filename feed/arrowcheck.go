package feed

import (
	"errors"
	"fmt"

	flatbuffers "github.com/google/flatbuffers/go"
)

// Places in the tables of Arrow's Message.fbs and Schema.fbs, and the values that a feed's streams have
// there.
const (
	atHeaderType, atHeader, atBodyLength, atMessageMetadata = 6, 8, 10, 12     // Message
	atEndianness, atFields, atSchemaMetadata                = 4, 6, 8          // Schema
	atName, atType, atDictionary, atChildren, atFieldExtra  = 4, 8, 12, 14, 16 // Field
	atCompression                                           = 10               // RecordBatch
	atKey, atValue                                          = 4, 6             // KeyValue
	headerSchema, headerRecordBatch                         = 1, 3             // MessageHeader
	typeInt, typeFloat, typeText, typeList, typeStruct      = 2, 3, 5, 12, 13  // Type
	maxChildren, maxSchemaMetadata                          = 5, 16
)

// checkMessage looks at a message's metadata before arrow-go does, which takes memory for as many fields,
// children and keys as a vector claims, follows tables that contain one another's parts as often as they
// are named, and unpacks buffers to whatever size they claim. It returns the length of the body.
func checkMessage(meta []byte, first bool) (body int64, err error) {
	defer func() {
		if r := recover(); r != nil { // package flatbuffers indexes as it is told
			err = fmt.Errorf("metadata point outside of themselves: %v", r)
		}
	}()
	msg := flatbuffers.Table{Bytes: meta, Pos: flatbuffers.GetUOffsetT(meta)}
	kind, header, ok := union(&msg, atHeaderType, atHeader)
	if at := msg.Offset(atBodyLength); at != 0 {
		body = msg.GetInt64(msg.Pos + flatbuffers.UOffsetT(at))
	}
	switch {
	case !ok:
		return 0, errors.New("a message without a header")
	case length(&msg, atMessageMetadata) != 0:
		return 0, errors.New("a message has metadata of its own, which no feed writes")
	case body < 0 || body > maxGroup:
		return 0, fmt.Errorf("a body of %d bytes, want at most %d", body, int64(maxGroup))
	case first && kind == headerSchema && body == 0:
		c := check{left: len(meta)}
		return 0, c.schema(&header)
	case !first && kind == headerRecordBatch:
		if header.Offset(atCompression) != 0 {
			return 0, errors.New("a group is compressed: a feed's streams are not")
		}
		return body, nil
	}
	return 0, fmt.Errorf("a message of type %d and %d bytes, want the schema (%d) and then groups (%d)", kind, body, headerSchema, headerRecordBatch)
}

// check follows a schema's tables, whose texts together may be no longer than what came.
type check struct{ left int }

func (c *check) schema(s *flatbuffers.Table) error {
	if at := s.Offset(atEndianness); at != 0 && s.GetInt16(s.Pos+flatbuffers.UOffsetT(at)) != 0 {
		return errors.New("big-endian columns: a feed writes none")
	}
	if n := length(s, atSchemaMetadata); n > maxSchemaMetadata {
		return fmt.Errorf("%d keys beside the schema, more than %d", n, maxSchemaMetadata)
	}
	for i := range length(s, atSchemaMetadata) {
		kv := element(s, atSchemaMetadata, i)
		if err := errors.Join(c.text(&kv, atKey), c.text(&kv, atValue)); err != nil {
			return err
		}
	}
	if n := length(s, atFields); n != len(columns) {
		return fmt.Errorf("%d columns, want %d", n, len(columns))
	}
	for i := range columns {
		f := element(s, atFields, i)
		if err := c.field(&f, 1); err != nil {
			return fmt.Errorf("column %d: %w", i, err)
		}
	}
	return nil
}

// field checks a column, whose children have none.
func (c *check) field(f *flatbuffers.Table, deeper int) error {
	kind := byte(0)
	if at := f.Offset(atType); at != 0 {
		kind = f.GetByte(f.Pos + flatbuffers.UOffsetT(at))
	}
	children := length(f, atChildren)
	nested := kind == typeList || kind == typeStruct
	switch {
	case !nested && kind != typeInt && kind != typeFloat && kind != typeText:
		return fmt.Errorf("type %d, which no column has", kind)
	case nested && deeper == 0, !nested && children > 0, children > maxChildren:
		return fmt.Errorf("%d children of type %d, which no column has", children, kind)
	case f.Offset(atDictionary) != 0 || length(f, atFieldExtra) != 0:
		return errors.New("a dictionary or metadata, which no column has")
	}
	if err := c.text(f, atName); err != nil {
		return err
	}
	for i := range children {
		child := element(f, atChildren, i)
		if err := c.field(&child, deeper-1); err != nil {
			return err
		}
	}
	return nil
}

// text counts a text of a table.
func (c *check) text(t *flatbuffers.Table, at flatbuffers.VOffsetT) error {
	if o := t.Offset(at); o != 0 {
		c.left -= len(t.ByteVector(t.Pos + flatbuffers.UOffsetT(o)))
	}
	if c.left < 0 {
		return errors.New("texts that are longer than the message")
	}
	return nil
}

// union is the table that a table holds in one of several types.
func union(t *flatbuffers.Table, atKind, at flatbuffers.VOffsetT) (kind byte, value flatbuffers.Table, ok bool) {
	k, v := t.Offset(atKind), t.Offset(at)
	if k == 0 || v == 0 {
		return 0, value, false
	}
	t.Union(&value, flatbuffers.UOffsetT(v))
	return t.GetByte(t.Pos + flatbuffers.UOffsetT(k)), value, true
}

// length is the claimed length of a table's vector.
func length(t *flatbuffers.Table, at flatbuffers.VOffsetT) int {
	if o := t.Offset(at); o != 0 {
		return t.VectorLen(flatbuffers.UOffsetT(o))
	}
	return 0
}

// element is a table out of a table's vector of tables.
func element(t *flatbuffers.Table, at flatbuffers.VOffsetT, i int) flatbuffers.Table {
	const offset = 4 // bytes of an element, which says where the table is
	v := t.Vector(flatbuffers.UOffsetT(t.Offset(at))) + flatbuffers.UOffsetT(offset*i)
	return flatbuffers.Table{Bytes: t.Bytes, Pos: t.Indirect(v)}
}
