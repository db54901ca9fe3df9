package importer

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/hindsightrl/harness/internal/errext"
)

// The formats.
const (
	FormatVerifiers = "verifiers"
	FormatATIF      = "atif"
)

// maxRecord bounds a record's bytes: the ledger takes no larger artifacts either.
const maxRecord = 1 << 30

// errTooLong is what a record beyond the bound gives.
var errTooLong = fmt.Errorf("the record is longer than %d MiB", maxRecord>>20)

// Reader reads files of one format.
type Reader struct {
	format string
	opt    Options
	notes  Notes
}

// NewReader makes a reader.
func NewReader(format string, opt Options) (*Reader, error) {
	switch format {
	case FormatVerifiers, FormatATIF:
		return &Reader{format, opt, Notes{}}, nil
	}
	return nil, errext.WithHint(fmt.Errorf("no format %q", format), "there are verifiers and atif")
}

// Notes are what the reader did so far other than copying.
func (r *Reader) Notes() Notes { return r.notes }

// Read hands the episodes of a file to each, in their order; name is the file's, for errors. A record that
// cannot be read is a *BadRecordError: it goes to bad, which returns it to stop or nil to go on without it. An
// error of each stops as well.
func (r *Reader) Read(ctx context.Context, name string, in io.Reader, each func(*Episode) error, bad func(*BadRecordError) error) error {
	if r.format == FormatATIF {
		return r.readATIF(ctx, name, in, each, bad)
	}
	return readLines(ctx, name, in, func(line int, raw []byte) error {
		return r.verifiersLine(name, line, raw, each)
	}, bad)
}

// readLines hands the lines of a file to each; empty ones are passed over.
func readLines(ctx context.Context, name string, in io.Reader, each func(line int, raw []byte) error, bad func(*BadRecordError) error) error {
	b := bufio.NewReaderSize(in, 64<<10)
	for line := 1; ; line++ {
		if err := ctx.Err(); err != nil {
			return err
		}
		raw, err := readLine(b)
		end := errors.Is(err, io.EOF)
		if err != nil && !end {
			return fmt.Errorf("read %s: %w", name, err)
		}
		if raw = bytes.TrimSpace(raw); len(raw) > 0 {
			if err := refuse(each(line, raw), bad); err != nil {
				return err
			}
		}
		if end {
			return nil
		}
	}
}

// readLine reads a line within the bound; io.EOF comes with the last one.
func readLine(b *bufio.Reader) ([]byte, error) {
	var out []byte
	for {
		part, err := b.ReadSlice('\n')
		out = append(out, part...)
		switch {
		case len(out) > maxRecord:
			return nil, errTooLong
		case !errors.Is(err, bufio.ErrBufferFull):
			return out, err
		}
	}
}

// refuse gives a bad record to bad.
func refuse(err error, bad func(*BadRecordError) error) error {
	if b := (*BadRecordError)(nil); errors.As(err, &b) {
		return bad(b)
	}
	return err
}

// syntax is an error of JSON itself, in words that say what to do.
func syntax(err error) error {
	if s := (*json.SyntaxError)(nil); errors.As(err, &s) && s.Error() == "unexpected end of JSON input" || errors.Is(err, io.ErrUnexpectedEOF) {
		return errext.WithHint(errors.New("the JSON is cut off"), "whoever wrote the file was killed while writing: --skip-bad leaves such records out")
	}
	return fmt.Errorf("no JSON: %w", err)
}
