package serve

import (
	"math"
)

var banned = float32(math.Inf(-1))

// adjust returns what changes the logits before sampling, in vLLM's order: allowed tokens, biases,
// penalties. It is nil where nothing changes them. The ban of end tokens is added with the model.
func (p *params) adjust(vocab int) (func(prompt, sampled []int32, logits []float32), error) {
	bias, err := parseBias(p.LogitBias, vocab)
	if err != nil {
		return nil, err
	}
	var allowed []bool
	if len(p.AllowedTokenIDs) > 0 {
		allowed = make([]bool, vocab)
		for _, id := range p.AllowedTokenIDs {
			if id < 0 || int(id) >= vocab {
				return nil, bad("allowed_token_ids", "allowed_token_ids: %d is no token id", id)
			}
			allowed[id] = true
		}
	}
	repetition := 1.0
	if p.RepetitionPenalty != nil {
		repetition = *p.RepetitionPenalty
	}
	presence, frequency := p.PresencePenalty, p.FrequencyPenalty
	if len(bias) == 0 && allowed == nil && repetition == 1 && presence == 0 && frequency == 0 {
		return nil, nil
	}
	return func(prompt, sampled []int32, logits []float32) {
		for id := range logits {
			if allowed != nil && !allowed[id] {
				logits[id] = banned
			}
		}
		for id, b := range bias {
			logits[id] += b
		}
		repeat(logits, repetition, prompt, sampled)
		count := map[int32]float64{}
		for _, id := range sampled {
			count[id]++
		}
		for id, n := range count {
			logits[id] -= float32(presence + frequency*n)
		}
	}, nil
}

// repeat divides positive and multiplies negative logits of tokens that occurred. Source: the CTRL
// paper (arXiv 1909.05858) as vLLM applies it.
func repeat(logits []float32, penalty float64, lists ...[]int32) {
	if penalty == 1 {
		return
	}
	seen := map[int32]bool{}
	for _, ids := range lists {
		for _, id := range ids {
			if seen[id] {
				continue
			}
			seen[id] = true
			if logits[id] > 0 {
				logits[id] = float32(float64(logits[id]) / penalty)
			} else {
				logits[id] = float32(float64(logits[id]) * penalty)
			}
		}
	}
}

// banEnds forbids the tokens that end a response as long as still says so.
func banEnds(ends []int32, still func(sampled int) bool, then func(prompt, sampled []int32, logits []float32)) func(prompt, sampled []int32, logits []float32) {
	return func(prompt, sampled []int32, logits []float32) {
		if then != nil {
			then(prompt, sampled, logits)
		}
		if still(len(sampled)) {
			for _, id := range ends {
				logits[id] = banned
			}
		}
	}
}
