package refmodel

import (
	"math"
	"slices"

	"github.com/hindsightrl/harness/llm/refmodel/internal/vocab"
)

// gather computes the copying part's evidence for the next token: the earlier occurrences of the last
// token's class, those with the longest agreement before them, vote for the token that followed. The
// order of additions is fixed, so equal contexts give equal bits.
func (w *window) gather() {
	for i := range w.follow {
		w.slot[w.follow[i].id] = 0
	}
	w.follow, w.weight = w.follow[:0], 0
	c := &w.m.modes[w.mode()]
	longest := w.search()
	for _, h := range w.hits {
		if h.match+matchSlack >= longest {
			w.vote(h, c)
		}
	}
	peak := w.habits.Peak(&w.static)
	column := 0
	for column < len(peakSteps) && peak >= peakSteps[column] {
		column++
	}
	w.habit = c.habit[w.static.Known()][column] / (1 + doubtFactor*float64(w.doubt))
	w.weigh(peak, c.plausible*(1+doubtLevel*float64(w.doubt)), c)
}

// hit is an earlier occurrence of the last token and the number of tokens that agree there.
type hit struct{ at, match int32 }

// search lists the earlier occurrences of the last token's class, the latest first, and returns the
// longest agreement among them. What stands before an opening quote does not count: a command in a
// list and the same command in a response agree from the quote on.
func (w *window) search() (longest int32) {
	w.hits = w.hits[:0]
	last := int32(len(w.meta)) - 1
	if last < 0 {
		return 0
	}
	meta, reach := w.meta, int32(1)
	for reach < maxMatch && reach <= last && meta[last-reach+1]&uint32(vocab.Open) == 0 {
		reach++
	}
	for at, n := w.prev[last], 0; at >= 0 && n < maxWalk; at, n = w.prev[at], n+1 {
		match, most := int32(1), min(reach, at+1)
		for match < most && meta[at-match]>>8 == meta[last-match]>>8 {
			match++
		}
		longest = max(longest, match)
		w.hits = append(w.hits, hit{at, match})
	}
	return longest
}

// blank opens what a prompt leaves to be filled in, as in search[<your query>]: it is not copied. What
// the response states, after its first colon, goes there, up to the end of the sentence or the line.
const (
	blank  = '<'
	filled = ']'
)

// vote adds one occurrence.
func (w *window) vote(h hit, c *modeParams) {
	at := int(h.at)
	id := w.ids[at+1]
	if id == blank && w.filling && w.ids[len(w.ids)-1] == w.m.openSearch {
		if w.stated == 0 || w.stated == len(w.ids) {
			return
		}
		id = w.m.vocab.Bare(w.ids[w.stated])
	}
	if w.filling && (id == w.m.fullStop || id == w.m.closeThink || w.meta[at+1]&uint32(vocab.Close) != 0) {
		id = filled
	} else if w.closer >= 0 && w.meta[at+1]&uint32(vocab.Close) != 0 {
		id = w.closer
	}
	if w.ids[len(w.ids)-1] == w.m.openAction {
		id = w.m.vocab.Bare(id) // a tag stands where a space may have stood
	}
	v := c.match[h.match] * c.topic[w.relevance(at)] * (c.recency / (c.recency + float64(len(w.ids)-1-at)))
	if at >= w.response {
		v *= c.self
	}
	s := w.slot[id]
	if s == 0 {
		w.follow = append(w.follow, follower{id: id})
		s = int32(len(w.follow))
		w.slot[id] = s
	}
	f := &w.follow[s-1]
	if len(w.cue) > 0 {
		switch verdict := w.verdict(at); {
		case verdict > 0:
			v *= goodFactor
		case verdict < 0:
			f.bad += badFactor * v
			return
		}
	}
	f.sum += v
	if v > f.best {
		f.best = v
	}
}

// mode is the row of the fitted constants: 1 inside an open <action>.
func (w *window) mode() int {
	if w.closer == w.m.closeAction {
		return 1
	}
	return 0
}

// relevance is how much of the quoted command or clause that goes on after position at is what the
// text is about, in quarters.
func (w *window) relevance(at int) int {
	q := 0
	for _, t := range w.meta[at+1 : min(at+1+lookahead, len(w.meta))] {
		if t&uint32(vocab.Close) != 0 {
			break
		}
		if t&uint32(vocab.Content) != 0 {
			q += int(w.topic[t>>8])
		}
	}
	return min(q, maxTopic)
}

// verdict is positive where the first reports after position at speak of success, negative where they
// speak of failure, which weighs twice: "success count: 0/2, best outcome: failure" is a failure.
func (w *window) verdict(at int) int {
	sum := 0
	from, _ := slices.BinarySearch(w.cue, int32(at)+1)
	for _, pos := range w.cue[from:min(from+maxCues, len(w.cue))] {
		if int(pos) > at+cueReach {
			break
		}
		if w.meta[pos]&uint32(vocab.Good) != 0 {
			sum++
		} else {
			sum -= 2
		}
	}
	return sum
}

// weigh turns votes into weights: what failed takes off, and what the static part holds implausible
// here counts less.
func (w *window) weigh(peak, plausible float64, c *modeParams) {
	scale := 1 / (peak + plausible)
	for i := range w.follow {
		f := &w.follow[i]
		f.static = w.habits.Prob(&w.static, f.id)
		v := f.best + c.extra*(f.sum-f.best)
		if f.bad > 0 {
			v = max(v-f.bad, floorShare*v)
		}
		f.weight = v * (f.static + plausible) * scale
		w.weight += f.weight
	}
}

// prob is the probability of a token that the copying part may or may not expect.
func (w *window) prob(id int32) float64 {
	if s := w.slot[id]; s != 0 {
		return w.probOf(&w.follow[s-1])
	}
	return w.blend(0, w.habits.Prob(&w.static, id))
}

func (w *window) probOf(f *follower) float64 { return w.blend(f.weight, f.static) }

// blend is the model's formula: evidence and habit, each by its weight.
func (w *window) blend(evidence, static float64) float64 {
	return (evidence + float64(w.habit*static)) / (w.weight + w.habit)
}

// entropy is −Σ P ln P over the vocabulary, in nats. Tokens without evidence have P = λ·S with S the
// static probability and λ one factor for all of them, so their part follows from the static part's
// own entropy, less the tokens with evidence.
func (w *window) entropy() float64 {
	sum, rest, restLog := 0.0, 1.0, w.habits.SumLog(&w.static)
	for i := range w.follow {
		f := &w.follow[i]
		p := w.probOf(f)
		sum += p * math.Log(p)
		rest -= f.static
		restLog -= f.static * math.Log(f.static)
	}
	share := w.habit / (w.weight + w.habit)
	sum += share * (math.Log(share)*max(rest, 0) + restLog)
	return max(-sum, 0)
}

// fill writes the whole distribution to out, which has one place per token of the vocabulary.
func (w *window) fill(out []float64) {
	w.habits.Fill(&w.static, out)
	from, to := -1.0, 0.0
	for i, p := range out {
		if p != from { // most of the vocabulary shares one probability
			from, to = p, w.blend(0, p)
		}
		out[i] = to
	}
	for i := range w.follow {
		out[w.follow[i].id] = w.probOf(&w.follow[i])
	}
}
