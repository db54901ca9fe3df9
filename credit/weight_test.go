package credit

import (
	"math"
	"testing"
)

// TestExpSmall: the polynomial agrees with math.Exp to 1.2e-13 over its whole range, ends included.
func TestExpSmall(t *testing.T) {
	t.Parallel()
	for i := range 200001 {
		x := expRange * (float64(i)/100000 - 1)
		if got, want := expSmall(x), math.Exp(x); math.Abs(got-want) > 1.2e-13*want {
			t.Fatalf("exp(%v) = %v, want %v", x, got, want)
		}
	}
	if expSmall(0) != 1 {
		t.Errorf("exp(0) = %v, want exactly 1", expSmall(0))
	}
}

func TestKernelRange(t *testing.T) {
	t.Parallel()
	for clip, small := range map[float64]bool{0: true, 0.2: true, 0.21: false, 0.3: false, 1: false, 2: false} {
		if got := newKernel(1, clip).small; got != small {
			t.Errorf("clip %v: polynomial %v, want %v", clip, got, small)
		}
	}
}

// TestSERLWeight: the clamp, both clips and both signs by hand.
func TestSERLWeight(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ sign, delta, clip, want float64 }{
		{1, 0.1, 0.2, math.Exp(0.1)},
		{-1, 0.1, 0.2, math.Exp(-0.1)},
		{1, 5, 0.2, 1.2},
		{-1, 5, 0.2, 0.8},
		{0, 5, 0.2, 1},
		{1, -50, 1.5, math.Exp(-20)},
		{1, 50, 1e12, math.Exp(20)},
		{1, 3, 0, 1},
	} {
		if got := SERLWeight(c.sign, c.delta, c.clip); got != c.want {
			t.Errorf("sign %v, Δ %v, c %v: %v, want %v", c.sign, c.delta, c.clip, got, c.want)
		}
	}
}

func TestLambdaSchedule(t *testing.T) {
	t.Parallel()
	c := DefaultSERL()
	for update, want := range map[int]float64{0: 0.5, 10: 0.4, 25: 0.25, 49: 0.01, 50: 0, 80: 0} {
		sameFloats(t, "λ", []float64{c.LambdaAt(update)}, []float64{want}, 1e-15)
	}
	for update, want := range map[int]int{0: 0, 9: 0, 10: 10, 49: 40} {
		if got := c.TeacherAt(update); got != want {
			t.Errorf("teacher at update %d is of update %d, want %d", update, got, want)
		}
	}
	c.DecaySteps, c.SyncEvery = 0, 0
	if c.LambdaAt(1000) != 0.5 || c.TeacherAt(1000) != 0 {
		t.Error("no decay and no sync must keep λ_0 and the initial teacher")
	}
}

func TestAppendSpans(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		mask string
		want []Span
	}{
		{"", nil}, {"000", nil}, {"111", []Span{{0, 3}}}, {"0110100", []Span{{1, 3}, {4, 5}}}, {"101", []Span{{0, 1}, {2, 3}}},
	} {
		mask := make([]bool, len(c.mask))
		for i := range mask {
			mask[i] = c.mask[i] == '1'
		}
		got := AppendSpans(nil, mask)
		if len(got) != len(c.want) {
			t.Fatalf("%s: %v, want %v", c.mask, got, c.want)
		}
		for i := range got {
			if got[i] != c.want[i] {
				t.Errorf("%s: %v, want %v", c.mask, got, c.want)
			}
		}
	}
}

func TestFill(t *testing.T) {
	t.Parallel()
	for n := range 70 {
		xs := make([]float32, n+1)
		fill(xs[:n], 2)
		for i, x := range xs {
			if want := float32(2); i < n && x != want || i == n && x != 0 {
				t.Fatalf("length %d: element %d is %v", n, i, x)
			}
		}
	}
}
