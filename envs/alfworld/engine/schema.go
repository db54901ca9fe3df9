package engine

import (
	"fmt"

	"github.com/hindsightrl/harness/envs/alfworld/pddl"
)

// plansFor compiles the actions.
func (gr *grounder) plansFor(actions []pddl.Action) error {
	for ai := range actions {
		a := &actions[ai]
		effects, err := gr.effects(a)
		if err != nil {
			return fmt.Errorf("action %s: %w", a.RawName, err)
		}
		cs, err := gr.w.normalise(a.Pre, a.Params)
		if err != nil {
			return fmt.Errorf("action %s: %w", a.RawName, err)
		}
		for _, c := range cs {
			gr.plans = append(gr.plans, plan{conj: c, action: ai, effects: effects})
		}
	}
	return nil
}

func (gr *grounder) effects(a *pddl.Action) ([]schemaEffect, error) {
	out := make([]schemaEffect, 0, len(a.Effects))
	for _, e := range a.Effects {
		f := &pddl.Formula{Kind: pddl.Atom, Pred: e.Pred, Args: e.Args, Line: e.Line}
		cs, err := gr.w.normalise(f, a.Params)
		if err != nil {
			return nil, err
		}
		se := schemaEffect{lit: cs[0].lits[0]}
		se.lit.neg = e.Del
		if e.When != nil {
			if se.when, err = gr.w.normalise(e.When, a.Params); err != nil {
				return nil, err
			}
			for _, c := range se.when {
				if len(c.vars) > c.nparams {
					return nil, &pddl.Error{Line: e.Line, Construct: "(when ...)", Reason: "(exists ...) inside the condition of an effect is not supported"}
				}
			}
			if se.when == nil {
				continue // the condition never holds
			}
		}
		out = append(out, se)
	}
	return out, nil
}
