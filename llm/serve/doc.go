// Package serve is the HTTP side of a local model: vLLM's API (OpenAI's with token ids, prompt
// log-probabilities and weight versions) over any llm.Model. It owns the wire format and the
// bookkeeping of weight versions; computing tokens is the model's work.
//
// What a request asks for and this server cannot do is refused with status 400 and never ignored:
// tools, images, structured output, beam search, foreign chat templates. Fields without influence on
// the result (priority, user, cache_salt, …) are accepted.
package serve
