package engine

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/hindsightrl/harness/envs/alfworld/grammar"
)

// compiler turns a grammar into nodes. What is bound where a symbol is expanded is known before any
// episode runs, so each (symbol, scope) pair is compiled once and variables become slots of a frame.
type compiler struct {
	w     *world
	facts *factTable
	doc   *grammar.Document
	views map[string]*view
	rules map[string]*choiceNode
}

// scope is what is bound at some point of a text: the action's parameters first, then what queries
// bind, in order. A placeholder's index is its slot in the frame.
type scope struct {
	bound []grammar.Placeholder
	key   string
}

func newScope(bound []grammar.Placeholder) *scope {
	var b strings.Builder
	for _, p := range bound {
		fmt.Fprintf(&b, "%s:%s ", p.Name, p.Type)
	}
	return &scope{bound, b.String()}
}

// variable finds the slot that an expression means by a name, or -1: the last one bound under it.
func (s *scope) variable(name string) int {
	for i := len(s.bound) - 1; i >= 0; i-- {
		if s.bound[i].Name == name {
			return i
		}
	}
	return -1
}

// sequence compiles symbols one after the other.
func (c *compiler) sequence(symbols []grammar.Symbol, sc *scope) (node, error) {
	var out seqNode
	for i := range symbols {
		n, err := c.symbol(&symbols[i], sc)
		if err != nil {
			return nil, err
		}
		out = appendNode(out, n)
	}
	switch len(out) {
	case 0:
		return textNode(""), nil
	case 1:
		return out[0], nil
	}
	return out, nil
}

// appendNode joins neighbouring texts.
func appendNode(seq seqNode, n node) seqNode {
	if inner, ok := n.(seqNode); ok {
		for _, m := range inner {
			seq = appendNode(seq, m)
		}
		return seq
	}
	text, ok := n.(textNode)
	if !ok {
		return append(seq, n)
	}
	if text == "" {
		return seq
	}
	if k := len(seq) - 1; k >= 0 {
		if last, ok := seq[k].(textNode); ok {
			seq[k] = last + text
			return seq
		}
	}
	return append(seq, n)
}

func (c *compiler) symbol(s *grammar.Symbol, sc *scope) (node, error) {
	switch s.Kind {
	case grammar.Terminal:
		return textNode(s.Text), nil
	case grammar.Nonterminal:
		return c.nonterminal(s.Text, sc)
	case grammar.Eval:
		return c.expression(s.Text, sc)
	case grammar.Each:
		q, body, err := c.each(s, sc)
		if err != nil || q == nil {
			return body, err
		}
		return &eachNode{q, body}, nil
	default:
		return c.list(s.Inner, sc)
	}
}

// each compiles the body of a query symbol in the scope that its query makes; q is nil where there is
// no query.
func (c *compiler) each(s *grammar.Symbol, sc *scope) (q *query, body node, err error) {
	if s.Given != "" {
		if q, sc, err = c.query(s.Given, sc); err != nil {
			return nil, nil, err
		}
	}
	body, err = c.symbol(s.Inner, sc)
	return q, body, err
}

func (c *compiler) list(s *grammar.Symbol, sc *scope) (node, error) {
	q, body, err := c.each(s, sc)
	if err != nil || q == nil {
		return body, err // a list of one
	}
	n := &listNode{query: q, body: body}
	for _, part := range []struct {
		name string
		dst  *node
	}{{"list_empty", &n.empty}, {"list_separator", &n.sep}, {"list_last_separator", &n.last}} {
		if *part.dst, err = c.nonterminal(part.name, sc); err != nil {
			return nil, err
		}
	}
	return n, nil
}

// nonterminal compiles the rules of a symbol. A symbol without rules fails only where it is reached,
// as in the original: shipped grammars carry rules that nothing uses.
func (c *compiler) nonterminal(name string, sc *scope) (node, error) {
	rules := c.doc.Rules[name]
	if len(rules) == 0 {
		return &failNode{fmt.Errorf("the grammar has no rule for #%s#", name)}, nil
	}
	key := name + "\x00" + sc.key
	if n, ok := c.rules[key]; ok {
		return n.simple(), nil
	}
	n := &choiceNode{name: name}
	c.rules[key] = n
	for _, r := range rules {
		var q *query
		if r.Condition != "" {
			var err error
			if q, _, err = c.query(r.Condition, sc); err != nil {
				return nil, fmt.Errorf("condition of #%s#: %w", name, err)
			}
		}
		body, err := c.sequence(r.RHS, sc)
		if err != nil {
			return nil, fmt.Errorf("rule for #%s#: %w", name, err)
		}
		n.rules = append(n.rules, ruleNode{q, body})
		if q == nil {
			break // later rules are never looked at
		}
	}
	n.done = true
	return n.simple(), nil
}

// query compiles a query and returns the scope inside it.
func (c *compiler) query(text string, sc *scope) (*query, *scope, error) {
	parsed, err := grammar.ParseQuery(text)
	if err != nil {
		return nil, nil, err
	}
	q := &query{base: len(sc.bound)}
	bound := slices.Clone(sc.bound)
	for _, p := range parsed {
		cj := conjunct{}
		types := make([]string, len(p.Args))
		first := len(bound)
		for i, ph := range p.Args {
			if types[i] = ph.Type; !c.w.hasType(ph.Type) && q.err == nil {
				q.err = fmt.Errorf("query %q: the domain has no type %q", text, ph.Type)
			}
			slot := slices.Index(bound, ph)
			if slot < 0 {
				slot = len(bound)
				bound = append(bound, ph)
			}
			cj.slots = append(cj.slots, slot)
			if slot < first {
				cj.bound = append(cj.bound, i)
			}
		}
		c.conjunct(&cj, p.Name, types)
		q.conjuncts = append(q.conjuncts, cj)
	}
	if len(bound) > maxSlots {
		return nil, nil, fmt.Errorf("query %q: more than %d variables are bound", text, maxSlots)
	}
	q.width = len(bound) - q.base
	return q, newScope(bound), nil
}

// conjunct finds the facts that a conjunct ranges over; none for a predicate that no fact has.
func (c *compiler) conjunct(cj *conjunct, name string, types []string) {
	base, negated := strings.CutPrefix(name, "not_")
	pred, ok := c.w.predIDs[base]
	if !ok || c.w.preds[pred].arity != len(types) || negated && !c.w.preds[pred].dynamic() {
		cj.view = &emptyView
		return
	}
	cj.neg = negated
	cj.dynamic = c.w.preds[pred].dynamic()
	key := viewKey(pred, types)
	if c.views[key] == nil {
		c.views[key] = c.makeView(pred, types)
	}
	cj.view = c.views[key]
}

var emptyView view

var errNoRule = errors.New("no rule's condition holds")
