package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/hindsightrl/harness/agent"
	"github.com/hindsightrl/harness/feed"
	"github.com/hindsightrl/harness/internal/errext"
	"github.com/hindsightrl/harness/llm"
)

// policyGate stands before a policy. While it is closed, calls wait; those that are inside go on.
type policyGate struct {
	policy agent.Policy

	mu      sync.Mutex
	closed  bool
	inside  int
	changed chan struct{} // closed at the next change of anything above
	version int32         // of the weights that the policy server was told to load; −1 = nobody told it
}

func newPolicyGate(p agent.Policy) *policyGate {
	return &policyGate{policy: p, changed: make(chan struct{}), version: -1}
}

// until waits until ok, which is called with mu held, is true, and returns with mu held.
func (g *policyGate) until(ctx context.Context, ok func() bool) error {
	g.mu.Lock()
	for !ok() {
		changed := g.changed
		g.mu.Unlock()
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
		g.mu.Lock()
	}
	return nil
}

// change wakes everybody who waits for one. The caller holds mu.
func (g *policyGate) change() {
	close(g.changed)
	g.changed = make(chan struct{})
}

// Act asks the policy once the gate is open. Tokens that carry no version get the one that the server was
// told to load before the call, if it still has it after.
func (g *policyGate) Act(ctx context.Context, t agent.Turn) (agent.Answer, error) {
	if err := g.until(ctx, func() bool { return !g.closed }); err != nil {
		return agent.Answer{}, err
	}
	before := g.version
	g.inside++
	g.mu.Unlock()
	a, err := g.policy.Act(ctx, t)
	g.mu.Lock()
	defer g.mu.Unlock()
	g.inside--
	g.change()
	if err == nil && before >= 0 && before == g.version && a.Tokens != nil && a.Tokens.Versions == nil {
		a.Tokens.Versions = make([]int32, len(a.Tokens.IDs))
		for i := range a.Tokens.Versions {
			a.Tokens.Versions[i] = before
		}
	}
	return a, err
}

// hold closes the gate, and with drain waits until nobody is inside.
func (g *policyGate) hold(ctx context.Context, drain bool) error {
	g.mu.Lock()
	g.closed = true
	g.change()
	g.mu.Unlock()
	if !drain {
		return nil
	}
	err := g.until(ctx, func() bool { return g.inside == 0 })
	if err == nil {
		g.mu.Unlock()
	}
	return err
}

// release opens the gate.
func (g *policyGate) release() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.closed = false
	g.change()
}

// loaded notes what the server holds now; −1 = nobody knows.
func (g *policyGate) loaded(version int32) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.version = version
}

// updater is the policy's server as one that loads weights.
func (t *trainFeed) updater() (llm.Updater, error) {
	u, ok := t.client.(llm.Updater)
	if !ok {
		return nil, errext.WithHint(fmt.Errorf("reload: the policy %s has no way to be told to load weights", t.plan.collect.policy.spec), "use vllm:URL or sglang:URL, or reload.enabled: false")
	}
	return u, nil
}

// onVersion is called for each version that a trainer posts.
func (t *trainFeed) onVersion(ctx context.Context, p feed.Posted) error {
	defer t.poke() // λ and the teacher may follow
	if !t.plan.Reload.Enabled {
		return nil
	}
	ctx, cancel := context.WithCancel(ctx) // it outlives the trainer's connection, and not a hard stop
	defer cancel()
	defer context.AfterFunc(t.st.hard, cancel)()
	return t.load(ctx, p)
}

// load has the policy server take a version. Where the server stays paused, so does the gate, and heal tries
// again.
func (t *trainFeed) load(ctx context.Context, p feed.Posted) error {
	t.healing.Lock()
	defer t.healing.Unlock()
	return t.loadLocked(ctx, p)
}

func (t *trainFeed) loadLocked(ctx context.Context, p feed.Posted) error {
	u, err := t.updater()
	if err != nil {
		return err
	}
	update, err := t.plan.Reload.update(p)
	if err != nil {
		return err
	}
	began := t.g.now()
	// With what is frozen and goes on, nobody knows from outside which token came from which weights.
	drain := t.plan.Reload.InFlight == inFlightFinish
	if !drain {
		t.gate.loaded(-1)
	}
	if err := t.gate.hold(ctx, drain); err != nil {
		t.gate.release()
		return fmt.Errorf("wait for calls under way: %w", err)
	}
	mode := llm.PauseKeep
	if t.plan.Reload.InFlight == inFlightAbort {
		mode = llm.PauseAbort
	}
	err = llm.Reload{Mode: mode}.Run(ctx, u, update)
	t.obs.reloaded(p.Version, t.g.now().Sub(began), err)
	if left := (*llm.PausedError)(nil); errors.As(err, &left) {
		t.gate.loaded(-1)
		t.stuck.Store(&p)
		t.g.log.Error("policy server may be paused: calls wait, and the reload is tried again", "version", p.Version, "error", err)
		return err
	}
	t.stuck.Store(nil)
	if err == nil {
		if drain {
			t.gate.loaded(p.Version)
		}
		t.g.log.Info("policy server has the version", "version", p.Version, "took", t.g.now().Sub(began))
	}
	t.gate.release()
	return err
}

// update is what the server is told for a version.
func (r trainReload) update(p feed.Posted) (llm.Update, error) {
	weights := strings.ReplaceAll(r.Weights, "{version}", strconv.Itoa(int(p.Version)))
	if weights == "" {
		weights = p.Weights
	}
	u := llm.Update{Version: p.Version, Path: weights}
	if r.Info != "" {
		if err := json.Unmarshal([]byte(r.Info), &u.Info); err != nil {
			return u, fmt.Errorf("read update_info: %w", err)
		}
		u.Info, _ = fill(u.Info, strconv.Itoa(int(p.Version)), weights).(map[string]any)
	}
	if weights == "" && u.Info == nil {
		return u, errext.WithHint(fmt.Errorf("nobody says where the weights of version %d are", p.Version), `set reload.weights, or post {"op":"version","version":…,"weights":PATH}`)
	}
	return u, nil
}

// fill puts the version and the weights into the texts of a JSON value.
func fill(v any, version, weights string) any {
	switch v := v.(type) {
	case string:
		return strings.NewReplacer("{version}", version, "{weights}", weights).Replace(v)
	case []any:
		for i := range v {
			v[i] = fill(v[i], version, weights)
		}
	case map[string]any:
		for k := range v {
			v[k] = fill(v[k], version, weights)
		}
	}
	return v
}

// healEvery is how often a reload that left the server paused is tried again.
const healEvery = 5 * time.Second

// heal mends what an earlier process or a failed reload left: a policy server that is paused, or that has
// other weights than the newest version's.
func (t *trainFeed) heal(ctx context.Context) error {
	tick := time.NewTicker(healEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		t.healing.Lock()
		if p := t.stuck.Load(); p != nil { // looked at under the lock: a newer version may have been loaded
			if err := t.loadLocked(ctx, *p); err != nil && ctx.Err() == nil {
				t.g.log.Warn("policy server still does not take the version", "version", p.Version, "error", err)
			}
		}
		t.healing.Unlock()
	}
}

// restore brings the policy server to the newest version before the first call.
func (t *trainFeed) restore(ctx context.Context) error {
	if !t.plan.Reload.Enabled {
		return nil
	}
	u, err := t.updater()
	if err != nil {
		return errext.WithCode(err, exitUsage)
	}
	version, err := t.book.Version(ctx)
	if err != nil || version < 0 {
		return err
	}
	p := feed.Posted{Version: version}
	if _, err := t.plan.Reload.update(p); err == nil {
		err := t.load(ctx, p)
		if errors.As(err, new(*llm.PausedError)) {
			return nil // heal goes on with it
		}
		return err
	}
	// Only the trainer knows where the weights are. A pause that a killed process left is ended.
	if err := u.Resume(ctx); err != nil && !errors.Is(err, llm.ErrUnsupported) {
		return fmt.Errorf("resume the policy server: %w", err)
	}
	t.g.log.Warn("the policy server is taken as it is: only the trainer knows where the newest weights are", "version", version)
	return nil
}
