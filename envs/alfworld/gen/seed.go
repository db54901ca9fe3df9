package gen

import (
	"crypto/sha256"
	"fmt"
	"math/rand/v2"
)

// stream is the random stream for one purpose. It depends on its arguments only, so that game i is the
// same however many games are made around it.
func stream(purpose string, parts ...any) *rand.Rand {
	h := sha256.New()
	fmt.Fprintf(h, "%d:%s", len(purpose), purpose)
	for _, p := range parts {
		s := fmt.Sprint(p)
		fmt.Fprintf(h, "%d:%s", len(s), s)
	}
	return rand.New(rand.NewChaCha8([32]byte(h.Sum(nil))))
}

// between draws from [lo, hi].
func between(rng *rand.Rand, lo, hi int) int { return lo + rng.IntN(hi-lo+1) }

// weighted draws an index with probability in proportion to its weight; at least one must be positive.
func weighted(rng *rand.Rand, weights []int) int {
	total := 0
	for _, w := range weights {
		total += w
	}
	n := rng.IntN(total)
	for i, w := range weights {
		if n < w {
			return i
		}
		n -= w
	}
	return len(weights) - 1
}
