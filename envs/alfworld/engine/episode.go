package engine

import (
	mathbits "math/bits"
	"slices"
	"strings"
	"unsafe"

	"github.com/hindsightrl/harness/envs/alfworld/grammar"
)

// NothingHappens is the original's answer to a command that is not admissible.
const NothingHappens = "Nothing happens."

// Result is the answer to one command.
type Result struct {
	Observation string
	Applied     bool // the command was admissible
	Won         bool
}

// Episode is one play of a game. One goroutine owns it.
type Episode struct {
	g     *Game
	words []uint64 // all state, in this order:
	plan  bits     // dynamic facts that are true
	neg   bits     // explicit negated facts, for queries only
	cmds  bits     // admissible commands
	pos   bits     // explicit facts, for queries; plan itself where the domain has no conditional effect
	live  []liveCommand
	won   bool
	moves int
	r     renderer
}

// liveCommand is an admissible command whose text depends on the state.
type liveCommand struct {
	text string
	op   int32
}

// NewEpisode starts an episode.
func (g *Game) NewEpisode() *Episode {
	e := g.episode()
	e.Reset()
	return e
}

func (g *Game) episode() *Episode {
	e := &Episode{g: g, words: make([]uint64, g.stateWords)}
	facts, cmds := wordsFor(g.facts.dynamic), wordsFor(len(g.commands.text))
	e.plan = e.words[:facts]
	e.neg = e.words[facts : 2*facts]
	e.cmds = e.words[2*facts : 2*facts+cmds]
	e.pos = bits(e.plan)
	if g.conditional {
		e.pos = e.words[2*facts+cmds:]
	}
	e.r = renderer{g: g, pos: e.pos, neg: e.neg}
	return e
}

// Reset starts over and returns the introduction.
func (e *Episode) Reset() Result {
	copy(e.words, e.g.initial)
	e.won, e.moves = e.g.goal.holds(e.plan), 0
	if len(e.g.commands.live) > 0 {
		e.live = slices.Clone(e.g.initialLive)
	}
	return Result{Observation: e.g.intro, Won: e.won}
}

// Won reports whether the goal holds.
func (e *Episode) Won() bool { return e.won }

// Moves counts the commands that were admissible since the start.
func (e *Episode) Moves() int { return e.moves }

// Step applies a command. An error means that the grammar could not be expanded where the original
// would have raised an exception too; the episode is then of no further use.
func (e *Episode) Step(command string) (Result, error) {
	command = strings.TrimFunc(command, grammar.IsSpace)
	op := e.operatorFor(command)
	if op < 0 {
		return Result{Observation: NothingHappens, Won: e.won}, nil
	}
	e.apply(op)
	var params [maxSlots]uint16
	text, err := e.r.text(e.g.actions[e.g.ops.action[op]].feedback, e.g.params(op, params[:0]))
	if err != nil {
		return Result{}, err
	}
	e.moves++
	if err := e.refresh(); err != nil {
		return Result{}, err
	}
	return Result{Observation: text, Applied: true, Won: e.won}, nil
}

// operatorFor is the first applicable operator of a command, or -1.
func (e *Episode) operatorFor(command string) int {
	best := -1
	if c, ok := e.g.commands.index[command]; ok && e.cmds.has(c) {
		for _, op := range e.g.commands.ops[c] {
			if e.plan.holds(e.g.ops.preOf(int(op))) {
				best = int(op)
				break
			}
		}
	}
	for _, l := range e.live {
		if l.text == command && (best < 0 || int(l.op) < best) {
			best = int(l.op)
		}
	}
	return best
}

// apply executes an operator. Conditions of effects are read in the state before it; deletes come
// first, so that an add of the same fact wins.
func (e *Episode) apply(op int) {
	ops := e.g.ops
	goal := false
	var fired []literalID
	for _, w := range ops.when[int32(op)] {
		if slices.ContainsFunc(w.cond, e.plan.holds) {
			fired = append(fired, w.eff)
		}
	}
	for _, l := range ops.effectsOf(op) {
		goal = goal || e.g.goal.mask.has(l.fact())
		e.change(l)
		e.note(l)
	}
	for _, dels := range []bool{true, false} {
		for _, l := range fired {
			if l.neg() == dels {
				goal = goal || e.g.goal.mask.has(l.fact())
				e.change(l)
			}
		}
	}
	// The explicit facts take every conditional effect, triggered or not, and deletes last.
	for _, dels := range []bool{false, true} {
		for _, w := range ops.when[int32(op)] {
			if w.eff.neg() == dels {
				e.note(w.eff)
			}
		}
	}
	if goal {
		e.won = e.g.goal.holds(e.plan)
	}
}

func (e *Episode) change(l literalID) {
	if l.neg() {
		e.plan.clear(l.fact())
	} else {
		e.plan.set(l.fact())
	}
}

// note records an effect among the explicit facts.
func (e *Episode) note(l literalID) {
	if l.neg() {
		e.pos.clear(l.fact())
		e.neg.set(l.fact())
	} else {
		e.pos.set(l.fact())
		e.neg.clear(l.fact())
	}
}

// refresh finds the admissible commands.
func (e *Episode) refresh() error {
	clear(e.cmds)
	x := e.g.pivots
	for _, r := range x.ranges {
		for w := r[0] >> 6; w <= (r[1]-1)>>6; w++ {
			word := e.plan[w] & rangeMask(w, r)
			for ; word != 0; word &= word - 1 {
				e.refreshPivot(w<<6 + mathbits.TrailingZeros64(word))
			}
		}
	}
	for _, op := range x.always {
		if e.plan.holds(e.g.ops.preOf(int(op))) {
			e.cmds.set(int(e.g.ops.cmd[op]))
		}
	}
	return e.refreshLive()
}

// rangeMask keeps the bits of word w that lie in the range.
func rangeMask(w int, r [2]int) uint64 {
	mask := ^uint64(0)
	if from := r[0] - w<<6; from > 0 {
		mask &= ^uint64(0) << uint(from)
	}
	if to := r[1] - w<<6; to < 64 {
		mask &= 1<<uint(to) - 1
	}
	return mask
}

func (e *Episode) refreshPivot(f int) {
	x := e.g.pivots
	if free := x.free[f]; free != nil {
		for i, w := range free {
			e.cmds[i] |= w
		}
	}
	for i := x.at[f]; i < x.at[f+1]; i++ {
		if p := &x.ops[i]; e.plan.holds(x.rest[p.from:p.to]) {
			e.cmds.set(int(p.cmd))
		}
	}
}

// refreshLive finds the admissible commands whose text depends on the state.
func (e *Episode) refreshLive() error {
	e.live = e.live[:0]
	for _, op := range e.g.commands.live {
		if !e.plan.holds(e.g.ops.preOf(int(op))) {
			continue
		}
		var params [maxSlots]uint16
		text, err := e.g.commandText(&e.r, int(op), e.g.params(int(op), params[:0]))
		if err != nil {
			return err
		}
		e.live = append(e.live, liveCommand{text, op})
	}
	return nil
}

// Admissible appends the admissible commands to dst, sorted by code point, each once.
func (e *Episode) Admissible(dst []string) []string {
	n := 0
	for _, w := range e.cmds {
		n += mathbits.OnesCount64(w)
	}
	dst = slices.Grow(dst, n+len(e.live))
	start := len(dst)
	for i, w := range e.cmds {
		for ; w != 0; w &= w - 1 {
			dst = append(dst, e.g.commands.text[i<<6+mathbits.TrailingZeros64(w)])
		}
	}
	if len(e.live) == 0 {
		return dst
	}
	for _, l := range e.live {
		dst = append(dst, l.text)
	}
	slices.Sort(dst[start:])
	return dst[:start+len(slices.Compact(dst[start:]))]
}

// State is a copy of an episode's state.
type State struct {
	g     *Game
	words []uint64
	live  []liveCommand
	won   bool
	moves int
}

// Save copies the state.
func (e *Episode) Save() *State {
	return &State{g: e.g, words: slices.Clone(e.words), live: slices.Clone(e.live), won: e.won, moves: e.moves}
}

// Load puts back a state of any episode of the same game; it reports false, and does nothing, for a
// state of another game.
func (e *Episode) Load(s *State) bool {
	if s.g != e.g {
		return false
	}
	copy(e.words, s.words)
	e.live = append(e.live[:0], s.live...)
	e.won, e.moves = s.won, s.moves
	return true
}

// Size is the memory in bytes that the episode holds beyond its game.
func (e *Episode) Size() int {
	size := int(unsafe.Sizeof(*e)) + 8*len(e.words) + cap(e.live)*int(unsafe.Sizeof(liveCommand{}))
	return size + cap(e.r.buf) + 2*cap(e.r.frame) + 2*cap(e.r.rows)
}
