package search

// stemmer is Porter's algorithm of 1980 with the two later rules that Lucene has (-bli, -logi). It
// works on characters: what is not a, e, i, o, u (or y after a consonant) is a consonant.
type stemmer[T byte | rune] struct {
	b []T
	k int // last character of the word
	j int // last character of the stem that a rule looks at
}

// stem returns the stem, in b's memory.
func (s *stemmer[T]) stem() []T {
	if s.k = len(s.b) - 1; s.k > 1 {
		s.step1()
		s.step2()
		s.step3()
		s.step4()
		s.step5()
		s.step6()
	}
	return s.b[:s.k+1]
}

// consonant reports whether character i is one.
func (s *stemmer[T]) consonant(i int) bool {
	switch s.b[i] {
	case 'a', 'e', 'i', 'o', 'u':
		return false
	case 'y':
		return i == 0 || !s.consonant(i-1)
	}
	return true
}

// measure counts the vowel-consonant sequences of the stem.
func (s *stemmer[T]) measure() int {
	n, i := 0, 0
	for i <= s.j && s.consonant(i) {
		i++
	}
	for {
		for i <= s.j && !s.consonant(i) {
			i++
		}
		if i > s.j {
			return n
		}
		n++
		for i <= s.j && s.consonant(i) {
			i++
		}
		if i > s.j {
			return n
		}
	}
}

func (s *stemmer[T]) vowelInStem() bool {
	for i := 0; i <= s.j; i++ {
		if !s.consonant(i) {
			return true
		}
	}
	return false
}

// double reports whether i-1 and i are the same consonant.
func (s *stemmer[T]) double(i int) bool {
	return i >= 1 && s.b[i] == s.b[i-1] && s.consonant(i)
}

// cvc reports consonant, vowel, consonant at the end, the last not w, x or y: a short syllable, whose
// silent e is put back.
func (s *stemmer[T]) cvc(i int) bool {
	if i < 2 || !s.consonant(i) || s.consonant(i-1) || !s.consonant(i-2) {
		return false
	}
	c := s.b[i]
	return c != 'w' && c != 'x' && c != 'y'
}

// ends reports whether the word ends so, and sets j before the ending.
func (s *stemmer[T]) ends(end string) bool {
	o := s.k - len(end) + 1
	if o < 0 {
		return false
	}
	for i := range len(end) {
		if s.b[o+i] != T(end[i]) {
			return false
		}
	}
	s.j = o - 1
	return true
}

// setTo replaces what follows j.
func (s *stemmer[T]) setTo(end string) {
	s.b = s.b[:s.j+1]
	for i := range len(end) {
		s.b = append(s.b, T(end[i]))
	}
	s.k = s.j + len(end)
}

// replace is setTo where the stem has a sequence.
func (s *stemmer[T]) replace(end string) {
	if s.measure() > 0 {
		s.setTo(end)
	}
}

// step1 removes plurals, -ed and -ing.
func (s *stemmer[T]) step1() {
	if s.b[s.k] == 's' {
		switch {
		case s.ends("sses"):
			s.k -= 2
		case s.ends("ies"):
			s.setTo("i")
		case s.b[s.k-1] != 's':
			s.k--
		}
	}
	if s.ends("eed") {
		if s.measure() > 0 {
			s.k--
		}
		return
	}
	if !s.ends("ed") && !s.ends("ing") || !s.vowelInStem() {
		return
	}
	s.k = s.j
	switch {
	case s.ends("at"):
		s.setTo("ate")
	case s.ends("bl"):
		s.setTo("ble")
	case s.ends("iz"):
		s.setTo("ize")
	case s.double(s.k):
		if c := s.b[s.k]; c != 'l' && c != 's' && c != 'z' {
			s.k--
		}
	case s.measure() == 1 && s.cvc(s.k):
		s.setTo("e")
	}
}

// step2 turns a final y into i after a vowel.
func (s *stemmer[T]) step2() {
	if s.ends("y") && s.vowelInStem() {
		s.b[s.k] = 'i'
	}
}

// rule replaces an ending.
type rule struct{ from, to string }

var (
	doubleSuffixes = map[byte][]rule{
		'a': {{"ational", "ate"}, {"tional", "tion"}},
		'c': {{"enci", "ence"}, {"anci", "ance"}},
		'e': {{"izer", "ize"}},
		'l': {{"bli", "ble"}, {"alli", "al"}, {"entli", "ent"}, {"eli", "e"}, {"ousli", "ous"}},
		'o': {{"ization", "ize"}, {"ation", "ate"}, {"ator", "ate"}},
		's': {{"alism", "al"}, {"iveness", "ive"}, {"fulness", "ful"}, {"ousness", "ous"}},
		't': {{"aliti", "al"}, {"iviti", "ive"}, {"biliti", "ble"}},
		'g': {{"logi", "log"}},
	}
	ofKind = map[byte][]rule{
		'e': {{"icate", "ic"}, {"ative", ""}, {"alize", "al"}},
		'i': {{"iciti", "ic"}},
		'l': {{"ical", "ic"}, {"ful", ""}},
		's': {{"ness", ""}},
	}
	bare = map[byte][]string{
		'a': {"al"}, 'c': {"ance", "ence"}, 'e': {"er"}, 'i': {"ic"}, 'l': {"able", "ible"},
		'n': {"ant", "ement", "ment", "ent"}, 'o': {"ion", "ou"}, 's': {"ism"}, 't': {"ate", "iti"},
		'u': {"ous"}, 'v': {"ive"}, 'z': {"ize"},
	}
)

// key is character i as a key of the tables; 0 if it is none.
func (s *stemmer[T]) key(i int) byte {
	if i < 0 || s.b[i] > 'z' {
		return 0
	}
	return byte(s.b[i])
}

// step3 maps double suffixes to single ones.
func (s *stemmer[T]) step3() { s.first(doubleSuffixes[s.key(s.k-1)]) }

// step4 deals with -ic-, -full, -ness and their like.
func (s *stemmer[T]) step4() { s.first(ofKind[s.key(s.k)]) }

func (s *stemmer[T]) first(rules []rule) {
	for _, r := range rules {
		if s.ends(r.from) {
			s.replace(r.to)
			return
		}
	}
}

// step5 takes off what is left of a suffix after two sequences.
func (s *stemmer[T]) step5() {
	for _, end := range bare[s.key(s.k-1)] {
		if !s.ends(end) {
			continue
		}
		if end == "ion" && (s.j < 0 || s.b[s.j] != 's' && s.b[s.j] != 't') {
			continue
		}
		if s.measure() > 1 {
			s.k = s.j
		}
		return
	}
}

// step6 removes a final e and makes ll single.
func (s *stemmer[T]) step6() {
	s.j = s.k
	if s.b[s.k] == 'e' {
		if m := s.measure(); m > 1 || m == 1 && !s.cvc(s.k-1) {
			s.k--
		}
	}
	if s.b[s.k] == 'l' && s.double(s.k) && s.measure() > 1 {
		s.k--
	}
}
