package gen

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// sentence words the task, without the final stop. Things and furniture appear under the names that
// the commands use, so "cellphone", in one word.
func sentence(rng *rand.Rand, g goal) string {
	what := article(g.what.name)
	prep := "on"
	if g.where.within {
		prep = "in"
	}
	where := prep + " " + article(g.where.name)
	bare := strings.ToLower(g.what.name)
	var options []string
	switch g.task {
	case Place:
		options = []string{
			fmt.Sprintf("put %s %s", what, where),
			fmt.Sprintf("get %s and put it %s", what, where),
		}
	case PickTwo:
		options = []string{
			fmt.Sprintf("put %s and another %s %s, both in the same place", what, bare, where),
			fmt.Sprintf("find two things of the kind %s and put both %s one %s", bare, prep, strings.ToLower(g.where.name)),
		}
	case Look:
		by := article(g.lamp.name)
		options = []string{
			fmt.Sprintf("hold %s in the light of %s", what, by),
			fmt.Sprintf("take %s and look at it by the light of %s", what, by),
		}
	case Clean:
		options = treated(what, bare, where, "clean", "wash")
	case Heat:
		options = treated(what, bare, where, "hot", "heat")
	case Cool:
		options = treated(what, bare, where, "cold", "cool")
	}
	return options[rng.IntN(len(options))]
}

// treated words a task that changes the thing on the way.
func treated(what, bare, where, state, verb string) []string {
	return []string{
		fmt.Sprintf("put a %s %s %s", state, bare, where),
		fmt.Sprintf("%s %s, then put it %s", verb, what, where),
	}
}

// article is the lower-case name with its indefinite article.
func article(name string) string {
	name = strings.ToLower(name)
	if name != "" && strings.ContainsRune("aeiou", rune(name[0])) {
		return "an " + name
	}
	return "a " + name
}
