package credit

import (
	"errors"
	"fmt"
	"math"
)

// ErrNotFinite marks a NaN or an infinity among the inputs; the error around it names row and value.
var ErrNotFinite = errors.New("not a finite number")

// ErrLength marks two inputs whose lengths disagree; the error around it names both.
var ErrLength = errors.New("lengths disagree")

// ErrConfig marks a setting outside its range; the error around it names setting and value.
var ErrConfig = errors.New("invalid setting")

func finite(x float64) bool { return x-x == 0 }

// checkFinite reports the first value of a per-row column that is not finite.
func checkFinite(name string, xs []float64) error {
	for i, x := range xs {
		if !finite(x) {
			return fmt.Errorf("row %d: %s is %v: %w", i, name, x, ErrNotFinite)
		}
	}
	return nil
}

// checkLength reports a per-row column whose length is not the batch's.
func checkLength(name string, got, rows int) error {
	if got != rows {
		return fmt.Errorf("%s has %d rows, group has %d: %w", name, got, rows, ErrLength)
	}
	return nil
}

// checkRange reports a setting outside [lo, hi] (infinite ends are open; NaN is always outside).
func checkRange(name string, x, lo, hi float64) error {
	if !finite(x) || x < lo || x > hi {
		return fmt.Errorf("%s is %v, want %s: %w", name, x, rangeText(lo, hi), ErrConfig)
	}
	return nil
}

func rangeText(lo, hi float64) string {
	if math.IsInf(hi, 1) {
		return fmt.Sprintf("a finite number >= %v", lo)
	}
	return fmt.Sprintf("a number in [%v, %v]", lo, hi)
}
