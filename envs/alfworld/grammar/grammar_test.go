package grammar

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// write prints symbols in a form that tests can hold.
func write(symbols []Symbol) string {
	parts := make([]string, len(symbols))
	for i, s := range symbols {
		switch s.Kind {
		case Terminal:
			parts[i] = "'" + s.Text + "'"
		case Nonterminal:
			parts[i] = "#" + s.Text
		case Eval:
			parts[i] = "{" + s.Text + "}"
		case Each:
			parts[i] = "each " + write([]Symbol{*s.Inner}) + " | " + s.Given
		case List:
			parts[i] = "list " + write([]Symbol{*s.Inner})
		}
	}
	return strings.Join(parts, ", ")
}

// TestParseRHS holds what the original's parser makes of each text (TextWorld 1.7.0, TatSu 5.8.3).
func TestParseRHS(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ text, want string }{
		{"", "''"},
		{"\n", "''"},
		{"  \n ", "''"},
		{"\n  abc", "'abc'"},
		{"abc\n  def", "'abc\n  def'"},
		{"#a#\n #b#", "#a, '\n ', #b"},
		{"{x}\n\t{y}", "{x}, '\n\t', {y}"},
		{"\t\tfoo\tbar", "'foo\tbar'"},
		{" (it is open)", "'(it is open)'"},
		{`"q" b`, "'q', ' b'"},
		{`a "q" b`, "'a ', 'q', ' b'"},
		{`"q`, "''"},
		{`"" c`, "'', ' c'"},
		{"\"a\nb\" c", "'a\nb', ' c'"},
		{"x{a | b(c)} y", "'x', each {a } | b(c), ' y'"},
		{"x{a |b} ; z", "'x', each {a } | b, ' '"},
		{"{a.b} (in {c})} t", "{a.b}, ' (in ', {c}, ')'"},
		{"[{a | b}]", "list each {a } | b"},
		{"[{a}]", "list each {a} | "},
		{"[{#a#}]", "list each #a | "},
		{"[a]", "''"},
		{"[ {a} ]", "''"},
		{"[{a} ]", "''"},
		{"//c\nfoo", "'foo'"},
		{"a\n//c\n{b}", "'a\n//c\n', {b}"},
		{"#a b#", "#a b"},
		{"#overview(o, r)#", "#overview(o, r)"},
		{"#a;b# x", "''"},
		{"#a", "''"},
		{"{#x# | y(z)}", "each #x | y(z)"},
		{"{#x#|y } z", "each #x | y , ' z'"},
		{"{#x#}", "#x"},
		{"{#x# + 1}", "''"},
		{"{ a }", "{ a }"},
		{"{a\n|b}", "each {a} | b"},
		{"{a|}", "''"},
		{"{a || b}", "''"},
		{"{a | b\n}", "''"},
		{"a|b", "'a'"},
		{"a<b", "'a'"},
		{"#a#\t#b#", "#a, #b"},
		{"#a#\t\tb", "#a, 'b'"},
		{"\n\t\n{a}", "{a}"},
		{"\u00a0\u2003é\u00a0\n", "'é\u00a0\n'"},
	} {
		if got := write(ParseRHS(c.text)); got != c.want {
			t.Errorf("%q: got %q, want %q", c.text, got, c.want)
		}
	}
}

func TestParseQuery(t *testing.T) {
	t.Parallel()
	got, err := ParseQuery(" p(a:t-1, b') # c\n & not_q() &!r/s(x : u)")
	want := Query{
		{"p", []Placeholder{{"a", "t-1"}, {"b'", "b"}}},
		{"not_q", nil},
		{"!r/s", []Placeholder{{"x", "u"}}},
	}
	if err != nil || !cmp.Equal(got, want) {
		t.Errorf("got %v, %v, want %v", got, err, want)
	}
	for _, c := range []struct{ text, want string }{
		{"", `query "": expected a predicate before ""`},
		{"p", `query "p": expected '(' before ""`},
		{"p(a", `query "p(a": expected ',' or ')' before ""`},
		{"p(a:)", `query "p(a:)": expected a type before ")"`},
		{"p(a,)", `query "p(a,)": expected a placeholder before ")"`},
		{"p(a) q(b)", `query "p(a) q(b)": expected '&' or the end before "q(b)"`},
		{"p(a) & " + strings.Repeat("x", 80), `query "p(a) & ` + strings.Repeat("x", 53) + `...": expected '(' before ""`},
	} {
		var typed *Error
		if _, err := ParseQuery(c.text); !errors.As(err, &typed) || err.Error() != c.want {
			t.Errorf("%q: got %v, want %s", c.text, err, c.want)
		}
	}
}

// writeExpr prints an expression with all its parentheses.
func writeExpr(e *Expr) string {
	switch e.Kind {
	case String:
		if strings.Contains(e.Text, "'") {
			return "\"" + e.Text + "\""
		}
		return "'" + e.Text + "'"
	case Name:
		return e.Text
	case Attr:
		return writeExpr(e.A) + "." + e.Text
	}
	op := map[ExprKind]string{Concat: "+", OrElse: "or", AndAlso: "and"}[e.Kind]
	return "(" + writeExpr(e.A) + " " + op + " " + writeExpr(e.B) + ")"
}

func TestParseExpr(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ text, want string }{
		{"o", "o"},
		{" o . name ", "o.name"},
		{"o.indefinite + ' ' + o.name ", "((o.indefinite + ' ') + o.name)"},
		{"r.name or r.id", "(r.name or r.id)"},
		{"a or b and c + d", "(a or (b and (c + d)))"},
		{"(a or b) + \"x\" 'y'", "((a or b) + 'xy')"},
		{"order.id", "order.id"},
		{"o2", "o2"},
	} {
		e, err := ParseExpr(c.text)
		if err != nil {
			t.Errorf("%q: %v", c.text, err)
		} else if got := writeExpr(e); got != c.want {
			t.Errorf("%q: got %s, want %s", c.text, got, c.want)
		}
	}
	for _, text := range []string{
		"", "o.", "1", "'a", `'a\n'`, "'''a'''", "o.name()", "o[0]", "not a", "from", "a +", "(a", "a if b else c", "a - b", "o.name.upper",
		strings.Repeat("(", 500) + "a",
	} {
		var typed *Error
		if e, err := ParseExpr(text); !errors.As(err, &typed) {
			t.Errorf("%q: got %v, %v, want a *grammar.Error", text, e, err)
		}
	}
}

const shopText = `
# the shop
grammar :: """ { "a": [ {"rhs": "one\n#b#"} ], "b": [ {"rhs": "old"} ] } """;
action Go-To/it {   # comment
  feedback :: "
You {r.name} # go";
  template :: "go";
  pddl :: """ (:action) """;
  grammar :: """
   # dropped
   { "b": [ {"condition": "p(x:y)", "rhs": "new", "weight": 3}, {"condition": null, "rhs": ""} ] }
  """;
}
`

func TestParseDocument(t *testing.T) {
	t.Parallel()
	doc, err := ParseDocument(shopText)
	if err != nil {
		t.Fatal(err)
	}
	text := func(s string) []Symbol { return []Symbol{{Kind: Terminal, Text: s}} }
	want := &Document{
		Rules: map[string][]Rule{
			"a": {{RHS: []Symbol{{Kind: Terminal, Text: "one\n"}, {Kind: Nonterminal, Text: "b"}}}},
			"b": {{Condition: "p(x:y)", RHS: text("new")}, {RHS: text("")}},
		},
		Actions: map[string]Action{"go-to/it": {
			Name: "Go-To/it", Template: text("go"),
			Feedback: []Symbol{{Kind: Terminal, Text: "You "}, {Kind: Eval, Text: "r.name"}, {Kind: Terminal, Text: " "}},
		}},
	}
	if diff := cmp.Diff(want, doc); diff != "" {
		t.Errorf("document differs (-want +got):\n%s", diff)
	}
}

func TestDocumentErrorsNameTheLine(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, text, want string }{
		{"word", "\n\nrules", "line 3: document: expected 'grammar' or 'action'"},
		{"joined word", "grammars :: 3", "line 1: document: expected 'grammar' or 'action'"},
		{"no block", "grammar :: 3;", `line 1: grammar: expected """`},
		{"open block", "grammar :: \"\"\" {}", `line 1: grammar: no closing """`},
		{"no semicolon", "grammar :: \"\"\" {} \"\"\"", "line 1: grammar: expected ';'"},
		{"bad json", "\ngrammar :: \"\"\" {,} \"\"\";", "line 2: grammar block: invalid character ',' looking for beginning of object key string"},
		{"no rhs", "grammar :: \"\"\" {\"a\": [{\"condition\": \"\"}]} \"\"\";", `symbol "a": rule 0 has no text "rhs"`},
		{"condition", "grammar :: \"\"\" {\"a\": [{\"rhs\": \"\", \"condition\": 3}]} \"\"\";", `symbol "a": rule 0 has a condition that is not text`},
		{"no name", "action { }", "line 1: action: expected a name"},
		{"no brace", "action a\n;", "line 2: action a: expected '{'"},
		{"field", "action a {\n help :: \"\"; }", "line 2: action a: expected template, feedback, pddl, grammar or '}'"},
		{"twice", "action a { template :: \"\"; template :: \"\"; }", "line 1: action a: template is given twice"},
		{"missing", "action a { template :: \"\"; }", "line 1: action a: feedback is missing"},
		{"colons", "action a { template \"\"; }", "line 1: action a: expected '::'"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var typed *Error
			_, err := ParseDocument(c.text)
			if !errors.As(err, &typed) {
				t.Fatalf("got %v, want a *grammar.Error", err)
			}
			if err.Error() != c.want {
				t.Errorf("got  %s\nwant %s", err, c.want)
			}
		})
	}
}

func FuzzDocument(f *testing.F) {
	f.Add(shopText)
	f.Add("action a { template :: \"{x}\"; feedback :: \"[{#a# | p(q:r)}]\"; }")
	f.Fuzz(func(t *testing.T, text string) {
		doc, err := ParseDocument(text)
		if err != nil {
			return
		}
		for name, a := range doc.Actions {
			if len(a.Template) == 0 || len(a.Feedback) == 0 {
				t.Errorf("action %q is accepted without a template or feedback", name)
			}
		}
	})
}

func FuzzRHS(f *testing.F) {
	for _, s := range []string{"a{b | c(d)}e", "[{#x#}]\n//y\n\"z\"", "\t\n#a#\xff", "{a\u2028|b}"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		total := 0
		for _, s := range ParseRHS(text) {
			total += len(s.Text)
		}
		if total > len(text) {
			t.Errorf("%q: the symbols hold more text than there is", text)
		}
	})
}

func FuzzQueryAndExpr(f *testing.F) {
	for _, s := range []string{"p(a:b) & q()", "a.b + ' ' or (c)", "!p/q(x', y:z-1)", "((((a", "'\xff'"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if q, err := ParseQuery(text); err == nil && len(q) == 0 {
			t.Errorf("query %q is empty", text)
		}
		if e, err := ParseExpr(text); err == nil && (!strings.Contains(text, "'") || !strings.Contains(text, "\"")) {
			if again, err := ParseExpr(writeExpr(e)); err == nil && writeExpr(again) != writeExpr(e) {
				t.Errorf("expression %q: printed and read again it differs", text)
			}
		}
	})
}
