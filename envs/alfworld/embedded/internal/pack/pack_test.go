package pack

import (
	"bytes"
	"math/rand/v2"
	"strings"
	"testing"
)

func TestCompressRoundTrip(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(1, 2))
	noise := make([]byte, 300_000)
	for i := range noise {
		noise[i] = byte(rng.Uint32())
	}
	for name, in := range map[string][]byte{"empty": {}, "noise": noise, "repetition": bytes.Repeat(noise[:1000], 500)} {
		file, err := Compress(in)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		out, err := Decompress(file)
		if err != nil || !bytes.Equal(in, out) {
			t.Errorf("%s: %d bytes became %d (%v)", name, len(in), len(out), err)
		}
		if name == "repetition" && len(file) > 10_000 {
			t.Errorf("500 repetitions of 1000 bytes take %d", len(file))
		}
	}
}

func TestDecompressRefusesDamage(t *testing.T) {
	t.Parallel()
	file, err := Compress([]byte(strings.Repeat("a household ", 1000)))
	if err != nil {
		t.Fatal(err)
	}
	for name, bad := range map[string][]byte{"cut": file[:len(file)/2], "text": []byte("no archive")} {
		if _, err := Decompress(bad); err == nil || !strings.HasPrefix(err.Error(), "decompress panel: ") {
			t.Errorf("%s: error %v", name, err)
		}
	}
}
