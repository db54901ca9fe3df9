package store

import (
	"errors"
	"fmt"
	"sync"

	"github.com/klauspost/compress/zstd"
)

// Codec bytes: the first byte of every framed blob says how the rest is to be read.
const (
	codecRaw       = 0 // the bytes themselves
	codecZstd      = 1 // one zstd frame
	codecDelta     = 2 // a delta against the column's base
	codecDeltaZstd = 3 // one zstd frame that holds such a delta
	codecNarrow    = 4 // 32-bit words without their upper bytes
	codecRepeat    = 5 // one 32-bit word, repeated
)

// maxBlob bounds what a damaged blob can make the decoder allocate, and so what a step may hold.
const maxBlob = 64 << 20

// zstdMin is the shortest input for which zstd is tried; below it the frame's own bytes and the time
// outweigh what is saved.
const zstdMin = 512

var errBlob = errors.New("blob does not decode")

func badBlob(format string, args ...any) error {
	return fmt.Errorf("%w: %s", errBlob, fmt.Sprintf(format, args...))
}

var zstdEncoder = sync.OnceValues(func() (*zstd.Encoder, error) {
	return zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderCRC(false), zstd.WithEncoderConcurrency(8))
})

var zstdDecoder = sync.OnceValues(func() (*zstd.Decoder, error) {
	return zstd.NewReader(nil, zstd.WithDecoderMaxMemory(maxBlob), zstd.WithDecoderConcurrency(0))
})

// squeeze returns src as one zstd frame after the codec byte, or nil where that saves less than a tenth.
func squeeze(codec byte, src []byte) []byte {
	if len(src) < zstdMin {
		return nil
	}
	enc, err := zstdEncoder()
	if err != nil { // the options above are constants; the plain form is always right
		return nil
	}
	out := enc.EncodeAll(src, append(make([]byte, 0, len(src)/2+64), codec))
	if len(out)-1 > len(src)-len(src)/10 {
		return nil
	}
	return out
}

func unsqueeze(src []byte) ([]byte, error) {
	dec, err := zstdDecoder()
	if err != nil {
		return nil, err
	}
	out, err := dec.DecodeAll(src, nil)
	if err != nil {
		return nil, badBlob("zstd: %v", err)
	}
	return out, nil
}

// frame encodes raw in the smallest form that is cheap to find: as a delta against base where one
// is given, through zstd where that pays.
func frame(raw, base []byte) []byte { return frameBy(raw, base, 1) }

// frameBy is frame for values that consist of units of so many bytes: a power of two up to deltaWindow.
func frameBy(raw, base []byte, unit int) []byte {
	if len(base) >= deltaWindow && len(raw) >= deltaWindow {
		d := appendDelta(append(make([]byte, 0, 256), codecDelta), base, raw, unit)
		if len(d) <= len(raw)-len(raw)/4 {
			if z := squeeze(codecDeltaZstd, d[1:]); z != nil {
				return z
			}
			return d
		}
	}
	if z := squeeze(codecZstd, raw); z != nil {
		return z
	}
	return append(append(make([]byte, 0, len(raw)+1), codecRaw), raw...)
}

// unframe is the inverse of frame.
func unframe(blob, base []byte) ([]byte, error) {
	if len(blob) == 0 {
		return nil, badBlob("no codec byte")
	}
	body := blob[1:]
	switch blob[0] {
	case codecRaw:
		return body, nil
	case codecZstd:
		return unsqueeze(body)
	case codecDelta, codecDeltaZstd:
		return undelta(nil, blob, base)
	}
	return nil, badBlob("codec %d is unknown here", blob[0])
}

// undelta unframes a delta, into the memory of out where that is enough.
func undelta(out, blob, base []byte) ([]byte, error) {
	d := blob[1:]
	if blob[0] == codecDeltaZstd {
		var err error
		if d, err = unsqueeze(d); err != nil {
			return nil, err
		}
	}
	return applyDelta(out, base, d)
}
