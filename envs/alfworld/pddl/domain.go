package pddl

// ParseDomain reads a domain.
func ParseDomain(text string) (*Domain, error) {
	root, err := Parse(text)
	if err != nil {
		return nil, err
	}
	sections, err := definition(root)
	if err != nil {
		return nil, err
	}
	d := &Domain{}
	for _, s := range sections {
		if err := d.section(s); err != nil {
			return nil, err
		}
	}
	if len(d.Actions) == 0 {
		return nil, errAt(root, "the domain has no action")
	}
	return d, nil
}

// definition returns the sections of "(define ...)"; each is a list that starts with a word.
func definition(root *Node) ([]*Node, error) {
	if !root.is("define") {
		return nil, errAt(root, "expected (define ...)")
	}
	for _, s := range root.List[1:] {
		if !s.IsList || len(s.List) == 0 || s.List[0].IsList {
			return nil, errAt(s, "expected a section in parentheses")
		}
	}
	return root.List[1:], nil
}

func (d *Domain) section(s *Node) (err error) {
	rest := s.List[1:]
	switch s.List[0].Text {
	case "domain":
		if len(rest) != 1 || rest[0].IsList {
			return errAt(s, "expected one name")
		}
		d.Name = rest[0].Text
	case ":requirements", ":functions":
	case ":types":
		d.Types, err = parseTyped(rest)
	case ":constants":
		d.Constants, err = parseTyped(rest)
	case ":predicates":
		for _, p := range rest {
			if !p.IsList || len(p.List) == 0 || p.List[0].IsList {
				return errAt(p, "expected a predicate in parentheses")
			}
			d.Predicates = append(d.Predicates, Predicate{Name: p.List[0].Text, Raw: p.List[0].Raw})
		}
	case ":action":
		var a Action
		if a, err = parseAction(s); err == nil {
			for _, b := range d.Actions {
				if b.Name == a.Name {
					return errAt(s, "action %q is declared twice", a.Name)
				}
			}
			d.Actions = append(d.Actions, a)
		}
	default:
		return errAt(s, "this section of a domain is not supported")
	}
	return err
}

func parseAction(s *Node) (Action, error) {
	rest := s.List[1:]
	if len(rest) == 0 || rest[0].IsList {
		return Action{}, errAt(s, "the action has no name")
	}
	a := Action{Name: rest[0].Text, RawName: rest[0].Raw, Line: s.Line, Pre: &Formula{Kind: True, Line: s.Line}}
	for rest = rest[1:]; len(rest) > 0; rest = rest[2:] {
		if len(rest) == 1 {
			return a, errAt(rest[0], "nothing follows in action %q", a.Name)
		}
		var err error
		switch key := rest[0]; key.head() {
		case ":parameters":
			a.Params, err = parseVars(rest[1])
		case ":precondition":
			a.Pre, err = parseCondition(rest[1])
		case ":effect":
			a.Effects, err = parseEffects(rest[1], nil, nil)
		default:
			err = errAt(key, "this part of action %q is not supported", a.Name)
		}
		if err != nil {
			return a, err
		}
	}
	return a, nil
}
