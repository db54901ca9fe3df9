package gen

import (
	"math/rand/v2"
	"slices"
	"strings"
)

// verbOf is a command's first word.
func verbOf(command string) string {
	verb, _, _ := strings.Cut(command, " ")
	return verb
}

// drawVerb draws a verb first and then one of its commands, so that the many places to go to do not
// drown the rest.
func drawVerb(rng *rand.Rand, commands []string) string {
	var verbs []string
	for _, c := range commands {
		if v := verbOf(c); !slices.Contains(verbs, v) {
			verbs = append(verbs, v)
		}
	}
	verb := verbs[rng.IntN(len(verbs))]
	var of []string
	for _, c := range commands {
		if verbOf(c) == verb {
			of = append(of, c)
		}
	}
	return of[rng.IntN(len(of))]
}
