package search

import "hash/maphash"

// lexicon numbers words. It holds no pointers, so that the garbage collector need not look into it
// however many words it knows. It is not safe for concurrent writing.
type lexicon struct {
	slots []lexeme // a power of two of them, at least a quarter of them empty
	text  []byte   // the words, one after another
	words int
}

// lexeme is a word with its number plus one; 0 is an empty slot. Two lie in a line of the processor's
// cache, which is all that is read of a word that fits into head.
type lexeme struct {
	number uint32
	start  uint32 // of the word in the text
	length uint16
	head   [headSize]byte
}

const headSize = 22

// is reports whether the word of a slot that is in use is w; text is the lexicon's.
func (e *lexeme) is(w string, text []byte) bool {
	if int(e.length) != len(w) {
		return false
	}
	if len(w) <= headSize {
		return string(e.head[:len(w)]) == w
	}
	return string(text[e.start:int(e.start)+len(w)]) == w
}

// minSlots is the size of a lexicon at its first word.
const minSlots = 1 << 10

// seed of the hashes of words.
var seed = maphash.MakeSeed()

func hash(w string) uint64 { return maphash.String(seed, w) }

// find returns a word's number, or the slot that would take it. h is the word's hash.
func (l *lexicon) find(w string, h uint64) (number uint32, slot int, known bool) {
	mask := len(l.slots) - 1
	for slot = int(h) & mask; ; slot = (slot + 1) & mask {
		e := &l.slots[slot]
		if e.number == 0 {
			return 0, slot, false
		}
		if e.is(w, l.text) {
			return e.number - 1, slot, true
		}
	}
}

// number returns a word's number.
func (l *lexicon) number(w string) (uint32, bool) { return l.numberOf(w, hash(w)) }

// numberOf is number for a word whose hash is known.
func (l *lexicon) numberOf(w string, h uint64) (uint32, bool) {
	if len(l.slots) == 0 {
		return 0, false
	}
	n, _, known := l.find(w, h)
	return n, known
}

// add gives a new word a number below 2³²−1.
func (l *lexicon) add(w string, number uint32) {
	if 4*(l.words+1) > 3*len(l.slots) {
		l.grow()
	}
	_, slot, _ := l.find(w, hash(w))
	l.slots[slot] = lexeme{number: number + 1, start: uint32(len(l.text)), length: uint16(len(w))}
	copy(l.slots[slot].head[:], w)
	l.text = append(l.text, w...)
	l.words++
}

// grow doubles the slots.
func (l *lexicon) grow() {
	old := l.slots
	l.slots = make([]lexeme, max(2*len(old), minSlots))
	mask := len(l.slots) - 1
	for _, e := range old {
		if e.number == 0 {
			continue
		}
		slot := int(maphash.Bytes(seed, l.text[e.start:int(e.start)+int(e.length)])) & mask
		for l.slots[slot].number != 0 {
			slot = (slot + 1) & mask
		}
		l.slots[slot] = e
	}
}

// clear forgets all words and keeps the room.
func (l *lexicon) clear() {
	clear(l.slots)
	l.text, l.words = l.text[:0], 0
}

// frequent holds the words that came last, most of which come again: it fits into the processor's
// second cache, which a lexicon does not. Words longer than a head are not among them.
type frequent [1 << 12]lexeme

// number returns the number of a word with its hash.
func (f *frequent) number(w string, h uint64) (uint32, bool) {
	e := &f[h>>32%uint64(len(f))]
	if e.number != 0 && len(w) <= headSize && e.is(w, nil) {
		return e.number - 1, true
	}
	return 0, false
}

// put takes a word in place of another.
func (f *frequent) put(w string, h uint64, number uint32) {
	if len(w) > headSize {
		return
	}
	e := &f[h>>32%uint64(len(f))]
	*e = lexeme{number: number + 1, length: uint16(len(w))}
	copy(e.head[:], w)
}
