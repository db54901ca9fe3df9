package container

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"

	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/pkg/stdcopy"
)

// Stream is a running command's standard input and output as a connection: how a program talks to
// another one in a container that has no network. Closing it ends the command's input; a command that
// does not end by that goes on until the container is removed. Reads and writes may go on side by side,
// one of each at a time.
type Stream struct {
	net.Conn // the daemon's; deadlines and addresses are its own

	in        io.Reader
	left      int // bytes of the current frame
	toErr     bool
	mu        sync.Mutex
	complaint *capped
}

var _ net.Conn = (*Stream)(nil)

// Stream starts a command and connects to it. Its stderr is kept apart, see Complaint; Command's bounds
// on time and output do not apply.
func (c *Container) Stream(ctx context.Context, cmd Command) (*Stream, error) {
	if len(cmd.Args) == 0 {
		return nil, errors.New("stream: no command")
	}
	quick, cancel := c.engine.quick(ctx)
	defer cancel()
	created, err := c.engine.api.ContainerExecCreate(quick, c.id, container.ExecOptions{
		Cmd: cmd.Args, Env: cmd.Env, WorkingDir: cmd.Dir, AttachStdin: true, AttachStdout: true, AttachStderr: true,
	})
	if err != nil {
		return nil, c.failure(ctx, "create command", err)
	}
	// The daemon starts the command before it answers, and ends the connection with the call's context
	// only until then.
	conn, err := c.engine.api.ContainerExecAttach(quick, created.ID, container.ExecAttachOptions{})
	if err != nil {
		return nil, c.failure(ctx, "start command", err)
	}
	return &Stream{Conn: conn.Conn, in: conn.Reader, complaint: newCapped(maxComplaint)}, nil
}

// maxComplaint is kept of a stream's stderr.
const maxComplaint = 16 << 10

// Read reads what the command prints. The daemon sends it in frames, each of stdout or of stderr.
func (s *Stream) Read(p []byte) (int, error) {
	for {
		if s.left == 0 {
			if err := s.next(); err != nil {
				return 0, err
			}
			continue
		}
		n, err := s.in.Read(p[:min(len(p), s.left)])
		s.left -= n
		if !s.toErr || err != nil {
			return n, err
		}
		s.mu.Lock()
		_, _ = s.complaint.Write(p[:n]) // it never fails
		s.mu.Unlock()
	}
}

// next reads a frame's head: the stream's number, three zeros, and the length.
func (s *Stream) next() error {
	var head [8]byte
	if _, err := io.ReadFull(s.in, head[:]); err != nil {
		return err
	}
	switch kind := stdcopy.StdType(head[0]); kind {
	case stdcopy.Stdout, stdcopy.Stderr:
		s.toErr = kind == stdcopy.Stderr
	default:
		return fmt.Errorf("read stream: the daemon sent a frame of kind %d", kind)
	}
	s.left = int(binary.BigEndian.Uint32(head[4:]))
	return nil
}

// Complaint is what the command has written to stderr as far as it was read: the head and the tail
// where it is much.
func (s *Stream) Complaint() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	head, tail, dropped := s.complaint.parts()
	if dropped == 0 {
		return string(head)
	}
	return fmt.Sprintf("%s\n… %d bytes …\n%s", head, dropped, tail)
}
