package pddl

import (
	"strings"
	"unicode"
)

// maxDepth bounds the nesting of parentheses, so that hostile text cannot exhaust the stack.
const maxDepth = 500

// Node is one S-expression: an atom (List is nil and IsList false) or a list.
type Node struct {
	Line   int    // 1-based
	Text   string // an atom's text, lower-cased
	Raw    string // an atom's text as written
	IsList bool
	List   []*Node
}

// head names a node in messages: an atom's text, or "(first ...)" of a list.
func (n *Node) head() string {
	switch {
	case !n.IsList:
		return n.Text
	case len(n.List) == 0:
		return "()"
	default:
		return "(" + n.List[0].head() + " ...)"
	}
}

// is reports whether n is a list that starts with the given word.
func (n *Node) is(word string) bool {
	return n.IsList && len(n.List) > 0 && !n.List[0].IsList && n.List[0].Text == word
}

// token is a parenthesis or a word.
type token struct {
	text string
	line int
}

// tokenize cuts text as the original translator does: ';' ends a line, parentheses and '?' start a
// new token, white space separates, and a comma is part of its word.
func tokenize(text string) ([]token, error) {
	toks := make([]token, 0, len(text)/6)
	for line := 1; len(text) > 0; line++ {
		var cur string
		cur, text, _ = strings.Cut(text, "\n")
		cur, _, _ = strings.Cut(cur, ";")
		for i := range len(cur) {
			if cur[i] >= 0x80 {
				return nil, &Error{Line: line, Reason: "character outside ASCII outside a comment"}
			}
		}
		toks = cutLine(toks, cur, line)
	}
	return toks, nil
}

func cutLine(toks []token, cur string, line int) []token {
	start := -1
	flush := func(end int) {
		if start >= 0 {
			toks = append(toks, token{cur[start:end], line})
			start = -1
		}
	}
	for i := range len(cur) {
		switch c := cur[i]; {
		case c == '(' || c == ')':
			flush(i)
			toks = append(toks, token{cur[i : i+1], line})
		case c == '?':
			flush(i)
			start = i
		case unicode.IsSpace(rune(c)) || c >= 0x1c && c <= 0x1f:
			flush(i)
		case start < 0:
			start = i
		}
	}
	flush(len(cur))
	return toks
}

// Parse reads exactly one S-expression.
func Parse(text string) (*Node, error) {
	toks, err := tokenize(text)
	if err != nil {
		return nil, err
	}
	if len(toks) == 0 {
		return nil, &Error{Line: 1, Reason: "the text is empty"}
	}
	if toks[0].text != "(" {
		return nil, &Error{Line: toks[0].line, Construct: toks[0].text, Reason: "expected '('"}
	}
	var root *Node
	stack := make([]*Node, 0, 16)
	slab := make([]Node, len(toks)) // one allocation for all nodes
	node := func(n Node) *Node {
		slab[0] = n
		p := &slab[0]
		slab = slab[1:]
		return p
	}
	for i, t := range toks {
		if root != nil && len(stack) == 0 {
			return nil, &Error{Line: t.line, Construct: toks[i].text, Reason: "text after the closing parenthesis"}
		}
		switch t.text {
		case "(":
			if len(stack) >= maxDepth {
				return nil, &Error{Line: t.line, Reason: "parentheses nested too deeply"}
			}
			n := node(Node{Line: t.line, IsList: true})
			if root == nil {
				root = n
			} else {
				top := stack[len(stack)-1]
				top.List = append(top.List, n)
			}
			stack = append(stack, n)
		case ")":
			stack = stack[:len(stack)-1]
		default:
			top := stack[len(stack)-1]
			top.List = append(top.List, node(Node{Line: t.line, Text: strings.ToLower(t.text), Raw: t.text}))
		}
	}
	if len(stack) > 0 {
		return nil, &Error{Line: stack[len(stack)-1].Line, Construct: stack[len(stack)-1].head(), Reason: "the parenthesis is never closed"}
	}
	return root, nil
}
