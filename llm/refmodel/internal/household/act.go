package household

import (
	"slices"
	"strings"
)

// tools are the receptacles that change what is held there.
var tools = map[string]string{"microwave": "heat", "fridge": "cool", "sinkbasin": "clean"}

// Admissible lists the commands that work now, in order.
func (g *Game) Admissible() []string {
	out := []string{"inventory", "look"}
	for _, r := range g.receptacle {
		if r != g.at {
			out = append(out, "go to "+r.name)
		}
	}
	if g.at != nil {
		out = append(out, g.here()...)
	}
	if g.held != nil {
		out = append(out, "examine "+g.held.name)
	}
	slices.Sort(out)
	return out
}

// here lists what the present receptacle allows.
func (g *Game) here() []string {
	r := g.at
	out := []string{"examine " + r.name}
	if r.closable {
		out = append(out, map[bool]string{true: "close ", false: "open "}[r.open]+r.name)
	}
	if tool := tools[r.kind]; tool != "" && g.held != nil {
		out = append(out, tool+" "+g.held.name+" with "+r.name)
	}
	if r.closable && !r.open {
		return out
	}
	if g.held != nil {
		out = append(out, "move "+g.held.name+" to "+r.name)
	}
	for _, o := range r.inside {
		switch {
		case o.kind == "desklamp":
			out = append(out, "use "+o.name)
		case g.held == nil:
			out = append(out, "take "+o.name+" from "+r.name)
		}
	}
	return out
}

// Step applies a command and returns what the game answers.
func (g *Game) Step(command string) string {
	if !slices.Contains(g.Admissible(), command) {
		return "Nothing happens."
	}
	verb, rest, _ := strings.Cut(command, " ")
	switch verb {
	case "go":
		g.at = g.named(strings.TrimPrefix(rest, "to "))
		return "You arrive at " + g.at.name + ". " + g.look(g.at)
	case "open", "close":
		g.at.open = verb == "open"
		if g.at.open {
			return "You open the " + rest + ". " + g.look(g.at)
		}
		return "You close the " + rest + "."
	case "take":
		return g.take(rest)
	case "move":
		o := g.held
		g.at.inside, g.held = append(g.at.inside, o), nil
		return "You move the " + o.name + " to the " + g.at.name + "."
	case "use":
		g.lit = true
		return "You turn on the " + rest + "."
	case "heat", "cool", "clean":
		return g.treat(verb)
	}
	return g.report(verb, rest)
}

func (g *Game) named(name string) *thing {
	for _, r := range g.receptacle {
		if r.name == name {
			return r
		}
	}
	return nil
}

func (g *Game) take(rest string) string {
	name, _, _ := strings.Cut(rest, " from ")
	for i, o := range g.at.inside {
		if o.name == name {
			g.at.inside, g.held = slices.Delete(g.at.inside, i, i+1), o
			break
		}
	}
	return "You pick up the " + name + " from the " + g.at.name + "."
}

func (g *Game) treat(verb string) string {
	switch o := g.held; verb {
	case "heat":
		o.hot, o.cold = true, false
	case "cool":
		o.hot, o.cold = false, true
	default:
		o.clean = true
	}
	return "You " + verb + " the " + g.held.name + " using the " + g.at.name + "."
}

func (g *Game) report(verb, rest string) string {
	switch {
	case verb == "inventory" && g.held == nil:
		return "You are not carrying anything."
	case verb == "inventory":
		return "You are carrying: a " + g.held.name + "."
	case verb == "examine" && g.at != nil && rest == g.at.name:
		return g.look(g.at)
	case verb == "examine":
		return "There's nothing special about " + rest + "."
	case g.at == nil:
		return "You are in the middle of a room. Looking quickly around you, you see nothing."
	}
	return "You are facing the " + g.at.name + ". Next to it, you see nothing."
}

// Advise returns the expert's next command. The expert knows where everything is.
func (g *Game) Advise() string {
	if g.held == nil || g.held.kind != g.want {
		if g.held != nil {
			return g.putBack()
		}
		return g.fetch()
	}
	if g.process == "look" {
		return g.reach(g.holding("desklamp"), "use desklamp 1", true)
	}
	if !g.done(g.held) {
		for kind, tool := range tools {
			if tool == g.process {
				r := g.first(kind)
				return g.reach(r, tool+" "+g.held.name+" with "+r.name, false)
			}
		}
	}
	r := g.first(g.where)
	for _, c := range g.receptacle {
		if c.kind == g.where && g.count == 2 && g.good(c) > 0 {
			r = c
		}
	}
	return g.reach(r, "move "+g.held.name+" to "+r.name, true)
}

// putBack frees the hand at the nearest place that is open.
func (g *Game) putBack() string {
	at := g.at
	for _, r := range g.receptacle {
		if at == nil || at.closable && !at.open && !r.closable {
			at = r
		}
	}
	return g.reach(at, "move "+g.held.name+" to "+at.name, true)
}

func (g *Game) good(r *thing) (n int) {
	for _, o := range r.inside {
		if o.kind == g.want && g.done(o) {
			n++
		}
	}
	return n
}

func (g *Game) fetch() string {
	skip := (*thing)(nil)
	if g.count == 2 {
		for _, r := range g.receptacle {
			if r.kind == g.where && g.good(r) > 0 {
				skip = r
			}
		}
	}
	for _, r := range g.receptacle {
		for _, o := range r.inside {
			if o.kind == g.want && r != skip {
				return g.reach(r, "take "+o.name+" from "+r.name, true)
			}
		}
	}
	return "look"
}

// reach goes to a receptacle, opens it where needed, and then acts.
func (g *Game) reach(r *thing, act string, open bool) string {
	switch {
	case r == nil:
		return "look"
	case g.at != r:
		return "go to " + r.name
	case open && r.closable && !r.open:
		return "open " + r.name
	}
	return act
}

func (g *Game) first(kind string) *thing {
	for _, r := range g.receptacle {
		if r.kind == kind {
			return r
		}
	}
	return nil
}

func (g *Game) holding(kind string) *thing {
	for _, r := range g.receptacle {
		for _, o := range r.inside {
			if o.kind == kind {
				return r
			}
		}
	}
	return nil
}
