package engine

import (
	"fmt"

	"github.com/hindsightrl/harness/envs/alfworld/grammar"
)

// attribute is something that an expression can ask of an entity.
type attribute uint8

const (
	attrName attribute = iota
	attrID
	attrType
	attrDefinite
	attrIndefinite
	attrNone // an attribute that the original has and never fills
)

var attributes = map[string]attribute{
	"name": attrName, "id": attrID, "type": attrType, "definite": attrDefinite, "indefinite": attrIndefinite,
	"noun": attrNone, "adj": attrNone, "desc": attrNone, "room_type": attrNone, "synonyms": attrNone,
}

// expression compiles the text between braces. What is outside the supported expressions is an error;
// an unknown variable fails only where it is reached.
func (c *compiler) expression(text string, sc *scope) (node, error) {
	parsed, err := grammar.ParseExpr(text)
	if err != nil {
		return nil, err
	}
	e, err := compileExpr(parsed, sc)
	if err != nil {
		return &failNode{fmt.Errorf("expression {%s}: %w", text, err)}, nil //nolint:nilerr // it fails when it is reached
	}
	return simplify(e), nil
}

func compileExpr(p *grammar.Expr, sc *scope) (*expr, error) {
	switch p.Kind {
	case grammar.String:
		return &expr{kind: p.Kind, text: p.Text}, nil
	case grammar.Name:
		slot := sc.variable(p.Text)
		if slot < 0 {
			return nil, fmt.Errorf("nothing is called %q here", p.Text)
		}
		return &expr{kind: p.Kind, slot: slot}, nil
	case grammar.Attr:
		a, ok := attributes[p.Text]
		if !ok {
			return nil, fmt.Errorf("an entity has no attribute %q", p.Text)
		}
		e, err := compileExpr(p.A, sc)
		if err == nil {
			e.kind, e.attr = grammar.Attr, a
		}
		return e, err
	}
	a, err := compileExpr(p.A, sc)
	if err != nil {
		return nil, err
	}
	b, err := compileExpr(p.B, sc)
	return &expr{kind: p.Kind, a: a, b: b}, err
}

// simplify turns the usual shapes (an attribute, a concatenation of attributes and literals) into
// plain nodes.
func simplify(e *expr) node {
	switch {
	case e.kind == grammar.String:
		return textNode(e.text)
	case e.kind == grammar.Name:
		return attrNode{e.slot, attrName}
	case e.kind == grammar.Attr && e.attr != attrNone:
		return attrNode{e.slot, e.attr}
	case e.kind == grammar.Concat:
		a, b := simplify(e.a), simplify(e.b)
		if isPlain(e.a) && isPlain(e.b) {
			return appendNode(appendNode(nil, a), b)
		}
	}
	return &exprNode{e}
}

// isPlain reports an operand of + that is surely text.
func isPlain(e *expr) bool {
	switch e.kind {
	case grammar.String:
		return true
	case grammar.Attr:
		return e.attr != attrNone
	case grammar.Concat:
		return isPlain(e.a) && isPlain(e.b)
	}
	return false
}

// expr is a compiled expression.
type expr struct {
	kind grammar.ExprKind
	text string
	slot int
	attr attribute
	a, b *expr
}

// value is what an expression yields: an entity (str() gives its name), text, or None.
type value struct {
	text   string
	entity bool
	none   bool
}

func (v value) truth() bool { return !v.none && (v.entity || v.text != "") }

func (e *expr) eval(r *renderer) (value, error) {
	switch e.kind {
	case grammar.String:
		return value{text: e.text}, nil
	case grammar.Name:
		s, err := r.attr(e.slot, attrName)
		return value{text: s, entity: true}, err
	case grammar.Attr:
		if e.attr == attrNone {
			return value{text: "None", none: true}, nil
		}
		s, err := r.attr(e.slot, e.attr)
		return value{text: s}, err
	}
	a, err := e.a.eval(r)
	if err != nil {
		return value{}, err
	}
	switch {
	case e.kind == grammar.OrElse && a.truth(), e.kind == grammar.AndAlso && !a.truth():
		return a, nil
	}
	b, err := e.b.eval(r)
	if e.kind != grammar.Concat || err != nil {
		return b, err
	}
	if a.none || b.none || a.entity || b.entity {
		return value{}, fmt.Errorf("+ needs text on both sides")
	}
	return value{text: a.text + b.text}, nil
}
