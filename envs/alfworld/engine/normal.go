package engine

import (
	"fmt"

	"github.com/hindsightrl/harness/envs/alfworld/pddl"
)

// maxDisjuncts bounds the disjunctive normal form of one condition.
const maxDisjuncts = 4096

// term is a variable of a conjunction (>= 0), or an entity e as ^e.
type term int32

// noEntity stands for a name that no object has: no fact holds of it.
const noEntity term = -1 << 30

// literal is an atom or its negation.
type literal struct {
	pred int
	args []term
	neg  bool
}

// equality is a = b or its negation.
type equality struct {
	a, b term
	neg  bool
}

// conj is one disjunct of a condition: all literals and equalities hold for some value of the
// variables beyond the first nparams.
type conj struct {
	vars    []pddl.Typed
	nparams int
	lits    []literal
	eqs     []equality
}

// disjunct is a conj in the making; extra lists quantified variables as indices into normaliser.vars.
type disjunct struct {
	extra []int
	lits  []literal
	eqs   []equality
}

func (d disjunct) join(o disjunct) disjunct {
	return disjunct{
		extra: append(d.extra[:len(d.extra):len(d.extra)], o.extra...),
		lits:  append(d.lits[:len(d.lits):len(d.lits)], o.lits...),
		eqs:   append(d.eqs[:len(d.eqs):len(d.eqs)], o.eqs...),
	}
}

// normaliser turns conditions into disjunctive normal form.
type normaliser struct {
	world *world
	vars  []pddl.Typed // parameters, then every quantified variable met
}

// normalise returns f's disjuncts over the given parameters.
func (w *world) normalise(f *pddl.Formula, params []pddl.Typed) ([]conj, error) {
	n := &normaliser{world: w, vars: append([]pddl.Typed(nil), params...)}
	scope := make(map[string]int, len(params))
	for i, p := range params {
		scope[p.Name] = i
	}
	ds, err := n.walk(f, false, scope)
	if err != nil {
		return nil, err
	}
	out := make([]conj, len(ds))
	for i, d := range ds {
		out[i] = n.close(d, len(params))
	}
	return out, nil
}

// close renumbers the variables of one disjunct so that only its own are left.
func (n *normaliser) close(d disjunct, nparams int) conj {
	remap := make([]term, len(n.vars))
	c := conj{vars: append([]pddl.Typed(nil), n.vars[:nparams]...), nparams: nparams, eqs: d.eqs}
	for i := range nparams {
		remap[i] = term(i)
	}
	for _, v := range d.extra {
		remap[v] = term(len(c.vars))
		c.vars = append(c.vars, n.vars[v])
	}
	move := func(t term) term {
		if t >= 0 {
			return remap[t]
		}
		return t
	}
	for _, l := range d.lits {
		args := make([]term, len(l.args))
		for i, a := range l.args {
			args[i] = move(a)
		}
		c.lits = append(c.lits, literal{l.pred, args, l.neg})
	}
	for i, e := range c.eqs {
		c.eqs[i] = equality{move(e.a), move(e.b), e.neg}
	}
	return c
}

func (n *normaliser) walk(f *pddl.Formula, neg bool, scope map[string]int) ([]disjunct, error) {
	switch f.Kind {
	case pddl.True:
		if neg {
			return nil, nil
		}
		return []disjunct{{}}, nil
	case pddl.Not:
		return n.walk(f.Kids[0], !neg, scope)
	case pddl.Atom:
		args, err := n.terms(f, scope)
		if err != nil {
			return nil, err
		}
		pred, err := n.world.predicate(f.Pred, len(args), f.Line)
		return []disjunct{{lits: []literal{{pred, args, neg}}}}, err
	case pddl.Equal:
		args, err := n.terms(f, scope)
		if err != nil {
			return nil, err
		}
		return []disjunct{{eqs: []equality{{args[0], args[1], neg}}}}, nil
	case pddl.Exists:
		return n.exists(f, neg, scope)
	}
	if (f.Kind == pddl.And) != neg {
		return n.product(f, neg, scope)
	}
	var out []disjunct
	for _, k := range f.Kids {
		ds, err := n.walk(k, neg, scope)
		if err != nil {
			return nil, err
		}
		if out = append(out, ds...); len(out) > maxDisjuncts {
			return nil, tooManyDisjuncts(f)
		}
	}
	return out, nil
}

func (n *normaliser) exists(f *pddl.Formula, neg bool, scope map[string]int) ([]disjunct, error) {
	if neg {
		return nil, &pddl.Error{Line: f.Line, Construct: "(not (exists ...))", Reason: "this condition is not supported"}
	}
	inner := make(map[string]int, len(scope)+len(f.Vars))
	for k, v := range scope {
		inner[k] = v
	}
	d := disjunct{}
	for _, v := range f.Vars {
		inner[v.Name] = len(n.vars)
		d.extra = append(d.extra, len(n.vars))
		n.vars = append(n.vars, v)
	}
	ds, err := n.walk(f.Kids[0], false, inner)
	for i := range ds {
		ds[i] = d.join(ds[i])
	}
	return ds, err
}

func (n *normaliser) product(f *pddl.Formula, neg bool, scope map[string]int) ([]disjunct, error) {
	out := []disjunct{{}}
	for _, k := range f.Kids {
		ds, err := n.walk(k, neg, scope)
		if err != nil {
			return nil, err
		}
		if len(out)*len(ds) > maxDisjuncts {
			return nil, tooManyDisjuncts(f)
		}
		next := make([]disjunct, 0, len(out)*len(ds))
		for _, a := range out {
			for _, b := range ds {
				next = append(next, a.join(b))
			}
		}
		out = next
	}
	return out, nil
}

func tooManyDisjuncts(f *pddl.Formula) error {
	return &pddl.Error{Line: f.Line, Construct: "condition", Reason: fmt.Sprintf("it has more than %d alternatives", maxDisjuncts)}
}

func (n *normaliser) terms(f *pddl.Formula, scope map[string]int) ([]term, error) {
	out := make([]term, len(f.Args))
	for i, a := range f.Args {
		if a[0] != '?' {
			out[i] = n.world.entityTerm(a)
			continue
		}
		v, ok := scope[a]
		if !ok {
			return nil, &pddl.Error{Line: f.Line, Construct: a, Reason: "the variable is not declared"}
		}
		out[i] = term(v)
	}
	return out, nil
}
