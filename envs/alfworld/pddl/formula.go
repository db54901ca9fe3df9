package pddl

// parseTyped reads "a b - t c": names with their types. Names without a type get "object".
func parseTyped(list []*Node) ([]Typed, error) {
	out := make([]Typed, 0, len(list))
	open := 0 // first name that has no type yet
	for i := 0; i < len(list); i++ {
		n := list[i]
		if n.IsList {
			return nil, errAt(n, "expected a name in a typed list")
		}
		if n.Text != "-" {
			out = append(out, Typed{Name: n.Text, Type: "object"})
			continue
		}
		if i+1 >= len(list) {
			return nil, errAt(n, "no type follows the dash")
		}
		i++
		if list[i].IsList {
			return nil, errAt(list[i], "a choice of types is not supported")
		}
		for ; open < len(out); open++ {
			out[open].Type = list[i].Text
		}
	}
	return out, nil
}

// parseVars is parseTyped for lists of variables.
func parseVars(n *Node) ([]Typed, error) {
	if !n.IsList {
		return nil, errAt(n, "expected a list of variables")
	}
	vars, err := parseTyped(n.List)
	if err != nil {
		return nil, err
	}
	seen := make(map[string]bool, len(vars))
	for _, v := range vars {
		if v.Name[0] != '?' {
			return nil, &Error{Line: n.Line, Construct: v.Name, Reason: "a variable must start with '?'"}
		}
		if seen[v.Name] {
			return nil, &Error{Line: n.Line, Construct: v.Name, Reason: "the variable is listed twice"}
		}
		seen[v.Name] = true
	}
	return vars, nil
}

// parseCondition reads a precondition or a goal. The empty list is the condition that always holds.
func parseCondition(n *Node) (*Formula, error) {
	if !n.IsList {
		return nil, errAt(n, "expected a condition in parentheses")
	}
	if len(n.List) == 0 {
		return &Formula{Kind: True, Line: n.Line}, nil
	}
	if n.List[0].IsList {
		return nil, errAt(n.List[0], "expected a predicate or a connective")
	}
	rest := n.List[1:]
	switch word := n.List[0].Text; word {
	case "and":
		return parseKids(And, n, rest)
	case "or":
		return parseKids(Or, n, rest)
	case "not":
		if len(rest) != 1 {
			return nil, errAt(n, "takes one condition, has %d", len(rest))
		}
		return parseKids(Not, n, rest)
	case "imply":
		if len(rest) != 2 {
			return nil, errAt(n, "takes two conditions, has %d", len(rest))
		}
		f, err := parseKids(Or, n, rest)
		if err == nil {
			f.Kids[0] = &Formula{Kind: Not, Line: n.Line, Kids: []*Formula{f.Kids[0]}}
		}
		return f, err
	case "exists":
		return parseExists(n, rest)
	case "forall", "preference", "<", ">", "<=", ">=":
		return nil, errAt(n, "this condition is not supported")
	case "=":
		args, err := parseTerms(n, rest)
		if err == nil && len(args) != 2 {
			err = errAt(n, "takes two terms, has %d", len(args))
		}
		return &Formula{Kind: Equal, Line: n.Line, Args: args}, err
	default:
		args, err := parseTerms(n, rest)
		return &Formula{Kind: Atom, Line: n.Line, Pred: word, Args: args}, err
	}
}

func parseKids(kind Kind, n *Node, rest []*Node) (*Formula, error) {
	f := &Formula{Kind: kind, Line: n.Line, Kids: make([]*Formula, 0, len(rest))}
	for _, k := range rest {
		kid, err := parseCondition(k)
		if err != nil {
			return nil, err
		}
		f.Kids = append(f.Kids, kid)
	}
	return f, nil
}

func parseExists(n *Node, rest []*Node) (*Formula, error) {
	if len(rest) != 2 {
		return nil, errAt(n, "takes variables and one condition, has %d parts", len(rest))
	}
	vars, err := parseVars(rest[0])
	if err != nil {
		return nil, err
	}
	f, err := parseKids(Exists, n, rest[1:])
	if err == nil {
		f.Vars = vars
	}
	return f, err
}

func parseTerms(n *Node, rest []*Node) ([]string, error) {
	args := make([]string, len(rest))
	for i, a := range rest {
		if a.IsList {
			return nil, errAt(a, "expected a variable or an object inside %s", n.head())
		}
		args[i] = a.Text
	}
	return args, nil
}
