package gen

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The six goals, with white space folded.
func TestGoalShapes(t *testing.T) {
	t.Parallel()
	const one = "(:goal (and (exists (?r - receptacle) (exists (?o - object) (and %(objectType ?o MugType) (receptacleType ?r CabinetType) (inReceptacle ?o ?r)))) ))"
	for _, c := range []struct {
		goal goal
		want string
	}{
		{goalOf(t, Place, "Mug", "Cabinet"), strings.Replace(one, "%", "", 1)},
		{goalOf(t, Clean, "Mug", "Cabinet"), strings.Replace(one, "%", "(cleanable ?o) (isClean ?o) ", 1)},
		{goalOf(t, Heat, "Mug", "Cabinet"), strings.Replace(one, "%", "(heatable ?o) (isHot ?o) ", 1)},
		{goalOf(t, Cool, "Mug", "Cabinet"), strings.Replace(one, "%", "(coolable ?o) (isCool ?o) ", 1)},
		{goalOf(t, PickTwo, "Pen", "Drawer"), "(:goal (and (exists (?r - receptacle) (exists (?o1 - object) (and " +
			"(objectType ?o1 PenType) (receptacleType ?r DrawerType) (inReceptacle ?o1 ?r) " +
			"(exists (?o2 - object) (and (not (= ?o1 ?o2)) " +
			"(objectType ?o2 PenType) (receptacleType ?r DrawerType) (inReceptacle ?o2 ?r)))))) ))"},
		{goalOf(t, Look, "Pen", "DeskLamp"), "(:goal (and (exists (?ot - object ?r - receptacle ?a - agent ?l - location) (and " +
			"(objectType ?ot DeskLampType) (toggleable ?ot) (isToggled ?ot) " +
			"(receptacleAtLocation ?r ?l) (atLocation ?a ?l) (inReceptacle ?ot ?r))) " +
			"(exists (?o - object ?a - agent) (and (objectType ?o PenType) (holds ?a ?o))) ))"},
	} {
		if got := strings.Join(strings.Fields(goalText(c.goal)), " "); got != c.want {
			t.Errorf("%s\n got %s\nwant %s", c.goal.task, got, c.want)
		}
	}
}

func TestFacts(t *testing.T) {
	t.Parallel()
	s := tiny(t, map[string]int{"Apple": 3, "DeskLamp": 4})
	apple, desk := s.items[0].id, s.items[1].id
	fridge, table := s.fixtures[3], s.fixtures[4]
	var got []string
	for _, f := range facts(s) {
		if strings.Contains(f, apple) || strings.Contains(f, desk) || strings.Contains(f, fridge.id) ||
			strings.HasPrefix(f, "canContain") || strings.HasPrefix(f, "atLocation") {
			got = append(got, f)
		}
	}
	want := []string{
		"atLocation agent1 " + s.start.id(),
		"canContain DiningTableType AppleType", "canContain FridgeType AppleType",
		"canContain SideTableType DeskLampType", "canContain SinkBasinType AppleType",
		"receptacleType " + fridge.id + " FridgeType", "receptacleAtLocation " + fridge.id + " " + fridge.at.id(),
		"openable " + fridge.id,
		"objectType " + apple + " AppleType", "inReceptacle " + apple + " " + fridge.id,
		"objectAtLocation " + apple + " " + fridge.at.id(),
		"pickupable " + apple, "cleanable " + apple, "heatable " + apple, "coolable " + apple,
		"sliceable " + apple, "isCool " + apple,
		"objectType " + desk + " DeskLampType", "inReceptacle " + desk + " " + table.id,
		"objectAtLocation " + desk + " " + table.at.id(), "toggleable " + desk,
	}
	slices.Sort(got)
	slices.Sort(want)
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("facts (-want +got):\n%s", d)
	}
}

// Types that the actions name are declared even where the room has nothing of them.
func TestSpokenTypesAreDeclared(t *testing.T) {
	t.Parallel()
	lines := declarations(newScene(layout{start: place{0, 0, 0, 30}}))
	for _, want := range []string{
		"agent1 - agent", "SinkBasinType - rtype", "MicrowaveType - rtype", "FridgeType - rtype",
		"KnifeType - otype", "ButterKnifeType - otype", "loc_bar_0_bar_0_bar_0_bar_30 - location",
	} {
		if !slices.Contains(lines, want) {
			t.Errorf("%q is not declared", want)
		}
	}
}
