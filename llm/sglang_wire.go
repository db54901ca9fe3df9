package llm

// Reply format of SGLang's /generate. Source: python/sglang/srt/managers/io_struct.py and
// docs/advanced_features/sglang_for_rl.md.

// triple reads [logprob|null, token_id, text|null]; a null entry has the id −1.
func (r *jsonReader) triple() TokenLogprob {
	t := TokenLogprob{ID: -1}
	r.array(func(i int) {
		switch i {
		case 0:
			t.Logprob = r.float32()
		case 1:
			t.ID = r.tokenID()
		}
	})
	return t
}

// triples reads a list of triples; null is nil.
func (r *jsonReader) triples() []TokenLogprob {
	if r.null() {
		return nil
	}
	out := make([]TokenLogprob, 0, 256)
	r.array(func(int) { out = append(out, r.triple()) })
	return out
}

// tripleLists reads a list of lists of triples, null where a position has none.
func (r *jsonReader) tripleLists() [][]TokenLogprob {
	var out [][]TokenLogprob
	r.array(func(int) {
		var at []TokenLogprob
		r.array(func(int) { at = append(at, r.triple()) })
		out = append(out, at)
	})
	return out
}

// parseSGLang reads a generation.
func parseSGLang(b []byte, s *sample) error {
	var chosen []TokenLogprob
	err := parseReply(b, func(r *jsonReader, key string) {
		switch key {
		case "text":
			s.text = r.text()
		case "output_ids":
			s.ids = r.tokenIDs()
		case "meta_info":
			r.object(func(key []byte) {
				switch string(key) {
				case "finish_reason":
					s.finish = r.finishReason()
				case "prompt_tokens":
					s.usage.PromptTokens = r.int()
				case "completion_tokens":
					s.usage.CompletionTokens = r.int()
				case "cached_tokens":
					s.usage.CachedTokens = r.int()
				case "weight_version":
					s.label = r.label()
				case "weight_versions":
					if !r.null() {
						s.spans = r.versionSpans()
					}
				case "output_token_logprobs":
					chosen = r.triples()
				case "output_top_logprobs":
					s.top = r.tripleLists()
				}
			})
		}
	})
	if err != nil {
		return err
	}
	if s.ids == nil && chosen != nil { // older servers give the ids only beside the log-probabilities
		for _, t := range chosen {
			s.ids = append(s.ids, t.ID)
		}
	}
	for _, t := range chosen {
		s.logprobs, s.chosen = append(s.logprobs, t.Logprob), append(s.chosen, t.ID)
	}
	return s.sameIDs()
}

// finishReason reads {"type":"stop",…}, a plain string, or null.
func (r *jsonReader) finishReason() string {
	if r.peek() == '"' {
		return r.text()
	}
	var why string
	r.object(func(key []byte) {
		if string(key) == "type" {
			why = r.text()
		}
	})
	return why
}

// parseSGLangScore reads the log-probabilities of a continuation. The list begins with the position
// asked for, whose value is null; servers have differed in whether it is there at all, so the
// continuation is taken from the list's end and every id is compared.
func parseSGLangScore(b []byte, req ScoreRequest) (Score, error) {
	var rows []TokenLogprob
	var top [][]TokenLogprob
	err := parseReply(b, func(r *jsonReader, key string) {
		if key != "meta_info" {
			return
		}
		r.object(func(key []byte) {
			switch string(key) {
			case "input_token_logprobs":
				rows = r.triples()
			case "input_top_logprobs":
				top = r.tripleLists()
			}
		})
	})
	if err != nil {
		return Score{}, err
	}
	n := len(req.Continuation)
	lead := len(rows) - n
	if lead != 0 && lead != 1 {
		return Score{}, badReply("%d input log-probabilities from position %d on for a continuation of %d tokens", len(rows), len(req.Prefix)-1, n)
	}
	if last := req.Prefix[len(req.Prefix)-1]; lead == 1 && rows[0].ID >= 0 && rows[0].ID != last {
		return Score{}, badReply("the first returned position is token %d, not the prefix's last token %d", rows[0].ID, last)
	}
	sc := Score{Logprobs: make([]float32, n)}
	for i, t := range rows[lead:] {
		if t.ID != req.Continuation[i] {
			return Score{}, badReply("position %d of the continuation came back as token %d, sent was %d", i, t.ID, req.Continuation[i])
		}
		if err := checkLogprob(i, t.ID, t.Logprob); err != nil {
			return Score{}, err
		}
		sc.Logprobs[i] = t.Logprob
	}
	if req.TopLogprobs == 0 {
		return sc, nil
	}
	if len(top) != len(rows) {
		return Score{}, badReply("input alternatives at %d positions, log-probabilities at %d", len(top), len(rows))
	}
	sc.Top = top[lead:]
	for i := range sc.Top {
		sc.Top[i] = sortTop(sc.Top[i], req.TopLogprobs)
	}
	return sc, nil
}
