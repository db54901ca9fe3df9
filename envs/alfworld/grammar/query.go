package grammar

import "strings"

// Placeholder is an argument of a query. Its identity is its name together with its type.
type Placeholder struct {
	Name string
	Type string
}

// Predicate is one conjunct of a query. A name that starts with "not_" is an ordinary name: it asks
// for the explicit fact of that name.
type Predicate struct {
	Name string
	Args []Placeholder
}

// Query is a conjunction.
type Query []Predicate

// ParseQuery reads "pred(ph:type, ..) & pred(..)". A placeholder without a type has its name, less any
// trailing apostrophes, as type.
func ParseQuery(text string) (Query, error) {
	p := queryParser{rest: text, text: text}
	var q Query
	for {
		pred, err := p.predicate()
		if err != nil {
			return nil, err
		}
		q = append(q, pred)
		p.skip()
		if p.rest == "" {
			return q, nil
		}
		if !p.token("&") {
			return nil, p.fail("expected '&' or the end")
		}
	}
}

type queryParser struct {
	text, rest string
}

func (p *queryParser) fail(reason string) error {
	return &Error{Construct: "query " + quote(p.text), Reason: reason + " before " + quote(p.rest)}
}

func quote(s string) string {
	const most = 60
	if len(s) > most {
		s = strings.ToValidUTF8(s[:most], "") + "..."
	}
	return "\"" + s + "\""
}

// skip drops white space and comments that run from '#' to the end of a line.
func (p *queryParser) skip() {
	for {
		p.rest = p.rest[spanOf(p.rest, IsSpace):]
		if !strings.HasPrefix(p.rest, "#") {
			return
		}
		_, p.rest, _ = strings.Cut(p.rest, "\n")
	}
}

func (p *queryParser) token(tok string) bool {
	p.skip()
	if !strings.HasPrefix(p.rest, tok) {
		return false
	}
	p.rest = p.rest[len(tok):]
	return true
}

func (p *queryParser) name(extra string) string {
	p.skip()
	n := spanOf(p.rest, func(r rune) bool { return isWord(r) || strings.ContainsRune(extra, r) })
	s := p.rest[:n]
	p.rest = p.rest[n:]
	return s
}

func (p *queryParser) predicate() (Predicate, error) {
	p.skip()
	bang := ""
	if strings.HasPrefix(p.rest, "!") {
		bang, p.rest = "!", p.rest[1:]
	}
	name := p.name("/")
	if name == "" {
		return Predicate{}, p.fail("expected a predicate")
	}
	pred := Predicate{Name: bang + name}
	if !p.token("(") {
		return Predicate{}, p.fail("expected '('")
	}
	if p.token(")") {
		return pred, nil
	}
	for {
		ph := Placeholder{Name: p.name("'")}
		if ph.Name == "" {
			return Predicate{}, p.fail("expected a placeholder")
		}
		ph.Type = strings.TrimRight(ph.Name, "'")
		if p.token(":") {
			if ph.Type = p.name("/-"); ph.Type == "" {
				return Predicate{}, p.fail("expected a type")
			}
		}
		pred.Args = append(pred.Args, ph)
		if p.token(")") {
			return pred, nil
		}
		if !p.token(",") {
			return Predicate{}, p.fail("expected ',' or ')'")
		}
	}
}
