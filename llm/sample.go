package llm

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/hindsightrl/harness"
)

// worstLogprob is the first value that is no log-probability any more: vLLM writes −9999.0 for −inf
// and NaN, llama.cpp the lowest float32.
const worstLogprob = -9999

// positiveSlack is how far above 0 rounding may push a log-probability; beyond it the server sends
// something else (vLLM's --logprobs-mode *_logits).
const positiveSlack = 1e-3

// checkLogprob refuses values that no token that was really sampled or scored can have.
func checkLogprob(i int, id int32, lp float32) error {
	switch {
	case math.IsNaN(float64(lp)):
		return badReply("token %d (id %d) has no log-probability (null or NaN)", i, id)
	case lp <= worstLogprob:
		return badReply("token %d (id %d) has log-probability %g, the mark for -inf or NaN", i, id, lp)
	case lp > positiveSlack:
		return badReply("token %d (id %d) has log-probability %g > 0: the server sends logits or broken numbers", i, id, lp)
	}
	return nil
}

// versionSpan is a half-open range of response tokens sampled by one set of weights.
type versionSpan struct {
	label      string
	start, end int
}

// sample is a server's answer before it is checked and put into the ledger's form.
type sample struct {
	text      string
	answered  bool // there was a text, however empty
	model     string
	finish    string
	promptIDs []int32
	ids       []int32
	logprobs  []float32
	chosen    []int32          // ids beside the log-probabilities, where the format has them
	top       [][]TokenLogprob // unsorted, sampled token perhaps among them
	reasoning bool             // the server took part of the text away
	spans     []versionSpan
	label     string // weights of the whole response
	usage     Usage
	truncated bool // the server cut the prompt
}

func newSample() sample { return sample{usage: Usage{PromptTokens: -1, CompletionTokens: -1}} }

// tokenIDString reads "token_id:N" and plain "N".
func tokenIDString(s []byte) (int32, bool) {
	v, err := strconv.ParseInt(strings.TrimPrefix(string(s), "token_id:"), 10, 32)
	if err != nil || v < 0 {
		return 0, false
	}
	return int32(v), true
}

// sortTop orders alternatives best first, drops those without probability and keeps k: a server that
// lists the sampled token beside the k best gives k+1.
func sortTop(top []TokenLogprob, k int) []TokenLogprob {
	top = slices.DeleteFunc(top, func(t TokenLogprob) bool {
		return math.IsNaN(float64(t.Logprob)) || t.Logprob <= worstLogprob
	})
	slices.SortFunc(top, func(a, b TokenLogprob) int {
		if c := cmp.Compare(b.Logprob, a.Logprob); c != 0 {
			return c
		}
		return cmp.Compare(a.ID, b.ID)
	})
	top = slices.CompactFunc(top, func(a, b TokenLogprob) bool { return a.ID == b.ID })
	return top[:min(len(top), k)]
}

// check validates the token columns of a sample that promises tokens.
func (s *sample) check() error {
	switch {
	case s.finish == "abort":
		return ErrAborted
	case s.truncated:
		return finalError{ErrContextLength}
	case s.ids == nil:
		return badReply("no token ids in the reply")
	case len(s.logprobs) != len(s.ids):
		return badReply("%d log-probabilities for %d tokens", len(s.logprobs), len(s.ids))
	case s.top != nil && len(s.top) != len(s.ids):
		return badReply("alternatives at %d positions for %d tokens", len(s.top), len(s.ids))
	}
	for i, lp := range s.logprobs {
		if err := checkLogprob(i, s.ids[i], lp); err != nil {
			return err
		}
	}
	return nil
}

// sameIDs compares the ids beside the log-probabilities with the response's.
func (s *sample) sameIDs() error {
	for i, id := range s.chosen {
		if i < len(s.ids) && id != s.ids[i] {
			return badReply("log-probability %d belongs to token %d, the response has %d there", i, id, s.ids[i])
		}
	}
	return nil
}

// versions spreads version spans over the response. It is nil unless every token's label is a number.
func (s *sample) versions() []int32 {
	spans := s.spans
	if spans == nil && s.label != "" {
		spans = []versionSpan{{s.label, 0, len(s.ids)}}
	}
	out := make([]int32, len(s.ids))
	covered := 0
	for _, sp := range spans {
		v, ok := ParseVersion(sp.label)
		if !ok || sp.start != covered || sp.end < sp.start || sp.end > len(out) {
			return nil
		}
		for i := sp.start; i < sp.end; i++ {
			out[i] = v
		}
		covered = sp.end
	}
	if covered != len(out) || len(out) == 0 {
		return nil
	}
	return out
}

// versionSpans reads [{version,start,end}] and SGLang's array form [[version,start,end]].
func (r *jsonReader) versionSpans() []versionSpan {
	var spans []versionSpan
	r.array(func(int) {
		var sp versionSpan
		if r.peek() == '[' {
			r.array(func(i int) {
				switch i {
				case 0:
					sp.label = r.label()
				case 1:
					sp.start = r.int()
				case 2:
					sp.end = r.int()
				}
			})
		} else {
			r.object(func(key []byte) {
				switch string(key) {
				case "version":
					sp.label = r.label()
				case "start":
					sp.start = r.int()
				case "end":
					sp.end = r.int()
				}
			})
		}
		spans = append(spans, sp)
	})
	return spans
}

// usage reads {prompt_tokens, completion_tokens, prompt_tokens_details: {cached_tokens}}.
func (r *jsonReader) usage(u *Usage) {
	r.object(func(key []byte) {
		switch string(key) {
		case "prompt_tokens":
			u.PromptTokens = r.int()
		case "completion_tokens":
			u.CompletionTokens = r.int()
		case "prompt_tokens_details":
			if r.null() {
				return
			}
			r.object(func(key []byte) {
				if string(key) == "cached_tokens" && !r.null() {
					u.CachedTokens = r.int()
				}
			})
		}
	})
}

// tokens puts a checked sample into the ledger's form, with entropy bounds where alternatives allow.
func (s *session) tokens(smp *sample, req Request, id Identity) (*harness.Tokens, error) {
	tok := &harness.Tokens{
		PromptIDs: smp.promptIDs,
		IDs:       smp.ids,
		Logprobs:  smp.logprobs,
		Versions:  smp.versions(),
		Meta: &harness.TokenMeta{
			Engine: id.Engine, Version: id.Version, Model: id.Model, Mode: s.cfg.LogprobMode,
			Temperature: req.Sampling.Temperature, TopP: or(req.Sampling.TopP, 1),
			TopK: req.Sampling.TopK, MinP: req.Sampling.MinP, Finish: smp.finish,
		},
	}
	if smp.top == nil || req.TopLogprobs == 0 {
		return tok, nil
	}
	n := len(smp.ids)
	tok.Entropies, tok.EntropyLow, tok.EntropyHigh = make([]float32, n), make([]float32, n), make([]float32, n)
	tok.TopK = req.TopLogprobs
	vocab := or(s.cfg.VocabSize, id.VocabSize)
	for i := range smp.top {
		smp.top[i] = sortTop(smp.top[i], req.TopLogprobs)
		e, err := EntropyFromTop(smp.top[i], TokenLogprob{smp.ids[i], smp.logprobs[i]}, vocab)
		if err != nil {
			return nil, failServer("generate", badReply("entropy of token %d: %w", i, err))
		}
		tok.Entropies[i], tok.EntropyLow[i], tok.EntropyHigh[i] = float32(e.Estimate), float32(e.Low), float32(e.High)
		tok.TopK = min(tok.TopK, e.K)
	}
	return tok, nil
}

// generation builds the answer of a client that gives tokens.
func (s *session) generation(smp *sample, req Request, id Identity, out outcome) (Generation, error) {
	tok, err := s.tokens(smp, req, id)
	if err != nil {
		return Generation{}, err
	}
	g := Generation{Text: smp.text, Tokens: tok, Finish: smp.finish, Usage: smp.usage, Latency: out.latency}
	if req.TopLogprobs > 0 {
		g.Top = smp.top
	}
	s.meter.tokens(smp.usage.PromptTokens, len(smp.ids), 0)
	s.meter.cached(smp.usage.CachedTokens)
	return g, nil
}
