package llm

// Reply formats of vLLM, read in one pass. Sources: vllm/entrypoints/openai/chat_completion/protocol.py,
// .../completion/protocol.py, vllm/entrypoints/scale_out/token_in_token_out/protocol.py.

// firstChoice walks the first element of "choices".
func (r *jsonReader) firstChoice(member func(key []byte)) {
	r.array(func(i int) {
		if i == 0 {
			r.object(member)
		}
	})
}

// common reads what all three replies share; it reports whether key was one of them.
func (s *sample) common(r *jsonReader, key string) bool {
	switch key {
	case "model":
		s.model = r.text()
	case "usage":
		r.usage(&s.usage)
	case "prompt_token_ids":
		s.promptIDs = r.tokenIDs()
	default:
		return false
	}
	return true
}

// choice reads the members that the choices share.
func (s *sample) choice(r *jsonReader, key string) {
	switch key {
	case "finish_reason":
		s.finish = r.text()
	case "token_ids":
		s.ids = r.tokenIDs()
	case "prompt_token_ids": // some versions put it into the choice
		s.promptIDs = r.tokenIDs()
	case "weight_versions":
		if !r.null() {
			s.spans = r.versionSpans()
		}
	}
}

// parseChat reads a chat completion.
func parseChat(b []byte, s *sample) error {
	return parseReply(b, func(r *jsonReader, key string) {
		if s.common(r, key) || key != "choices" {
			return
		}
		r.firstChoice(func(key []byte) {
			switch string(key) {
			case "message":
				s.message(r)
			case "logprobs":
				s.contentLogprobs(r)
			default:
				s.choice(r, string(key))
			}
		})
	})
}

// message reads the text, and notes where a reasoning parser took part of it away.
func (s *sample) message(r *jsonReader) {
	r.object(func(key []byte) {
		switch string(key) {
		case "content":
			s.text, s.answered = r.text(), true
		case "reasoning_content", "reasoning":
			s.reasoning = r.text() != "" || s.reasoning
		}
	})
}

// contentLogprobs reads {"content":[{token|token_id, logprob, top_logprobs:[…]}]}: the chat format
// with "token_id:N" strings and the token-in-token-out format with numbers.
func (s *sample) contentLogprobs(r *jsonReader) {
	r.object(func(key []byte) {
		if string(key) != "content" || r.null() {
			return
		}
		s.logprobs = make([]float32, 0, 256)
		r.array(func(i int) {
			own := TokenLogprob{ID: -1}
			var alternatives []TokenLogprob
			r.object(func(key []byte) {
				if string(key) == "top_logprobs" {
					r.array(func(int) {
						var alt TokenLogprob
						r.object(func(key []byte) { alt.member(r, key) })
						if alt.ID >= 0 {
							alternatives = append(alternatives, alt)
						}
					})
					return
				}
				own.member(r, key)
			})
			s.logprobs, s.chosen = append(s.logprobs, own.Logprob), append(s.chosen, own.ID)
			s.top = append(s.top, alternatives)
		})
	})
}

// member reads one field of an entry. A token that is text and not an id gets the id −1.
func (t *TokenLogprob) member(r *jsonReader, key []byte) {
	switch string(key) {
	case "token_id":
		t.ID = r.tokenID()
	case "token":
		id, ok := tokenIDString(r.str())
		if !ok {
			id = -1
		}
		t.ID = id
	case "logprob":
		t.Logprob = r.float32()
	}
}

// parseCompletion reads a text completion.
func parseCompletion(b []byte, s *sample) error {
	return parseReply(b, func(r *jsonReader, key string) {
		if s.common(r, key) || key != "choices" {
			return
		}
		r.firstChoice(func(key []byte) {
			switch string(key) {
			case "text":
				s.text, s.answered = r.text(), true
			case "logprobs":
				s.completionLogprobs(r)
			default:
				s.choice(r, string(key))
			}
		})
	})
}

// completionLogprobs reads the legacy format: parallel lists, alternatives as maps by token.
func (s *sample) completionLogprobs(r *jsonReader) {
	r.object(func(key []byte) {
		switch string(key) {
		case "token_logprobs":
			s.logprobs = make([]float32, 0, 256)
			r.array(func(int) { s.logprobs = append(s.logprobs, r.float32()) })
		case "top_logprobs":
			r.array(func(int) {
				var alternatives []TokenLogprob
				r.object(func(key []byte) {
					lp := r.float32()
					if id, ok := tokenIDString(key); ok {
						alternatives = append(alternatives, TokenLogprob{id, lp})
					}
				})
				s.top = append(s.top, alternatives)
			})
		}
	})
}

// parseTokens reads a token-in-token-out reply.
func parseTokens(b []byte, s *sample) error {
	return parseReply(b, func(r *jsonReader, key string) {
		if s.common(r, key) || key != "choices" {
			return
		}
		r.firstChoice(func(key []byte) {
			if string(key) == "logprobs" {
				s.contentLogprobs(r)
				return
			}
			s.choice(r, string(key))
		})
	})
}
