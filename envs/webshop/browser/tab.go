package browser

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/go-rod/rod"
	"github.com/go-rod/rod/lib/proto"
)

// script reads pages and acts on them. It is a function of what to do and its arguments.
//
//go:embed read.js
var script string

// The size of a tab's view, in pixels, and the greatest height of a picture.
const (
	viewWidth   = 1280
	viewHeight  = 800
	shotHeight  = 8000
	closingTime = 5 * time.Second
)

// tab is a page in a context of its own: cookies and storage are shared with no other. One goroutine
// owns it.
type tab struct {
	proc    *process
	context proto.BrowserBrowserContextID
	page    *rod.Page
	timeout time.Duration

	ctx    context.Context // ends, with a cause, when page or browser does
	cancel context.CancelCauseFunc
	stop   func() bool
}

// timeoutError is an action that took too long.
type timeoutError struct{ after time.Duration }

func (e *timeoutError) Error() string {
	return fmt.Sprintf("no answer from the browser within %v", e.after)
}

// openTab opens a tab on an empty page.
func openTab(ctx context.Context, p *process, timeout time.Duration) (*tab, error) {
	t := &tab{proc: p, timeout: timeout}
	t.ctx, t.cancel = context.WithCancelCause(context.Background())
	t.stop = context.AfterFunc(p.ctx, func() { t.cancel(context.Cause(p.ctx)) })
	if err := t.do(ctx, t.open); err != nil {
		t.close()
		return nil, err
	}
	return t, nil
}

func (t *tab) open(ctx context.Context) error {
	made, err := proto.TargetCreateBrowserContext{DisposeOnDetach: true}.Call(t.proc.rod.Context(ctx))
	if err != nil {
		return err
	}
	t.context = made.BrowserContextID
	target, err := proto.TargetCreateTarget{URL: "about:blank", BrowserContextID: t.context}.Call(t.proc.rod.Context(ctx))
	if err != nil {
		return err
	}
	t.proc.mu.Lock()
	t.proc.tabs[target.TargetID] = t.cancel
	t.proc.mu.Unlock()
	// The page's own context lasts as long as the tab; each call brings another.
	if t.page, err = t.proc.rod.Context(t.ctx).PageFromTarget(target.TargetID); err != nil {
		return err
	}
	return proto.EmulationSetDeviceMetricsOverride{Width: viewWidth, Height: viewHeight, DeviceScaleFactor: 1}.Call(t.page.Context(ctx))
}

// do runs f under a context that ends with ctx, the tab, or after the timeout, and says which it was.
func (t *tab) do(ctx context.Context, f func(context.Context) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	late := &timeoutError{t.timeout}
	inner, cancel := context.WithTimeoutCause(ctx, t.timeout, late)
	defer cancel()
	inner, end := context.WithCancelCause(inner)
	defer end(nil)
	defer context.AfterFunc(t.ctx, func() { end(context.Cause(t.ctx)) })()
	err := f(inner)
	if err == nil {
		return nil
	}
	if inner.Err() == nil {
		t.proc.news(inner, err)
	}
	switch cause := context.Cause(inner); {
	case ctx.Err() != nil:
		return ctx.Err()
	case !t.proc.alive():
		return context.Cause(t.proc.ctx)
	case t.ctx.Err() != nil:
		return context.Cause(t.ctx)
	case cause != nil:
		if errors.Is(cause, late) {
			t.suspect()
		}
		return cause
	}
	return err
}

// suspect ends a browser that gives no sign of life. One that does has a page that hangs: the tab ends.
func (t *tab) suspect() {
	ctx, cancel := context.WithTimeout(t.proc.ctx, min(closingTime, t.timeout))
	defer cancel()
	if err := t.proc.ping(ctx); err != nil {
		t.proc.kill(errHangs)
	}
	t.cancel(&timeoutError{t.timeout})
}

// call evaluates the script. It does not wait for what the page does then.
func (t *tab) call(ctx context.Context, into any, what string, index int, name string) error {
	args, err := json.Marshal([]any{what, index, name})
	if err != nil {
		return err
	}
	res, err := proto.RuntimeEvaluate{Expression: script + "(..." + string(args) + ")", ReturnByValue: true}.Call(t.page.Context(ctx))
	switch {
	case err != nil:
		return err
	case res.ExceptionDetails != nil:
		return fmt.Errorf("script in the page: %s", res.ExceptionDetails.Exception.Description)
	}
	raw, err := res.Result.Value.MarshalJSON()
	if err != nil {
		return err
	}
	if err := json.Unmarshal(raw, into); err != nil {
		return fmt.Errorf("read what the page says: %w", err)
	}
	return nil
}

// turn does what leads to another page and waits until that one is built.
func (t *tab) turn(ctx context.Context, lead func(context.Context) error) error {
	wait := t.page.Context(ctx).EachEvent(func(*proto.PageDomContentEventFired) bool { return true })
	if err := lead(ctx); err != nil {
		return err
	}
	wait()
	return ctx.Err()
}

// visit goes to an address.
func (t *tab) visit(ctx context.Context, url string) error {
	return t.do(ctx, func(ctx context.Context) error {
		return t.turn(ctx, func(ctx context.Context) error {
			res, err := proto.PageNavigate{URL: url}.Call(t.page.Context(ctx))
			if err == nil && res.ErrorText != "" {
				err = fmt.Errorf("go to %s: %s", url, res.ErrorText)
			}
			return err
		})
	})
}

// errChanged is a page that is not what was read from it.
var errChanged = errors.New("the page changed by itself")

// act clicks or searches, and waits for the page that follows.
func (t *tab) act(ctx context.Context, what string, index int, name string) error {
	return t.do(ctx, func(ctx context.Context) error {
		return t.turn(ctx, func(ctx context.Context) error {
			var done bool
			if err := t.call(ctx, &done, what, index, name); err != nil {
				return err
			}
			if !done {
				return errChanged
			}
			return nil
		})
	})
}

// read reads the page; source asks for its markup too.
func (t *tab) read(ctx context.Context, source bool) (*sheet, error) {
	what := "read"
	if source {
		what = "source"
	}
	s := new(sheet)
	return s, t.do(ctx, func(ctx context.Context) error { return t.call(ctx, s, what, 0, "") })
}

// picture is the page as a PNG, all of it or the first shotHeight pixels.
func (t *tab) picture(ctx context.Context) (png []byte, err error) {
	err = t.do(ctx, func(ctx context.Context) error {
		m, err := proto.PageGetLayoutMetrics{}.Call(t.page.Context(ctx))
		if err != nil {
			return err
		}
		height := min(max(m.CSSContentSize.Height, viewHeight), shotHeight)
		res, err := proto.PageCaptureScreenshot{
			Format: proto.PageCaptureScreenshotFormatPng, CaptureBeyondViewport: true,
			Clip: &proto.PageViewport{Width: viewWidth, Height: height, Scale: 1},
		}.Call(t.page.Context(ctx))
		if err == nil {
			png = res.Data
		}
		return err
	})
	return png, err
}

// close closes the tab and all that its context holds.
func (t *tab) close() {
	defer t.stop()
	defer t.cancel(errClosed)
	if t.page != nil {
		t.proc.mu.Lock()
		delete(t.proc.tabs, t.page.TargetID)
		t.proc.mu.Unlock()
	}
	if t.context == "" || !t.proc.alive() {
		return
	}
	ctx, cancel := context.WithTimeout(t.proc.ctx, closingTime)
	defer cancel()
	err := proto.TargetDisposeBrowserContext{BrowserContextID: t.context}.Call(t.proc.rod.Context(ctx))
	if err != nil && ctx.Err() != nil && t.proc.alive() {
		t.proc.kill(errHangs)
	}
}
