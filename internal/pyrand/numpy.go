package pyrand

import "math/bits"

// RandomState is numpy.random.RandomState with an integer seed. It is not safe for concurrent use.
type RandomState struct{ mt mt }

// NewRandomState is numpy.random.RandomState(seed), with the legacy seeding of one 32-bit number.
func NewRandomState(seed uint32) *RandomState {
	r := &RandomState{}
	r.mt.initGenrand(seed)
	return r
}

// Float64 is random_sample(): uniform on [0, 1).
func (r *RandomState) Float64() float64 { return r.mt.float64() }

// interval is uniform on 0..limit by rejection under a mask (numpy's random_interval).
func (r *RandomState) interval(limit uint32) uint32 {
	if limit == 0 {
		return 0
	}
	mask := uint32(1)<<bits.Len32(limit) - 1
	v := r.mt.uint32() & mask
	for v > limit {
		v = r.mt.uint32() & mask
	}
	return v
}

// Shuffle is shuffle on a sequence of n elements, from the top down.
func (r *RandomState) Shuffle(n int, swap func(i, j int)) {
	for i := n - 1; i >= 1; i-- {
		swap(i, int(r.interval(uint32(i))))
	}
}

// Permutation is permutation(n): the shuffled 0..n-1.
func (r *RandomState) Permutation(n int) []int {
	p := make([]int, n)
	for i := range p {
		p[i] = i
	}
	r.Shuffle(n, func(i, j int) { p[i], p[j] = p[j], p[i] })
	return p
}

// Choice is choice(n, size=k, replace=False): the head of a permutation. It panics where k > n, as
// numpy raises.
func (r *RandomState) Choice(n, k int) []int { return r.Permutation(n)[:k:k] }
