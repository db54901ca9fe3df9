package answer

import (
	"math/big"
	"regexp"
	"strconv"
	"strings"
)

// kind is what an answer was read as.
type kind uint8

const (
	kindText   kind = iota
	kindNumber      // a number, perhaps in per cent
	kindLetter      // a choice
	kindSet         // {a, b}, and "a, b" or "a and b" without brackets: the order does not count
	kindTuple       // (a, b), [a, b): the order and the brackets count
	kindUnion       // intervals joined by ∪: the order does not count
)

// value is an answer that was read.
type value struct {
	kind    kind
	number  number
	percent bool
	text    string  // normal form; of every kind
	items   []value // of sets, tuples and unions
	edges   [2]byte // a tuple's brackets
	bare    bool    // a set that was written without braces
}

// maxItems bounds sets and tuples, whose comparison is quadratic.
const maxItems = 32

// read parses an answer. Whatever it is, there is a value for it: text, where nothing else fits.
func read(s string) value {
	if n, err := strconv.ParseInt(s, 10, 64); err == nil && s[0] != '+' { // most answers: no expression is needed
		return value{kind: kindNumber, text: s, number: number{rat: new(big.Rat).SetInt64(n), f: float64(n)}}
	}
	if len(s) > maxLength {
		return value{kind: kindText, text: plainText(s)}
	}
	return parse(normalise(s), 0)
}

// choice is a letter that stands for an option, alone or in front of the option's text.
var choice = regexp.MustCompile(`^(?:(?i:option|choice)\s+)?(?:\(\s*([A-J])\s*\)|([A-J])(?:[.):]|$))`)

func parse(s string, depth int) value {
	v := value{kind: kindText, text: plainText(s)}
	if s == "" || depth > 4 {
		return v
	}
	if m := choice.FindStringSubmatch(s); m != nil {
		return value{kind: kindLetter, text: strings.ToLower(m[1] + m[2])}
	}
	if n, percent, ok := quantity(s); ok {
		v.kind, v.number, v.percent = kindNumber, n, percent
		return v
	}
	if parts := split(s, `\cup`); len(parts) > 1 && len(parts) <= maxItems {
		v.kind, v.items = kindUnion, parseAll(parts, depth)
		return v
	}
	if collection(&v, s, depth) {
		return v
	}
	if parts := listed(s); len(parts) > 1 && len(parts) <= maxItems {
		v.kind, v.items, v.bare = kindSet, parseAll(parts, depth), true
		return v
	}
	if rest, ok := strings.CutPrefix(s, `\pm`); ok {
		v.kind, v.items, v.bare = kindSet, parseAll([]string{rest, "-(" + rest + ")"}, depth), true
	}
	return v
}

func parseAll(parts []string, depth int) []value {
	out := make([]value, len(parts))
	for i, p := range parts {
		out[i] = parse(normalise(p), depth+1)
	}
	return out
}

// collection reads what stands in brackets: a set in \{ \}, a tuple or an interval in the others.
func collection(v *value, s string, depth int) bool {
	inner, set := strings.CutPrefix(s, `\{`)
	if set {
		if inner, set = strings.CutSuffix(inner, `\}`); !set {
			return false
		}
		parts := split(inner, ",")
		if strings.TrimSpace(inner) == "" {
			parts = nil
		}
		if len(parts) > maxItems {
			return false
		}
		v.kind, v.items = kindSet, parseAll(parts, depth)
		if len(v.items) == 1 { // {5} is 5
			*v = v.items[0]
		}
		return true
	}
	if s[0] != '(' && s[0] != '[' || closing(s) != len(s)-1 {
		return false
	}
	parts := split(s[1:len(s)-1], ",")
	if len(parts) < 2 || len(parts) > maxItems {
		return false
	}
	v.kind, v.items, v.edges = kindTuple, parseAll(parts, depth), [2]byte{s[0], s[len(s)-1]}
	return true
}

var conjunction = regexp.MustCompile(`\s+(?:and|or)\s+|\s*;\s*`)

// listed cuts "a, b and c" into its parts.
func listed(s string) []string {
	s = conjunction.ReplaceAllString(s, ",")
	var out []string
	for _, p := range split(s, ",") {
		if p = strings.TrimSpace(p); p != "" {
			out = append(out, p)
		}
	}
	return out
}

var (
	percentage = regexp.MustCompile(`(?i)^(.*\S)\s*(?:%|per\s?cent|percent)$`)
	spaced     = regexp.MustCompile(`^-?\d{1,3}(?: \d{3})+$`)
	mixedPlain = regexp.MustCompile(`^(-?)(\d{1,18})\s+(\d{1,18})\s*/\s*(\d{1,18})$`)
	scale      = regexp.MustCompile(`(?i)^(.*\d)\s*(hundred|thousand|million|billion|trillion)\b(.*)$`)
	// word is a unit at the end: a word with an exponent, or a rate. What has one letter, and what
	// stands right behind the number, must be a unit that is known: "2x" is no number.
	word  = regexp.MustCompile(`^(.*?[\d)}%])(\s*)((?:[a-zA-Zµ]+\.?(?:\s*\^\s*\{?-?\d\}?)?)(?:\s*(?:/|per|\s)\s*[a-zA-Zµ]+\.?(?:\s*\^\s*\{?-?\d\}?)?){0,3})$`)
	money = regexp.MustCompile(`^(?:USD|EUR|GBP)\s*`)
)

var scales = map[string]int64{"hundred": 100, "thousand": 1000, "million": 1e6, "billion": 1e9, "trillion": 1e12}

// units are the short ones that may stand right behind a number.
var units = func() map[string]bool {
	out := map[string]bool{}
	for _, u := range strings.Fields(`m cm mm km nm µm in ft yd mi g kg mg t lb oz l L ml mL cl dl s ms h hr hrs min d K C F
		N J W kW kWh Hz V A mol Pa kPa bar deg rad km/h kmh mph kph sq cu am pm cents c`) {
		out[u] = true
	}
	return out
}()

// quantity reads a number with what may stand around it: a sign of percentage, a unit, a scale word.
func quantity(s string) (n number, percent, ok bool) {
	s = money.ReplaceAllString(s, "")
	if m := percentage.FindStringSubmatch(s); m != nil {
		if n, err := evaluate(m[1]); err == nil {
			if n, err = combine(n, number{rat: big.NewRat(100, 1), f: 100}, '/'); err == nil {
				return n, true, true
			}
		}
		return number{}, false, false
	}
	if spaced.MatchString(s) {
		s = strings.ReplaceAll(s, " ", "")
	}
	if m := mixedPlain.FindStringSubmatch(s); m != nil {
		s = m[1] + "(" + m[2] + "+" + m[3] + "/" + m[4] + ")"
	}
	if n, err := evaluate(s); err == nil {
		return n, false, true
	}
	if m := scale.FindStringSubmatch(s); m != nil && (strings.TrimSpace(m[3]) == "" || unitWords(" ", m[3])) {
		if n, err := evaluate(m[1]); err == nil {
			by := scales[strings.ToLower(m[2])]
			if n, err = combine(n, number{rat: big.NewRat(by, 1), f: float64(by)}, '*'); err == nil {
				return n, false, true
			}
		}
	}
	if m := word.FindStringSubmatch(s); m != nil && unitWords(m[2], m[3]) {
		return quantity(m[1])
	}
	return number{}, false, false
}

var unitWord = regexp.MustCompile(`[a-zA-Zµ]+`)

// unitWords reports whether the words after a number can be its unit.
func unitWords(space, words string) bool {
	for i, w := range unitWord.FindAllString(words, -1) {
		switch strings.ToLower(w) {
		case "and", "or", "pi", "sqrt", "to", "if", "not", "is":
			return false
		case "per":
			continue
		}
		if (len(w) == 1 || i == 0 && space == "") && !units[w] {
			return false
		}
	}
	return true
}
