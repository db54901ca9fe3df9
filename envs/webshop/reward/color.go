package reward

import (
	"slices"
	"strings"
)

// colors are the words that a shade is reduced to, in the order in which they are tried.
var colors = strings.Fields(`alabaster apricot aqua ash asphalt azure banana beige black blue blush bordeaux bronze
	brown burgundy camel camo caramel champagne charcoal cheetah chestnut chocolate christmas coffee cognac copper
	coral cranberry cream crystal dark denim eggplant elephant espresso fuchsia gold granite grape graphite grass
	gray green grey heather indigo ivory ivy khaki lavender lemon leopard light lilac lime magenta maroon mauve
	merlot midnight mint mocha multicolor mushroom mustard natural navy nude olive orange peach pewter pink plum
	purple rainbow red rose royal rust sand sapphire seashell silver skull slate steel stone stonewash sunflower
	tan taupe teal tiger turquoise violet walnut wheat white wine yellow`)

// NormalizeColor returns the first colour word that occurs in s, even inside another word; else s.
func NormalizeColor(s string) string {
	for _, c := range colors {
		if strings.Contains(s, c) {
			return c
		}
	}
	return s
}

// normalizePair is NormalizeColor of a (name, value) tuple: a colour word must be one of the two as a
// whole. ok is false where none is, and the tuple stays a tuple.
func normalizePair(name, value string) (color string, ok bool) {
	i := slices.IndexFunc(colors, func(c string) bool { return c == name || c == value })
	if i < 0 {
		return "", false
	}
	return colors[i], true
}
