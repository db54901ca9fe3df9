package gen

import (
	"fmt"
	"slices"
	"strings"
)

// spokenTypes are the types that the domain's actions name. They are declared in every problem, also
// where the room has nothing of the type, for planners want every name declared.
var spokenTypes = []struct{ name, of string }{
	{"SinkBasinType", "rtype"},
	{"MicrowaveType", "rtype"},
	{"FridgeType", "rtype"},
	{"KnifeType", "otype"},
	{"ButterKnifeType", "otype"},
}

// problem writes the scene and the goal as a PDDL problem of the household domain.
func problem(name string, s *scene, g goal) string {
	var b strings.Builder
	fmt.Fprintf(&b, "(define (problem %s)\n(:domain household)\n(:objects\n", name)
	for _, line := range declarations(s) {
		fmt.Fprintf(&b, "  %s\n", line)
	}
	b.WriteString(")\n(:init\n")
	for _, fact := range facts(s) {
		fmt.Fprintf(&b, "  (%s)\n", fact)
	}
	fmt.Fprintf(&b, ")\n%s\n)\n", goalText(g))
	return b.String()
}

// declarations are the "name - type" lines: the agent, types, furniture, things, locations.
func declarations(s *scene) []string {
	out := []string{"agent1 - agent"}
	for _, t := range spokenTypes {
		out = append(out, t.name+" - "+t.of)
	}
	fixtureKinds, itemKinds := s.kinds()
	for _, k := range fixtureKinds {
		out = append(out, k.name+"Type - rtype")
	}
	for _, k := range itemKinds {
		out = append(out, k.name+"Type - otype")
	}
	for _, f := range s.fixtures {
		out = append(out, f.id+" - receptacle")
	}
	for _, it := range s.items {
		out = append(out, it.id+" - object")
	}
	for _, p := range s.places() {
		out = append(out, p+" - location")
	}
	return unique(out)
}

// facts is the initial state.
func facts(s *scene) []string {
	out := []string{"atLocation agent1 " + s.start.id()}
	fixtureKinds, itemKinds := s.kinds()
	for _, f := range fixtureKinds {
		for _, k := range itemKinds {
			if f.holds(k) {
				out = append(out, fmt.Sprintf("canContain %sType %sType", f.name, k.name))
			}
		}
	}
	for _, f := range s.fixtures {
		out = append(out,
			fmt.Sprintf("receptacleType %s %sType", f.id, f.kind.name),
			fmt.Sprintf("receptacleAtLocation %s %s", f.id, f.at.id()))
		if f.kind.openable {
			out = append(out, "openable "+f.id)
		}
	}
	for _, it := range s.items {
		out = append(out,
			fmt.Sprintf("objectType %s %sType", it.id, it.kind.name),
			fmt.Sprintf("inReceptacle %s %s", it.id, s.fixtures[it.in].id),
			fmt.Sprintf("objectAtLocation %s %s", it.id, s.fixtures[it.in].at.id()))
		out = append(out, propertyFacts(it)...)
	}
	return out
}

// propertyFacts says what can be done to a thing, and that it is cold where it lies in a fridge.
func propertyFacts(it item) []string {
	var out []string
	for _, p := range []struct {
		predicate string
		holds     bool
	}{
		{"pickupable", !it.kind.has(lamp)},
		{"toggleable", it.kind.has(lamp)},
		{"cleanable", it.kind.has(washable)},
		{"heatable", it.kind.has(warmable)},
		{"coolable", it.kind.has(chillable)},
		{"sliceable", it.kind.has(cuttable)},
		{"isReceptacleObject", it.kind.has(vessel)},
		{"isCool", it.cold},
	} {
		if p.holds {
			out = append(out, p.predicate+" "+it.id)
		}
	}
	return out
}

// goalText is the goal in one of ALFWorld's six shapes.
func goalText(g goal) string {
	what, where := g.what.name+"Type", g.where.name+"Type"
	switch g.task {
	case Look:
		return fmt.Sprintf(`(:goal (and
  (exists (?ot - object ?r - receptacle ?a - agent ?l - location) (and
    (objectType ?ot %sType) (toggleable ?ot) (isToggled ?ot)
    (receptacleAtLocation ?r ?l) (atLocation ?a ?l) (inReceptacle ?ot ?r)))
  (exists (?o - object ?a - agent) (and
    (objectType ?o %s) (holds ?a ?o)))
))`, g.lamp.name, what)
	case PickTwo:
		return fmt.Sprintf(`(:goal (and
  (exists (?r - receptacle) (exists (?o1 - object) (and
    (objectType ?o1 %[1]s) (receptacleType ?r %[2]s) (inReceptacle ?o1 ?r)
    (exists (?o2 - object) (and
      (not (= ?o1 ?o2))
      (objectType ?o2 %[1]s) (receptacleType ?r %[2]s) (inReceptacle ?o2 ?r))))))
))`, what, where)
	}
	treated := map[TaskType]string{
		Place: "",
		Clean: "(cleanable ?o) (isClean ?o) ",
		Heat:  "(heatable ?o) (isHot ?o) ",
		Cool:  "(coolable ?o) (isCool ?o) ",
	}[g.task]
	return fmt.Sprintf(`(:goal (and
  (exists (?r - receptacle) (exists (?o - object) (and
    %s(objectType ?o %s) (receptacleType ?r %s) (inReceptacle ?o ?r))))
))`, treated, what, where)
}

// kinds lists the kinds of furniture and things in the scene, each once, in the tables' order.
func (s *scene) kinds() ([]furnitureKind, []thingKind) {
	var fs []furnitureKind
	for _, k := range furnitureKinds {
		if s.has(k.name) {
			fs = append(fs, k)
		}
	}
	var ts []thingKind
	for _, k := range thingKinds {
		if len(s.itemsOf(k)) > 0 {
			ts = append(ts, k)
		}
	}
	return fs, ts
}

// places lists the ids of all locations, each once: the start and those of the furniture.
func (l layout) places() []string {
	out := []string{l.start.id()}
	for _, f := range l.fixtures {
		out = append(out, f.at.id())
	}
	return unique(out)
}

// unique keeps the first of equal lines.
func unique(lines []string) []string {
	var out []string
	for _, l := range lines {
		if !slices.Contains(out, l) {
			out = append(out, l)
		}
	}
	return out
}
