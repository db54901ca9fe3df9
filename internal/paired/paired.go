// Package paired compares two samples that were taken on the same tasks.
//
// Tasks differ far more from one another than two policies differ on one task. So the difference is
// taken within each task first, and its spread over tasks is what the interval rests on (paired
// differences with tasks as clusters: Miller, "Adding Error Bars to Evals", arXiv:2411.00640, section
// 4.2; the interval is that of the paired t-test, and as approximate as it where tasks are few and
// their differences far from normal).
package paired

import (
	"math"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"

	"github.com/hindsightrl/harness/internal/almost"
)

// Level is the coverage of Difference's interval.
const Level = 0.95

// Difference is how a measure changed from A to B over the tasks both have.
type Difference struct {
	Tasks  int       `json:"tasks"`
	A      float64   `json:"a"`        // mean over tasks of A's mean
	B      float64   `json:"b"`        // mean over tasks of B's mean
	Mean   float64   `json:"mean"`     // of the tasks' differences, B − A
	Range  []float64 `json:"interval"` // low and high end, at Level; nil with fewer than two tasks
	Higher int       `json:"higher"`   // tasks where B is above A
	Lower  int       `json:"lower"`
	Equal  int       `json:"equal"`
}

// rounding is how far two means of the same numbers lie apart where these are summed in another order or
// number, at most: relative, and absolute near 0.
const rounding = 1e-12

// Change is b − a, and 0 where only rounding tells them apart.
func Change(a, b float64) float64 {
	if almost.Equal(a, b, rounding, rounding) {
		return 0
	}
	return b - a
}

// Finite reports whether all of d are numbers. The differences of values beyond 1e150 may not be.
func (d Difference) Finite() bool {
	for _, v := range append([]float64{d.A, d.B, d.Mean}, d.Range...) {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return false
		}
	}
	return true
}

// Compare takes one value of A and one of B for each task, in the same order. It panics where they are
// not equally many.
func Compare(a, b []float64) Difference {
	if len(a) != len(b) {
		panic("paired: not one value of each side for each task")
	}
	d := Difference{Tasks: len(a)}
	if d.Tasks == 0 {
		return d
	}
	diffs := make([]float64, len(a))
	for i := range a {
		diffs[i] = Change(a[i], b[i])
		switch {
		case diffs[i] > 0:
			d.Higher++
		case diffs[i] < 0:
			d.Lower++
		default:
			d.Equal++
		}
	}
	d.A, d.B = stat.Mean(a, nil), stat.Mean(b, nil)
	if d.Tasks == 1 {
		d.Mean = diffs[0]
		return d
	}
	mean, std := stat.MeanStdDev(diffs, nil)
	n := float64(d.Tasks)
	half := distuv.StudentsT{Mu: 0, Sigma: 1, Nu: n - 1}.Quantile((1+Level)/2) * std / math.Sqrt(n)
	d.Mean, d.Range = mean, []float64{mean - half, mean + half}
	return d
}
