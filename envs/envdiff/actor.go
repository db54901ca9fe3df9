package envdiff

import (
	"context"
	"fmt"
	"hash/fnv"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/hindsightrl/harness"
)

// actor draws a game's actions: from the seed and the task alone, so that a game is the same again.
type actor struct {
	cfg   Config
	rand  *rand.Rand
	words []string
	seen  map[string]bool // what was ever listed
}

func newActor(task harness.Task, cfg Config, told string) *actor {
	h := fnv.New64a()
	fmt.Fprintf(h, "%s", task.Key())
	a := &actor{cfg: cfg, rand: rand.New(rand.NewPCG(uint64(cfg.Seed), h.Sum64())), seen: map[string]bool{}}
	a.words = strings.Fields(strings.Map(func(r rune) rune {
		if strings.ContainsRune(".,;:!?()[]", r) {
			return ' '
		}
		return r
	}, told))
	return a
}

// The shares of drawn actions that are none: what was listed earlier, and what never is.
const (
	staleShare  = 0.10
	spoiltShare = 0.10
)

// next draws an action: the expert's, one that is listed, or one that need not be any.
func (a *actor) next(ctx context.Context, env harness.Env, now harness.Observation) (string, error) {
	for _, entry := range now.Admissible {
		a.seen[entry] = true
	}
	// All that decides is drawn first, so that an expert that does not know changes nothing else.
	follow, roll := a.rand.Float64() < a.cfg.Expert, a.rand.Float64()
	if expert, ok := env.(harness.Advisor); ok && follow {
		action, err := expert.Advise(ctx)
		if err == nil || ctx.Err() != nil {
			return action, err
		}
	}
	entry, ok := a.listed(now.Admissible)
	switch {
	case !ok && len(a.seen) == 0:
		return "", errNoAction
	case !ok || roll < staleShare:
		return a.fill(a.pick(slices.Sorted(maps.Keys(a.seen)))), nil
	case roll < staleShare+spoiltShare:
		return a.spoil(a.fill(entry)), nil
	}
	return a.fill(entry), nil
}

// listed draws a verb first, so that rare verbs are not drowned by the many places to go to.
func (a *actor) listed(list []string) (string, bool) {
	if len(list) == 0 {
		return "", false
	}
	byVerb := map[string][]string{}
	for _, entry := range list {
		verb, _, _ := strings.Cut(strings.ReplaceAll(entry, "[", " "), " ")
		byVerb[verb] = append(byVerb[verb], entry)
	}
	verb := a.pick(slices.Sorted(maps.Keys(byVerb)))
	return a.pick(byVerb[verb]), true
}

func (a *actor) pick(list []string) string { return list[a.rand.IntN(len(list))] }

func (a *actor) fill(entry string) string {
	if a.cfg.Fill == nil {
		return entry
	}
	return a.cfg.Fill(entry, func() string {
		if len(a.words) == 0 {
			return "thing"
		}
		return a.pick(a.words)
	})
}

// spoil makes a variant of an action; most variants are no action.
func (a *actor) spoil(action string) string {
	first, _, _ := strings.Cut(action, " ")
	return a.pick([]string{
		strings.ToUpper(action), action + ".", "  " + action + "\t", strings.Replace(action, " ", "  ", 1), first,
		strings.ToValidUTF8(action[:len(action)/2], ""), action + " 1", "", " ", "dance", "go to nowhere 1", "help me", "click[]", "search[", "[]",
		"\u00e9t\u00e9 \u2603", "look\nlook", action + "\nlook",
	})
}
