package pyrand

import (
	"fmt"
	"math/bits"
)

// Rand is Python's random.Random. It is not safe for concurrent use; Clone copies its state.
type Rand struct{ mt mt }

// New is random.Random(seed) for an integer seed: the absolute value counts.
func New(seed int64) *Rand {
	u := uint64(seed)
	if seed < 0 {
		u = -u
	}
	key := []uint32{uint32(u)}
	if hi := uint32(u >> 32); hi != 0 {
		key = append(key, hi)
	}
	r := &Rand{}
	r.mt.initByArray(key)
	return r
}

// Clone copies the stream: both go on with the same draws.
func (r *Rand) Clone() *Rand {
	c := *r
	return &c
}

// Float64 is random.random(): uniform on [0, 1).
func (r *Rand) Float64() float64 { return r.mt.float64() }

// Bits is random.getrandbits(k) for k in 1..64.
func (r *Rand) Bits(k int) uint64 {
	if k < 1 || k > 64 {
		panic(fmt.Sprintf("pyrand: Bits(%d): k is not in 1..64", k))
	}
	if k <= 32 {
		return uint64(r.mt.uint32() >> (32 - k))
	}
	low := uint64(r.mt.uint32())
	return low | uint64(r.mt.uint32()>>(64-k))<<32
}

// IntN is random._randbelow(n): uniform on 0..n-1 by rejection on n's bit length. n must be positive.
func (r *Rand) IntN(n int) int {
	if n <= 0 {
		panic(fmt.Sprintf("pyrand: IntN(%d): n is not positive", n))
	}
	k := bits.Len(uint(n))
	v := r.Bits(k)
	for v >= uint64(n) {
		v = r.Bits(k)
	}
	return int(v)
}

// Uniform is random.uniform(a, b) = a + (b-a)·random().
func (r *Rand) Uniform(a, b float64) float64 { return a + (b-a)*r.Float64() }

// Shuffle is random.shuffle on a list of n elements, from the top down.
func (r *Rand) Shuffle(n int, swap func(i, j int)) {
	for i := n - 1; i >= 1; i-- {
		swap(i, r.IntN(i+1))
	}
}

// Sample is random.sample(range(n), k): k distinct indices in selection order. It panics where
// k is not in 0..n, as Python raises.
func (r *Rand) Sample(n, k int) []int {
	if k < 0 || k > n {
		panic(fmt.Sprintf("pyrand: Sample(%d, %d): sample larger than population or negative", n, k))
	}
	out := make([]int, k)
	if n <= sampleSetSize(k) {
		pool := make([]int, n)
		for i := range pool {
			pool[i] = i
		}
		for i := range k {
			j := r.IntN(n - i)
			out[i] = pool[j]
			pool[j] = pool[n-i-1]
		}
		return out
	}
	seen := make(map[int]bool, k)
	for i := range k {
		j := r.IntN(n)
		for seen[j] {
			j = r.IntN(n)
		}
		seen[j] = true
		out[i] = j
	}
	return out
}

// sampleSetSize is the population up to which Python copies a list instead of keeping a set: 21, plus
// 4**ceil(log(3k, 4)) for k > 5.
func sampleSetSize(k int) int {
	size := 21
	if k > 5 {
		p := 1
		for p < 3*k {
			p *= 4
		}
		size += p
	}
	return size
}

// Choices is random.choices on a population of n without weights: k indices with replacement, each
// floor(random()·n).
func (r *Rand) Choices(n, k int) []int {
	out := make([]int, k)
	for i := range out {
		out[i] = int(r.Float64() * float64(n))
	}
	return out
}
