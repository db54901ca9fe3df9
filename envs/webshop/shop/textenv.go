package shop

import (
	"fmt"
	"strings"

	"github.com/hindsightrl/harness/envs/webshop/catalog"
)

// TextEnv is the original's WebAgentTextEnv: sessions with names, one random stream for all of them,
// and the episode after the last. It is not safe for concurrent use.
type TextEnv struct {
	shop    *Shop
	world   *catalog.World
	variant catalog.Variant
	cfg     TextConfig
	goals   map[string]int // of known sessions
	session *Session
	past    []string // observations, the first included
	actions []string
}

// TextConfig configures a TextEnv.
type TextConfig struct {
	Mode    Mode   // "" means Text
	Prefix  string // of the names of sessions
	PrevObs int    // how many earlier observations an observation holds
	PrevAct int    // how many earlier actions
	// Instruction replaces the text of every goal; "" keeps them.
	Instruction string
}

// NewTextEnv starts the environment in a world that was just drawn. As the original's constructor, it
// draws a first episode.
func NewTextEnv(s *Shop, w *catalog.World, variant catalog.Variant, cfg TextConfig) (*TextEnv, error) {
	if cfg.Mode == "" {
		cfg.Mode = Text
	}
	if _, err := ParseMode(string(cfg.Mode)); err != nil {
		return nil, err
	}
	e := &TextEnv{shop: s, world: w, variant: variant, cfg: cfg, goals: map[string]int{}}
	_, err := e.Reset(nil)
	return e, err
}

// Session is the running episode.
func (e *TextEnv) Session() *Session { return e.session }

// Reset starts an episode: of a session that is nil and gets a random name and goal, a number and is
// the goal's index, or a name and gets a random goal. A session that is known keeps its goal.
func (e *TextEnv) Reset(session any) (string, error) {
	id, index := "", -1
	switch v := session.(type) {
	case nil:
		id = catalog.Session(e.world.Rand)
	case int:
		id, index = fmt.Sprint(v), v
	case string:
		id = v
	default:
		return "", fmt.Errorf("session of type %T: want nil, an int or a string", session)
	}
	id = e.cfg.Prefix + id
	known, ok := e.goals[id]
	switch {
	case ok:
		index = known
	case index >= e.world.Len() || index < -e.world.Len():
		return "", fmt.Errorf("no goal %d: there are %d", index, e.world.Len())
	case index < 0 && session != nil && isInt(session):
		index += e.world.Len() // Python counts negative places from the end
	case index < 0:
		index = e.world.Draw(e.world.Rand)
	}
	e.goals[id] = index
	goal := e.world.At(index)
	if e.cfg.Instruction != "" {
		goal.Instruction = e.cfg.Instruction
	}
	e.session = e.shop.NewSession(id, &goal, e.world.Prices, e.world.Stream)
	obs, err := e.session.Observe(e.cfg.Mode)
	e.past, e.actions = append(e.past[:0], obs), e.actions[:0]
	return obs, err
}

func isInt(v any) bool {
	_, ok := v.(int)
	return ok
}

// Step takes an action and returns the observation with as much of the past as is asked for. The serl
// variant begins a random episode when one is over: the observation is still the last page, everything
// else is of the new episode.
func (e *TextEnv) Step(action string) (obs string, st Status, err error) {
	if st, err = e.session.Step(action); err != nil {
		return "", Status{}, err
	}
	page, err := e.session.Observe(e.cfg.Mode)
	if err != nil {
		return "", Status{}, err
	}
	e.actions = append(e.actions, action)
	parts := []string{page}
	for i := 1; i <= max(e.cfg.PrevObs, e.cfg.PrevAct); i++ {
		if i <= len(e.actions) && i <= e.cfg.PrevAct {
			parts = append(parts, e.actions[len(e.actions)-i])
		}
		if i <= len(e.past) && i <= e.cfg.PrevObs {
			parts = append(parts, e.past[len(e.past)-i])
		}
	}
	for i, j := 0, len(parts)-1; i < j; i, j = i+1, j-1 {
		parts[i], parts[j] = parts[j], parts[i]
	}
	e.past = append(e.past, page)
	if st.Done && e.variant == catalog.SERL {
		if _, err := e.Reset(nil); err != nil {
			return "", Status{}, err
		}
	}
	return strings.Join(parts, " [SEP] "), st, nil
}
