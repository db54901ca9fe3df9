package paired

import (
	"math"
	"testing"
)

// The expected interval is scipy 1.17's ttest_rel(b, a).confidence_interval(0.95).
func TestCompare(t *testing.T) {
	a := []float64{0.0, 0.25, 0.5, 1.0, 0.75, 0.0, 0.125, 0.5}
	b := []float64{0.5, 0.25, 0.75, 1.0, 0.5, 0.25, 0.625, 1.0}
	d := Compare(a, b)
	if d.Tasks != 8 || d.Higher != 5 || d.Lower != 1 || d.Equal != 2 {
		t.Errorf("counts: %+v", d)
	}
	for name, v := range map[string][2]float64{
		"a": {d.A, 0.390625}, "b": {d.B, 0.609375}, "mean": {d.Mean, 0.21875},
		"low": {d.Range[0], -0.01658813932502376}, "high": {d.Range[1], 0.4540881393250238},
	} {
		if math.Abs(v[0]-v[1]) > 1e-9 {
			t.Errorf("%s is %.12f, want %.12f", name, v[0], v[1])
		}
	}
}

func TestCompareFew(t *testing.T) {
	if d := Compare(nil, nil); d.Tasks != 0 || d.Range != nil || d.Mean != 0 {
		t.Errorf("no task: %+v", d)
	}
	if d := Compare([]float64{1}, []float64{3}); d.Tasks != 1 || d.Range != nil || d.Mean != 2 || d.Higher != 1 {
		t.Errorf("one task: %+v", d)
	}
	if d := Compare([]float64{1, 2}, []float64{2, 3}); d.Mean != 1 || d.Range[0] != 1 || d.Range[1] != 1 {
		t.Errorf("no spread: %+v", d)
	}
}

// TestRoundingIsNoChange: means of the same numbers that were summed otherwise are equal.
func TestRoundingIsNoChange(t *testing.T) {
	mean := func(values ...float64) (sum float64) { // not a constant, which has no rounding
		for _, v := range values {
			sum += v
		}
		return sum / float64(len(values))
	}
	a := []float64{mean(0.7), mean(0.1, 0.7, 0.2), mean(0.3, -0.1, -0.2)}
	b := []float64{mean(0.7, 0.7, 0.7), mean(0.7, 0.2, 0.1), mean(0)}
	if a[0] == b[0] || a[2] == b[2] {
		t.Fatalf("nothing is rounded: %v and %v", a, b)
	}
	if d := Compare(a, b); d.Equal != 3 || d.Mean != 0 || d.Range[0] != 0 || d.Range[1] != 0 {
		t.Errorf("%+v", d)
	}
	if d := Compare([]float64{0.5, 0}, []float64{0.500001, -1e-9}); d.Higher != 1 || d.Lower != 1 {
		t.Errorf("small changes: %+v", d)
	}
}

func TestWhatOverflowsIsNotFinite(t *testing.T) {
	for _, v := range [][2][]float64{
		{{1.7e308, -1.7e308}, {-1.7e308, 1.7e308}}, {{0, 1}, {0, 1e200}}, {{1.7e308, 1.7e308}, {0, 0}}, {{0}, {math.Inf(1)}},
	} {
		if d := Compare(v[0], v[1]); d.Finite() {
			t.Errorf("%v: %+v", v, d)
		}
	}
	if d := Compare([]float64{1, 2}, []float64{2, 1}); !d.Finite() {
		t.Errorf("%+v", d)
	}
}

func TestCompareOfUnequalLengths(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("no panic")
		}
	}()
	Compare([]float64{1}, nil)
}
