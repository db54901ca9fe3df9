package grammar

import "strings"

// SymbolKind says what a Symbol is.
type SymbolKind uint8

// The kinds of symbol on a right-hand side.
const (
	Terminal    SymbolKind = iota // literal text
	Nonterminal                   // #name#: replaced by a rule
	Eval                          // {expr}
	Each                          // {expr | query} or {#name# | query}: once per match
	List                          // [{...}]: the matches joined with the list separators
)

// Symbol is one part of a right-hand side. Terminal: Text. Nonterminal: Text is the name. Eval: Text is
// the expression. Each: Inner (Nonterminal or Eval) and Given, which is "" where there is no query.
// List: Inner is an Each.
type Symbol struct {
	Kind  SymbolKind
	Text  string
	Given string
	Inner *Symbol
}

// ParseRHS reads a right-hand side, a template or a feedback text. It cannot fail: what the original
// parser cannot read ends the text.
func ParseRHS(text string) []Symbol {
	p := rhsParser{text: text}
	out := []Symbol{p.symbol()}
	for {
		before := p.pos
		s := p.symbol()
		if p.pos == before {
			return out
		}
		out = append(out, s)
	}
}

// rhsParser is a backtracking parser over text. Each method that can fail leaves pos where it was.
type rhsParser struct {
	text string
	pos  int
}

// skip is what the original does before most rules: at the start of a line it drops a // comment or
// any white space, everywhere it drops tabs, until nothing changes.
func (p *rhsParser) skip() {
	for {
		before := p.pos
		for p.pos == 0 || p.text[p.pos-1] == '\n' {
			rest := p.text[p.pos:]
			n := 0
			if strings.HasPrefix(rest, "//") {
				n = strings.IndexByte(rest, '\n')
				if n < 0 {
					n = len(rest)
				}
			} else {
				n = spanOf(rest, IsSpace)
			}
			if n < len(rest) && rest[n] == '\n' {
				n++
			}
			if n == 0 {
				break
			}
			p.pos += n
		}
		for p.pos < len(p.text) && p.text[p.pos] == '\t' {
			p.pos++
		}
		if p.pos == before {
			return
		}
	}
}

// token matches a literal token, with the skipping before it.
func (p *rhsParser) token(tok string) bool {
	before := p.pos
	p.skip()
	if strings.HasPrefix(p.text[p.pos:], tok) {
		p.pos += len(tok)
		return true
	}
	p.pos = before
	return false
}

// span matches one or more runes that satisfy ok.
func (p *rhsParser) span(ok func(rune) bool) (string, bool) {
	n := spanOf(p.text[p.pos:], ok)
	s := p.text[p.pos : p.pos+n]
	p.pos += n
	return s, n > 0
}

func notIn(set string) func(rune) bool {
	return func(r rune) bool { return !strings.ContainsRune(set, r) }
}

var (
	inLiteral   = notIn(`;|"<>[]#{}`)
	inGiven     = notIn(";|{}\n[]#")
	inStatement = notIn("|[]{}\n<>")
)

func inTag(r rune) bool { return isWord(r) || IsSpace(r) || strings.ContainsRune("()/!<>-,.", r) }

// symbol reads any symbol; where nothing fits it is an empty terminal.
func (p *rhsParser) symbol() Symbol {
	if s, ok := p.list(); ok {
		return s
	}
	if s, ok := p.conditional(); ok {
		return s
	}
	if s, ok := p.nonterminal(); ok {
		return s
	}
	return p.terminal()
}

func (p *rhsParser) list() (Symbol, bool) {
	before := p.pos
	if p.token("[") {
		if inner, ok := p.conditional(); ok && p.token("]") {
			if inner.Kind == Eval || inner.Kind == Nonterminal {
				plain := inner
				inner = Symbol{Kind: Each, Inner: &plain}
			}
			return Symbol{Kind: List, Inner: &inner}, true
		}
	}
	p.pos = before
	return Symbol{}, false
}

// conditional reads {expr}, {expr | query}, {#name#} and {#name# | query}.
func (p *rhsParser) conditional() (Symbol, bool) {
	before := p.pos
	if !p.token("{") {
		return Symbol{}, false
	}
	inner, ok := p.nonterminal()
	if !ok {
		p.skip()
		var text string
		if text, ok = p.span(inStatement); !ok {
			p.pos = before
			return Symbol{}, false
		}
		inner = Symbol{Kind: Eval, Text: text}
	}
	out := inner
	if given, ok := p.given(); ok {
		out = Symbol{Kind: Each, Given: given, Inner: &inner}
	}
	if !p.token("}") {
		p.pos = before
		return Symbol{}, false
	}
	return out, true
}

// given reads "| query".
func (p *rhsParser) given() (string, bool) {
	before := p.pos
	p.pos += spanOf(p.text[p.pos:], IsSpace)
	if p.pos < len(p.text) && p.text[p.pos] == '|' {
		p.pos++
		p.pos += spanOf(p.text[p.pos:], IsSpace)
		p.skip()
		if text, ok := p.span(inGiven); ok {
			return text, true
		}
	}
	p.pos = before
	return "", false
}

func (p *rhsParser) nonterminal() (Symbol, bool) {
	before := p.pos
	if p.token("#") {
		p.skip()
		if name, ok := p.span(inTag); ok && p.token("#") {
			return Symbol{Kind: Nonterminal, Text: name}, true
		}
	}
	p.pos = before
	return Symbol{}, false
}

// terminal reads literal text, in quotes or not.
func (p *rhsParser) terminal() Symbol {
	p.skip()
	before := p.pos
	if p.token(`"`) {
		text, _ := p.span(inLiteral)
		if p.token(`"`) {
			return Symbol{Kind: Terminal, Text: text}
		}
	}
	p.pos = before
	text, _ := p.span(inLiteral)
	return Symbol{Kind: Terminal, Text: text}
}
