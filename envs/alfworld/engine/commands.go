package engine

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hindsightrl/harness/envs/alfworld/grammar"
)

// commandTable lists every command text that does not depend on the state, sorted by code point.
type commandTable struct {
	intro node
	text  []string
	ops   [][]int32      // operators of each command, in operator order
	index map[string]int // text -> number
	live  []int32        // operators whose text depends on the state
}

// compileTexts compiles the wording of every action that has an operator, and all command texts.
func (g *Game) compileTexts(doc *grammar.Document) error {
	c := &compiler{w: g.world, facts: g.facts, doc: doc, views: make(map[string]*view), rules: make(map[string]*choiceNode)}
	used := make([]bool, len(g.domain.Actions))
	for _, a := range g.ops.action {
		used[a] = true
	}
	g.actions = make([]actionText, len(g.domain.Actions))
	for i := range g.domain.Actions {
		if !used[i] {
			continue
		}
		if err := g.compileAction(c, i); err != nil {
			return fmt.Errorf("action %s: %w", g.domain.Actions[i].RawName, err)
		}
	}
	intro, err := c.nonterminal("intro", newScope(nil))
	if err != nil {
		return err
	}
	g.commands = &commandTable{intro: intro}
	return g.commands.fill(g)
}

func (g *Game) compileAction(c *compiler, i int) error {
	a := &g.domain.Actions[i]
	wording, ok := c.doc.Actions[a.Name]
	if !ok {
		return fmt.Errorf("the grammar does not have this action")
	}
	t := &g.actions[i]
	t.name = a.RawName
	var bound []grammar.Placeholder
	for _, p := range a.Params {
		bound = append(bound, grammar.Placeholder{Name: strings.Trim(p.Name, "?"), Type: p.Type})
		t.foreign = append(t.foreign, p.Type)
	}
	sc := newScope(bound)
	if len(bound) > maxSlots {
		return fmt.Errorf("it has %d parameters, at most %d are supported", len(bound), maxSlots)
	}
	var err error
	if t.template, err = c.sequence(wording.Template, sc); err != nil {
		return fmt.Errorf("template: %w", err)
	}
	if t.feedback, err = c.sequence(wording.Feedback, sc); err != nil {
		return fmt.Errorf("feedback: %w", err)
	}
	return nil
}

// params copies an operator's arguments for rendering, with parameters of another type marked.
func (g *Game) params(op int, out []uint16) []uint16 {
	types := g.actions[g.ops.action[op]].foreign
	for i, e := range g.ops.argsOf(op) {
		if g.entities[e].typ != types[i] {
			e |= foreign
		}
		out = append(out, e)
	}
	return out
}

// fill renders the commands of all operators and sorts them. Operators that differ only in what their
// template does not read share one rendering.
func (t *commandTable) fill(g *Game) error {
	uses := make([]usage, len(g.actions))
	for i := range g.actions {
		if g.actions[i].template != nil {
			uses[i] = usageOf(g.actions[i].template, len(g.actions[i].foreign))
		}
	}
	r := &renderer{g: g}
	memo := make(map[uint64]int32, g.ops.len()/2)
	texts := make([]string, 0, g.ops.len()/2)
	var params []uint16
	for op := range g.ops.len() {
		use := &uses[g.ops.action[op]]
		if use.dynamic {
			g.ops.cmd[op] = -1
			t.live = append(t.live, int32(op))
			continue
		}
		params = g.params(op, params[:0])
		key, exact := use.key(g.ops.action[op], params)
		id, ok := memo[key]
		if !ok || !exact {
			text, err := g.commandText(r, op, params)
			if err != nil {
				return err
			}
			id = int32(len(texts))
			texts = append(texts, text)
			if exact {
				memo[key] = id
			}
		}
		g.ops.cmd[op] = id
	}
	t.sort(g, texts)
	return nil
}

// sort numbers the commands by their text; equal texts are one command.
func (t *commandTable) sort(g *Game, texts []string) {
	order := make([]int32, len(texts))
	for i := range order {
		order[i] = int32(i)
	}
	slices.SortFunc(order, func(a, b int32) int { return strings.Compare(texts[a], texts[b]) })
	number := make([]int32, len(texts))
	t.text = make([]string, 0, len(texts))
	t.index = make(map[string]int, len(texts))
	for _, old := range order {
		if n := len(t.text); n == 0 || t.text[n-1] != texts[old] {
			t.index[texts[old]] = n
			t.text = append(t.text, texts[old])
		}
		number[old] = int32(len(t.text) - 1)
	}
	t.group(g, number)
}

// group lists the operators of each command.
func (t *commandTable) group(g *Game, number []int32) {
	count := make([]int32, len(t.text))
	total := 0
	for i, c := range g.ops.cmd {
		if c >= 0 {
			g.ops.cmd[i] = number[c]
			count[number[c]]++
			total++
		}
	}
	all := make([]int32, total)
	t.ops = make([][]int32, len(t.text))
	at := 0
	for i, n := range count {
		t.ops[i] = all[at : at : at+int(n)]
		at += int(n)
	}
	for op, c := range g.ops.cmd {
		if c >= 0 {
			t.ops[c] = append(t.ops[c], int32(op))
		}
	}
}

// commandText is the text of an operator's command in the renderer's state.
func (g *Game) commandText(r *renderer, op int, params []uint16) (string, error) {
	text, err := r.text(g.actions[g.ops.action[op]].template, params)
	if err == nil && strings.ContainsAny(text, "{}") {
		err = fmt.Errorf("command %q has a brace in it, which the original would format once more", text)
	}
	if err != nil {
		return "", fmt.Errorf("template of %s: %w", g.actions[g.ops.action[op]].name, err)
	}
	return text, nil
}
