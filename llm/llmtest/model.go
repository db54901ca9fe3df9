// Package llmtest is a fake inference server for tests: it speaks the wire formats of vLLM, SGLang,
// llama.cpp and OpenAI over a small deterministic language model, and fails on demand in every way
// that real servers fail. Its numbers are exact: whatever path they take through a client, generation
// and re-scoring must agree bit for bit.
package llmtest

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/hindsightrl/harness"
	"github.com/hindsightrl/harness/llm"
)

// Special ids of the model: bytes come first, then control tokens, then pieces of several bytes.
const (
	BOS = 256 + iota
	EOS
	turnStart
	turnEnd
	firstPiece
)

var controls = []string{"<s>", "</s>", "<|turn|>", "<|end|>"}

var pieces = []string{
	" the", "the", "ing", "look", " to ", "go", "take", "open", "action", "<action>", "</action>", "think",
	"search[", "click[", "]", "drawer", " cabinet", "  ", "é", "ü", "日本",
}

// Model is a language model over a vocabulary of bytes and a few pieces. Its distribution depends on
// every token of the prefix and on Weights, so any off-by-one shows.
type Model struct {
	Weights int     // policy version: other weights, other distributions
	EndBias float64 // added to EOS's logit: larger values make shorter responses
	Sharp   float64 // scale of the logits; 0 = 2
}

// VocabSize is the number of tokens.
func VocabSize() int { return firstPiece + len(pieces) }

// Spell is the text of one token.
func Spell(id int32) []byte {
	switch {
	case id < 0 || int(id) >= VocabSize():
		return nil
	case id < BOS:
		return []byte{byte(id)}
	case id < firstPiece:
		return []byte(controls[id-BOS])
	}
	return []byte(pieces[id-firstPiece])
}

// SpellAll is the text of tokens; special says whether control tokens are spelled out.
func SpellAll(ids []int32, special bool) string {
	var b bytes.Buffer
	for _, id := range ids {
		if special || id < BOS || id >= firstPiece {
			b.Write(Spell(id))
		}
	}
	return b.String()
}

// Decode is SpellAll as servers show it: each broken piece of a character becomes one U+FFFD, as in
// Python's errors="replace" and Rust's from_utf8_lossy.
func Decode(ids []int32, special bool) string {
	b := []byte(SpellAll(ids, special))
	var out strings.Builder
	for len(b) > 0 {
		r, n := utf8.DecodeRune(b)
		if r == utf8.RuneError && n <= 1 {
			n = 1
			for n < len(b) && !utf8.FullRune(b[:n+1]) {
				n++
			}
		}
		out.WriteRune(r)
		b = b[n:]
	}
	return out.String()
}

// Tokenize takes the longest piece at each byte; special parses control tokens.
func Tokenize(text string, special bool) []int32 {
	var ids []int32
	for len(text) > 0 {
		id, n := int32(text[0]), 1
		match := func(list []string, first int32) {
			for i, p := range list {
				if len(p) > n && strings.HasPrefix(text, p) {
					id, n = first+int32(i), len(p)
				}
			}
		}
		match(pieces, firstPiece)
		if special {
			match(controls, BOS)
		}
		ids = append(ids, id)
		text = text[n:]
	}
	return ids
}

// Template is the text of a prompt.
func Template(messages []harness.Message) string {
	var b strings.Builder
	for _, m := range messages {
		b.WriteString("<|turn|>" + m.Role + "\n" + m.Content + "<|end|>")
	}
	return b.String() + "<|turn|>assistant\n"
}

// Render is the ids of a prompt, BOS first.
func Render(messages []harness.Message) []int32 {
	return append([]int32{BOS}, Tokenize(Template(messages), true)...)
}

// Logprobs is the model's own distribution of the token after prefix, in nats.
func (m Model) Logprobs(prefix []int32) []float32 { return logSoftmax(m.logits(prefix), 1) }

func (m Model) logits(prefix []int32) []float64 {
	h := fnv.New64a()
	var b [4]byte
	for _, id := range prefix {
		binary.LittleEndian.PutUint32(b[:], uint32(id))
		h.Write(b[:])
	}
	src := rand.NewPCG(h.Sum64(), uint64(m.Weights)+1)
	rng := rand.New(src)
	sharp := m.Sharp
	if sharp == 0 {
		sharp = 2
	}
	out := make([]float64, VocabSize())
	for i := range out {
		out[i] = rng.NormFloat64() * sharp
		if i < ' ' || (i >= 127 && i < 256) || i == BOS || i == turnStart || i == turnEnd {
			out[i] -= 6 // seldom: control tokens and bytes that are no text
		}
	}
	out[EOS] += m.EndBias
	return out
}

func logSoftmax(logits []float64, temperature float64) []float32 {
	top := math.Inf(-1)
	for _, l := range logits {
		top = max(top, l/temperature)
	}
	var z float64
	for _, l := range logits {
		z += math.Exp(l/temperature - top)
	}
	out := make([]float32, len(logits))
	for i, l := range logits {
		out[i] = float32(l/temperature - top - math.Log(z))
	}
	return out
}

// sampler is what a request says about drawing.
type sampler struct {
	temperature, topP, minP float64
	topK                    int
	seed                    int64
}

// processed is the distribution that is sampled from; tokens that are cut off have −Inf.
func (m Model) processed(prefix []int32, s sampler) []float32 {
	logits := m.logits(prefix)
	if s.temperature <= 0 {
		best := slices.Index(logits, slices.Max(logits))
		for i := range logits {
			if i != best {
				logits[i] = math.Inf(-1)
			}
		}
		return logSoftmax(logits, 1)
	}
	lp := logSoftmax(logits, s.temperature)
	if s.topK <= 0 && (s.topP <= 0 || s.topP >= 1) && s.minP == 0 {
		return lp
	}
	order := make([]int, len(lp))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(lp[b], lp[a]) })
	mass, best := 0.0, math.Exp(float64(lp[order[0]]))
	for rank, i := range order {
		p := math.Exp(float64(lp[i]))
		cut := s.topK > 0 && rank >= s.topK || s.topP > 0 && s.topP < 1 && mass >= s.topP || p < s.minP*best
		mass += p
		if cut {
			logits[i] = math.Inf(-1)
		}
	}
	return logSoftmax(logits, s.temperature)
}

// draw samples a token.
func draw(lp []float32, rng *rand.Rand) int32 {
	u := rng.Float64()
	last := int32(0)
	for i, l := range lp {
		p := math.Exp(float64(l))
		if p == 0 {
			continue
		}
		last = int32(i)
		if u < p {
			return last
		}
		u -= p
	}
	return last
}

// best lists the k most likely tokens, best first.
func best(lp []float32, k int) []llm.TokenLogprob {
	k = min(k, len(lp))
	if k > 32 {
		all := make([]llm.TokenLogprob, len(lp))
		for i, l := range lp {
			all[i] = llm.TokenLogprob{ID: int32(i), Logprob: l}
		}
		slices.SortStableFunc(all, func(a, b llm.TokenLogprob) int { return cmp.Compare(b.Logprob, a.Logprob) })
		return all[:k]
	}
	top := make([]llm.TokenLogprob, 0, k+1)
	for i, l := range lp {
		if k == 0 || len(top) == k && l <= top[k-1].Logprob {
			continue
		}
		at := len(top)
		for at > 0 && top[at-1].Logprob < l {
			at--
		}
		top = slices.Insert(top, at, llm.TokenLogprob{ID: int32(i), Logprob: l})
		top = top[:min(len(top), k)]
	}
	return top
}

// response is what the model says to a prompt.
type response struct {
	prompt   []int32
	ids      []int32
	logprobs []float32
	top      [][]llm.TokenLogprob // as each engine lists them: the k best
	text     string               // without the end token and the stop string
	finish   string
	stopWord string
}

// generate samples up to limit tokens.
func (m Model) generate(prompt []int32, s sampler, limit, k int, stop []string, processed bool) response {
	rng := rand.New(rand.NewPCG(uint64(s.seed), 99))
	out := response{prompt: prompt, ids: []int32{}, finish: "length"}
	all := slices.Clone(prompt)
	for len(out.ids) < limit {
		dist := m.processed(all, s)
		id := draw(dist, rng)
		if !processed && (s.temperature != 1 || s.topK > 0 || s.minP > 0 || s.topP < 1) {
			dist = m.Logprobs(all)
		}
		out.ids, all = append(out.ids, id), append(all, id)
		out.logprobs = append(out.logprobs, dist[id])
		out.top = append(out.top, best(dist, k))
		out.text = Decode(out.ids, false)
		if id == EOS {
			out.finish = "stop"
			return out
		}
		for _, w := range stop {
			if at := strings.Index(out.text, w); at >= 0 {
				out.text, out.finish, out.stopWord = out.text[:at], "stop", w
				return out
			}
		}
	}
	return out
}
