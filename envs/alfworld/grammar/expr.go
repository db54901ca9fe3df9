package grammar

import "strings"

// ExprKind says what an Expr is.
type ExprKind uint8

// The kinds of expression.
const (
	String  ExprKind = iota // a literal
	Name                    // a variable: an entity
	Attr                    // an attribute of an entity
	Concat                  // a + b
	OrElse                  // a or b
	AndAlso                 // a and b
)

// Expr is the part of Python's expressions that games use. String: Text is its value. Name: Text is the
// variable. Attr: A is the entity, Text the attribute. The rest: A and B.
type Expr struct {
	Kind ExprKind
	Text string
	A, B *Expr
}

// maxExprDepth bounds nested parentheses.
const maxExprDepth = 100

// ParseExpr reads the expression between braces.
func ParseExpr(text string) (*Expr, error) {
	p := exprParser{text: text, rest: strings.TrimLeft(text, " \t")}
	e, err := p.or(0)
	if err != nil {
		return nil, err
	}
	if p.skip(); p.rest != "" {
		return nil, p.fail("this part of an expression is not supported")
	}
	return e, nil
}

type exprParser struct {
	text, rest string
}

func (p *exprParser) fail(reason string) error {
	return &Error{Construct: "expression " + quote(p.text), Reason: reason + " at " + quote(p.rest)}
}

func (p *exprParser) skip() { p.rest = strings.TrimLeft(p.rest, " \t\f") }

// word matches a keyword that no letter follows.
func (p *exprParser) word(w string) bool {
	p.skip()
	if !strings.HasPrefix(p.rest, w) || spanOf(p.rest[len(w):], isWord) > 0 {
		return false
	}
	p.rest = p.rest[len(w):]
	return true
}

func (p *exprParser) binary(kind ExprKind, op func() bool, sub func(int) (*Expr, error), depth int) (*Expr, error) {
	a, err := sub(depth)
	for err == nil && op() {
		var b *Expr
		b, err = sub(depth)
		a = &Expr{Kind: kind, A: a, B: b}
	}
	return a, err
}

func (p *exprParser) or(depth int) (*Expr, error) {
	return p.binary(OrElse, func() bool { return p.word("or") }, p.and, depth)
}

func (p *exprParser) and(depth int) (*Expr, error) {
	return p.binary(AndAlso, func() bool { return p.word("and") }, p.sum, depth)
}

func (p *exprParser) sum(depth int) (*Expr, error) {
	plus := func() bool {
		p.skip()
		if !strings.HasPrefix(p.rest, "+") {
			return false
		}
		p.rest = p.rest[1:]
		return true
	}
	return p.binary(Concat, plus, p.primary, depth)
}

func (p *exprParser) primary(depth int) (*Expr, error) {
	if depth > maxExprDepth {
		return nil, p.fail("parentheses nested too deeply")
	}
	p.skip()
	if p.rest == "" {
		return nil, p.fail("the expression ends early")
	}
	switch c := p.rest[0]; c {
	case '(':
		p.rest = p.rest[1:]
		e, err := p.or(depth + 1)
		if err != nil {
			return nil, err
		}
		if p.skip(); !strings.HasPrefix(p.rest, ")") {
			return nil, p.fail("expected ')'")
		}
		p.rest = p.rest[1:]
		return e, nil
	case '\'', '"':
		return p.literal(c)
	}
	return p.entity()
}

// literal reads a string; adjacent literals join, as in Python.
func (p *exprParser) literal(quote byte) (*Expr, error) {
	body, rest, ok := strings.Cut(p.rest[1:], string(quote))
	if !ok || strings.Contains(body, `\`) || strings.HasPrefix(p.rest, strings.Repeat(string(quote), 3)) {
		return nil, p.fail("only plain quoted strings are supported")
	}
	p.rest = rest
	if p.skip(); p.rest != "" && (p.rest[0] == '\'' || p.rest[0] == '"') {
		more, err := p.literal(p.rest[0])
		if err != nil {
			return nil, err
		}
		body += more.Text
	}
	return &Expr{Kind: String, Text: body}, nil
}

// keywords are Python's: they cannot be variables.
var keywords = func() map[string]bool {
	m := make(map[string]bool)
	for _, k := range strings.Fields("False None True and as assert async await break class continue def del elif else except " +
		"finally for from global if import in is lambda nonlocal not or pass raise return try while with yield") {
		m[k] = true
	}
	return m
}()

func (p *exprParser) entity() (*Expr, error) {
	n := spanOf(p.rest, isWord)
	name := p.rest[:n]
	if n == 0 || name[0] >= '0' && name[0] <= '9' || keywords[name] {
		return nil, p.fail("expected a variable or a string")
	}
	p.rest = p.rest[n:]
	e := &Expr{Kind: Name, Text: name}
	if p.skip(); strings.HasPrefix(p.rest, ".") {
		p.rest = p.rest[1:]
		p.skip()
		n = spanOf(p.rest, isWord)
		if n == 0 {
			return nil, p.fail("expected an attribute")
		}
		e = &Expr{Kind: Attr, Text: p.rest[:n], A: e}
		p.rest = p.rest[n:]
	}
	return e, nil
}
