package containertest

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// Proxy stands in front of the daemon's socket and can be slow, hang, cut every connection and refuse
// new ones, or answer requests itself.
type Proxy struct {
	Host string // for container.Config

	daemon   string
	listener net.Listener
	work     sync.WaitGroup

	mu     sync.Mutex
	mended *sync.Cond // of mu
	conns  map[net.Conn]bool
	delay  time.Duration
	cut    bool
	hang   bool
	closed bool
	seen   []string          // request lines
	answer map[string]string // part of a request line → the whole answer
}

// NewProxy opens a proxy that ends with the test. It skips the test where the daemon has no socket here.
func NewProxy(tb testing.TB) *Proxy {
	tb.Helper()
	daemon := "/var/run/docker.sock"
	if host, ok := strings.CutPrefix(os.Getenv("DOCKER_HOST"), "unix://"); ok {
		daemon = host
	}
	if _, err := os.Stat(daemon); err != nil {
		tb.Skip("no Docker daemon listens on a socket here: start one to test what a bad one does")
	}
	dir, err := os.MkdirTemp("", "px") //nolint:usetesting // a socket's name may have 107 bytes, a test's folder has more
	if err != nil {
		tb.Fatal(err)
	}
	p := &Proxy{Host: "unix://" + filepath.Join(dir, "s"), daemon: daemon, conns: map[net.Conn]bool{}, answer: map[string]string{}}
	p.mended = sync.NewCond(&p.mu)
	if p.listener, err = (&net.ListenConfig{}).Listen(context.Background(), "unix", filepath.Join(dir, "s")); err != nil {
		tb.Fatal(err)
	}
	p.work.Add(1)
	go p.accept()
	tb.Cleanup(func() {
		p.change(func() { p.closed = true })
		_ = p.listener.Close()
		p.closeAll()
		p.work.Wait()
		_ = os.RemoveAll(dir)
	})
	return p
}

func (p *Proxy) change(f func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	f()
	p.mended.Broadcast()
}

// Delay makes every message to the daemon wait.
func (p *Proxy) Delay(d time.Duration) { p.change(func() { p.delay = d }) }

// Cut ends every connection and refuses new ones, as a daemon that is down, until Mend.
func (p *Proxy) Cut() {
	p.change(func() { p.cut = true })
	p.closeAll()
}

// Hang lets nothing through in either direction, until Mend.
func (p *Proxy) Hang() { p.change(func() { p.hang = true }) }

// Mend makes the daemon well again.
func (p *Proxy) Mend() {
	p.change(func() { p.cut, p.hang, p.delay, p.answer = false, false, 0, map[string]string{} })
}

// Answer answers requests whose first line holds a text, in the daemon's place.
func (p *Proxy) Answer(request string, status int, body string) {
	p.change(func() {
		p.answer[request] = fmt.Sprintf("HTTP/1.1 %d X\r\nContent-Type: application/json\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%s", status, len(body), body)
	})
}

// Seen counts the requests whose first line holds a text.
func (p *Proxy) Seen(request string) (n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, line := range p.seen {
		if strings.Contains(line, request) {
			n++
		}
	}
	return n
}

func (p *Proxy) closeAll() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for c := range p.conns {
		_ = c.Close()
	}
}

// track notes a connection; false where the proxy is cut.
func (p *Proxy) track(c net.Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.cut || p.closed {
		_ = c.Close()
		return false
	}
	p.conns[c] = true
	return true
}

func (p *Proxy) forget(c net.Conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.conns, c)
	_ = c.Close()
}

func (p *Proxy) accept() {
	defer p.work.Done()
	for {
		c, err := p.listener.Accept()
		if err != nil {
			return
		}
		p.work.Add(1)
		go func() {
			defer p.work.Done()
			p.serve(c)
		}()
	}
}

func (p *Proxy) serve(c net.Conn) {
	if !p.track(c) {
		return
	}
	defer p.forget(c)
	d, err := net.Dial("unix", p.daemon) //nolint:noctx // it is on this machine
	if err != nil {
		return
	}
	if !p.track(d) {
		return
	}
	defer p.forget(d)
	back := make(chan struct{})
	go func() {
		defer close(back)
		p.copy(c, d, false)
		_ = c.(*net.UnixConn).CloseWrite()
	}()
	p.copy(d, c, true)
	_ = d.(*net.UnixConn).CloseWrite()
	<-back
}

// copy moves data one way until an end, at the pace and with the gaps that are asked for.
func (p *Proxy) copy(to, from net.Conn, requests bool) {
	r := bufio.NewReaderSize(from, 1<<16)
	for {
		if _, err := r.Peek(1); err != nil {
			return
		}
		chunk, err := r.Peek(r.Buffered())
		if err != nil {
			return
		}
		canned, ok := p.pass(chunk, requests)
		switch {
		case !ok:
			return
		case canned != "":
			_, _ = io.WriteString(from, canned)
			_ = from.Close()
			_ = to.Close()
			return
		}
		if _, err := to.Write(chunk); err != nil {
			return
		}
		if _, err := r.Discard(len(chunk)); err != nil {
			return
		}
	}
}

// pass waits as long as the proxy hangs and is slow, and says what is to be answered in the daemon's
// place.
func (p *Proxy) pass(chunk []byte, requests bool) (canned string, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if requests && p.delay > 0 {
		d := p.delay
		p.mu.Unlock()
		time.Sleep(d)
		p.mu.Lock()
	}
	for p.hang && !p.closed && !p.cut {
		p.mended.Wait()
	}
	if p.closed || p.cut {
		return "", false
	}
	line, _, _ := bytes.Cut(chunk, []byte("\r\n"))
	if requests && bytes.Contains(line, []byte("HTTP/1.1")) {
		p.seen = append(p.seen, string(line))
	}
	for part, answer := range p.answer {
		if requests && bytes.Contains(line, []byte("HTTP/1.1")) && bytes.Contains(line, []byte(part)) {
			return answer, true
		}
	}
	return "", true
}
