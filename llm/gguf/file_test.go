package gguf

import (
	"bytes"
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hindsightrl/harness/internal/testutil"
)

// file builds GGUF files by hand.
type file struct{ bytes.Buffer }

func (f *file) put(values ...any) *file {
	for _, v := range values {
		if s, ok := v.(string); ok {
			f.put(uint64(len(s)))
			f.WriteString(s)
			continue
		}
		if err := binary.Write(&f.Buffer, binary.LittleEndian, v); err != nil {
			panic(err)
		}
	}
	return f
}

func begin(version uint32, tensors, entries uint64) *file {
	f := &file{}
	f.WriteString("GGUF")
	return f.put(version, tensors, entries)
}

// small is a complete file: one string, one alignment, one array of each sort, two tensors.
func small() []byte {
	f := begin(3, 2, 5)
	f.put("general.architecture", kindString, "llama")
	f.put("general.name", kindString, "tiny")
	f.put("general.alignment", kindU32, uint32(64))
	f.put("tokens", kindArray, kindString, uint64(2), "a", "b")
	f.put("scores", kindArray, kindF32, uint64(2), float32(1), float32(2))
	f.put("w", uint32(2), uint64(32), uint64(2), uint32(2), uint64(0)) // Q4_0: 2 blocks of 18 bytes
	f.put("b", uint32(1), uint64(4), uint32(0), uint64(64))            // F32: 16 bytes
	f.Write(make([]byte, (64-f.Len()%64)%64+64+16))
	return f.Bytes()
}

func TestHeaderOfACompleteFile(t *testing.T) {
	t.Parallel()
	b := small()
	h, err := readHeader(bytes.NewReader(b), int64(len(b)))
	want := Header{Version: 3, Tensors: 2, Architecture: "llama", Name: "tiny", Size: int64(len(b))}
	if err != nil || h != want {
		t.Fatalf("header = %+v, %v; want %+v", h, err, want)
	}
}

// A download that stops anywhere is noticed.
func TestEveryShorterFileIsBroken(t *testing.T) {
	t.Parallel()
	b := small()
	for n := range len(b) {
		if _, err := readHeader(bytes.NewReader(b[:n]), int64(n)); err == nil {
			t.Fatalf("the first %d of %d bytes pass for a complete file", n, len(b))
		}
	}
}

func TestBrokenHeaders(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name string
		file []byte
		want string
	}{
		{"empty", nil, "4 bytes wanted"},
		{"another format", []byte("PK\x03\x04...."), `begins with "PK`},
		{"old version", begin(1, 0, 0).Bytes(), "version 1"},
		{"big endian", begin(3<<24, 0, 0).Bytes(), "version"},
		{"too many tensors", begin(3, 1<<40, 0).Bytes(), "tensors"},
		{"too many entries", begin(3, 0, 1<<40).Bytes(), "metadata entries"},
		{"endless key", begin(3, 0, 1).put(uint64(1 << 60)).Bytes(), "name of"},
		{"unknown type", begin(3, 0, 1).put("k", uint32(99)).Bytes(), "unknown type 99"},
		{"array of arrays", begin(3, 0, 1).put("k", kindArray, kindArray, uint64(1)).Bytes(), "array of type 9"},
		{"endless array", begin(3, 0, 1).put("k", kindArray, kindU64, uint64(1<<62)).Bytes(), "array of"},
		{"alignment", begin(3, 0, 1).put("general.alignment", kindU32, uint32(3)).Bytes(), "alignment 3"},
		{"dimensions", begin(3, 1, 0).put("t", uint32(9)).Bytes(), "9 dimensions"},
		{"overflow", begin(3, 1, 0).put("t", uint32(2), uint64(1<<40), uint64(1<<40)).Bytes(), "2^48"},
		{"block", begin(3, 1, 0).put("t", uint32(1), uint64(33), uint32(2), uint64(0)).Bytes(), "multiple"},
		{"offset", begin(3, 1, 0).put("t", uint32(1), uint64(1), uint32(0), uint64(1<<40)).Bytes(), "beyond the file"},
		{"data cut short", begin(3, 1, 0).put("t", uint32(1), uint64(100), uint32(0), uint64(0)).Bytes(), "cut short"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "m.gguf")
			if err := os.WriteFile(path, tc.file, 0o600); err != nil {
				t.Fatal(err)
			}
			_, err := CheckFile(path)
			if !errors.Is(err, ErrBroken) || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("error %v; want one with %q that is ErrBroken", err, tc.want)
			}
		})
	}
}

func TestCheckFileOutsideItsReach(t *testing.T) {
	t.Parallel()
	if _, err := CheckFile(filepath.Join(t.TempDir(), "none")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("absent file: %v", err)
	}
	if _, err := CheckFile(t.TempDir()); !errors.Is(err, ErrBroken) {
		t.Errorf("folder: %v", err)
	}
}

func TestCheckFileOnARealModel(t *testing.T) {
	t.Parallel()
	h, err := CheckFile(testutil.Shared(t, "data/models/stories260K.gguf"))
	if err != nil || h.Architecture != "llama" || h.Tensors == 0 {
		t.Fatalf("header %+v, %v", h, err)
	}
}

func FuzzReadHeader(f *testing.F) {
	f.Add(small())
	f.Add(begin(3, 1, 1).Bytes())
	f.Add(begin(2, 0, 1).put("k", kindArray, kindString, uint64(3), "a").Bytes())
	f.Fuzz(func(t *testing.T, b []byte) {
		h, err := readHeader(bytes.NewReader(b), int64(len(b)))
		if err == nil && (h.Version < 2 || h.Version > 3 || h.Tensors > len(b)) {
			t.Errorf("accepted %+v from %d bytes", h, len(b))
		}
	})
}
