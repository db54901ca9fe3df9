package engine

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hindsightrl/harness/envs/alfworld/pddl"
)

// workshop is a game of another domain and wording than ALFWorld's: deep types, conditional effects,
// commands whose text depends on the state. Transcripts of the original are beside it.
func workshop(tb testing.TB) Source {
	tb.Helper()
	data, err := os.ReadFile("../testdata/workshop.json")
	if err != nil {
		tb.Fatal(err)
	}
	var file struct {
		Domain  string `json:"pddl_domain"`
		Problem string `json:"pddl_problem"`
		Grammar string `json:"grammar"`
	}
	if err := json.Unmarshal(data, &file); err != nil {
		tb.Fatal(err)
	}
	return Source(file)
}

func compile(tb testing.TB, src Source) *Game {
	tb.Helper()
	g, err := Compile(src)
	if err != nil {
		tb.Fatal(err)
	}
	return g
}

// randomCommand picks an admissible command; some cannot be typed, as the original strips what it reads.
func randomCommand(rng *rand.Rand, e *Episode) string {
	adm := e.Admissible(nil)
	return adm[rng.IntN(len(adm))]
}

func mustStep(tb testing.TB, e *Episode, command string) Result {
	tb.Helper()
	r, err := e.Step(command)
	if err != nil {
		tb.Fatalf("step %q: %v", command, err)
	}
	return r
}

// holdsNaively evaluates a condition by its definition: over all entities, on a set of facts.
func (g *Game) holdsNaively(f *pddl.Formula, bind map[string]int, facts map[string]bool) bool {
	term := func(s string) int {
		if s[0] == '?' {
			return bind[s]
		}
		return g.world.byID[s]
	}
	switch f.Kind {
	case pddl.True:
		return true
	case pddl.Atom:
		args := make([]int, len(f.Args))
		for i, a := range f.Args {
			args[i] = term(a)
		}
		return facts[fmt.Sprint(f.Pred, args)]
	case pddl.Equal:
		return term(f.Args[0]) == term(f.Args[1])
	case pddl.Not:
		return !g.holdsNaively(f.Kids[0], bind, facts)
	case pddl.And, pddl.Or:
		for _, k := range f.Kids {
			if g.holdsNaively(k, bind, facts) == (f.Kind == pddl.Or) {
				return f.Kind == pddl.Or
			}
		}
		return f.Kind == pddl.And
	}
	return g.anyBinding(f.Vars, bind, func() bool { return g.holdsNaively(f.Kids[0], bind, facts) })
}

func (g *Game) anyBinding(vars []pddl.Typed, bind map[string]int, visit func() bool) bool {
	if len(vars) == 0 {
		return visit()
	}
	for e, ok := range g.world.ofType(vars[0].Type) {
		if !ok {
			continue
		}
		saved, had := bind[vars[0].Name]
		bind[vars[0].Name] = e
		found := g.anyBinding(vars[1:], bind, visit)
		if had {
			bind[vars[0].Name] = saved
		}
		if found {
			return true
		}
	}
	return false
}

// trueFacts lists an episode's true facts as holdsNaively wants them.
func (e *Episode) trueFacts() map[string]bool {
	out := make(map[string]bool)
	for f, p := range e.g.facts.pred {
		if e.isTrue(f) {
			args := []int{}
			for _, a := range e.g.facts.argsOf(f)[:e.g.world.preds[p].arity] {
				args = append(args, int(a))
			}
			out[fmt.Sprint(e.g.world.preds[p].name, args)] = true
		}
	}
	return out
}

// TestOperatorsAgreeWithTheDefinition compares the applicable operators and the goal, in every state of
// random walks, with a direct evaluation of the domain.
func TestOperatorsAgreeWithTheDefinition(t *testing.T) {
	t.Parallel()
	g := compile(t, workshop(t))
	for seed := range uint64(4) {
		rng := rand.New(rand.NewPCG(seed, 0))
		e := g.NewEpisode()
		for step := range 30 {
			facts := e.trueFacts()
			want := make(map[string]bool)
			for ai, a := range g.domain.Actions {
				bind := make(map[string]int)
				g.anyBinding(a.Params, bind, func() bool {
					if g.holdsNaively(a.Pre, bind, facts) {
						args := make([]int, len(a.Params))
						for i, p := range a.Params {
							args[i] = bind[p.Name]
						}
						want[fmt.Sprint(ai, args)] = true
					}
					return false
				})
			}
			got := make(map[string]bool)
			for op := range g.ops.len() {
				if e.plan.holds(g.ops.preOf(op)) {
					args := make([]int, 0)
					for _, x := range g.ops.argsOf(op) {
						args = append(args, int(x))
					}
					got[fmt.Sprint(g.ops.action[op], args)] = true
				}
			}
			if d := cmp.Diff(want, got); d != "" {
				t.Fatalf("seed %d, step %d: applicable operators differ (-definition +engine):\n%s", seed, step, d)
			}
			if won := g.holdsNaively(g.world.problem.Goal, map[string]int{}, facts); won != e.Won() {
				t.Fatalf("seed %d, step %d: won is %v, the goal says %v", seed, step, e.Won(), won)
			}
			mustStep(t, e, randomCommand(rng, e))
		}
	}
}

func TestStatesAreKeptAndPutBack(t *testing.T) {
	t.Parallel()
	g := compile(t, workshop(t))
	rng := rand.New(rand.NewPCG(1, 2))
	e := g.NewEpisode()
	for range 20 {
		mustStep(t, e, randomCommand(rng, e))
	}
	state, adm := e.Save(), e.Admissible(nil)
	var commands, want []string
	for range 20 {
		commands = append(commands, randomCommand(rng, e))
		want = append(want, mustStep(t, e, commands[len(commands)-1]).Observation+fmt.Sprint(e.Admissible(nil), e.Moves()))
	}
	other := g.NewEpisode()
	for _, ep := range []*Episode{e, other, e} {
		if !ep.Load(state) {
			t.Fatal("the state is refused")
		}
		if got := ep.Admissible(nil); !slices.Equal(got, adm) {
			t.Fatalf("after load the commands are %q, want %q", got, adm)
		}
		for i, c := range commands {
			if got := mustStep(t, ep, c).Observation + fmt.Sprint(ep.Admissible(nil), ep.Moves()); got != want[i] {
				t.Fatalf("step %d after load: got %s, want %s", i, got, want[i])
			}
		}
	}
	if compile(t, workshop(t)).NewEpisode().Load(state) {
		t.Error("a state of another game is taken")
	}
}

func TestResetIsTheStart(t *testing.T) {
	t.Parallel()
	e := compile(t, workshop(t)).NewEpisode()
	first, adm := e.Reset(), e.Admissible(nil)
	rng := rand.New(rand.NewPCG(5, 5))
	for range 30 {
		mustStep(t, e, randomCommand(rng, e))
	}
	if again := e.Reset(); again != first || !slices.Equal(e.Admissible(nil), adm) || e.Moves() != 0 {
		t.Errorf("reset gives %v, %q; the start was %v, %q", again, e.Admissible(nil), first, adm)
	}
}

// TestEpisodesShareAGame runs under -race: one compiled game, many goroutines.
func TestEpisodesShareAGame(t *testing.T) {
	t.Parallel()
	g := compile(t, workshop(t))
	var wg sync.WaitGroup
	logs := make([]string, 8)
	for i := range logs {
		wg.Go(func() {
			e, rng := g.NewEpisode(), rand.New(rand.NewPCG(9, 9))
			for range 40 {
				c := randomCommand(rng, e)
				advice, err := e.Advise()
				r, stepErr := e.Step(c)
				logs[i] += fmt.Sprintln(c, r, stepErr, advice, err, e.Explain("weld spanner to plate 1"))
			}
		})
	}
	wg.Wait()
	for i := range logs {
		if logs[i] != logs[0] {
			t.Fatalf("goroutine %d played another game:\n%s\nnot\n%s", i, logs[i], logs[0])
		}
	}
}

func TestNames(t *testing.T) {
	t.Parallel()
	ids := []string{"agent1", "cup_bar_1", "cup_bar_2", "hall_minus_3_dot_5", "lost_bar_9", "sink_bar_1", "sink_bar_2_bar_sinkbasin"}
	named := []bool{true, true, true, true, false, true, true}
	var got []string
	for _, e := range nameEntities(ids, make([]string, len(ids)), named) {
		got = append(got, e.name)
	}
	want := []string{"agent1 ", "cup 2", "cup 1", "hall-3.5 ", "", "sink 1", "sinkbasin 1"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestFactIndexFindsWideAtoms(t *testing.T) {
	t.Parallel()
	src := Source{
		Domain: `(define (domain d) (:predicates (five ?a ?b ?c ?d ?e) (at ?a))
			(:action shift :parameters (?a ?b ?c ?d ?e) :precondition (and (five ?a ?b ?c ?d ?e) (at ?a)) :effect (and (not (five ?a ?b ?c ?d ?e)) (five ?b ?c ?d ?e ?a) (not (at ?a)) (at ?b))))`,
		Problem: `(define (problem p) (:objects a b c d e) (:init (five a b c d e) (at a)) (:goal (five c d e a b)))`,
		Grammar: `grammar :: """ {"intro": [{"rhs": "Go."}]} """; action shift { template :: "shift {a}{b}{c}{d}{e}."; feedback :: "Shifted."; }`,
	}
	e := compile(t, src).NewEpisode()
	for range 5 {
		if e.Won() {
			break
		}
		c, err := e.Advise()
		if err != nil {
			t.Fatal(err)
		}
		mustStep(t, e, c)
	}
	if !e.Won() || e.Moves() != 2 {
		t.Errorf("solved %v in %d moves, want 2", e.Won(), e.Moves())
	}
}

// TestCompileErrors keeps what a broken game says.
func TestCompileErrors(t *testing.T) {
	t.Parallel()
	const (
		domain  = "(define (domain d) (:types u) (:predicates (p ?x))\n(:action go :parameters (?x - u) :precondition %s :effect (p ?x)))"
		problem = "(define (problem p) (:objects a - u b)\n(:init %s)\n(:goal (p a)))"
		text    = `grammar :: """ {"intro": [{"rhs": "%s"}]} """; action go { template :: "go {x}"; feedback :: "Gone."; }`
	)
	for _, c := range []struct{ name, pre, init, rhs, want string }{
		{"fine", "()", "(q a)", "Hi", ""},
		{"arity", "(q ?x ?x)", "(q a)", "Hi", "action go: line 2: q: used with 2 arguments here and 1 elsewhere"},
		{"object", "()", "(q c)", "Hi", "line 2: c: no object has this name"},
		{"variable", "(q ?y)", "(q a)", "Hi", "line 2: ?y: the variable is not declared"},
		{"not exists", "(not (exists (?y) (q ?y)))", "(q a)", "Hi", "line 2: (not (exists ...)): this condition is not supported"},
		{"not_", "(not_q ?x)", "(q a)", "Hi", "must not start with not_"},
		{"wide", "()", "(q a a a a a a a)", "Hi", "has 7 arguments, at most 6 are supported"},
		{"problem", "()", "(q a", "Hi", "read problem: line 1: (define ...): the parenthesis is never closed"},
		{"expression", "()", "(q a)", "{x - y}", "compile grammar: rule for #intro#: expression \"x - y\": this part of an expression is not supported at \"- y\""},
		{"query", "()", "(q a)", "{x | q(}", "expected a placeholder"},
		{"symbol", "()", "(q a)", "#nobody#", "write the introduction: the grammar has no rule for #nobody#"},
		{"unbound", "()", "(q a)", "{z.name}", "expression {z.name}: nothing is called \"z\" here"},
		{"attribute", "()", "(q a)", "{z.size | q(z:u)}", "an entity has no attribute \"size\""},
		{"none", "()", "(q a)", "{z.noun + 'x' | q(z:u)}", "+ needs text on both sides"},
		{"type", "()", "(q a)", "{z.name | q(z:gizmo)}", "the domain has no type \"gizmo\""},
		{"loop", "()", "(q a)", "#intro#", "the rules for #intro# never end"},
		{"nameless", "()", "(q b)", "Hi", "object \"a\" is in no initial fact and so has no name"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			_, err := Compile(Source{fmt.Sprintf(domain, c.pre), fmt.Sprintf(problem, c.init), fmt.Sprintf(text, c.rhs)})
			switch {
			case c.want == "" && err != nil:
				t.Errorf("got %v", err)
			case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
				t.Errorf("got %v, want %s", err, c.want)
			}
		})
	}
}

func TestWorldErrors(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ domain, problem, grammar, want string }{
		{"(define (:types a - b b - a) (:action x :effect (p)))", "(define (:goal (p)))", "", "is its own ancestor"},
		{"(define (:constants a) (:action x :effect (p)))", "(define (:objects a) (:goal (p)))", "", `object "a" is declared twice`},
		{"(define (:action Xx :effect (p)))", "(define (:goal (p)))", "", "action Xx: the grammar does not have this action"},
		{"(define (:action x :effect (when (exists (?y) (q ?y)) (p))))", "(define (:goal (p)))", "", "(exists ...) inside the condition of an effect is not supported"},
		{"(define (:action x :precondition " + strings.Repeat("(and (or (p) (q)) ", 13) + strings.Repeat(")", 13) + " :effect (p)))", "(define (:goal (p)))", "", "more than 4096 alternatives"},
	} {
		_, err := Compile(Source{c.domain, c.problem, c.grammar})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("got %v, want %s", err, c.want)
		}
	}
}

func TestAdviseKnowsWhenThereIsNoWay(t *testing.T) {
	t.Parallel()
	src := Source{
		Domain:  `(define (domain d) (:predicates (p ?x) (q ?x)) (:action burn :parameters (?x) :precondition (p ?x) :effect (not (p ?x))) (:action use :parameters (?x) :precondition (p ?x) :effect (q ?x)))`,
		Problem: `(define (problem p) (:objects a) (:init (p a)) (:goal (q a)))`,
		Grammar: `grammar :: """ {"intro": [{"rhs": "Go."}]} """; action burn { template :: "burn"; feedback :: "Ash."; } action use { template :: "use"; feedback :: "Used."; }`,
	}
	g := compile(t, src)
	e := g.NewEpisode()
	if c, err := e.Advise(); c != "use" || err != nil {
		t.Errorf("got %q, %v, want use", c, err)
	}
	mustStep(t, e, "burn")
	if c, err := e.Advise(); !errors.Is(err, ErrImpossible) {
		t.Errorf("after burning: got %q, %v, want ErrImpossible", c, err)
	}
	e.Reset()
	mustStep(t, e, "use")
	if c, err := e.Advise(); !errors.Is(err, ErrWon) {
		t.Errorf("at the goal: got %q, %v, want ErrWon", c, err)
	}
	src.Problem = strings.Replace(src.Problem, "(q a)", "(exists (?x ?y) (and (q ?x) (q ?y) (not (= ?x ?y))))", 1)
	if c, err := compile(t, src).NewEpisode().Advise(); !errors.Is(err, ErrImpossible) {
		t.Errorf("unsolvable: got %q, %v, want ErrImpossible", c, err)
	}
}

func TestExplain(t *testing.T) {
	t.Parallel()
	e := compile(t, workshop(t)).NewEpisode()
	for _, c := range []struct{ before, command, want string }{
		{"", "charge", ""},
		{"", "dance", "no action is worded like this"},
		{"", "roll from bay 3 to bay 9", `there is no "bay 9"`},
		{"", "roll from bolt 1 to bay 2", `"bolt 1" is no bay`},
		{"", "roll from bay 2 to bay 1", "needs at(robbie 1, bay 2)"},
		{"", "heat bolt 2", "needs grips(robbie 1, bolt 2)"},
		{"", "weld bolt 2 to plate 1", "the bolt 2 is not hot"},
		{"", "drop bolt 2", "needs grips(robbie 1, bolt 2)"},
	} {
		if c.before != "" {
			mustStep(t, e, c.before)
		}
		if got := e.Explain(c.command); got != c.want {
			t.Errorf("%q: got %q, want %q", c.command, got, c.want)
		}
	}
}

func FuzzCommands(f *testing.F) {
	g, err := Compile(workshop(f))
	if err != nil {
		f.Fatal(err)
	}
	for _, s := range []string{"charge", "grip bolt 2", " flip bay 1\u2003", "roll from  to ", "\xff", "weld {p} to {q}", ""} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, command string) {
		e := g.NewEpisode()
		before := e.Save()
		why := e.Explain(command)
		r, err := e.Step(command)
		if err != nil {
			t.Fatal(err)
		}
		if r.Applied != (why == "") {
			t.Errorf("%q: applied %v, explained %q", command, r.Applied, why)
		}
		if !r.Applied && (r.Observation != NothingHappens || !slices.Equal(before.words, e.words)) {
			t.Errorf("%q: an inadmissible command changed something", command)
		}
	})
}

func FuzzCompile(f *testing.F) {
	src := workshop(f)
	f.Add(src.Domain, src.Problem, src.Grammar)
	f.Fuzz(func(t *testing.T, domain, problem, text string) {
		if len(domain)+len(problem)+len(text) > 20_000 {
			t.Skip("larger than what finds new paths")
		}
		g, err := Compile(Source{domain, problem, text})
		if err != nil {
			return
		}
		e := g.NewEpisode()
		for _, c := range e.Admissible(nil) {
			if _, err := e.Step(c); err != nil {
				return
			}
		}
	})
}
