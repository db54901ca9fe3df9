package engine

import (
	"fmt"
	"slices"
	"sync"

	"github.com/hindsightrl/harness/envs/alfworld/grammar"
	"github.com/hindsightrl/harness/envs/alfworld/pddl"
)

// Source is the text that a game is made of.
type Source struct {
	Domain  string // PDDL
	Problem string // PDDL
	Grammar string // .twl2, with the task sentence filled in
}

// Game is a compiled game. It is read-only and shared by all its episodes, in any number of
// goroutines.
type Game struct {
	domain   *pddl.Domain
	world    *world
	entities []entity
	facts    *factTable
	ops      *operators
	actions  []actionText
	commands *commandTable
	goal     *goal
	pivots   *pivotIndex

	conditional bool // some effect is conditional: explicit facts and the planner's state can differ
	stateWords  int  // words of an episode's state
	initial     []uint64
	initialLive []liveCommand
	intro       string

	planning sync.Once // builds readers
	readers  readerIndex
	planners sync.Pool // of *planner
}

// actionText is the wording of an action.
type actionText struct {
	name     string // as written in the domain
	template node
	feedback node
	foreign  []string // declared types of the parameters
}

// Compile reads and grounds a game. Its errors name the part of the game and the line.
func Compile(src Source) (*Game, error) {
	domain, err := pddl.ParseDomain(src.Domain)
	if err != nil {
		return nil, fmt.Errorf("read domain: %w", err)
	}
	return CompileWith(domain, src)
}

// CompileWith is Compile with a domain that is parsed already, as games share theirs. It does not
// change the domain.
func CompileWith(domain *pddl.Domain, src Source) (*Game, error) {
	problem, err := pddl.ParseProblem(src.Problem)
	if err != nil {
		return nil, fmt.Errorf("read problem: %w", err)
	}
	doc, err := grammar.ParseDocument(src.Grammar)
	if err != nil {
		return nil, fmt.Errorf("read grammar: %w", err)
	}
	w, err := newWorld(domain, problem)
	if err != nil {
		return nil, fmt.Errorf("read problem: %w", err)
	}
	g := &Game{domain: domain, world: w}
	initial, err := g.ground()
	if err != nil {
		return nil, fmt.Errorf("ground game: %w", err)
	}
	if err := g.compileTexts(doc); err != nil {
		return nil, fmt.Errorf("compile grammar: %w", err)
	}
	if err := g.start(initial); err != nil {
		return nil, err
	}
	for _, a := range domain.Actions {
		for _, p := range a.Params {
			w.ofType(p.Type)
		}
	}
	w.sealed = true
	w.problem = &pddl.Problem{Goal: problem.Goal}
	return g, nil
}

// ground finds facts, operators and goals, and returns the dynamic facts of the start.
func (g *Game) ground() (initial []int, err error) {
	w := g.world
	gr := newGrounder(w)
	named := make([]bool, len(w.ids))
	for _, f := range w.problem.Init {
		pred, err := w.predicate(f.Pred, len(f.Args), f.Line)
		if err != nil {
			return nil, err
		}
		a := atom{pred: uint16(pred)}
		for i, arg := range f.Args {
			e, ok := w.byID[arg]
			if !ok {
				return nil, &pddl.Error{Line: f.Line, Construct: arg, Reason: "no object has this name"}
			}
			a.args[i] = uint16(e)
			named[e] = true
		}
		gr.facts[gr.add(a)].initial = true
	}
	g.entities = nameEntities(w.ids, w.types, named)
	if err := gr.plansFor(w.domain.Actions); err != nil {
		return nil, err
	}
	parts, err := goalPlans(gr, w.problem.Goal)
	if err != nil {
		return nil, fmt.Errorf("goal: %w", err)
	}
	if err := gr.run(); err != nil {
		return nil, err
	}
	b := &builder{gr: gr}
	g.facts, b.number = sortFacts(w, gr.facts)
	g.ops = b.operators()
	g.goal = b.goal(parts, g.facts.dynamic)
	g.conditional = g.ops.when != nil
	for i := range gr.facts {
		if gr.facts[i].initial && int(b.number[i]) < g.facts.dynamic {
			initial = append(initial, int(b.number[i]))
		}
	}
	return initial, nil
}

// start computes what every episode begins with.
func (g *Game) start(initial []int) error {
	g.pivots = newPivotIndex(g)
	words := wordsFor(g.facts.dynamic)
	g.stateWords = 2*words + wordsFor(len(g.commands.text))
	if g.conditional {
		g.stateWords += words
	}
	g.initial = make([]uint64, g.stateWords)
	e := g.episode()
	for _, f := range initial {
		e.plan.set(f)
		e.pos.set(f)
	}
	e.won = g.goal.holds(e.plan)
	if err := e.refresh(); err != nil {
		return fmt.Errorf("commands at the start: %w", err)
	}
	copy(g.initial, e.words)
	g.initialLive = slices.Clone(e.live)
	intro, err := e.r.text(g.commands.intro, nil)
	if err != nil {
		return fmt.Errorf("write the introduction: %w", err)
	}
	g.intro = intro
	return nil
}

// Intro is the text that every episode starts with.
func (g *Game) Intro() string { return g.intro }

// Operators counts the ground operators.
func (g *Game) Operators() int { return g.ops.len() }

// Commands counts the command texts that can ever be admissible, apart from those that depend on the
// state.
func (g *Game) Commands() int { return len(g.commands.text) }
