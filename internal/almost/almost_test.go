package almost_test

import (
	"math"
	"testing"

	"github.com/hindsightrl/harness/internal/almost"
)

func TestEqual(t *testing.T) {
	t.Parallel()
	nan, inf := math.NaN(), math.Inf(1)
	for _, c := range []struct {
		name      string
		got, want float64
		rel, abs  float64
		equal     bool
	}{
		{"same", 1, 1, 0, 0, true},
		{"relative", 1000, 1000.5, 1e-3, 0, true},
		{"too far", 1000, 1002, 1e-3, 0, false},
		{"absolute near zero", 1e-9, 0, 1e-6, 1e-8, true},
		{"relative alone near zero", 1e-9, 0, 1e-6, 0, false},
		{"NaN", nan, nan, 0, 0, true},
		{"NaN and number", nan, 1, 1, 1, false},
		{"infinities", inf, inf, 0, 0, true},
		{"opposite infinities", inf, -inf, 1, 1, false},
	} {
		if got := almost.Equal(c.got, c.want, c.rel, c.abs); got != c.equal {
			t.Errorf("%s: Equal(%v, %v) = %v", c.name, c.got, c.want, got)
		}
	}
}
