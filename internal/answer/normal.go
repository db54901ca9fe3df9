package answer

import (
	"regexp"
	"strings"
)

// maxLength bounds what is read as mathematics; a longer answer is compared as text.
const maxLength = 2000

// symbols are characters and commands with one plain spelling. The order matters where one begins
// another.
var symbols = strings.NewReplacer(
	"−", "-", "–", "-", "×", "*", "·", "*", "÷", "/", "π", `\pi `, "√", `\sqrt `, "∞", `\infty `, "≈", "", "±", `\pm `,
	"°", "", "²", "^2", "³", "^3", "½", " 1/2", "¼", " 1/4", "¾", " 3/4", "∪", `\cup `, "≤", `\le `, "≥", `\ge `, "≠", `\ne `,
	"\u00a0", " ", "\u2009", " ", "\u202f", " ", "€", "", "£", "", "“", "", "”", "",
	`\left`, "", `\right`, "", `\Bigl`, "", `\Bigr`, "", `\bigl`, "", `\bigr`, "", `\big`, "", `\Big`, "",
	`\displaystyle`, "", `\limits`, "", `\quad`, " ", `\qquad`, " ",
	`\!`, "", `\,`, "", `\;`, " ", `\:`, " ", `\ `, " ", `~`, " ", `\\`, " ",
	`\$`, "", "$", "", `\(`, "", `\)`, "", `\[`, "", `\]`, "",
	`^\circ`, "", `^{\circ}`, "", `^ \circ`, "", `\degree`, "", `\%`, "%",
	`\dfrac`, `\frac`, `\tfrac`, `\frac`, `\cfrac`, `\frac`, `\cdot`, "*", `\times`, "*", `\div`, "/", `\approx`, "",
	`\leq`, `\le`, `\geq`, `\ge`, `\neq`, `\ne`, "{,}", "",
)

var (
	// wrapper is a command whose argument is printed as it is.
	wrapper = regexp.MustCompile(`\\(?:text(?:bf|rm|it|tt|sf)?|math(?:rm|bf|it|sf|tt|bb)|mbox|operatorname|boxed|fbox|underline|emph)\s*\{([^{}]*)\}`)
	// bareFraction is \frac whose arguments are single characters; \frac1{2} and \frac{1}2 as well.
	bareFraction = regexp.MustCompile(`\\frac\s*(?:(\d|[a-zA-Z])|\{([^{}]*)\})\s*(?:(\d|[a-zA-Z])|\{([^{}]*)\})`)
	bareRoot     = regexp.MustCompile(`\\sqrt\s*(\d|[a-zA-Z])`)
	assignment   = regexp.MustCompile(`^\s*\\?[a-zA-Z](?:_\{?\w+\}?)?(?:\([a-z]\))?\s*(?:=|\\in\b)\s*`)
	article      = regexp.MustCompile(`(?i)^(?:the|an?|about|approximately|exactly)\s+`)
)

// normalise rewrites an answer so that equal notations become equal texts: one spelling per symbol,
// \frac{a}{b} for every fraction, no layout, no mathematics delimiters, no full stop at the end.
func normalise(s string) string {
	s = symbols.Replace(strings.TrimSpace(s))
	for range 8 { // nested wrappers open from the inside
		next := wrapper.ReplaceAllString(s, " $1 ")
		if next == s {
			break
		}
		s = next
	}
	s = bareFraction.ReplaceAllString(s, `\frac{$1$2}{$3$4}`)
	s = bareRoot.ReplaceAllString(s, `\sqrt{$1}`)
	s = strings.TrimSpace(s)
	s = strings.TrimSpace(strings.TrimRight(s, ".,;:!?*`"))
	s = article.ReplaceAllString(s, "")
	if loc := assignment.FindStringIndex(s); loc != nil && loc[1] < len(s) {
		s = s[loc[1]:]
	}
	return unwrapped(strings.TrimSpace(s))
}

// unwrapped takes off a pair of plain braces or quotes around the whole.
func unwrapped(s string) string {
	for len(s) >= 2 {
		switch {
		case s[0] == '{' && closing(s) == len(s)-1, s[0] == '"' && s[len(s)-1] == '"', s[0] == '\'' && s[len(s)-1] == '\'':
			s = strings.TrimSpace(s[1 : len(s)-1])
		default:
			return s
		}
	}
	return s
}

// closing is where the bracket that s begins with is closed, whatever the kinds of brackets between
// and however a half-open interval closes; −1 where it is not.
func closing(s string) int {
	depth := 0
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '(', '[', '{':
			depth++
		case ')', ']', '}':
			if depth--; depth == 0 {
				return i
			}
		}
	}
	return -1
}

// split cuts at the separator outside brackets.
func split(s string, separator string) []string {
	var out []string
	depth, from := 0, 0
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '(', '[', '{':
			depth++
		case ')', ']', '}':
			depth--
		}
		if depth == 0 && strings.HasPrefix(s[i:], separator) {
			out = append(out, s[from:i])
			from = i + len(separator)
			i = from - 1
		}
	}
	return append(out, s[from:])
}

// plain is the form in which answers that are not mathematics are compared.
var plain = strings.NewReplacer(" ", "", "\t", "", "\n", "", "*", "", `\`, "")

func plainText(s string) string { return strings.ToLower(plain.Replace(s)) }
