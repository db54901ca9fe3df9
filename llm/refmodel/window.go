package refmodel

import (
	"slices"

	"github.com/hindsightrl/harness/llm/refmodel/internal/ngram"
	"github.com/hindsightrl/harness/llm/refmodel/internal/vocab"
)

// window is a context as the model reads it: the tokens with, for each, the place where its class
// occurred last, and what a prediction needs to know about the text so far. A window belongs to one
// goroutine at a time; windows are pooled, so that a call allocates next to nothing.
type window struct {
	m    *Model
	ids  []int32
	prev []int32  // by position: the latest earlier position of the same class, -1 for none
	head []int32  // by class: latest position + 1
	cue  []int32  // positions of reports of success or failure, in order
	meta []uint32 // by position: the token's class << 8 | flags

	habits   *ngram.Table // the static part of the setting that the text is in
	static   ngram.Context
	topic    []uint8 // by class: quarters that the word counts as a topic
	response int     // where the response begins: after the last Assistant marker, else 0
	stated   int     // where the response says on after its first colon, 0 before one
	filling  bool    // the response fills a blank
	doubt    int     // reports of failure right before the response
	closer   int32   // ends the tag that is open in the response, -1 for none

	hits   []hit      // the occurrences that vote
	follow []follower // what the copying part expects next
	slot   []int32    // by token: index in follow + 1, 0 for none
	weight float64    // Σ follow[i].weight
	habit  float64    // weight of the static part
}

// follower is one token that followed an earlier occurrence of the present context.
type follower struct {
	id             int32
	best, sum, bad float64
	weight         float64 // evidence for the token
	static         float64 // its probability in the static part
}

func newWindow(m *Model) *window {
	n := m.vocab.Size()
	return &window{m: m, head: make([]int32, n), topic: make([]uint8, n), slot: make([]int32, n)}
}

// reset empties the window and reads a prefix.
func (w *window) reset(prefix []int32) {
	clear(w.head)
	clear(w.topic)
	w.cue = w.cue[:0]
	w.response, w.stated, w.filling, w.doubt, w.closer = 0, 0, false, 0, -1
	start := lastMarker(prefix)
	w.read(prefix[:start])
	if start > 0 {
		w.begin()
	}
	for _, id := range prefix[start:] {
		w.link(id)
		w.notice(id)
	}
	if start == 0 {
		w.habits = w.m.settings[0].static
	}
	w.habits.Seek(&w.static, w.ids)
}

// read is link for the many tokens before the response, the first of a window.
func (w *window) read(ids []int32) {
	n := len(ids)
	w.ids = append(w.ids[:0], ids...)
	w.prev = slices.Grow(w.prev[:0], n)[:n]
	w.meta = slices.Grow(w.meta[:0], n)[:n]
	traits, head, prev, meta := w.m.traits, w.head, w.prev, w.meta
	for i, id := range ids {
		t := traits[id].meta
		class := t >> 8
		meta[i] = t
		prev[i] = head[class] - 1
		head[class] = int32(i) + 1
		if t&uint32(vocab.Good|vocab.Bad) != 0 {
			w.cue = append(w.cue, int32(i))
		}
	}
}

// lastMarker returns the position after the last Assistant marker, 0 where there is none.
func lastMarker(ids []int32) int {
	for i := len(ids); i > 0; i-- {
		if ids[i-1] == vocab.Assistant {
			return i
		}
	}
	return 0
}

// push appends one token.
func (w *window) push(id int32) {
	w.link(id)
	if id == vocab.Assistant {
		w.begin()
	} else {
		w.notice(id)
	}
	w.habits.Push(&w.static, id)
}

// link enters a token in the index.
func (w *window) link(id int32) {
	t := w.m.traits[id].meta
	n := int32(len(w.ids))
	w.ids = append(w.ids, id)
	w.meta = append(w.meta, t)
	w.prev = append(w.prev, w.head[t>>8]-1)
	w.head[t>>8] = n + 1
	if t&uint32(vocab.Good|vocab.Bad) != 0 {
		w.cue = append(w.cue, n)
	}
}

// begin starts a response: the last words before it say what it is about, and a report of failure
// there casts doubt on habits.
func (w *window) begin() {
	clear(w.topic)
	w.response, w.stated, w.filling, w.doubt, w.closer = len(w.ids), 0, false, 0, -1
	from := max(0, len(w.ids)-hintBack)
	for i, t := range w.meta[from:] {
		if t&uint32(vocab.Content) != 0 {
			w.raise(w.ids[from+i])
		}
		if t&uint32(vocab.Bad) != 0 {
			w.doubt = min(w.doubt+1, maxDoubt)
		}
	}
	w.habits = w.setting().static
	w.habits.Seek(&w.static, w.ids[:len(w.ids)-1])
}

// setting is what the last offer before the response tells.
func (w *window) setting() *setting {
	for i := len(w.ids) - 2; i >= max(0, len(w.ids)-offerReach); i-- {
		for k := 1; k < len(w.m.settings); k++ {
			if s := &w.m.settings[k]; w.ids[i] == s.open && int32(w.meta[i+1]>>8) == s.class {
				return s
			}
		}
	}
	return &w.m.settings[0]
}

// notice lets a token of the response tell what the response is about.
func (w *window) notice(id int32) {
	switch id {
	case w.m.openAction:
		w.closer = w.m.closeAction
	case w.m.openThink:
		w.closer = w.m.closeThink
	case w.m.closeAction, w.m.closeThink:
		w.closer, w.filling = -1, false
	case w.m.openSearch, w.m.openClick:
		w.filling = w.closer == w.m.closeAction
	case filled:
		w.filling = false
	case ':':
		if w.stated == 0 && w.response > 0 {
			w.stated = len(w.ids)
		}
	}
	n := len(w.ids) - 1
	if n > w.response && w.meta[n-1]&uint32(vocab.Content) != 0 && w.meta[n]&uint32(vocab.Number) == 0 {
		w.raise(w.ids[n-1]) // "a mug" is a topic; "mug 1" only mentions one
	}
}

// raise makes a word a topic, and lightly so the words that it is tied to.
func (w *window) raise(id int32) {
	t := &w.m.traits[id]
	w.topic[t.meta>>8] = topicSaid
	for _, class := range w.m.ties[t.tieStart:t.tieEnd] {
		w.topic[class] = max(w.topic[class], topicTied)
	}
}
