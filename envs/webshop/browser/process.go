package browser

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"time"

	"github.com/go-rod/rod"
	"github.com/go-rod/rod/lib/cdp"
	"github.com/go-rod/rod/lib/proto"
)

// flags of every browser. Names outside the site are not resolved: the pictures that the data names
// lie on other hosts, and a run that asks for them depends on the network.
var flags = []string{
	"--headless", "--remote-debugging-pipe", "--disable-gpu", "--disable-dev-shm-usage", "--disable-background-networking",
	"--disable-component-update", "--disable-sync", "--disable-quic", "--disable-extensions", "--disable-default-apps",
	"--disable-breakpad", "--disable-crash-reporter", "--disable-client-side-phishing-detection", "--no-first-run", "--no-default-browser-check",
	"--disable-background-timer-throttling", "--disable-backgrounding-occluded-windows", "--disable-renderer-backgrounding",
	"--disable-features=BackForwardCache,SpareRendererForSitePerProcess,Translate,MediaRouter,OptimizationHints,PaintHolding", "--metrics-recording-only", "--mute-audio", "--password-store=basic",
	"--use-mock-keychain", "--hide-scrollbars", "--force-color-profile=srgb", "--lang=en-US", "--no-proxy-server",
	"--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1",
}

// process is a running browser. Its methods are safe for concurrent use.
type process struct {
	cmd  *exec.Cmd
	dir  *folder
	ends ends
	said tail
	rod  *rod.Browser

	ctx    context.Context // ends, with a cause, when the browser does
	cancel context.CancelCauseFunc
	done   chan struct{} // closed when nothing is left of it

	mu   sync.Mutex
	tabs map[proto.TargetTargetID]context.CancelCauseFunc
}

// errClosed is why a browser ended that Close ended.
var errClosed = errors.New("the browser was closed")

// errHangs is why a browser ended that no longer answered.
var errHangs = errors.New("the browser no longer answers")

// launch starts a browser and waits until it answers.
func launch(ctx context.Context, bin string, noSandbox bool, wait time.Duration) (*process, error) {
	dir, err := newFolder()
	if err != nil {
		return nil, err
	}
	p := &process{dir: dir, done: make(chan struct{}), tabs: map[proto.TargetTargetID]context.CancelCauseFunc{}}
	if err := p.start(bin, noSandbox); err != nil {
		dir.remove()
		return nil, fmt.Errorf("start %s: %w", bin, err)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, wait, fmt.Errorf("no answer within %v", wait))
	defer cancel()
	if err := p.connect(ctx); err != nil {
		p.news(ctx, err)
		err = cmp.Or(context.Cause(ctx), context.Cause(p.ctx), err)
		p.kill(err)
		<-p.done
		return nil, fmt.Errorf("start %s: %w (it said: %s)", bin, err, p.said.lines(3))
	}
	return p, nil
}

func (p *process) start(bin string, noSandbox bool) error {
	var err error
	if p.ends, err = openEnds(); err != nil {
		return err
	}
	dir := p.dir.path
	args := append([]string{"--user-data-dir=" + dir}, flags...)
	if noSandbox {
		args = append(args, "--no-sandbox")
	}
	p.cmd = exec.Command(bin, append(args, "about:blank")...) //nolint:noctx // it outlives the episode that it was started for
	p.cmd.Env = append(p.cmd.Environ(), "HOME="+dir, "TMPDIR="+dir, "XDG_CONFIG_HOME="+dir, "XDG_CACHE_HOME="+dir)
	p.cmd.Dir = dir
	p.cmd.ExtraFiles = []*os.File{p.ends.childIn, p.ends.childOut}
	p.cmd.Stderr = &p.said
	p.cmd.WaitDelay = time.Second // for what the browser started and what still writes
	ownGroup(p.cmd)
	err = p.cmd.Start()
	p.ends.closeChild()
	if err != nil {
		p.ends.closeOwn()
		return err
	}
	p.ctx, p.cancel = context.WithCancelCause(context.Background())
	go p.wait()
	return nil
}

// wait sees the browser off and cleans up behind it.
func (p *process) wait() {
	err := p.cmd.Wait()
	if err == nil {
		err = errors.New("exit status 0")
	}
	p.cancel(fmt.Errorf("the browser died: %w", err))
	killGroup(p.cmd)
	p.ends.closeOwn()
	p.dir.remove()
	close(p.done)
}

func (p *process) connect(ctx context.Context) error {
	client := cdp.New().Start(newPipe(p.ends.in, p.ends.out))
	p.rod = rod.New().Context(p.ctx).Client(client).NoDefaultDevice()
	if err := p.ping(ctx); err != nil {
		return err
	}
	stop := context.AfterFunc(ctx, func() { p.kill(context.Cause(ctx)) })
	defer stop()
	if err := p.rod.Connect(); err != nil {
		return err
	}
	go p.watch() // ends with the browser
	return nil
}

// ping asks the browser for a sign of life.
func (p *process) ping(ctx context.Context) error {
	ctx, stop := p.bound(ctx)
	defer stop()
	_, err := proto.BrowserGetVersion{}.Call(p.rod.Context(ctx))
	return err
}

// bound makes a context that ends with the browser too.
func (p *process) bound(ctx context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(p.ctx, func() { cancel(context.Cause(p.ctx)) })
	return ctx, func() { stop(); cancel(nil) }
}

// How long an error waits for its cause to be known: a page's end, and a browser's, whose pipe breaks
// before its exit is noticed.
const (
	pageGrace    = 200 * time.Millisecond
	browserGrace = 5 * time.Second
)

// news waits for the cause of an error of the protocol, which ends ctx. A pipe that broke is the end of
// the browser whatever else happens.
func (p *process) news(ctx context.Context, err error) {
	broken := errors.Is(err, io.EOF) || errors.Is(err, os.ErrClosed) || errors.Is(err, io.ErrClosedPipe) || isBroken(err)
	grace := pageGrace
	if broken {
		grace = browserGrace
	}
	select {
	case <-ctx.Done():
	case <-p.ctx.Done():
	case <-time.After(grace):
		if broken {
			p.kill(fmt.Errorf("the browser's pipe broke: %w", err))
		}
	}
}

// alive reports whether the browser has not ended.
func (p *process) alive() bool { return p.ctx.Err() == nil }

// kill ends the browser at once. The reason is what its episodes are told.
func (p *process) kill(reason error) {
	p.cancel(reason)
	killGroup(p.cmd)
}

// close ends the browser and waits until nothing is left of it.
func (p *process) close() {
	p.kill(errClosed)
	<-p.done
}

// watch ends tabs whose page crashed.
func (p *process) watch() {
	p.rod.EachEvent(func(e *proto.TargetTargetCrashed) {
		p.mu.Lock()
		defer p.mu.Unlock()
		if cancel := p.tabs[e.TargetID]; cancel != nil {
			cancel(fmt.Errorf("the page crashed: %s", e.Status))
		}
	})()
}
