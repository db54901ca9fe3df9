package credit

import "math"

// kernel is SERLWeight with everything that does not depend on the token worked out beforehand.
//
// Clipping the exponent to [log(1−c), log(1+c)] is the same as clipping the weight, and leaves
// arguments so small, for the usual c, that a short polynomial is as good as math.Exp.
type kernel struct {
	lambda   float64
	clip     float64
	loX, hiX float64 // exponents are clipped to these
	loW, hiW float64 // weights at those
	mid      float64 // between loX and hiX
	half     float64 // from mid to either
	edge     float64 // exponents this far from mid count as clipped
	small    bool    // [loX, hiX] lies within expSmall's range
}

// clipMargin is how close to a bound a weight counts as clipped; the reference has 1e-6 as well.
const clipMargin = 1e-6

func newKernel(lambda, clip float64) *kernel {
	k := &kernel{lambda: lambda, clip: clip, loX: -20, hiX: min(20, math.Log1p(clip))}
	if clip < 1 {
		k.loX = max(-20, math.Log1p(-clip))
	}
	k.loW, k.hiW = max(math.Exp(-20), 1-clip), min(math.Exp(20), 1+clip)
	k.mid, k.half = (k.loX+k.hiX)/2, (k.hiX-k.loX)/2
	k.edge = max(0, k.half-clipMargin)
	k.small = k.loX >= -expRange && k.hiX <= expRange
	return k
}

// weight is the weight of a clipped exponent, within [1−c, 1+c] to the last bit.
func (k *kernel) weight(x float64) float64 {
	return min(max(math.Exp(x), k.loW), k.hiW)
}

// clipped reports whether a weight counts as clipped.
func (k *kernel) clipped(w float64) bool {
	return w <= 1-k.clip+clipMargin || w >= 1+k.clip-clipMargin
}

// expRange is where expSmall holds; it covers c <= 0.2.
const expRange = 0.225

// expSmall is exp(x) for |x| <= expRange: the Taylor polynomial of degree 9, whose remainder is below
// 0.225^10/10! = 1e-13 there (1.2e-13 of the value), summed by Estrin's scheme so that no product waits for more than three
// others.
func expSmall(x float64) float64 {
	x2 := x * x
	x4 := x2 * x2
	a := (1 + x) + x2*(1.0/2+x*(1.0/6))
	b := (1.0/24 + x*(1.0/120)) + x2*(1.0/720+x*(1.0/5040))
	c := 1.0/40320 + x*(1.0/362880)
	return a + x4*(b+x4*c)
}

// spanTally gathers the weights of one row.
type spanTally struct {
	n, clipped int
	sum, abs   float64 // of w, of |Δ|
	loX, hiX   float64 // least and greatest clipped exponent; +Inf, −Inf before the first token
}

func newSpanTally() spanTally { return spanTally{loX: math.Inf(1), hiX: math.Inf(-1)} }

// weightSpan writes a·((1−λ) + λw) for the tokens of one span and adds their weights to t; sign is
// that of a. The caller checks that t.abs came out finite: a NaN or an infinity among the
// log-probabilities always shows there.
//
// Whether a token is clipped is a coin toss to the branch predictor, so the loop has no branch for it:
// the exponent's distance from the middle of its range is clipped as an integer, which orders like the
// number itself, and Go turns that into a conditional move. A token with Δ = 0 weighs exactly 1.
func weightSpan[F Float](out, student, teacher []F, a, sign float64, k *kernel, t *spanTally) {
	if !k.small {
		weightSpanWide(out, student, teacher, a, sign, k, t)
		return
	}
	student, teacher = student[:len(out)], teacher[:len(out)]
	keep, blend, mid := a*(1-k.lambda), a*k.lambda, k.mid
	half, edge := math.Float64bits(k.half), math.Float64bits(k.edge)
	sum, abs, loX, hiX, clipped := 0.0, 0.0, t.loX, t.hiX, 0
	for j := range out {
		d := float64(teacher[j]) - float64(student[j])
		abs += math.Abs(d)
		bits := math.Float64bits(sign*d - mid)
		minus := bits & signBit
		bits &^= signBit
		c := 0
		if bits >= edge {
			c = 1
		}
		clipped += c
		if bits > half {
			bits = half
		}
		x := math.Float64frombits(bits|minus) + mid
		if x < loX {
			loX = x
		}
		if x > hiX {
			hiX = x
		}
		w := expSmall(x)
		sum += w
		out[j] = F(keep + blend*w)
	}
	t.n += len(out)
	t.clipped += clipped
	t.sum += sum
	t.abs += abs
	t.loX, t.hiX = loX, hiX
}

const signBit = 1 << 63

// weightSpanWide is weightSpan for clips whose exponents leave the polynomial's range.
func weightSpanWide[F Float](out, student, teacher []F, a, sign float64, k *kernel, t *spanTally) {
	student, teacher = student[:len(out)], teacher[:len(out)]
	keep, blend := a*(1-k.lambda), a*k.lambda
	for j := range out {
		d := float64(teacher[j]) - float64(student[j])
		t.abs += math.Abs(d)
		x := min(max(sign*d, k.loX), k.hiX)
		t.loX, t.hiX = min(t.loX, x), max(t.hiX, x)
		w := math.Exp(x)
		if k.clipped(w) {
			t.clipped++
		}
		t.sum += w
		out[j] = F(keep + blend*w)
	}
	t.n += len(out)
}

// fill sets every element of dst to v, doubling what is already filled: copy moves whole vectors where
// a loop stores single elements.
func fill[F Float](dst []F, v F) {
	if len(dst) == 0 {
		return
	}
	n := min(len(dst), 16)
	for i := range dst[:n] {
		dst[i] = v
	}
	for ; n < len(dst); n *= 2 {
		copy(dst[n:], dst[:n])
	}
}
