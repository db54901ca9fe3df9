package gen

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Numbers run against the order of the lower-case ids: "_minus_" sorts before "_plus_".
func TestNamesCountDown(t *testing.T) {
	t.Parallel()
	var s scene
	for _, id := range []string{
		"Cabinet_bar__plus_01_dot_00", "Cabinet_bar__minus_01_dot_00", "Cabinet_bar__plus_00_dot_50",
		"Sink_bar__plus_01_dot_00_bar_SinkBasin", "CounterTop_bar__plus_01_dot_00",
	} {
		s.fixtures = append(s.fixtures, fixture{id: id})
	}
	for _, id := range []string{"Mug_bar__plus_02_dot_00", "Mug_bar__minus_02_dot_00", "CD_bar__plus_01_dot_00"} {
		s.items = append(s.items, item{id: id})
	}
	got := newNames(&s)
	want := names{
		fixtures: []string{"cabinet 1", "cabinet 3", "cabinet 2", "sinkbasin 1", "countertop 1"},
		items:    []string{"mug 1", "mug 2", "cd 1"},
	}
	if d := cmp.Diff(want, got, cmp.AllowUnexported(names{})); d != "" {
		t.Errorf("names (-want +got):\n%s", d)
	}
}
