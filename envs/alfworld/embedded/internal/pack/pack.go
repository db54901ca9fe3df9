// Package pack turns generated games into the one compact file that the embedded panel is kept in, and
// back: a zip archive without compression of its own (so that it can be read in place as a file
// system), compressed as a whole by zstd (so that what the games share is stored once).
package pack

import (
	"archive/zip"
	"bytes"
	"fmt"
	"path"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/hindsightrl/harness/envs/alfworld/gen"
)

// Seed is the seed of the embedded panel.
const Seed = 20260

// Splits are the embedded splits and how many games each has: a multiple of six, so that the six tasks
// are equally frequent.
func Splits() []gen.Config {
	return []gen.Config{
		{Split: "train", Count: 24},
		{Split: "valid_seen", Count: 24},
		{Split: "valid_unseen", Count: 12},
	}
}

// epoch is the time that all files carry: a fixed one, the first that a zip archive can hold.
var epoch = time.Date(1980, 1, 1, 0, 0, 0, 0, time.UTC)

// Archive makes the panel's games and returns the uncompressed zip archive. Equal code gives equal
// bytes.
func Archive() ([]byte, error) {
	var buf bytes.Buffer
	zw := zip.NewWriter(&buf)
	for _, cfg := range Splits() {
		games, err := gen.Generate(Seed, cfg)
		if err != nil {
			return nil, err
		}
		for _, g := range games {
			if err := add(zw, g); err != nil {
				return nil, fmt.Errorf("pack game %q: %w", g.Path(), err)
			}
		}
	}
	if err := zw.Close(); err != nil {
		return nil, err
	}
	return buf.Bytes(), nil
}

// add writes a game's two files.
func add(zw *zip.Writer, g gen.Game) error {
	game, err := g.GameJSON()
	if err != nil {
		return err
	}
	traj, err := g.TrajJSON()
	if err != nil {
		return err
	}
	for _, f := range []struct {
		name    string
		content []byte
	}{{gen.GameFile, game}, {gen.TrajFile, traj}} {
		w, err := zw.CreateHeader(&zip.FileHeader{
			Name:     path.Join(gen.Root, g.Path(), f.name),
			Method:   zip.Store,
			Modified: epoch,
		})
		if err != nil {
			return err
		}
		if _, err := w.Write(f.content); err != nil {
			return err
		}
	}
	return nil
}

// window lets the compressor see the whole archive at once.
const window = 8 << 20

// maxArchive bounds what Decompress makes of a file.
const maxArchive = 64 << 20

// Compress shrinks an archive. Its bytes may change with the version of the compressor; what
// Decompress makes of them does not.
func Compress(archive []byte) ([]byte, error) {
	enc, err := zstd.NewWriter(nil,
		zstd.WithEncoderLevel(zstd.SpeedBestCompression),
		zstd.WithEncoderConcurrency(1),
		zstd.WithWindowSize(window))
	if err != nil {
		return nil, fmt.Errorf("compress panel: %w", err)
	}
	defer enc.Close()
	return enc.EncodeAll(archive, nil), nil
}

// Decompress undoes Compress.
func Decompress(file []byte) ([]byte, error) {
	dec, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(maxArchive))
	if err != nil {
		return nil, fmt.Errorf("decompress panel: %w", err)
	}
	defer dec.Close()
	archive, err := dec.DecodeAll(file, nil)
	if err != nil {
		return nil, fmt.Errorf("decompress panel: %w", err)
	}
	return archive, nil
}
