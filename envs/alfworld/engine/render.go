package engine

import "fmt"

const (
	maxSlots       = 60      // variables bound at once
	maxRenderDepth = 200     // rules inside rules
	maxText        = 1 << 20 // bytes of one text
)

// foreign marks a parameter whose declared type differs from the entity's own. The original compares
// variables by name and type, so such a parameter equals no argument of any fact.
const foreign = 1 << 15

// node is a compiled piece of text.
type node interface {
	render(r *renderer) error
}

// renderer expands nodes against one state. Its buffers are reused from text to text.
type renderer struct {
	g     *Game
	pos   bits // explicit facts
	neg   bits // explicit negated facts
	buf   []byte
	frame []uint16 // entities bound, by slot
	rows  []uint16 // results of the queries being rendered
	depth int
}

// text renders n with the given parameters bound.
func (r *renderer) text(n node, params []uint16) (string, error) {
	r.buf, r.frame, r.rows, r.depth = r.buf[:0], append(r.frame[:0], params...), r.rows[:0], 0
	if err := n.render(r); err != nil {
		return "", err
	}
	return string(r.buf), nil
}

func (r *renderer) attr(slot int, a attribute) (string, error) {
	e := &r.g.entities[r.frame[slot]&^foreign]
	switch a {
	case attrID:
		return e.id, nil
	case attrType:
		return e.typ, nil
	case attrDefinite:
		return "the", nil
	case attrIndefinite:
		return "a", nil
	}
	if e.name == "" {
		return "", fmt.Errorf("object %q is in no initial fact and so has no name", e.id)
	}
	return e.name, nil
}

type textNode string

func (n textNode) render(r *renderer) error {
	r.buf = append(r.buf, n...)
	return nil
}

type attrNode struct {
	slot int
	attr attribute
}

func (n attrNode) render(r *renderer) error {
	s, err := r.attr(n.slot, n.attr)
	r.buf = append(r.buf, s...)
	return err
}

type exprNode struct{ e *expr }

func (n *exprNode) render(r *renderer) error {
	v, err := n.e.eval(r)
	r.buf = append(r.buf, v.text...)
	return err
}

type seqNode []node

func (n seqNode) render(r *renderer) error {
	for _, m := range n {
		if err := m.render(r); err != nil {
			return err
		}
	}
	return nil
}

type failNode struct{ err error }

func (n *failNode) render(*renderer) error { return n.err }

// choiceNode is a symbol: the first rule whose condition has a match replaces it.
type choiceNode struct {
	name  string
	rules []ruleNode
	done  bool // all rules are compiled
}

type ruleNode struct {
	cond *query // nil: always
	body node
}

// simple is the node to use for the symbol: the body itself where there is no choice.
func (n *choiceNode) simple() node {
	if n.done && n.rules[0].cond == nil {
		return n.rules[0].body
	}
	return n
}

func (n *choiceNode) render(r *renderer) error {
	if r.depth++; r.depth > maxRenderDepth || len(r.buf) > maxText {
		return fmt.Errorf("the rules for #%s# never end", n.name)
	}
	for i := range n.rules {
		rule := &n.rules[i]
		if rule.cond != nil {
			if rule.cond.err != nil {
				return rule.cond.err
			}
			if !rule.cond.run(r, 0, true) {
				continue
			}
		}
		err := rule.body.render(r)
		r.depth--
		return err
	}
	return fmt.Errorf("rules for #%s#: %w", n.name, errNoRule)
}

// eachNode renders its body once per match.
type eachNode struct {
	query *query
	body  node
}

func (n *eachNode) render(r *renderer) error {
	return n.query.forEach(r, func(int, int) error { return nil }, n.body)
}

// listNode joins its matches.
type listNode struct {
	query                  *query
	body, empty, sep, last node
}

func (n *listNode) render(r *renderer) error {
	count := -1
	err := n.query.forEach(r, func(i, total int) error {
		count = total
		switch i {
		case 0:
			return nil
		case total - 1:
			return n.last.render(r)
		default:
			return n.sep.render(r)
		}
	}, n.body)
	if err == nil && count < 0 {
		return n.empty.render(r)
	}
	return err
}
