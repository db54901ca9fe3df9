package creditrun

import (
	"cmp"
	"math"
	"slices"
)

// Pearson is the correlation of two columns of equal length; 0 where either has no spread.
func Pearson(x, y []float64) float64 {
	n := float64(len(x))
	if len(x) < 2 {
		return 0
	}
	var mx, my float64
	for i := range x {
		mx, my = mx+x[i], my+y[i]
	}
	mx, my = mx/n, my/n
	var xx, yy, xy float64
	for i := range x {
		a, b := x[i]-mx, y[i]-my
		xx, yy, xy = xx+a*a, yy+b*b, xy+a*b
	}
	if xx == 0 || yy == 0 {
		return 0
	}
	return min(max(xy/math.Sqrt(xx*yy), -1), 1)
}

// Spearman is the correlation of the columns' ranks; equal values share the mean of their ranks.
func Spearman(x, y []float64) float64 { return Pearson(ranks(x), ranks(y)) }

func ranks(x []float64) []float64 {
	order := make([]int, len(x))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(x[a], x[b]) })
	out := make([]float64, len(x))
	for i := 0; i < len(order); {
		j := i
		for j < len(order) && x[order[j]] == x[order[i]] {
			j++
		}
		for _, k := range order[i:j] {
			out[k] = float64(i+j-1)/2 + 1
		}
		i = j
	}
	return out
}

// SignAgreement counts the pairs of which neither is 0, and those of them with equal signs.
func SignAgreement(x, y []float64) (agree, decided int) {
	for i := range x {
		if x[i] == 0 || y[i] == 0 {
			continue
		}
		decided++
		if x[i] > 0 == (y[i] > 0) {
			agree++
		}
	}
	return agree, decided
}

// quantile interpolates linearly in sorted values; 0 where there are none.
func quantile(sorted []float64, q float64) float64 {
	if len(sorted) == 0 {
		return 0
	}
	at := q * float64(len(sorted)-1)
	i := int(at)
	if i+1 >= len(sorted) {
		return sorted[len(sorted)-1]
	}
	return sorted[i] + (at-float64(i))*(sorted[i+1]-sorted[i])
}

// Histogram counts values in bins of equal width over [lo, hi]; values outside go to the outer bins.
func Histogram(values []float64, lo, hi float64, bins int) []int {
	out := make([]int, bins)
	for _, v := range values {
		k := int((v - lo) / (hi - lo) * float64(bins))
		out[min(max(k, 0), bins-1)]++
	}
	return out
}
