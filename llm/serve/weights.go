package serve

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"

	"github.com/hindsightrl/harness/llm"
)

// Why a lease ends before its work does.
var (
	errAborted = errors.New("the request was aborted")
	errSwapped = errors.New("the weights were replaced")
)

// weights is the model with its version label and the gate before it.
//
//	state    new requests   requests under way        left by
//	open     pass           go on                     pause
//	paused   wait           ended ("abort"), awaited  resume
//	                        ("wait") or frozen
//	                        before their next token
//	                        ("keep")
//	swapping wait           leave, come back later    the swap's end
//	                        with the new weights
type weights struct {
	mu       sync.Mutex
	model    llm.Model
	version  string
	paused   bool
	draining bool // a pause waits for what is under way
	swapping bool
	leases   map[*lease]struct{}
	changed  chan struct{} // closed at the next change of anything above
	updating sync.Mutex    // one swap at a time
}

// lease is one use of the model. Its context ends with the request, an abort or a swap.
type lease struct {
	w      *weights
	model  llm.Model
	ctx    context.Context
	cancel context.CancelCauseFunc
	id     string // the request's
}

func newWeights(m llm.Model, version string) *weights {
	return &weights{model: m, version: version, leases: map[*lease]struct{}{}, changed: make(chan struct{})}
}

// change wakes everybody who waits for one. The caller holds mu.
func (w *weights) change() {
	close(w.changed)
	w.changed = make(chan struct{})
}

// until waits until ok, which is called with mu held, is true.
func (w *weights) until(ctx context.Context, ok func() bool) error {
	w.mu.Lock()
	for !ok() {
		changed := w.changed
		w.mu.Unlock()
		select {
		case <-changed:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		w.mu.Lock()
	}
	return nil // with mu held
}

// enter waits until the gate is open and returns a lease, which must be left. With evenPaused only a
// swap is waited for: for work that samples and scores nothing.
func (w *weights) enter(ctx context.Context, id string, evenPaused bool) (*lease, error) {
	if err := w.until(ctx, func() bool { return !w.swapping && (evenPaused || !w.paused && !w.draining) }); err != nil {
		return nil, err
	}
	defer w.mu.Unlock()
	l := &lease{w: w, model: w.model, id: id}
	l.ctx, l.cancel = context.WithCancelCause(ctx)
	w.leases[l] = struct{}{}
	return l, nil
}

func (l *lease) leave() {
	l.cancel(nil)
	l.w.mu.Lock()
	defer l.w.mu.Unlock()
	delete(l.w.leases, l)
	l.w.change()
}

// hold freezes a generation while the server is paused; it returns the label of the weights.
func (l *lease) hold() (version string, err error) {
	if err := l.w.until(l.ctx, func() bool { return !l.w.paused }); err != nil {
		return "", err
	}
	defer l.w.mu.Unlock()
	return l.w.version, nil
}

// pause closes the gate. "abort" ends what is under way, "wait" waits for it, "keep" freezes it.
func (w *weights) pause(ctx context.Context, mode string) error {
	switch mode {
	case "abort", "keep":
		w.mu.Lock()
		w.paused = true
		w.change()
		w.mu.Unlock()
		if mode == "keep" {
			return nil
		}
		w.abort(nil)
	case "wait":
		return w.drain(ctx)
	default:
		return bad("mode", "pause mode %q is none of abort, wait, keep", mode)
	}
	return w.idle(ctx)
}

// drain closes the gate for new requests, waits for the others and then pauses. The pause itself
// comes last, since it would freeze them.
func (w *weights) drain(ctx context.Context) error {
	w.updating.Lock()
	defer w.updating.Unlock()
	w.mu.Lock()
	w.draining = true
	w.mu.Unlock()
	err := w.until(ctx, func() bool { return len(w.leases) == 0 })
	if err != nil {
		w.mu.Lock()
	}
	w.draining = false
	w.paused = w.paused || err == nil
	w.change()
	w.mu.Unlock()
	return err
}

// idle waits until nothing is under way.
func (w *weights) idle(ctx context.Context) error {
	if err := w.until(ctx, func() bool { return len(w.leases) == 0 }); err != nil {
		return err
	}
	w.mu.Unlock()
	return nil
}

func (w *weights) resume() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.paused = false
	w.change()
}

// abort ends the requests with the given ids; nil = all.
func (w *weights) abort(ids []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for l := range w.leases {
		if ids == nil || contains(ids, l.id) {
			l.cancel(errAborted)
		}
	}
}

// contains looks for a reply's id, given whole or as the client chose it.
func contains(ids []string, id string) bool {
	own := strings.TrimPrefix(strings.TrimPrefix(id, chatPrefix), textPrefix)
	return slices.Contains(ids, id) || slices.Contains(ids, own)
}

func (w *weights) setVersion(v string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.version = v
}

// state returns the label, whether the gate is closed, and the model's description.
func (w *weights) state() (version string, paused bool, info llm.ModelInfo) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.version, w.paused, w.model.Info()
}

// swap opens a model and puts it in the place of the present one, under the given label; "" leaves the
// label as it is. Requests under way leave the old one at their next token and go on with the new one. If
// anything fails, the old one stays.
func (w *weights) swap(ctx context.Context, version string, open func(context.Context) (llm.Model, error)) error {
	w.updating.Lock()
	defer w.updating.Unlock()
	next, err := open(ctx)
	if err != nil {
		return err
	}
	_, _, was := w.state()
	if is := next.Info(); is.VocabSize != was.VocabSize {
		return errors.Join(bad("update_info", "the new weights have a vocabulary of %d, the served model has %d", is.VocabSize, was.VocabSize), closeModel(next))
	}
	w.mu.Lock()
	w.swapping = true
	for l := range w.leases {
		l.cancel(errSwapped)
	}
	w.mu.Unlock()
	err = w.until(ctx, func() bool { return len(w.leases) == 0 })
	if err != nil {
		w.mu.Lock()
	}
	old := w.model
	if err == nil {
		w.model = next
		if version != "" {
			w.version = version
		}
	}
	w.swapping = false
	w.change()
	w.mu.Unlock()
	if err != nil {
		return errors.Join(err, closeModel(next))
	}
	if err := closeModel(old); err != nil {
		return fmt.Errorf("close the replaced model: %w", err)
	}
	return nil
}

// close closes the model that is served, if it can be closed.
func (w *weights) close() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return closeModel(w.model)
}

func closeModel(m llm.Model) error {
	if c, ok := m.(io.Closer); ok {
		return c.Close()
	}
	return nil
}
