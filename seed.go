package harness

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
)

// Rand returns the random stream for one purpose of one turn. It depends only on its arguments, so
// 1 worker and 64, and an interrupted run and an uninterrupted one, draw the same numbers.
func Rand(runSeed int64, task Task, sample, step int, purpose string) *rand.Rand {
	var seed [32]byte
	h := sha256.New()
	writeFields(h, "hindsight/rand/1", fmt.Sprint(runSeed), task.Key(), fmt.Sprint(sample), fmt.Sprint(step), purpose)
	copy(seed[:], h.Sum(nil))
	return rand.New(rand.NewChaCha8(seed))
}

// RoundSeed is the seed of a run's round, in place of the run's: the same tasks come again, the random
// numbers do not. Round 0 has the run's own.
func RoundSeed(runSeed int64, round int) int64 {
	if round == 0 {
		return runSeed
	}
	h := sha256.New()
	writeFields(h, "hindsight/round/1", fmt.Sprint(runSeed), fmt.Sprint(round))
	return int64(binary.LittleEndian.Uint64(h.Sum(nil)))
}

// CallSeed is a seed for model servers that take one: 31 bits, never negative, from the same inputs.
func CallSeed(runSeed int64, task Task, sample, step int) int64 {
	h := sha256.New()
	writeFields(h, "hindsight/call/1", fmt.Sprint(runSeed), task.Key(), fmt.Sprint(sample), fmt.Sprint(step))
	return int64(binary.LittleEndian.Uint32(h.Sum(nil)) & 0x7fffffff)
}
