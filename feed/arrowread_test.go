package feed

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	flatbuffers "github.com/google/flatbuffers/go"
)

// stream is a whole stream of sparse rows.
func stream(tb testing.TB) []byte {
	tb.Helper()
	var buf bytes.Buffer
	w, err := NewArrowWriter(&buf, &Header{Pass: *testPass()})
	if err != nil {
		tb.Fatal(err)
	}
	if err := w.Write(sparse(tb)); err != nil {
		tb.Fatal(err)
	}
	if err := w.Close(); err != nil {
		tb.Fatal(err)
	}
	return buf.Bytes()
}

// Places in RecordBatch that only these tests look at.
const atRows, atBuffers = 4, 8

// message is one of a stream's messages in place: what is written into its metadata is in the stream.
type message struct {
	table flatbuffers.Table // the Message
	body  []byte
}

func messagesOf(tb testing.TB, raw []byte) (out []message) {
	tb.Helper()
	for at := 0; ; {
		size := int(binary.LittleEndian.Uint32(raw[at+4:]))
		if at += 8; size == 0 {
			return out
		}
		meta := raw[at : at+size]
		n, err := checkMessage(meta, len(out) == 0)
		if err != nil {
			tb.Fatal(err)
		}
		at += size
		out = append(out, message{flatbuffers.Table{Bytes: meta, Pos: flatbuffers.GetUOffsetT(meta)}, raw[at : at+int(n)]})
		at += int(n)
	}
}

func (m *message) header() flatbuffers.Table {
	_, h, _ := union(&m.table, atHeaderType, atHeader)
	return h
}

// word is where a table has the value of a field, or the offset to it.
func word(t *flatbuffers.Table, at flatbuffers.VOffsetT) []byte {
	return t.Bytes[t.Pos+flatbuffers.UOffsetT(t.Offset(at)):]
}

// claim writes the length of a table's vector.
func claim(t *flatbuffers.Table, at flatbuffers.VOffsetT, n uint32) {
	v := t.Vector(flatbuffers.UOffsetT(t.Offset(at)))
	binary.LittleEndian.PutUint32(t.Bytes[v-4:], n)
}

// spoilt are streams that claim what they do not hold, and a part of the error that each is refused with.
func spoilt(tb testing.TB) map[string][]byte {
	tb.Helper()
	whole, out := stream(tb), map[string][]byte{}
	spoil := func(text string, how func(schema, group *message)) {
		raw := slices.Clone(whole)
		m := messagesOf(tb, raw)
		how(&m[0], &m[1])
		out[text] = raw
	}
	spoil("body of 4294967296 bytes: unexpected EOF", func(_, g *message) { binary.LittleEndian.PutUint64(word(&g.table, atBodyLength), 4<<30) })
	spoil("a body of 4294967297 bytes, want at most", func(_, g *message) { binary.LittleEndian.PutUint64(word(&g.table, atBodyLength), 4<<30+1) })
	spoil("a body of -8 bytes", func(_, g *message) { binary.LittleEndian.PutUint64(word(&g.table, atBodyLength), 1<<64-8) })
	spoil("4294967295 columns", func(s, _ *message) { h := s.header(); claim(&h, atFields, 1<<32-1) })
	spoil("4294967295 keys beside the schema", func(s, _ *message) { h := s.header(); claim(&h, atSchemaMetadata, 1<<32-1) })
	spoil("column 9: 2147483648 children of type 12", func(s, _ *message) {
		h := s.header()
		f := element(&h, atFields, 9)
		claim(&f, atChildren, 1<<31)
	})
	spoil("column 0: type 10,", func(s, _ *message) { h := s.header(); f := element(&h, atFields, 0); word(&f, atType)[0] = 10 })
	spoil("a message of type 3 and ", func(s, _ *message) { word(&s.table, atHeaderType)[0] = headerRecordBatch })
	spoil("point outside of themselves", func(s, _ *message) { binary.LittleEndian.PutUint32(word(&s.table, atHeader), 1<<30) })
	spoil("mismatch number of rows", func(_, g *message) { h := g.header(); binary.LittleEndian.PutUint64(word(&h, atRows), 1<<40) })
	spoil("has offset 1048576 of row 0 after 0", func(_, g *message) {
		const bounds = 6*2 + 1 // of task, after six columns of two buffers, and its bitmap
		h := g.header()
		v := h.Vector(flatbuffers.UOffsetT(h.Offset(atBuffers))) + bounds*16
		binary.LittleEndian.PutUint32(g.body[binary.LittleEndian.Uint64(h.Bytes[v:]):], 1<<20)
	})
	spoil("has offset 2147483647 of row 3", func(_, g *message) {
		const bounds = 6*2 + 3*3 + 1 // of prompt_ids, after six columns of two buffers, three texts, and its bitmap
		h := g.header()
		v := h.Vector(flatbuffers.UOffsetT(h.Offset(atBuffers))) + bounds*16
		binary.LittleEndian.PutUint32(g.body[binary.LittleEndian.Uint64(h.Bytes[v:])+3*4:], 1<<31-1)
	})
	out["metadata of 67108864 bytes: unexpected EOF"] = binary.LittleEndian.AppendUint32([]byte{255, 255, 255, 255}, maxMetadata)
	out["metadata of 2147483647 bytes, more than"] = binary.LittleEndian.AppendUint32([]byte{255, 255, 255, 255}, 1<<31-1)
	out["a message begins with 6415ac3d"] = []byte("=\xac\x15d\xbf43\x00")
	return out
}

// TestClaimsCostNothing reads streams that claim up to 4 GiB: they are refused, and what was allocated
// meanwhile is what a small stream may cost. It runs alone, since it looks at the memory of the whole process.
func TestClaimsCostNothing(t *testing.T) {
	for want, raw := range spoilt(t) {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, rows, err := ReadArrow(bytes.NewReader(raw))
		runtime.ReadMemStats(&after)
		if err == nil || !strings.Contains(err.Error(), want) || rows != nil {
			t.Errorf("%d rows and %v, want %q", len(rows), err, want)
		}
		if got := after.TotalAlloc - before.TotalAlloc; got > 4*ahead {
			t.Errorf("%s: %d bytes were allocated for %d that came", want, got, len(raw))
		}
	}
}

// TestMemoryFollowsWhatComes sends 16 MiB of a body that claims 4 GiB.
func TestMemoryFollowsWhatComes(t *testing.T) {
	raw := stream(t)
	m := messagesOf(t, raw)
	binary.LittleEndian.PutUint64(word(&m[1].table, atBodyLength), 4<<30)
	const come = 16 << 20
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, _, err := ReadArrow(io.MultiReader(bytes.NewReader(raw), io.LimitReader(zeros{}, come)))
	runtime.ReadMemStats(&after)
	if err == nil {
		t.Error("a body that broke off was read")
	}
	// Doubling to hold them takes twice as much in all, and room for as much again.
	if got := after.TotalAlloc - before.TotalAlloc; got > 5*come {
		t.Errorf("%d bytes were allocated for %d that came", got, come)
	}
}

// TestStreamsThatBreakOff between two messages are not taken for shorter ones.
func TestStreamsThatBreakOff(t *testing.T) {
	t.Parallel()
	raw := stream(t)
	m := messagesOf(t, raw)
	const end = 8 // bytes of the mark of the end
	first := 8 + len(m[0].table.Bytes)
	for _, n := range []int{0, first, len(raw) - end, len(raw) - 1} {
		if _, rows, err := ReadArrow(bytes.NewReader(raw[:n])); !errors.Is(err, io.ErrUnexpectedEOF) || rows != nil {
			t.Errorf("%d of %d bytes: %d rows, %v", n, len(raw), len(rows), err)
		}
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

func TestCompressedStreamsAreRefused(t *testing.T) {
	t.Parallel()
	schema, err := Schema(&Header{Pass: *testPass()})
	if err != nil {
		t.Fatal(err)
	}
	rec, err := Record(schema, sparse(t))
	if err != nil {
		t.Fatal(err)
	}
	var buf bytes.Buffer
	w := ipc.NewWriter(&buf, ipc.WithSchema(schema), ipc.WithZstd())
	if err := w.Write(rec); err != nil {
		t.Fatal(err)
	}
	if _, _, err := ReadArrow(&buf); err == nil || !strings.Contains(err.Error(), "compressed") {
		t.Errorf("got %v", err)
	}
}

func TestOtherColumnsAreRefused(t *testing.T) {
	t.Parallel()
	good, err := Schema(&Header{Pass: *testPass()})
	if err != nil {
		t.Fatal(err)
	}
	fewer := fmt.Sprintf("%d columns, want %d", len(columns)-1, len(columns))
	for want, change := range map[string]func(f []arrow.Field) []arrow.Field{
		fewer:                       func(f []arrow.Field) []arrow.Field { return f[1:] },
		`column 3 is "sampel"`:      func(f []arrow.Field) []arrow.Field { f[3].Name = "sampel"; return f },
		`column "group" is a int64`: func(f []arrow.Field) []arrow.Field { f[1].Type = arrow.PrimitiveTypes.Int64; return f },
		`column 0: type 8`:          func(f []arrow.Field) []arrow.Field { f[0].Type = arrow.FixedWidthTypes.Date64; return f },
		`column 0: 1 children`:      func(f []arrow.Field) []arrow.Field { f[0].Type = arrow.ListOf(ints); return f },
		`column 9: a dictionary or `: func(f []arrow.Field) []arrow.Field {
			f[9].Metadata = arrow.NewMetadata([]string{"k"}, []string{"v"})
			return f
		},
	} {
		var buf bytes.Buffer
		md := good.Metadata()
		w := ipc.NewWriter(&buf, ipc.WithSchema(arrow.NewSchema(change(good.Fields()), &md)))
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		if _, _, err := ReadArrow(&buf); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}

func FuzzReadArrow(f *testing.F) {
	good := stream(f)
	f.Add(good)
	f.Add([]byte{})
	for _, raw := range spoilt(f) {
		f.Add(raw)
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		_, rows, err := ReadArrow(bytes.NewReader(raw))
		if bytes.Equal(raw, good) && (err != nil || len(rows) != 8) {
			t.Errorf("%d rows, %v", len(rows), err)
		}
		if err != nil {
			return
		}
		// What was read can be written: every length and offset in it is true.
		w, err := NewArrowWriter(io.Discard, &Header{})
		if err == nil {
			err = w.Write(rows)
		}
		if err != nil {
			t.Error(err)
		}
	})
}

// TestSpoiltBytesAreRefused changes words and bytes of sound and of spoilt streams: what can still be read can
// be written, and the rest is an error, never a panic.
func TestSpoiltBytesAreRefused(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 1)) // FuzzReadArrow looks for what these do not find
	streams := [][]byte{stream(t), stream(t)}
	for _, raw := range spoilt(t) {
		streams = append(streams, raw)
	}
	telling := []uint64{0, 1, 4, 8, 64, 255, 1 << 16, 1<<31 - 1, 1 << 31, 1<<32 - 1, 1 << 62, 1 << 63, 1<<64 - 1}
	for range 1500 {
		raw := slices.Clone(streams[r.IntN(len(streams))])
		for range 1 + r.IntN(4) {
			at, v := r.IntN(len(raw)), telling[r.IntN(len(telling))]
			switch wide := at &^ 7; {
			case r.IntN(3) == 0:
				raw[at] ^= 1 << r.IntN(8)
			case wide+8 <= len(raw) && r.IntN(2) == 0:
				binary.LittleEndian.PutUint64(raw[wide:], v)
			case wide+8 <= len(raw):
				binary.LittleEndian.PutUint32(raw[wide+at&4:], uint32(v))
			}
		}
		_, rows, err := ReadArrow(bytes.NewReader(raw))
		if err != nil {
			continue
		}
		w, err := NewArrowWriter(io.Discard, &Header{})
		if err == nil {
			err = w.Write(rows)
		}
		if err != nil {
			t.Errorf("what was read cannot be written: %v", err)
		}
	}
}
