package feed

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/compress"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"
)

// Exporter writes the rows of a run, one group at a time, in order.
type Exporter interface {
	Write(group []Row) error
	// Close writes what is left and completes the file; it does not close what the exporter was given.
	Close() error
}

// NewJSONL writes one JSON object per row and line: the fields of Row, and the hash of the configuration
// as config_hash.
func NewJSONL(w io.Writer, h *Header) Exporter {
	b := bufio.NewWriterSize(w, 1<<20)
	return &lines{b: b, enc: json.NewEncoder(b), hash: h.ConfigHash}
}

type lines struct {
	b    *bufio.Writer
	enc  *json.Encoder
	hash string
}

func (l *lines) Write(group []Row) error {
	for i := range group {
		err := l.enc.Encode(struct {
			*Row
			ConfigHash string `json:"config_hash"`
		}{&group[i], l.hash})
		if err != nil {
			return fmt.Errorf("write row of step %d: %w", group[i].StepID, err)
		}
	}
	return nil
}

func (l *lines) Close() error { return l.b.Flush() }

// NewArrowFile writes an Arrow IPC file (Feather version 2) with zstd buffers, one record batch per group.
func NewArrowFile(w io.Writer, h *Header) (Exporter, error) {
	schema, err := Schema(h)
	if err != nil {
		return nil, err
	}
	f, err := ipc.NewFileWriter(w, ipc.WithSchema(schema), ipc.WithZstd())
	if err != nil {
		return nil, fmt.Errorf("begin Arrow file: %w", err)
	}
	return &records{schema, f}, nil
}

// NewParquet writes a Parquet file in zstd, one row group per group.
func NewParquet(w io.Writer, h *Header) (Exporter, error) {
	schema, err := Schema(h)
	if err != nil {
		return nil, err
	}
	props := parquet.NewWriterProperties(parquet.WithCompression(compress.Codecs.Zstd), parquet.WithDictionaryDefault(false))
	f, err := pqarrow.NewFileWriter(schema, w, props, pqarrow.NewArrowWriterProperties(pqarrow.WithStoreSchema()))
	if err != nil {
		return nil, fmt.Errorf("begin Parquet file: %w", err)
	}
	return &records{schema, f}, nil
}

// records writes record batches to either kind of file.
type records struct {
	schema *arrow.Schema
	w      interface {
		Write(rec arrow.RecordBatch) error
		Close() error
	}
}

func (r *records) Write(group []Row) error {
	rec, err := Record(r.schema, group)
	if err != nil {
		return err
	}
	return r.w.Write(rec)
}

func (r *records) Close() error { return r.w.Close() }

// ErrColumn says that a trainer's format needs a column that the rows do not have.
var ErrColumn = errors.New("the format needs a column that the run does not have")

// need reports the first column of a row that a format cannot do without.
func (r *Row) need(format string) error {
	name := ""
	switch {
	case r.PromptIDs == nil:
		name = "prompt_ids"
	case r.ResponseIDs == nil:
		name = "response_ids"
	case r.Logprobs == nil:
		name = "logprobs"
	case r.Advantages == nil:
		name = "advantages"
	default:
		return nil
	}
	return fmt.Errorf("%s: episode %d, step %d has no %s: %w", format, r.Episode, r.Step, name, ErrColumn)
}
