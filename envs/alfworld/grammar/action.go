package grammar

import (
	"encoding/json"
	"strings"
)

// action reads the rest of `action NAME { ... }` and merges the action's own rules into raw.
func (p *docParser) action(raw map[string]json.RawMessage) (Action, error) {
	p.skip()
	n := spanOf(p.text[p.pos:], func(r rune) bool { return isWord(r) || r == '/' || r == '-' })
	if n == 0 {
		return Action{}, p.fail("action", "expected a name")
	}
	a := Action{Name: p.text[p.pos : p.pos+n]}
	p.pos += n
	construct := "action " + a.Name
	if !p.token("{") {
		return a, p.fail(construct, "expected '{'")
	}
	seen := make(map[string]bool)
	for !p.token("}") {
		key, err := p.actionField(construct, &a, raw)
		if err != nil {
			return a, err
		}
		if seen[key] {
			return a, p.fail(construct, key+" is given twice")
		}
		seen[key] = true
	}
	for _, key := range []string{"template", "feedback"} {
		if !seen[key] {
			return a, p.fail(construct, key+" is missing")
		}
	}
	return a, nil
}

func (p *docParser) actionField(construct string, a *Action, raw map[string]json.RawMessage) (key string, err error) {
	var text string
	switch {
	case p.word("template"):
		if text, err = p.field(construct, `"`); err == nil {
			a.Template = ParseRHS(text)
		}
		return "template", err
	case p.word("feedback"):
		if text, err = p.field(construct, `"`); err == nil {
			a.Feedback = ParseRHS(text)
		}
		return "feedback", err
	case p.word("pddl"):
		_, _, err = p.block(construct)
		return "pddl", err
	case p.word("grammar"):
		var line int
		if text, line, err = p.block(construct); err == nil {
			err = mergeJSON(raw, withoutHashLines(text), line)
		}
		return "grammar", err
	}
	return "", p.fail(construct, "expected template, feedback, pddl, grammar or '}'")
}

// withoutHashLines drops lines that start with '#': comments in an action's own rules.
func withoutHashLines(text string) string {
	if !strings.Contains(text, "#") {
		return text
	}
	lines := strings.Split(text, "\n")
	kept := lines[:0]
	for _, l := range lines {
		if !strings.HasPrefix(strings.TrimLeftFunc(l, IsSpace), "#") {
			kept = append(kept, l)
		}
	}
	return strings.Join(kept, "\n")
}
