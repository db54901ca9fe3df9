package search

import "hash/maphash"

// lexicon numbers words. It holds no pointers, so that the garbage collector need not look into it
// however many words it knows. It is not safe for concurrent writing.
type lexicon struct {
	seed  maphash.Seed
	slots []lexeme // a power of two of them, at least half of them empty
	text  []byte   // the words, one after another
	words int
}

// lexeme is a word's place in the text and its number plus one; 0 is an empty slot.
type lexeme struct {
	tag    uint32 // bits of the hash that the slot's place does not use
	start  uint32
	number uint32
	length uint16
}

// minSlots is the size of a lexicon at its first word.
const minSlots = 1 << 10

// find returns a word's number, or the slot that would take it.
func (l *lexicon) find(w string) (number uint32, slot int, tag uint32, known bool) {
	h := maphash.String(l.seed, w)
	tag = uint32(h >> 32)
	mask := len(l.slots) - 1
	for slot = int(h) & mask; ; slot = (slot + 1) & mask {
		e := &l.slots[slot]
		if e.number == 0 {
			return 0, slot, tag, false
		}
		if e.tag == tag && int(e.length) == len(w) && string(l.text[e.start:int(e.start)+len(w)]) == w {
			return e.number - 1, slot, tag, true
		}
	}
}

// number returns a word's number.
func (l *lexicon) number(w string) (uint32, bool) {
	if len(l.slots) == 0 {
		return 0, false
	}
	n, _, _, known := l.find(w)
	return n, known
}

// add gives a new word a number below 2³²−1.
func (l *lexicon) add(w string, number uint32) {
	if 2*(l.words+1) > len(l.slots) {
		l.grow()
	}
	_, slot, tag, _ := l.find(w)
	l.slots[slot] = lexeme{tag: tag, start: uint32(len(l.text)), number: number + 1, length: uint16(len(w))}
	l.text = append(l.text, w...)
	l.words++
}

// grow doubles the slots.
func (l *lexicon) grow() {
	old := l.slots
	if old == nil {
		l.seed = maphash.MakeSeed()
	}
	l.slots = make([]lexeme, max(2*len(old), minSlots))
	mask := len(l.slots) - 1
	for _, e := range old {
		if e.number == 0 {
			continue
		}
		slot := int(maphash.Bytes(l.seed, l.text[e.start:int(e.start)+int(e.length)])) & mask
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
