// Package pyrand reproduces the random streams of Python's random module and of numpy's legacy
// RandomState, draw for draw, so that goal lists, prices and shuffles equal those of the original
// Python programs for a seed.
//
// Sources: python/cpython@3.11: Modules/_randommodule.c and Lib/random.py; numpy/numpy@1.24:
// numpy/random/mtrand.pyx and numpy/random/src/mt19937. Draws are checked against recorded vectors.
package pyrand

const (
	mtN        = 624
	mtM        = 397
	mtUpper    = 0x80000000
	mtLower    = 0x7fffffff
	mtMatrix   = 0x9908b0df
	initSeed   = 19650218
	initMul    = 1812433253
	keyMul     = 1664525
	finishMul  = 1566083941
	doubleUnit = 1.0 / (1 << 53)
)

// mt is the Mersenne Twister MT19937.
type mt struct {
	state [mtN]uint32
	next  int
}

// initGenrand seeds from one 32-bit number.
func (m *mt) initGenrand(seed uint32) {
	m.state[0] = seed
	for i := 1; i < mtN; i++ {
		prev := m.state[i-1]
		m.state[i] = initMul*(prev^prev>>30) + uint32(i)
	}
	m.next = mtN
}

// initByArray seeds from a key of 32-bit numbers.
func (m *mt) initByArray(key []uint32) {
	m.initGenrand(initSeed)
	i, j := 1, 0
	for range max(mtN, len(key)) {
		prev := m.state[i-1]
		m.state[i] = (m.state[i] ^ (prev^prev>>30)*keyMul) + key[j] + uint32(j)
		if i++; i >= mtN {
			m.state[0], i = m.state[mtN-1], 1
		}
		if j++; j >= len(key) {
			j = 0
		}
	}
	for range mtN - 1 {
		prev := m.state[i-1]
		m.state[i] = (m.state[i] ^ (prev^prev>>30)*finishMul) - uint32(i)
		if i++; i >= mtN {
			m.state[0], i = m.state[mtN-1], 1
		}
	}
	m.state[0] = mtUpper
}

func (m *mt) refill() {
	for k := range mtN {
		y := m.state[k]&mtUpper | m.state[(k+1)%mtN]&mtLower
		v := m.state[(k+mtM)%mtN] ^ y>>1
		if y&1 != 0 {
			v ^= mtMatrix
		}
		m.state[k] = v
	}
	m.next = 0
}

// uint32 is the next tempered output.
func (m *mt) uint32() uint32 {
	if m.next >= mtN {
		m.refill()
	}
	y := m.state[m.next]
	m.next++
	y ^= y >> 11
	y ^= y << 7 & 0x9d2c5680
	y ^= y << 15 & 0xefc60000
	return y ^ y>>18
}

// float64 is uniform on [0, 1) with 53 bits, from two outputs.
func (m *mt) float64() float64 {
	a, b := m.uint32()>>5, m.uint32()>>6
	return (float64(a)*(1<<26) + float64(b)) * doubleUnit
}
