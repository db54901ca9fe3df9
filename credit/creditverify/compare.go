package creditverify

import (
	"fmt"
	"math"
)

// Tolerances. Where the original computed in float64 we agree to 1e-12 relative: two orders of adding
// the same numbers differ by less.
//
// Where it computed in float32, 1e-6 relative (16 units in the last place) holds for numbers that did
// not come from a subtraction. A difference of numbers of size s carries the rounding of s, not of the
// difference: near zero its relative error has no bound. So each such comparison also allows ulps
// float32 units of the numbers that were subtracted, divided by what the difference was divided by.
const (
	rel64 = 1e-12
	rel32 = 1e-6
	unit  = 1.0 / (1 << 24) // half the spacing of float32 numbers at 1
	ulps  = 4
)

// maxLines bounds what one case reports: a wrong formula breaks every value.
const maxLines = 5

// comparer collects one case's mismatches.
type comparer struct {
	report     func(line string)
	mismatches int
}

// close32 compares with a float32 original whose operands were of the given size before they were
// subtracted and divided; 0 where nothing was.
func (c *comparer) close32(what string, row int, got, want, operands float64) {
	c.compare(what, row, got, want, rel32*math.Max(math.Abs(got), math.Abs(want))+ulps*unit*operands)
}

// close64 compares with a float64 original.
func (c *comparer) close64(what string, row int, got, want float64) {
	c.compare(what, row, got, want, rel64*math.Max(math.Abs(got), math.Abs(want)))
}

func (c *comparer) compare(what string, row int, got, want, tolerance float64) {
	if got == want || math.Abs(got-want) <= tolerance {
		return
	}
	c.mismatches++
	if c.mismatches <= maxLines {
		c.report(fmt.Sprintf("%s, row %d: got %v, want %v", what, row, got, want))
	}
}

// finish says how many more mismatches there were and reports whether the case passed.
func (c *comparer) finish() bool {
	if more := c.mismatches - maxLines; more > 0 {
		c.report(fmt.Sprintf("and %d more mismatches", more))
	}
	return c.mismatches == 0
}
