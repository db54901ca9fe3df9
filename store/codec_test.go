package store

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hindsightrl/harness"
)

// edited returns base with pieces cut out, moved and put in, as one prompt is made from another.
func edited(r *rand.Rand, base []byte) []byte {
	out := slices.Clone(base)
	for range r.IntN(6) {
		at := r.IntN(len(out) + 1)
		switch r.IntN(3) {
		case 0:
			out = slices.Insert(out, at, randomBytes(r, 60)...)
		case 1:
			out = slices.Delete(out, at, min(len(out), at+r.IntN(90)))
		case 2:
			from := r.IntN(len(base) + 1)
			out = slices.Insert(out, at, base[from:min(len(base), from+r.IntN(200))]...)
		}
	}
	return out
}

func randomBytes(r *rand.Rand, n int) []byte {
	b := make([]byte, r.IntN(n+1))
	for i := range b {
		b[i] = byte(r.Uint32()) >> (r.IntN(2) * 4)
	}
	return b
}

func TestFrameRoundTripsAgainstAnyBase(t *testing.T) {
	t.Parallel()
	seed := rand.Uint64()
	r := rand.New(rand.NewPCG(seed, 2))
	for i := range 2000 {
		base := randomBytes(r, 3000)
		raw := edited(r, base)
		if i%3 == 0 {
			raw = randomBytes(r, 2000)
		}
		got, err := unframe(frame(raw, base), base)
		if err != nil || !bytes.Equal(got, raw) {
			t.Fatalf("seed %d, round %d: %d bytes against %d: %v", seed, i, len(raw), len(base), err)
		}
		if n := len(frame(raw, base)); n > len(raw)+1 {
			t.Fatalf("seed %d, round %d: the frame of %d bytes has %d", seed, i, len(raw), n)
		}
	}
}

func TestFrameChoosesItsCodec(t *testing.T) {
	t.Parallel()
	long := []byte(strings.Repeat("go to cabinet 1, go to drawer 2, ", 40))
	noise := make([]byte, 4000)
	r := rand.New(rand.NewPCG(1, 1))
	for i := range noise {
		noise[i] = byte(r.Uint32())
	}
	text := bytes.Repeat([]byte("Your admissible actions are open drawer 1 and close drawer 2. "), 20)
	tests := []struct {
		name      string
		raw, base []byte
		want      byte
		most      int // bytes
	}{
		{"empty", nil, nil, codecRaw, 1},
		{"short", []byte("hello"), nil, codecRaw, 6},
		{"long text", long, nil, codecZstd, 100},
		{"noise", noise, nil, codecRaw, 4001},
		{"equal to its base", long, long, codecDelta, 12},
		{"one more at the end", append(slices.Clone(noise), "more"...), noise, codecDelta, 20},
		{"one changed in the middle", append(append(slices.Clone(noise[:2000]), '!'), noise[2001:]...), noise, codecDelta, 30},
		{"a long new part", append(slices.Clone(noise), text...), noise, codecDeltaZstd, 200},
		{"another text", text, noise, codecZstd, 200},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			f := frame(tt.raw, tt.base)
			if f[0] != tt.want || len(f) > tt.most {
				t.Errorf("codec %d with %d bytes, want codec %d with at most %d", f[0], len(f), tt.want, tt.most)
			}
		})
	}
}

func TestUnframeNamesWhatIsDamaged(t *testing.T) {
	t.Parallel()
	base := []byte("0123456789")
	tests := []struct {
		name string
		blob []byte
		want string
	}{
		{"empty", nil, "blob does not decode: no codec byte"},
		{"codec", []byte{99, 1}, "blob does not decode: codec 99 is unknown here"},
		{"zstd", []byte{codecZstd, 1, 2, 3}, "blob does not decode: zstd: "},
		{"delta and zstd", []byte{codecDeltaZstd, 1, 2, 3}, "blob does not decode: zstd: "},
		{"delta without length", []byte{codecDelta}, "blob does not decode: delta: length"},
		{"delta too long", []byte{codecDelta, 0xff, 0xff, 0xff, 0xff, 0x7f}, "blob does not decode: delta: length"},
		{"delta cut off", []byte{codecDelta, 3, 0x80}, "blob does not decode: delta: operation"},
		{"nothing to insert", []byte{codecDelta, 3, 0}, "blob does not decode: delta: 0 bytes beyond the length 3"},
		{"too much", []byte{codecDelta, 1, 2 << 1, 'a', 'b'}, "blob does not decode: delta: 2 bytes beyond the length 1"},
		{"insert cut off", []byte{codecDelta, 3, 3 << 1, 'a'}, "blob does not decode: delta: insert of 3 bytes, 1 left"},
		{"copy before the base", []byte{codecDelta, 3, 3<<1 | 1, 1}, "blob does not decode: delta: copy outside the base of 10 bytes"},
		{"copy behind the base", []byte{codecDelta, 3, 3<<1 | 1, 16}, "blob does not decode: delta: copy outside the base of 10 bytes"},
		{"copy without offset", []byte{codecDelta, 3, 3<<1 | 1}, "blob does not decode: delta: copy outside the base of 10 bytes"},
		{"too little", []byte{codecDelta, 3, 1 << 1, 'a'}, "blob does not decode: delta: 1 bytes, want 3"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, err := unframe(tt.blob, base)
			if !errors.Is(err, errBlob) || !strings.HasPrefix(err.Error(), tt.want) {
				t.Errorf("got %v, want %s", err, tt.want)
			}
		})
	}
}

func TestColumnsRoundTrip(t *testing.T) {
	t.Parallel()
	for _, v := range [][]int32{
		nil,
		{},
		{1},
		{7, 7, 7, 7, 7},
		{1, 2, 255},
		{256, 1},
		{70000, 3},
		{1 << 24, 3},
		{-1, 5},
		{-1, -1, -1, -1},
		{math.MaxInt32, math.MinInt32},
		slices.Repeat([]int32{1 << 30, 5}, 400),
	} {
		var blob any
		if b := narrowColumn(v); b != nil {
			blob = b
		}
		got, err := int32s(blob, nil)
		if d := cmp.Diff(v, got); err != nil || d != "" {
			t.Errorf("%v: %v\n%s", v, err, d)
		}
	}
	bits := func(x uint32) float32 { return math.Float32frombits(x) }
	for _, v := range [][]float32{
		nil, {}, {0}, {-1.5, float32(math.Inf(-1)), bits(0x7fc00001), bits(0x80000000)}, make([]float32, 500),
	} {
		var blob any
		if b := floatColumn(v); b != nil {
			blob = b
		}
		got, err := float32s(blob)
		same := slices.EqualFunc(v, got, func(a, b float32) bool { return math.Float32bits(a) == math.Float32bits(b) })
		if err != nil || !same || (v == nil) != (got == nil) {
			t.Errorf("%v came back as %v: %v", v, got, err)
		}
	}
}

// TestTakenColumnsAreThoseThatAreRead: what takes a column where it lies gives what decodes it, in every form
// and at every place in memory.
func TestTakenColumnsAreThoseThatAreRead(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(3, 3))
	forms := [][]byte{{codecRaw}, {codecRaw, 1}, {codecRaw, 1, 2, 3, 4}, {codecRaw, 1, 2, 3, 4, 5}, {codecRepeat, 0, 0, 128, 63, 3}, {}}
	for n := range 40 {
		v := make([]float32, n)
		for i := range v {
			v[i] = math.Float32frombits(r.Uint32())
		}
		forms = append(forms, floatColumn(v))
	}
	forms = append(forms, floatColumn(make([]float32, 900))) // through zstd
	same := func(a, b float32) bool { return math.Float32bits(a) == math.Float32bits(b) }
	for _, blob := range forms {
		want, wantErr := float32s(blob)
		for shift := range 8 {
			moved := append(make([]byte, shift, shift+len(blob)), blob...)[shift:]
			got, err := takeFloat32s(moved)
			if !slices.EqualFunc(want, got, same) || (want == nil) != (got == nil) || fmt.Sprint(err) != fmt.Sprint(wantErr) {
				t.Errorf("% x, shifted by %d: %v, %v; read it is %v, %v", blob, shift, got, err, want, wantErr)
			}
		}
	}
	for _, v := range []any{nil, "text", int64(1)} {
		want, wantErr := float32s(v)
		got, err := takeFloat32s(v)
		if got != nil || want != nil || fmt.Sprint(err) != fmt.Sprint(wantErr) {
			t.Errorf("%v: %v, %v; read it is %v, %v", v, got, err, want, wantErr)
		}
	}
}

func TestFlagsRoundTrip(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(4, 4))
	for n := range 40 {
		mask := make([]bool, n)
		for i := range mask {
			mask[i] = r.IntN(2) == 0
		}
		if got, err := unpackBits(packBits(mask), n); err != nil || !slices.Equal(got, mask) {
			t.Errorf("%v came back as %v: %v", mask, got, err)
		}
	}
	for _, n := range []int{8, 17} {
		if got, err := unpackBits(make([]byte, 2), n); !errors.Is(err, errBlob) {
			t.Errorf("two bytes for %d flags: %v, %v", n, got, err)
		}
	}
}

func TestColumnsAreCompact(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 1))
	ids := make([]int32, 1000)
	for i := range ids {
		ids[i] = r.Int32N(150_000)
	}
	longer := append(slices.Clone(ids), 1, 2, 3)
	tests := []struct {
		name string
		blob []byte
		most int
	}{
		{"one version", narrowColumn(slices.Repeat([]int32{12}, 1000)), 7},
		{"ids of a large vocabulary", narrowColumn(ids), 3002},
		{"a prompt that grew", promptColumn(longer, words(longer), words(ids)), 24},
		{"another prompt", promptColumn(ids, words(ids), words(make([]int32, 900))), 3002},
		{"greedy entropies", floatColumn(make([]float32, 1000)), 30},
	}
	for _, tt := range tests {
		if len(tt.blob) > tt.most {
			t.Errorf("%s: %d bytes, want at most %d", tt.name, len(tt.blob), tt.most)
		}
	}
}

func TestColumnNamesWhatIsDamaged(t *testing.T) {
	t.Parallel()
	tests := []struct {
		blob []byte
		want string
	}{
		{nil, "no codec byte"},
		{[]byte{codecRaw, 1, 2, 3}, "column of 3 bytes"},
		{[]byte{codecNarrow}, "narrow column"},
		{[]byte{codecNarrow, 4, 1, 2, 3, 4}, "narrow column"},
		{[]byte{codecNarrow, 2, 1}, "narrow column"},
		{[]byte{codecRepeat, 1, 2, 3, 4}, "repeated column"},
		{[]byte{codecRepeat, 1, 2, 3, 4, 0x80}, "repeated column"},
		{[]byte{codecRepeat, 1, 2, 3, 4, 1, 1}, "repeated column"},
		{[]byte{codecRepeat, 1, 2, 3, 4, 0xff, 0xff, 0xff, 0xff, 1}, "repeated column"},
	}
	for _, tt := range tests {
		if _, err := column(tt.blob, nil); !errors.Is(err, errBlob) || !strings.HasSuffix(err.Error(), tt.want) {
			t.Errorf("%v: got %v, want %s", tt.blob, err, tt.want)
		}
	}
}

func TestTextValuesRoundTrip(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("think ", 500)
	tests := []struct {
		s     string
		plain bool // a database shell can read it
	}{
		{"", true}, {"look", true}, {"naïve 日本", true}, {"a\x00b", false}, {"\xff\xfe", false}, {"\x00", false}, {long, false}, {strings.Repeat("x", 511), true},
	}
	for _, tt := range tests {
		v := textValue(tt.s)
		if _, plain := v.(string); plain != tt.plain {
			t.Errorf("%.20q is stored as a %T", tt.s, v)
		}
		if got, err := textOf(v); err != nil || got != tt.s {
			t.Errorf("%.20q came back as %.20q: %v", tt.s, got, err)
		}
	}
	if _, err := textOf(int64(1)); !errors.Is(err, errBlob) {
		t.Errorf("an integer: got %v", err)
	}
}

func TestSpansRoundTrip(t *testing.T) {
	t.Parallel()
	for _, spans := range [][]harness.Span{nil, {}, {{Start: 0, End: 0}}, {{Start: 1, End: 20}, {Start: 20, End: 31}}} {
		got, err := spansOf(spansText(spans))
		if d := cmp.Diff(spans, got); err != nil || d != "" {
			t.Errorf("%v: %v\n%s", spans, err, d)
		}
	}
	for _, bad := range []any{"", "null", "[[1]]", "[[1,2,3]]", "[[1,2]", `[["a",2]]`, int64(3)} {
		if _, err := spansOf(bad); !errors.Is(err, errBlob) {
			t.Errorf("%v: got %v", bad, err)
		}
	}
}

func FuzzUnframe(f *testing.F) {
	base := []byte(strings.Repeat("go to cabinet 1\n", 40))
	f.Add(base, frame(base, base))
	f.Add(base, frame(append([]byte("x"), base...), base))
	f.Add(base, frame(base, nil))
	f.Add([]byte{}, []byte{codecDelta, 3, 6, 'a', 'b', 'c'})
	f.Fuzz(func(t *testing.T, base, blob []byte) {
		raw, err := unframe(blob, base)
		if err != nil {
			if !errors.Is(err, errBlob) {
				t.Fatalf("untyped error %v", err)
			}
			return
		}
		again, err := unframe(frame(raw, base), base)
		if err != nil || !bytes.Equal(raw, again) {
			t.Fatalf("does not round-trip: %v", err)
		}
	})
}

func FuzzDelta(f *testing.F) {
	f.Add([]byte("the quick brown fox jumps"), []byte("the quick red fox jumps over"))
	f.Add([]byte{}, []byte("abc"))
	f.Add(bytes.Repeat([]byte{0}, 100), bytes.Repeat([]byte{0}, 300))
	f.Fuzz(func(t *testing.T, base, target []byte) {
		for _, unit := range []int{1, 4} {
			got, err := applyDelta(nil, base, appendDelta(nil, base, target, unit))
			if err != nil || !bytes.Equal(got, target) {
				t.Fatalf("does not round-trip by %d bytes: %v", unit, err)
			}
		}
	})
}

func FuzzColumn(f *testing.F) {
	f.Add(narrowColumn([]int32{1, 2, 3}))
	f.Add(narrowColumn([]int32{9, 9, 9, 9}))
	f.Add(floatColumn([]float32{1, 2}))
	f.Fuzz(func(t *testing.T, blob []byte) {
		v, err := int32s(blob, nil)
		if err != nil {
			if !errors.Is(err, errBlob) {
				t.Fatalf("untyped error %v", err)
			}
			return
		}
		if again, err := int32s(narrowColumn(v), nil); err != nil || !slices.Equal(v, again) {
			t.Fatalf("does not round-trip: %v", err)
		}
	})
}

func FuzzUnpack(f *testing.F) {
	f.Add(packMessages(nil, []harness.Message{{Role: "user", Content: "hi"}}))
	f.Add(packStrings(nil, []string{"look", ""}))
	f.Add([]byte{packNil})
	f.Fuzz(func(t *testing.T, b []byte) {
		if ms, err := unpackMessages(b); err == nil {
			if again, err := unpackMessages(packMessages(nil, ms)); err != nil || !cmp.Equal(ms, again) {
				t.Fatalf("messages do not round-trip: %v", err)
			}
		}
		if ss, err := unpackStrings(b); err == nil {
			if again, err := unpackStrings(packStrings(nil, ss)); err != nil || !cmp.Equal(ss, again) {
				t.Fatalf("strings do not round-trip: %v", err)
			}
		}
	})
}

func FuzzSpans(f *testing.F) {
	f.Add("[[1,2]]")
	f.Add("[]")
	f.Fuzz(func(t *testing.T, s string) {
		spans, err := spansOf(s)
		if err != nil {
			return
		}
		if again, err := spansOf(spansText(spans)); err != nil || !slices.Equal(spans, again) {
			t.Fatalf("do not round-trip: %v", err)
		}
	})
}

func BenchmarkEncodeStep(b *testing.B) {
	g := newGame(1, 0)
	var c carry
	first, second := g.step(), g.step()
	_, c = encodeStep(1, &first, &c)
	for b.Loop() {
		encodeStep(1, &second, &c)
	}
}
