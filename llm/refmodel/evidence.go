package refmodel

import (
	"math"

	"github.com/hindsightrl/harness/llm/refmodel/internal/vocab"
)

// gather computes the copying part's evidence for the next token: every earlier occurrence of the last
// token's class votes for the token that followed it. The order of additions is fixed, so equal
// contexts give equal bits.
func (w *window) gather() {
	for i := range w.follow {
		w.slot[w.follow[i].id] = 0
	}
	w.follow, w.weight = w.follow[:0], 0
	last := len(w.ids) - 1
	if last >= 0 {
		for at, n := w.prev[last], 0; at >= 0 && n < maxWalk; at, n = w.prev[at], n+1 {
			w.vote(int(at), last)
		}
	}
	peak := w.m.static.Peak(&w.static)
	column := 0
	for column < len(peakSteps) && peak >= peakSteps[column] {
		column++
	}
	w.habit = w.m.params.Habit[w.mode()][w.static.Known()][column] / (1 + doubtFactor*float64(w.doubt))
	w.weigh(peak)
}

// vote adds the occurrence at position at of what stands at the end, position last.
func (w *window) vote(at, last int) {
	id := w.ids[at+1]
	if w.closer >= 0 && w.m.traits[id].flags&vocab.Close != 0 {
		id = w.closer
	}
	mode := w.mode()
	v := w.m.params.Match[mode][w.match(at, last)] * w.m.params.Recency[mode] / (w.m.params.Recency[mode] + float64(last-at)) * w.m.topicWeight[mode][w.relevance(at)]
	if at >= w.response {
		v *= w.m.params.Self[mode]
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
	f.best = max(f.best, v)
}

// mode is the row of the fitted constants: 1 inside an open <action>.
func (w *window) mode() int {
	if w.closer == w.m.closeAction {
		return 1
	}
	return 0
}

// match counts the tokens that agree before the two positions, these included, up to maxMatch.
func (w *window) match(at, last int) int {
	n := 1
	for n < maxMatch && n <= at && w.m.traits[w.ids[at-n]].class == w.m.traits[w.ids[last-n]].class {
		n++
	}
	return n
}

// relevance is how much of the quoted command or clause that goes on after position at is what the
// text is about, in quarters.
func (w *window) relevance(at int) int {
	q := 0
	for _, id := range w.ids[at+1 : min(at+1+lookahead, len(w.ids))] {
		t := &w.m.traits[id]
		if t.flags&vocab.Close != 0 {
			break
		}
		q += int(w.topic[t.class])
	}
	return min(q, maxTopic)
}

// verdict is positive where the first reports after position at speak of success, negative where they
// speak of failure.
func (w *window) verdict(at int) int {
	sum := 0
	from := int(w.next[at])
	for _, pos := range w.cue[from:min(from+maxCues, len(w.cue))] {
		if int(pos) > at+cueReach {
			break
		}
		if w.m.traits[w.ids[pos]].flags&vocab.Good != 0 {
			sum++
		} else {
			sum--
		}
	}
	return sum
}

// weigh turns votes into weights: what failed takes off, and what the static part holds implausible
// here counts less.
func (w *window) weigh(peak float64) {
	mode := w.mode()
	plausible, extra := w.m.params.Plausible[mode], w.m.params.Extra[mode]
	scale := 1 / (peak + plausible)
	for i := range w.follow {
		f := &w.follow[i]
		f.static = w.m.static.Prob(&w.static, f.id)
		v := f.best + extra*(f.sum-f.best)
		if f.bad > 0 {
			v = max(v-f.bad, floorShare*max(v, f.bad))
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
	return w.blend(0, w.m.static.Prob(&w.static, id))
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
	sum, rest, restLog := 0.0, 1.0, w.m.static.SumLog(&w.static)
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
	w.m.static.Fill(&w.static, out)
	for i, p := range out {
		out[i] = w.blend(0, p)
	}
	for i := range w.follow {
		out[w.follow[i].id] = w.probOf(&w.follow[i])
	}
}
