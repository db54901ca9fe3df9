package llm

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/hindsightrl/harness"
	"github.com/hindsightrl/harness/internal/errext"
)

// Update says which weights a server is to load.
type Update struct {
	Version int32          // policy version: what the server's label is to be
	Path    string         // folder or file, as the server sees it; "" where Info says all
	Info    map[string]any // vLLM: update_info, whose keys depend on the server's transfer engine; nil = {"path": Path}
}

// Updater loads other weights into a running server. It is found by type assertion, like Pauser.
type Updater interface {
	Pauser
	// UpdateWeights loads weights and sets the server's label to the version. A server that keeps its old
	// weights where that fails says so by ErrKept.
	UpdateWeights(ctx context.Context, u Update) error
}

// ErrKept says that the server still has its old weights, whole.
var ErrKept = errors.New("the server keeps the weights that it had")

// UpdateWeights loads weights in the order that vLLM's weight transfer wants: start, update, finish, label.
// A failure of the start leaves the old weights (ErrKept); what a failed update leaves, nobody knows.
func (c *VLLM) UpdateWeights(ctx context.Context, u Update) error {
	info := u.Info
	if info == nil {
		info = map[string]any{"path": u.Path}
	}
	if err := c.post(ctx, "start weight update", "/start_weight_update", map[string]any{}, nil); err != nil {
		return errors.Join(err, ErrKept)
	}
	if err := c.post(ctx, "update weights", "/update_weights", map[string]any{"update_info": info}, nil); err != nil {
		return err
	}
	if err := c.post(ctx, "finish weight update", "/finish_weight_update", map[string]any{}, nil); err != nil {
		return err
	}
	err := c.post(ctx, "label weights", "/update_weight_version", map[string]string{"new_version": strconv.Itoa(int(u.Version))}, nil)
	if err != nil {
		return err
	}
	c.renew()
	return nil
}

// UpdateWeights loads weights from a folder of the server's disk. SGLang goes back to its old weights where
// that fails (ErrKept).
func (c *SGLang) UpdateWeights(ctx context.Context, u Update) error {
	var reply struct {
		Success *bool  `json:"success"`
		Message string `json:"message"`
	}
	body := map[string]any{
		"model_path": u.Path, "weight_version": strconv.Itoa(int(u.Version)), "abort_all_requests": false, "flush_cache": true, "keep_pause": true,
	}
	for k, v := range u.Info {
		body[k] = v
	}
	err := c.post(ctx, "update weights", "/update_weights_from_disk", body, &reply)
	if status := (*StatusError)(nil); errors.As(err, &status) {
		return errors.Join(err, ErrKept)
	}
	if err != nil {
		return err
	}
	if reply.Success != nil && !*reply.Success {
		return harness.FailFinal(harness.FailServer, "update weights", errors.Join(errors.New(reply.Message), ErrKept))
	}
	c.renew()
	return nil
}

// renew forgets who the server was: with other weights it may name another checkpoint, and that is no swap
// behind our back.
func (s *session) renew() { s.pinned.Store(nil) }

// Reload is how weights get into a server while it serves.
type Reload struct {
	Mode PauseMode // what becomes of requests under way; "" = PauseKeep
	// Tries is how often the pause is tried to be ended, before the server is left as it is. 0 = 3.
	Tries int
	// Sleep waits between them; nil = a timer.
	Sleep func(ctx context.Context, d time.Duration) error
	// Step is told before each step: "pause", "update", "resume". nil = nobody.
	Step func(name string)
}

// PausedError says that a server was left paused, or perhaps so.
type PausedError struct {
	Err error
}

// Error says so.
func (e *PausedError) Error() string {
	return fmt.Sprintf("%v; the policy server may still be paused", e.Err)
}

// Unwrap is the cause.
func (e *PausedError) Unwrap() error { return e.Err }

// Run pauses the server, has it load the weights, and lets it go on:
//
//	pause ─► update ─► resume ─► done
//	  │         ├─► failed, old weights whole ─► resume ─► the update's error
//	  │         └─► failed, weights unknown ───► stays paused: a *PausedError. Run again loads them anew.
//	  └─► failed: resume, in case it was paused; the pause's error
//
// Once something was paused, the end of ctx does not keep it from being resumed. A server that cannot be
// resumed is a *PausedError.
func (r Reload) Run(ctx context.Context, s Updater, u Update) error {
	if r.Mode == "" {
		r.Mode = PauseKeep
	}
	r.tell("pause")
	if err := s.Pause(ctx, r.Mode); err != nil {
		err = fmt.Errorf("pause the policy server: %w", err)
		if errors.Is(err, ErrUnsupported) { // nothing was paused
			return errext.WithHint(err, "vLLM has the endpoints with VLLM_SERVER_DEV_MODE=1; or let the trainer reload the server itself, and leave reload out")
		}
		return r.leave(ctx, s, err)
	}
	r.tell("update")
	err := s.UpdateWeights(ctx, u)
	switch {
	case err == nil:
		return r.leave(ctx, s, nil)
	case errors.Is(err, ErrKept):
		return r.leave(ctx, s, fmt.Errorf("load version %d: %w", u.Version, err))
	}
	return errext.WithHint(&PausedError{fmt.Errorf("load version %d: %w", u.Version, err)},
		"the server may hold half of the weights, so it stays paused; post the version again to load them anew, or restart it and resume it by hand")
}

// leave resumes the server and adds what came of that to cause.
func (r Reload) leave(ctx context.Context, s Pauser, cause error) error {
	r.tell("resume")
	ctx = context.WithoutCancel(ctx)
	tries, wait := r.Tries, 250*time.Millisecond
	if tries == 0 {
		tries = 3
	}
	var err error
	for n := range tries {
		if err = s.Resume(ctx); err == nil {
			return cause
		}
		if n+1 < tries && r.sleep(ctx, wait) != nil {
			break
		}
		wait *= 2
	}
	err = errors.Join(cause, fmt.Errorf("resume the policy server: %w", err))
	return errext.WithHint(&PausedError{err}, "see whether the server lives; a restarted one is not paused, and one that lives goes on with POST /resume (SGLang: /continue_generation)")
}

func (r Reload) tell(step string) {
	if r.Step != nil {
		r.Step(step)
	}
}

func (r Reload) sleep(ctx context.Context, d time.Duration) error {
	if r.Sleep != nil {
		return r.Sleep(ctx, d)
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

var (
	_ Updater = (*VLLM)(nil)
	_ Updater = (*SGLang)(nil)
)
