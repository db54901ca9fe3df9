package search

import "unicode"

// class is a character's role in finding words (UAX #29, Word_Break, with the scripts that Lucene
// treats on their own).
type class uint8

const (
	other class = iota
	letter
	numeric
	katakana
	hebrew
	midLetter    // joins letters
	midNum       // joins digits
	midNumLet    // joins both
	singleQuote  // joins both, and ends a Hebrew letter
	doubleQuote  // joins Hebrew letters
	extendNumLet // joins everything: the underscore and its kin
	extend       // belongs to the character before it
	ideograph
	hiragana
	complexContext // scripts without spaces between words: a run is one token
	emoji
	regional // regional indicator: a pair is a flag
	zwj
)

// asciiClass answers for nearly all characters of a shop's texts.
var asciiClass = func() (t [128]class) {
	for c := range t {
		switch {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z':
			t[c] = letter
		case '0' <= c && c <= '9':
			t[c] = numeric
		}
	}
	t[':'], t[','], t[';'], t['.'] = midLetter, midNum, midNum, midNumLet
	t['\''], t['"'], t['_'] = singleQuote, doubleQuote, extendNumLet
	return t
}()

// single lists the characters outside ASCII with a role of their own.
var single = map[rune]class{
	0xb7: midLetter, 0x387: midLetter, 0x55f: midLetter, 0x5f4: midLetter, 0x2027: midLetter,
	0xfe13: midLetter, 0xfe55: midLetter, 0xff1a: midLetter,
	0x2018: midNumLet, 0x2019: midNumLet, 0x2024: midNumLet, 0xfe52: midNumLet, 0xff07: midNumLet, 0xff0e: midNumLet,
	0x37e: midNum, 0x589: midNum, 0x60c: midNum, 0x60d: midNum, 0x66c: midNum, 0x7f8: midNum, 0x2044: midNum,
	0xfe10: midNum, 0xfe14: midNum, 0xfe50: midNum, 0xfe54: midNum, 0xff0c: midNum, 0xff1b: midNum,
	0x202f: extendNumLet, 0x200d: zwj, 0x200b: other,
	0x30fc: katakana, 0xff70: katakana, 0x30a0: katakana, 0x309b: katakana, 0x309c: katakana,
	0x3005: ideograph, 0x3007: ideograph,
	// Letters by Unicode's list of exceptions.
	0x55a: letter, 0x55b: letter, 0x55c: letter, 0x55e: letter, 0x58a: letter, 0x5f3: letter, 0x70f: letter,
	0x2d7: letter, 0x2de: letter, 0x2df: letter, 0x2ed: letter, 0xa720: letter, 0xa721: letter, 0xa789: letter, 0xa78a: letter, 0xab5b: letter,
}

// pictographs is Unicode's Extended_Pictographic (emoji-data 12), which Lucene makes tokens of.
var pictographs = &unicode.RangeTable{
	R16: ranges16(
		0xa9, 0xa9, 0xae, 0xae, 0x203c, 0x203c, 0x2049, 0x2049, 0x2122, 0x2122, 0x2139, 0x2139, 0x2194, 0x2199,
		0x21a9, 0x21aa, 0x231a, 0x231b, 0x2328, 0x2328, 0x2388, 0x2388, 0x23cf, 0x23cf, 0x23e9, 0x23f3,
		0x23f8, 0x23fa, 0x24c2, 0x24c2, 0x25aa, 0x25ab, 0x25b6, 0x25b6, 0x25c0, 0x25c0, 0x25fb, 0x25fe,
		0x2600, 0x2605, 0x2607, 0x2612, 0x2614, 0x2685, 0x2690, 0x2705, 0x2708, 0x2712, 0x2714, 0x2714,
		0x2716, 0x2716, 0x271d, 0x271d, 0x2721, 0x2721, 0x2728, 0x2728, 0x2733, 0x2734, 0x2744, 0x2744,
		0x2747, 0x2747, 0x274c, 0x274c, 0x274e, 0x274e, 0x2753, 0x2755, 0x2757, 0x2757, 0x2763, 0x2767,
		0x2795, 0x2797, 0x27a1, 0x27a1, 0x27b0, 0x27b0, 0x27bf, 0x27bf, 0x2934, 0x2935, 0x2b05, 0x2b07,
		0x2b1b, 0x2b1c, 0x2b50, 0x2b50, 0x2b55, 0x2b55, 0x3030, 0x3030, 0x303d, 0x303d, 0x3297, 0x3297, 0x3299, 0x3299),
	R32: ranges32(
		0x1f000, 0x1f0ff, 0x1f10d, 0x1f10f, 0x1f12f, 0x1f12f, 0x1f16c, 0x1f171, 0x1f17e, 0x1f17f, 0x1f18e, 0x1f18e,
		0x1f191, 0x1f19a, 0x1f1ad, 0x1f1e5, 0x1f201, 0x1f20f, 0x1f21a, 0x1f21a, 0x1f22f, 0x1f22f, 0x1f232, 0x1f23a,
		0x1f23c, 0x1f23f, 0x1f249, 0x1f3fa, 0x1f400, 0x1f53d, 0x1f546, 0x1f64f, 0x1f680, 0x1f6ff, 0x1f774, 0x1f77f,
		0x1f7d5, 0x1f7ff, 0x1f80c, 0x1f80f, 0x1f848, 0x1f84f, 0x1f85a, 0x1f85f, 0x1f888, 0x1f88f, 0x1f8ae, 0x1f8ff,
		0x1f90c, 0x1f93a, 0x1f93c, 0x1f945, 0x1f947, 0x1fffd),
}

func ranges16(bounds ...uint16) (out []unicode.Range16) {
	for i := 0; i < len(bounds); i += 2 {
		out = append(out, unicode.Range16{Lo: bounds[i], Hi: bounds[i+1], Stride: 1})
	}
	return out
}

func ranges32(bounds ...uint32) (out []unicode.Range32) {
	for i := 0; i < len(bounds); i += 2 {
		out = append(out, unicode.Range32{Lo: bounds[i], Hi: bounds[i+1], Stride: 1})
	}
	return out
}

// complexScripts have no spaces between words (Line_Break SA).
var complexScripts = []*unicode.RangeTable{
	unicode.Thai, unicode.Lao, unicode.Myanmar, unicode.Khmer, unicode.Tai_Le, unicode.New_Tai_Lue, unicode.Tai_Tham, unicode.Tai_Viet, unicode.Ahom,
}

// alphabetic characters that are no letters by category.
var alphabetic = []*unicode.RangeTable{unicode.L, unicode.Nl, unicode.Other_Alphabetic}

// classOf finds a character's role.
func classOf(r rune) class {
	if r < 128 {
		return asciiClass[r]
	}
	if c, ok := single[r]; ok {
		return c
	}
	if c, ok := scriptClass(r); ok {
		return c
	}
	switch {
	case 0x2c2 <= r && r <= 0x2c5, 0x2d2 <= r && r <= 0x2d6, 0x2e5 <= r && r <= 0x2eb, 0x2ef <= r && r <= 0x2ff, 0xa708 <= r && r <= 0xa716:
		return letter
	case unicode.Is(unicode.Nd, r), r == 0x66b:
		return numeric
	case unicode.Is(unicode.Pc, r):
		return extendNumLet
	case unicode.Is(pictographs, r):
		return emoji
	case unicode.In(r, alphabetic...):
		return letter
	}
	return other
}

// scriptClass is the role of a character by its script, or as part of the one before it.
func scriptClass(r rune) (class, bool) {
	switch {
	case 0x3031 <= r && r <= 0x3035:
		return katakana, true
	case 0x1f1e6 <= r && r <= 0x1f1ff:
		return regional, true
	case unicode.In(r, complexScripts...) && !unicode.Is(unicode.Nd, r):
		return complexContext, true
	case 0x1f3fb <= r && r <= 0x1f3ff, unicode.In(r, unicode.Mn, unicode.Me, unicode.Mc, unicode.Cf, unicode.Other_Grapheme_Extend):
		return extend, true
	case unicode.Is(unicode.Han, r):
		return ideograph, true
	case unicode.Is(unicode.Hiragana, r):
		return hiragana, true
	case unicode.Is(unicode.Katakana, r):
		return katakana, true
	case unicode.Is(unicode.Hebrew, r) && unicode.Is(unicode.Lo, r):
		return hebrew, true
	}
	return other, false
}
