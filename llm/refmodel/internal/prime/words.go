package prime

import (
	_ "embed" // words that no transcript needs to contain
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/hindsightrl/harness/llm/refmodel/internal/vocab"
)

// wordList holds words of households, shops and plain English, so that texts beyond the transcripts
// are not spelled byte by byte.
//
//go:embed words.txt
var wordList string

// fixed are tokens that a pattern would not find, with their flags.
var fixed = []vocab.Word{
	{Text: "<think>"},
	{Text: "</think>"},
	{Text: "<action>", Flags: vocab.Open},
	{Text: "</action>", Flags: vocab.Close},
	{Text: " '", Flags: vocab.Open},
	{Text: "['", Flags: vocab.Open},
	{Text: " ['", Flags: vocab.Open},
	{Text: " \"", Flags: vocab.Open},
	{Text: "('", Flags: vocab.Open},
	{Text: "\n'", Flags: vocab.Open},
	{Text: ":\n'", Flags: vocab.Open},
	{Text: "* ", Flags: vocab.Open},
	{Text: "\n* ", Flags: vocab.Open},
	{Text: " not solved", Flags: vocab.Bad},
	{Text: " 0 of them", Flags: vocab.Bad},
	{Text: ":\n", Flags: vocab.Open},
	{Text: " action", Flags: vocab.Open},
	{Text: "Action ", Flags: vocab.Open},
	{Text: " (", Flags: 0},
	{Text: " `", Flags: vocab.Open},
	{Text: "\n\n", Flags: vocab.Close},
	{Text: ". ", Flags: 0},
	{Text: "-= "},
	{Text: " =-"},
	{Text: " <think>"},
	{Text: " </think>"},
	{Text: " <action>"},
	{Text: " </action>"},
	{Text: "search["},
	{Text: "click["},
	{Text: " -"},
	{Text: " ["},
	{Text: " <"},
	{Text: "n't"},
	{Text: "'s"},
	{Text: "'ll"},
	{Text: "'re"},
	{Text: "'ve"},
}

var (
	good = []string{"success", "succeeded", "successful", "successfully", "solved", "won", "achieved", "worked"}
	bad  = []string{"failed", "failure", "fails", "unsuccessful", "wrong", "invalid", "useless", "unsolved"}
)

// common are words that say nothing about what a text is about.
var common = strings.Fields(`the and you are not for with from that this what which when then have has had was were will would
can could should must may might one two some all any each its his her their your our they them there here into onto out off over
under about after before again more most other such only same than too very just but nor yet now new old who how why where been
being does did done doing see saw look looking need needs take`)

var pattern = regexp.MustCompile(` ?[A-Za-z]+| ?[0-9]{1,2}`)

// words chooses the vocabulary: the fixed tokens, every word of the list and of the transcripts in its
// forms with and without a space before it, and small numbers.
func words(ts []Transcript) []vocab.Word {
	count := map[string]int{}
	inPrompts := map[string]map[string]int{} // by setting
	prompts := map[string]int{}
	for _, t := range ts {
		prompts[t.Offers]++
		if inPrompts[t.Offers] == nil {
			inPrompts[t.Offers] = map[string]int{}
		}
		seen := map[string]bool{}
		for _, w := range pattern.FindAllString(t.Prompt+"\n"+t.Response, -1) {
			w = strings.TrimPrefix(w, " ")
			count[w]++
			seen[strings.ToLower(w)] = true
		}
		for w := range seen {
			inPrompts[t.Offers][w]++
		}
	}
	for _, w := range strings.Fields(wordList) {
		count[w]++
		count[strings.ToUpper(w[:1])+w[1:]]++
	}
	for n := range 100 {
		count[itoa(n)]++
	}
	out := slices.Clone(fixed)
	known := map[string]bool{}
	for _, w := range out {
		known[w.Text] = true
	}
	for _, w := range slices.Sorted(maps.Keys(count)) {
		f := flagsOf(w, inPrompts, prompts)
		for _, text := range []string{w, " " + w} {
			if len(text) > 1 && !known[text] {
				out = append(out, vocab.Word{Text: text, Flags: f})
				known[text] = true
			}
		}
	}
	return out
}

func itoa(n int) string {
	if n < 10 {
		return string(rune('0' + n))
	}
	return string([]rune{rune('0' + n/10), rune('0' + n%10)})
}

func flagsOf(w string, inPrompts map[string]map[string]int, prompts map[string]int) (f vocab.Flags) {
	if w == "Nothing" { // "Nothing happens." reports failure; "you see nothing" does not
		return vocab.Bad
	}
	w = strings.ToLower(w)
	switch {
	case slices.Contains(good, w):
		return vocab.Good
	case slices.Contains(bad, w):
		return vocab.Bad
	case w[0] <= '9':
		return vocab.Number
	case len(w) < 3 && w != "cd" && w != "tv" || slices.Contains(common, w):
		return 0
	}
	if wording(w, inPrompts, prompts) {
		return 0
	}
	return vocab.Content
}

// wording reports whether a word is the templates': in nearly all prompts of some settings, in nearly
// none of the others.
func wording(w string, inPrompts map[string]map[string]int, prompts map[string]int) bool {
	always := false
	for setting, n := range prompts {
		switch k := inPrompts[setting][w]; {
		case 50*k > 49*n:
			always = true
		case 20*k > n:
			return false
		}
	}
	return always
}
