// Package almost compares floating-point numbers. The caller names the tolerance, and its reason.
package almost

import "math"

// Equal reports whether got is within rel of want, relative to the larger magnitude, or within abs
// of it. NaN equals NaN; infinities equal themselves.
func Equal(got, want, rel, abs float64) bool {
	switch {
	case math.IsNaN(got) || math.IsNaN(want):
		return math.IsNaN(got) && math.IsNaN(want)
	case got == want:
		return true
	case math.IsInf(got, 0) || math.IsInf(want, 0):
		return false
	}
	d := math.Abs(got - want)
	return d <= abs || d <= rel*math.Max(math.Abs(got), math.Abs(want))
}
