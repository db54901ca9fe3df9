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

// readAhead is how many groups of a batch are read while one is sent. They are read at the same time: taking
// a group out of the ledger costs more than sending it.
const readAhead = 2

// send writes a batch, one group at a time, and reads the next ones meanwhile: what it keeps in memory is
// 1 + readAhead groups at most, under the bound that all connections share.
func (s *Server) send(ctx context.Context, w io.Writer, b batch, format string) error {
	buf := gathers.Get().(*gather)
	buf.w, buf.small = w, buf.small[:0]
	defer func() {
		buf.w = nil
		gathers.Put(buf)
	}()
	out, err := newEncoder(buf, b.header, format)
	if err != nil {
		return err
	}
	var reading []*loading // in the order of the lease
	defer func() {
		for _, l := range reading { // of a batch that broke off
			<-l.done
			s.memory.Release(l.weight)
		}
	}()
	for next := 0; next < len(b.lease.Groups) || len(reading) > 0; {
		if len(reading) == 0 {
			n := s.weight(b.lease.Groups[next])
			if err := s.memory.Acquire(ctx, n); err != nil {
				return err
			}
			reading = append(reading, s.load(ctx, b, b.lease.Groups[next], n))
			next++
		}
		// Read ahead where there is room: a group that waits for room while it holds some could wait for
		// another that does the same.
		for ; next < len(b.lease.Groups) && len(reading) <= readAhead; next++ {
			n := s.weight(b.lease.Groups[next])
			if !s.memory.TryAcquire(n) {
				break
			}
			reading = append(reading, s.load(ctx, b, b.lease.Groups[next], n))
		}
		now := reading[0]
		reading = reading[1:]
		if err := s.sendGroup(now, b, out, buf); err != nil {
			return fmt.Errorf("send group %d: %w", now.group.Index, err)
		}
	}
	if err := out.Close(); err != nil {
		return err
	}
	return buf.Flush()
}

// sendGroup writes a group once it is read, and gives the room for it back.
func (s *Server) sendGroup(l *loading, b batch, out encoder, buf *gather) error {
	<-l.done
	defer s.memory.Release(l.weight)
	if l.err != nil {
		return l.err
	}
	rows := l.rows
	l.rows = nil // gone before the room for it is
	if err := out.Write(rows); err != nil {
		return err
	}
	if err := buf.Flush(); err != nil {
		return err
	}
	s.sent(sentGroup(b, l.group, rows))
	return nil
}

func (s *Server) sent(g Sent) {
	if n, known := g.Staleness(); known {
		s.stale.add(n)
	}
	if s.cfg.OnSent != nil {
		s.cfg.OnSent(g)
	}
}

func sentGroup(b batch, g harness.FeedGroup, rows []Row) Sent {
	out := Sent{Lease: b.lease, Group: g, Newest: b.header.PolicyVersion}
	for i := range rows {
		if v, ok := rows[i].Oldest(); ok && (!out.Versions || v < out.Oldest) {
			out.Oldest, out.Versions = v, true
		}
	}
	return out
}

// weight is what a group counts against the bound on memory.
func (s *Server) weight(g harness.FeedGroup) int64 {
	return min(s.cfg.Memory, int64(g.Tokens)*bytesPerToken+int64(g.PromptTokens)*bytesPerPrompt)
}

// loading is a group that is being read.
type loading struct {
	group  harness.FeedGroup
	done   chan struct{} // closed when rows or err is there
	rows   []Row
	err    error
	weight int64
}

func (s *Server) load(ctx context.Context, b batch, g harness.FeedGroup, weight int64) *loading {
	l := &loading{group: g, done: make(chan struct{}), weight: weight}
	go func() {
		defer close(l.done)
		l.rows, l.err = rows(ctx, s.cfg.Source, b.lease, b.header, g.Index)
	}()
	return l
}

// encoder writes the groups of one batch.
type encoder interface {
	Write(rows []Row) error
	Close() error
}

func newEncoder(w io.Writer, h *Header, format string) (encoder, error) {
	if format == FormatArrow {
		return NewArrowWriter(w, h)
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
