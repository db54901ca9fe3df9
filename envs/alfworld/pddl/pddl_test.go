package pddl

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const shopDomain = `
; comment (with parentheses)
(define (domain Shop)
 (:requirements :adl :typing)
 (:types thing place, - object Box - thing)
 (:constants Hub - place)
 (:predicates (In ?t - thing ?p) (Open ?b) (done))
 (:functions (total-cost) - number (distance ?a ?b))
 (:action PutIn :parameters (?t - thing ?b - box ?x)
   :precondition (and (Open ?b) (or (not (In ?t ?b)) (exists (?y - thing, ?z - place) (In ?y ?z))) (not (= ?t ?x)))
   :effect (and (In ?t ?b) (when (Open ?b) (and (not (Open ?b)) (done))) (increase (total-cost) 5)))
 (:action Wait :parameters () :precondition () :effect (done))
)`

func TestParseDomain(t *testing.T) {
	t.Parallel()
	d, err := ParseDomain(shopDomain)
	if err != nil {
		t.Fatal(err)
	}
	atom := func(line int, pred string, args ...string) *Formula {
		return &Formula{Kind: Atom, Line: line, Pred: pred, Args: args}
	}
	open := atom(11, "open", "?b")
	want := &Domain{
		Name:       "shop",
		Types:      []Typed{{"thing", "object"}, {"place,", "object"}, {"box", "thing"}},
		Constants:  []Typed{{"hub", "place"}},
		Predicates: []Predicate{{"in", "In"}, {"open", "Open"}, {"done", "done"}},
		Actions: []Action{{
			Name: "putin", RawName: "PutIn", Line: 9,
			Params: []Typed{{"?t", "thing"}, {"?b", "box"}, {"?x", "object"}},
			Pre: &Formula{Kind: And, Line: 10, Kids: []*Formula{
				atom(10, "open", "?b"),
				{Kind: Or, Line: 10, Kids: []*Formula{
					{Kind: Not, Line: 10, Kids: []*Formula{atom(10, "in", "?t", "?b")}},
					{Kind: Exists, Line: 10, Vars: []Typed{{"?y", "thing,"}, {"?z", "place"}}, Kids: []*Formula{atom(10, "in", "?y", "?z")}},
				}},
				{Kind: Not, Line: 10, Kids: []*Formula{{Kind: Equal, Line: 10, Args: []string{"?t", "?x"}}}},
			}},
			Effects: []Effect{
				{Pred: "in", Args: []string{"?t", "?b"}, Line: 11},
				{When: open, Del: true, Pred: "open", Args: []string{"?b"}, Line: 11},
				{When: open, Pred: "done", Args: []string{}, Line: 11},
			},
		}, {
			Name: "wait", RawName: "Wait", Line: 12, Params: []Typed{}, Pre: &Formula{Kind: True, Line: 12},
			Effects: []Effect{{Pred: "done", Args: []string{}, Line: 12}},
		}},
	}
	if diff := cmp.Diff(want, d); diff != "" {
		t.Errorf("domain differs (-want +got):\n%s", diff)
	}
}

func TestParseProblem(t *testing.T) {
	t.Parallel()
	p, err := ParseProblem(`(define (problem P1) (:domain shop)
 (:objects A_bar_1 b - thing c)
 (:init (In A_bar_1 c) (= (distance a b) 3) (done))
 (:metric minimize (total-cost))
 (:goal (imply (done) (open b))))`)
	if err != nil {
		t.Fatal(err)
	}
	want := &Problem{
		Name: "p1", Domain: "shop",
		Objects: []Typed{{"a_bar_1", "thing"}, {"b", "thing"}, {"c", "object"}},
		Init:    []Fact{{"in", []string{"a_bar_1", "c"}, 3}, {"done", []string{}, 3}},
		Goal: &Formula{Kind: Or, Line: 5, Kids: []*Formula{
			{Kind: Not, Line: 5, Kids: []*Formula{{Kind: Atom, Line: 5, Pred: "done", Args: []string{}}}},
			{Kind: Atom, Line: 5, Pred: "open", Args: []string{"b"}},
		}},
	}
	if diff := cmp.Diff(want, p); diff != "" {
		t.Errorf("problem differs (-want +got):\n%s", diff)
	}
}

// TestTokensAreTheOriginals keeps the lexical rules: '?' starts a token, commas do not.
func TestTokensAreTheOriginals(t *testing.T) {
	t.Parallel()
	n, err := Parse("(a?b,c\t(D)\x1c?e;f)\ng)")
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, k := range n.List {
		got = append(got, k.head())
	}
	if want := []string{"a", "?b,c", "(d ...)", "?e", "g"}; !cmp.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestErrorsNameLineAndConstruct(t *testing.T) {
	t.Parallel()
	action := func(part string) string {
		return "(define (domain d)\n(:action a :parameters (?x)\n" + part + "))"
	}
	for _, c := range []struct{ name, text, want string }{
		{"empty", " ; nothing", "line 1: the text is empty"},
		{"word", "hello", "line 1: hello: expected '('"},
		{"unclosed", "(define\n(domain d", "line 2: (domain ...): the parenthesis is never closed"},
		{"trailing", "(define (domain d)) )", "line 1: ): text after the closing parenthesis"},
		{"not a definition", "(domain d)", "line 1: (domain ...): expected (define ...)"},
		{"no action", "(define (domain d))", "line 1: (define ...): the domain has no action"},
		{"outside ASCII", "(define ; é\n é)", "line 2: character outside ASCII outside a comment"},
		{"deep", strings.Repeat("(", 600), "line 1: parentheses nested too deeply"},
		{"section", "(define (domain d)\n(:derived (p) (q)))", "line 2: (:derived ...): this section of a domain is not supported"},
		{"forall", action(":precondition (forall (?y) (p ?y))"), "line 3: (forall ...): this condition is not supported"},
		{"forall effect", action(":effect (forall (?y) (p ?y))"), "line 3: (forall ...): this effect is not supported"},
		{"nested when", action(":effect (when (p) (when (q) (r)))"), "line 3: (when ...): a conditional effect inside another is not supported"},
		{"increase", action(":effect (increase (fuel) 1)"), "line 3: (increase ...): only (increase (total-cost) ...) is supported"},
		{"either", "(define (domain d) (:types a - (either b c)))", "line 1: (either ...): a choice of types is not supported"},
		{"no type", "(define (domain d) (:types a -))", "line 1: -: no type follows the dash"},
		{"variable", action(":precondition (exists (y) (p y))"), "line 3: y: a variable must start with '?'"},
		{"variable twice", action(":precondition (exists (?y ?y) (p ?y))"), "line 3: ?y: the variable is listed twice"},
		{"not", action(":precondition (not (p) (q))"), "line 3: (not ...): takes one condition, has 2"},
		{"equal", action(":precondition (= ?x)"), "line 3: (= ...): takes two terms, has 1"},
		{"function term", action(":precondition (p (f ?x))"), "line 3: (f ...): expected a variable or an object inside (p ...)"},
		{"part", action(":duration 3"), "line 3: :duration: this part of action \"a\" is not supported"},
		{"dangling part", action(":effect"), "line 3: :effect: nothing follows in action \"a\""},
		{"action twice", "(define (domain d) (:action a :effect (p))\n(:action A :effect (p)))", "line 2: (:action ...): action \"a\" is declared twice"},
		{"effect not", action(":effect (not ?x)"), "line 3: (not ...): takes one atom"},
		{"effect or", action(":effect (or (p) (q))"), "line 3: (or ...): this is not an effect"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			_, err := ParseDomain(c.text)
			checkError(t, err, c.want)
		})
	}
	for _, c := range []struct{ name, text, want string }{
		{"no goal", "(define (problem p))", "line 1: (define ...): the problem has no (:goal ...)"},
		{"negative fact", "(define (:init\n(not (p a))))", "line 2: (not ...): only positive facts are supported at the start"},
		{"variable fact", "(define (:init (p ?a)))", "line 1: (p ...): a fact cannot hold the variable ?a"},
		{"two goals", "(define (:goal (p) (q)))", "line 1: (:goal ...): expected one condition, has 2"},
		{"section", "(define (:length 3))", "line 1: (:length ...): this section of a problem is not supported"},
	} {
		t.Run("problem "+c.name, func(t *testing.T) {
			t.Parallel()
			_, err := ParseProblem(c.text)
			checkError(t, err, c.want)
		})
	}
}

func checkError(t *testing.T, err error, want string) {
	t.Helper()
	var typed *Error
	if !errors.As(err, &typed) {
		t.Fatalf("got %v, want a *pddl.Error", err)
	}
	if got := err.Error(); got != want {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

func FuzzDomain(f *testing.F) {
	f.Add(shopDomain)
	f.Add("(define (domain d) (:action a :precondition (not (not (or))) :effect (and)))")
	f.Add("(((((")
	f.Add("(define (:types - - -) (:constants ? ?a))")
	f.Fuzz(func(t *testing.T, text string) {
		if d, err := ParseDomain(text); err == nil && len(d.Actions) == 0 {
			t.Error("a domain without actions is accepted")
		}
	})
}

func FuzzProblem(f *testing.F) {
	f.Add("(define (problem p) (:objects a b - c) (:init (p a) (= (f) 2)) (:goal (exists (?x) (p ?x))))")
	f.Add("(define (:goal ()))")
	f.Fuzz(func(t *testing.T, text string) {
		if p, err := ParseProblem(text); err == nil && p.Goal == nil {
			t.Error("a problem without a goal is accepted")
		}
	})
}
