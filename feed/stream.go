package feed

import (
	"context"
	"encoding/json"
	"fmt"
	"io"

	"github.com/hindsightrl/harness"
)

// batch is a lease that is about to be sent.
type batch struct {
	lease  harness.Lease
	header *Header
}

// open describes a lease before its rows are read.
func (s *Server) open(ctx context.Context, l harness.Lease) (batch, error) {
	p, err := s.cfg.Source.Pass(ctx, l)
	if err != nil {
		return batch{}, err
	}
	v, err := s.cfg.Versions.Version(ctx)
	if err != nil {
		return batch{}, err
	}
	return batch{l, NewHeader(l, p, v)}, nil
}

// bytesPerToken is what a row takes in memory per response token: every column, twice (read and laid
// out), and per prompt token.
const (
	bytesPerToken  = 2 * (3*4 + 2*1 + 6*4)
	bytesPerPrompt = 2 * 4
)

// send writes a batch, one group at a time, so that what it keeps in memory is one group, under the
// bound that all connections share.
func (s *Server) send(ctx context.Context, w io.Writer, b batch, format string) error {
	out, err := newEncoder(w, b.header, format)
	if err != nil {
		return err
	}
	for _, g := range b.lease.Groups {
		if err := s.sendGroup(ctx, out, b, g); err != nil {
			return fmt.Errorf("send group %d: %w", g.Index, err)
		}
	}
	return out.Close()
}

func (s *Server) sendGroup(ctx context.Context, out encoder, b batch, g harness.FeedGroup) error {
	n := min(s.cfg.Memory, int64(g.Tokens)*bytesPerToken+int64(g.PromptTokens)*bytesPerPrompt)
	if err := s.memory.Acquire(ctx, n); err != nil {
		return err
	}
	defer s.memory.Release(n)
	part, err := rows(ctx, s.cfg.Source, b.lease, &b.header.Pass, g.Index)
	if err != nil {
		return err
	}
	return out.Write(part)
}

// encoder writes the groups of one batch.
type encoder interface {
	Write(rows []Row) error
	Close() error
}

func newEncoder(w io.Writer, h *Header, format string) (encoder, error) {
	if format == FormatArrow {
		return NewArrowWriter(w, h, false)
	}
	return newJSONWriter(w, h)
}

// jsonWriter writes {"batch": header, "rows": [row, …]}.
type jsonWriter struct {
	w     io.Writer
	comma bool
}

func newJSONWriter(w io.Writer, h *Header) (*jsonWriter, error) {
	raw, err := json.Marshal(h)
	if err != nil {
		return nil, err
	}
	_, err = fmt.Fprintf(w, `{"batch":%s,"rows":[`, raw)
	return &jsonWriter{w: w}, err
}

func (j *jsonWriter) Write(rows []Row) error {
	for i := range rows {
		raw, err := json.Marshal(&rows[i])
		if err != nil {
			return err
		}
		sep := "\n"
		if j.comma {
			sep = ",\n"
		}
		j.comma = true
		if _, err := io.WriteString(j.w, sep); err != nil {
			return err
		}
		if _, err := j.w.Write(raw); err != nil {
			return err
		}
	}
	return nil
}

func (j *jsonWriter) Close() error {
	_, err := io.WriteString(j.w, "]}\n")
	return err
}

// pieces writes in pieces of at most 1 MiB and sets a deadline before each, so that a client that stops
// reading is noticed and one that is merely slow is not.
type pieces struct {
	w        io.Writer
	deadline func() error
	sent     int64
}

const piece = 1 << 20

func (p *pieces) Write(b []byte) (n int, err error) {
	for len(b) > 0 {
		k := min(len(b), piece)
		if err := p.deadline(); err != nil {
			return n, err
		}
		m, err := p.w.Write(b[:k])
		n += m
		p.sent += int64(m)
		if err != nil {
			return n, err
		}
		b = b[k:]
	}
	return n, nil
}
