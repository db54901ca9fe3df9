package serve

import (
	"strings"
	"unicode/utf8"

	"github.com/hindsightrl/harness/llm"
)

// namer spells tokens for a reply.
type namer struct {
	m       llm.Model
	idNames bool
}

func (n namer) name(id int32) string {
	if n.idNames {
		return tokenIDName(id)
	}
	return decoded(n.m, id)
}

// decoded is a token's text; bytes that are no character of their own become U+FFFD.
func decoded(m llm.Model, id int32) string {
	return strings.ToValidUTF8(string(m.TokenBytes(id)), "\uFFFD")
}

// byteList is a JSON list of numbers, where Go would write base64.
func byteList(b []byte) []int {
	list := make([]int, len(b))
	for i, c := range b {
		list[i] = int(c)
	}
	return list
}

// chatToken is an entry of the chat format. Bytes are the token's own, also where they are no
// character.
type chatToken struct {
	Token   string  `json:"token"`
	Logprob float32 `json:"logprob"`
	Bytes   []int   `json:"bytes"`
}

type chatEntry struct {
	chatToken
	Top []chatToken `json:"top_logprobs"`
}

type chatLogprobs struct {
	Content []chatEntry `json:"content"`
}

func (n namer) chatToken(t llm.TokenLogprob) chatToken {
	return chatToken{n.name(t.ID), finite(t.Logprob), byteList(n.m.TokenBytes(t.ID))}
}

// chat writes events in the chat format, alternatives best first as OpenAI has them. nil = not asked for.
func (n namer) chat(events []llm.TokenEvent, top int) *chatLogprobs {
	if top < 0 {
		return nil
	}
	out := &chatLogprobs{Content: make([]chatEntry, len(events))}
	for i, ev := range events {
		e := chatEntry{chatToken: n.chatToken(llm.TokenLogprob{ID: ev.ID, Logprob: ev.Logprob}), Top: []chatToken{}}
		for _, t := range ev.Top[:min(top, len(ev.Top))] {
			e.Top = append(e.Top, n.chatToken(t))
		}
		out.Content[i] = e
	}
	return out
}

// idToken is an entry of the token-in-token-out format.
type idToken struct {
	TokenID int32   `json:"token_id"`
	Logprob float32 `json:"logprob"`
	Rank    *int32  `json:"rank"`
}

type idEntry struct {
	idToken
	Top []idToken `json:"top_logprobs"`
}

type idLogprobs struct {
	Content []idEntry `json:"content"`
}

// ids writes events by token id: the sampled token first among its alternatives, as vLLM does.
func ids(events []llm.TokenEvent, top int) *idLogprobs {
	if top < 0 {
		return nil
	}
	out := &idLogprobs{Content: make([]idEntry, len(events))}
	for i, ev := range events {
		list := withOwn(llm.TokenLogprob{ID: ev.ID, Logprob: ev.Logprob}, ev.Rank, ev.Top)
		e := idEntry{Top: []idToken{}}
		for k, t := range list {
			entry := idToken{t.ID, finite(t.Logprob), t.rankOrNull()}
			if k == 0 {
				e.idToken = entry
			}
			if top > 0 {
				e.Top = append(e.Top, entry)
			}
		}
		out.Content[i] = e
	}
	return out
}

// textLogprobs is the format of /v1/completions: parallel lists.
type textLogprobs struct {
	Offsets  []int      `json:"text_offset"`
	Logprobs []*float32 `json:"token_logprobs"`
	Tokens   []string   `json:"tokens"`
	Top      []ordered  `json:"top_logprobs"`
}

// add appends one token; known is false for the first token of a prompt, which nothing predicts.
func (n namer) add(out *textLogprobs, offset int, own llm.TokenLogprob, known bool, top []llm.TokenLogprob) (next int) {
	name := n.name(own.ID)
	out.Offsets, out.Tokens = append(out.Offsets, offset), append(out.Tokens, name)
	if !known {
		out.Logprobs, out.Top = append(out.Logprobs, nil), append(out.Top, nil)
		return offset + utf8.RuneCountInString(name)
	}
	lp := finite(own.Logprob)
	var alternatives ordered
	for _, t := range withOwn(own, 0, top) {
		alternatives = append(alternatives, member{n.name(t.ID), finite(t.Logprob)})
	}
	out.Logprobs, out.Top = append(out.Logprobs, &lp), append(out.Top, alternatives)
	return offset + utf8.RuneCountInString(name)
}

// text writes events in the format of completions, with offsets from offset on, in characters.
func (n namer) text(events []llm.TokenEvent, offset int) (*textLogprobs, int) {
	out := &textLogprobs{Offsets: []int{}, Logprobs: []*float32{}, Tokens: []string{}, Top: []ordered{}}
	for _, ev := range events {
		offset = n.add(out, offset, llm.TokenLogprob{ID: ev.ID, Logprob: ev.Logprob}, true, ev.Top)
	}
	return out, offset
}

// prompt writes scored prompt tokens in the format of completions.
func (n namer) prompt(sc scored) (*textLogprobs, int) {
	out, offset := n.text(nil, 0)
	for i, id := range sc.prompt {
		own := llm.TokenLogprob{ID: id}
		var top []llm.TokenLogprob
		if i > 0 {
			own.Logprob = sc.Logprobs[i-1]
			if sc.Top != nil {
				top = sc.Top[i-1]
			}
		}
		offset = n.add(out, offset, own, i > 0, top)
	}
	return out, offset
}

// join appends b to a.
func (a *textLogprobs) join(b *textLogprobs) *textLogprobs {
	a.Offsets, a.Logprobs = append(a.Offsets, b.Offsets...), append(a.Logprobs, b.Logprobs...)
	a.Tokens, a.Top = append(a.Tokens, b.Tokens...), append(a.Top, b.Top...)
	return a
}

// promptEntry is one alternative of prompt_logprobs.
type promptEntry struct {
	Logprob float32 `json:"logprob"`
	Rank    *int32  `json:"rank"`
	Decoded string  `json:"decoded_token"`
}

// list writes prompt_logprobs: null, then per token {id: entry}, the prompt's own token first.
func (sc scored) list() []ordered {
	list := make([]ordered, len(sc.prompt))
	for i, id := range sc.prompt[1:] {
		var top []llm.TokenLogprob
		var rank int32
		if sc.Top != nil {
			top = sc.Top[i]
		}
		if sc.Ranks != nil {
			rank = sc.Ranks[i]
		}
		for _, t := range withOwn(llm.TokenLogprob{ID: id, Logprob: sc.Logprobs[i]}, rank, top) {
			list[i+1] = append(list[i+1], member{itoa(t.ID), promptEntry{finite(t.Logprob), t.rankOrNull(), decoded(sc.m, t.ID)}})
		}
	}
	return list
}
