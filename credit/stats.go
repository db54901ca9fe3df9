package credit

import "math"

// Stats summarises a set of numbers. All fields are 0 where N is 0.
type Stats struct {
	N    int     `json:"n"`
	Mean float64 `json:"mean"`
	Min  float64 `json:"min"`
	Max  float64 `json:"max"`
}

// Summarize computes the Stats of xs.
func Summarize(xs []float64) Stats {
	var a accumulator
	for _, x := range xs {
		a.add(x, 1)
	}
	return a.stats()
}

// accumulator gathers Stats without keeping the numbers.
type accumulator struct {
	n        int
	sum      float64
	min, max float64
}

// add counts x n times.
func (a *accumulator) add(x float64, n int) { a.addRange(x*float64(n), x, x, n) }

// addRange counts n numbers of known sum, least and greatest.
func (a *accumulator) addRange(sum, least, greatest float64, n int) {
	if n == 0 {
		return
	}
	if a.n == 0 {
		a.min, a.max = least, greatest
	}
	a.n += n
	a.sum += sum
	a.min = min(a.min, least)
	a.max = max(a.max, greatest)
}

func (a *accumulator) stats() Stats {
	if a.n == 0 {
		return Stats{}
	}
	return Stats{N: a.n, Mean: a.sum / float64(a.n), Min: a.min, Max: a.max}
}

// moments are mean and sum of squared deviations of one set of numbers.
type moments struct {
	n    int
	mean float64
	ss   float64
}

// momentsOf computes the moments of xs at the given rows, in two passes. Equal numbers have exactly
// that mean and no deviation: a group without signal must yield 0, not a rounding error blown up by
// the division by std + ε.
func momentsOf(xs []float64, rows []int) moments {
	if len(rows) == 0 {
		return moments{}
	}
	sum, lo, hi := 0.0, xs[rows[0]], xs[rows[0]]
	for _, i := range rows {
		sum += xs[i]
		lo = min(lo, xs[i])
		hi = max(hi, xs[i])
	}
	m := moments{n: len(rows), mean: sum / float64(len(rows))}
	if lo == hi {
		m.mean = lo
		return m
	}
	for _, i := range rows {
		d := xs[i] - m.mean
		m.ss += d * d
	}
	return m
}

// std is the unbiased standard deviation; 0 for fewer than two numbers.
func (m moments) std() float64 {
	if m.n < 2 {
		return 0
	}
	return math.Sqrt(m.ss / float64(m.n-1))
}

// populationStd is the standard deviation with divisor n; 0 for no numbers.
func (m moments) populationStd() float64 {
	if m.n == 0 {
		return 0
	}
	return math.Sqrt(m.ss / float64(m.n))
}
