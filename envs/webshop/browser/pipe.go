package browser

import (
	"bufio"
	"io"
	"os"
	"sync"
)

// pipe carries the DevTools protocol over two pipes: JSON texts, each with a zero byte behind. It is
// the transport of go-rod's client.
type pipe struct {
	r *bufio.Reader
	w io.Writer

	mu sync.Mutex // one message at a time
}

func newPipe(r io.Reader, w io.Writer) *pipe {
	return &pipe{r: bufio.NewReaderSize(r, 1<<16), w: w}
}

// Send writes a message.
func (p *pipe) Send(data []byte) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	_, err := p.w.Write(append(data[:len(data):len(data)], 0))
	return err
}

// Read waits for a message. A message that the browser's death cut off is not delivered.
func (p *pipe) Read() ([]byte, error) {
	data, err := p.r.ReadBytes(0)
	if err != nil {
		return nil, err
	}
	return data[:len(data)-1], nil
}

// ends are the four ends of a pair of pipes.
type ends struct {
	in, out           *os.File // this process reads and writes here
	childIn, childOut *os.File // the browser's file descriptors 3 and 4
}

func openEnds() (e ends, err error) {
	if e.childIn, e.out, err = os.Pipe(); err != nil {
		return ends{}, err
	}
	if e.in, e.childOut, err = os.Pipe(); err != nil {
		_, _ = e.childIn.Close(), e.out.Close() // nothing was written
		return ends{}, err
	}
	return e, nil
}

func (e ends) closeChild() { _, _ = e.childIn.Close(), e.childOut.Close() } // the browser has its copies

func (e ends) closeOwn() { _, _ = e.in.Close(), e.out.Close() } // the other side is gone, or to be told so
