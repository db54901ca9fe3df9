package grammar

import (
	"encoding/json"
	"fmt"
	"maps"
	"strings"
)

// Rule is one way to replace a symbol. Condition "" always holds.
type Rule struct {
	Condition string
	RHS       []Symbol
}

// Action is what the document says of one action.
type Action struct {
	Name     string // as written
	Template []Symbol
	Feedback []Symbol
}

// Document is a parsed .twl2 text. Rules of one symbol are tried in order.
type Document struct {
	Rules   map[string][]Rule
	Actions map[string]Action // by lower-cased name
}

// ParseDocument reads a .twl2 text. A symbol that several blocks define has the last one's rules.
func ParseDocument(text string) (*Document, error) {
	p := docParser{text: text}
	raw := make(map[string]json.RawMessage)
	doc := &Document{Rules: make(map[string][]Rule), Actions: make(map[string]Action)}
	for {
		p.skip()
		switch {
		case p.pos == len(p.text):
			return doc, doc.setRules(raw)
		case p.word("grammar"):
			block, line, err := p.block("grammar")
			if err != nil {
				return nil, err
			}
			if err := mergeJSON(raw, block, line); err != nil {
				return nil, err
			}
		case p.word("action"):
			a, err := p.action(raw)
			if err != nil {
				return nil, err
			}
			doc.Actions[strings.ToLower(a.Name)] = a
		default:
			return nil, p.fail("document", "expected 'grammar' or 'action'")
		}
	}
}

func mergeJSON(raw map[string]json.RawMessage, block string, line int) error {
	var one map[string]json.RawMessage
	if err := json.Unmarshal([]byte(block), &one); err != nil {
		return &Error{Line: line, Construct: "grammar block", Reason: err.Error()}
	}
	maps.Copy(raw, one)
	return nil
}

func (d *Document) setRules(raw map[string]json.RawMessage) error {
	for name, msg := range raw {
		var list []map[string]any
		if err := json.Unmarshal(msg, &list); err != nil {
			return &Error{Construct: "symbol " + quote(name), Reason: "expected a list of rules: " + err.Error()}
		}
		rules := make([]Rule, len(list))
		for i, r := range list {
			rhs, ok := r["rhs"].(string)
			if !ok {
				return &Error{Construct: "symbol " + quote(name), Reason: fmt.Sprintf("rule %d has no text \"rhs\"", i)}
			}
			switch c := r["condition"].(type) {
			case nil:
			case string:
				rules[i].Condition = c
			default:
				return &Error{Construct: "symbol " + quote(name), Reason: fmt.Sprintf("rule %d has a condition that is not text", i)}
			}
			rules[i].RHS = ParseRHS(rhs)
		}
		d.Rules[name] = rules
	}
	return nil
}

type docParser struct {
	text string
	pos  int
}

func (p *docParser) line() int { return 1 + strings.Count(p.text[:p.pos], "\n") }

func (p *docParser) fail(construct, reason string) error {
	return &Error{Line: p.line(), Construct: construct, Reason: reason}
}

// skip drops white space and comments that run from '#' to the end of a line.
func (p *docParser) skip() {
	for {
		p.pos += spanOf(p.text[p.pos:], IsSpace)
		if !strings.HasPrefix(p.text[p.pos:], "#") {
			return
		}
		if n := strings.IndexByte(p.text[p.pos:], '\n'); n >= 0 {
			p.pos += n
		} else {
			p.pos = len(p.text)
		}
	}
}

func (p *docParser) token(tok string) bool {
	p.skip()
	if !strings.HasPrefix(p.text[p.pos:], tok) {
		return false
	}
	p.pos += len(tok)
	return true
}

// word is token for a keyword that no letter or digit follows.
func (p *docParser) word(w string) bool {
	before := p.pos
	if p.token(w) && spanOf(p.text[p.pos:], func(r rune) bool { return r != '_' && isWord(r) }) == 0 {
		return true
	}
	p.pos = before
	return false
}

// quoted reads text between two marks.
func (p *docParser) quoted(construct, mark string) (string, error) {
	if !p.token(mark) {
		return "", p.fail(construct, "expected "+mark)
	}
	n := strings.Index(p.text[p.pos:], mark)
	if n < 0 {
		return "", p.fail(construct, "no closing "+mark)
	}
	s := p.text[p.pos : p.pos+n]
	p.pos += n + len(mark)
	return s, nil
}

// field reads `:: "text" ;` with the given quotation mark.
func (p *docParser) field(construct, mark string) (string, error) {
	if !p.token("::") {
		return "", p.fail(construct, "expected '::'")
	}
	s, err := p.quoted(construct, mark)
	if err != nil {
		return "", err
	}
	if !p.token(";") {
		return "", p.fail(construct, "expected ';'")
	}
	return s, nil
}

const blockMark = `"""`

func (p *docParser) block(construct string) (string, int, error) {
	p.skip()
	line := p.line()
	s, err := p.field(construct, blockMark)
	return s, line, err
}
