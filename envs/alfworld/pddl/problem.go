package pddl

// ParseProblem reads a problem.
func ParseProblem(text string) (*Problem, error) {
	root, err := Parse(text)
	if err != nil {
		return nil, err
	}
	sections, err := definition(root)
	if err != nil {
		return nil, err
	}
	p := &Problem{}
	for _, s := range sections {
		if err := p.section(s); err != nil {
			return nil, err
		}
	}
	if p.Goal == nil {
		return nil, errAt(root, "the problem has no (:goal ...)")
	}
	return p, nil
}

func (p *Problem) section(s *Node) (err error) {
	rest := s.List[1:]
	switch s.List[0].Text {
	case "problem", ":domain":
		if len(rest) != 1 || rest[0].IsList {
			return errAt(s, "expected one name")
		}
		if s.List[0].Text == "problem" {
			p.Name = rest[0].Text
		} else {
			p.Domain = rest[0].Text
		}
	case ":requirements", ":metric":
	case ":objects":
		p.Objects, err = parseTyped(rest)
	case ":init":
		p.Init, err = parseInit(rest)
	case ":goal":
		if len(rest) != 1 {
			return errAt(s, "expected one condition, has %d", len(rest))
		}
		p.Goal, err = parseCondition(rest[0])
	default:
		return errAt(s, "this section of a problem is not supported")
	}
	return err
}

func parseInit(list []*Node) ([]Fact, error) {
	out := make([]Fact, 0, len(list))
	for _, n := range list {
		if !n.IsList || len(n.List) == 0 || n.List[0].IsList {
			return nil, errAt(n, "expected a fact in parentheses")
		}
		rest := n.List[1:]
		switch word := n.List[0].Text; word {
		case "=":
			if len(rest) != 2 || !rest[0].IsList || rest[1].IsList {
				return nil, errAt(n, "expected (= (function ...) number)")
			}
		case "not", "and", "or", "at-end", "forall", "exists":
			return nil, errAt(n, "only positive facts are supported at the start")
		default:
			args, err := parseTerms(n, rest)
			if err != nil {
				return nil, err
			}
			for _, a := range args {
				if a[0] == '?' {
					return nil, errAt(n, "a fact cannot hold the variable %s", a)
				}
			}
			out = append(out, Fact{Pred: word, Args: args, Line: n.Line})
		}
	}
	return out, nil
}
