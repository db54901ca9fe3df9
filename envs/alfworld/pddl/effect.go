package pddl

// parseEffects flattens an effect into simple ones. Costs are dropped.
func parseEffects(n *Node, when *Formula, out []Effect) ([]Effect, error) {
	if !n.IsList {
		return nil, errAt(n, "expected an effect in parentheses")
	}
	if len(n.List) == 0 {
		return out, nil
	}
	if n.List[0].IsList {
		return nil, errAt(n.List[0], "expected a predicate or a connective")
	}
	rest := n.List[1:]
	switch word := n.List[0].Text; word {
	case "and":
		var err error
		for _, k := range rest {
			if out, err = parseEffects(k, when, out); err != nil {
				return nil, err
			}
		}
		return out, nil
	case "when":
		return parseWhen(n, rest, when, out)
	case "increase":
		if len(rest) != 2 || !rest[0].is("total-cost") {
			return nil, errAt(n, "only (increase (total-cost) ...) is supported")
		}
		return out, nil
	case "forall", "assign", "decrease", "scale-up", "scale-down":
		return nil, errAt(n, "this effect is not supported")
	case "not":
		if len(rest) != 1 || !rest[0].IsList || len(rest[0].List) == 0 || rest[0].List[0].IsList {
			return nil, errAt(n, "takes one atom")
		}
		atom := rest[0]
		args, err := parseTerms(atom, atom.List[1:])
		return append(out, Effect{When: when, Del: true, Pred: atom.List[0].Text, Args: args, Line: n.Line}), err
	case "=", "or", "exists", "imply":
		return nil, errAt(n, "this is not an effect")
	default:
		args, err := parseTerms(n, rest)
		return append(out, Effect{When: when, Pred: word, Args: args, Line: n.Line}), err
	}
}

// parseWhen flattens a conditional effect; when is the condition that it stands under already.
func parseWhen(n *Node, rest []*Node, when *Formula, out []Effect) ([]Effect, error) {
	if len(rest) != 2 {
		return nil, errAt(n, "takes a condition and an effect, has %d parts", len(rest))
	}
	if when != nil {
		return nil, errAt(n, "a conditional effect inside another is not supported")
	}
	cond, err := parseCondition(rest[0])
	if err != nil {
		return nil, err
	}
	return parseEffects(rest[1], cond, out)
}
