package gguf

import (
	"context"
	"errors"
	"fmt"

	"github.com/hindsightrl/harness"
	"github.com/hindsightrl/harness/llm"
	"github.com/hindsightrl/harness/llm/internal/textstream"
)

// use guards a call into the library against Close.
func (m *Model) use() (release func(), err error) {
	m.closing.RLock()
	if m.closed {
		m.closing.RUnlock()
		return nil, ErrClosed
	}
	return m.closing.RUnlock, nil
}

// Tokenize turns text into ids with the model's own tokenizer; special adds BOS where the model wants
// it and parses control tokens. SentencePiece models put a space before the text, as their own
// tokenizers do: it is part of the first token's bytes, and Detokenize takes it away again.
func (m *Model) Tokenize(text string, special bool) ([]int32, error) {
	release, err := m.use()
	if err != nil {
		return nil, err
	}
	defer release()
	return m.vocab.tokenize(text, special)
}

// TokenBytes is the exact text of one token, control tokens included; nil outside the vocabulary.
func (m *Model) TokenBytes(id int32) []byte {
	if id < 0 || int(id) >= len(m.vocab.pieces) {
		return nil
	}
	return m.vocab.pieces[id]
}

// Detokenize is the text that the tokens stand for: their bytes without the space that Tokenize put
// before the text. Control tokens are spelled out.
func (m *Model) Detokenize(ids []int32) string {
	var before, b []byte
	if len(ids) > 0 && m.vocab.addBOS && ids[0] == m.info.BOS {
		before, ids = m.TokenBytes(ids[0]), ids[1:]
	}
	for _, id := range ids {
		b = append(b, m.TokenBytes(id)...)
	}
	if m.vocab.space && len(b) > 0 && b[0] == ' ' {
		b = b[1:]
	}
	return string(before) + string(b)
}

// EndsResponse reports whether a token ends a response: models have more such tokens than EOS.
func (m *Model) EndsResponse(id int32) bool {
	return id >= 0 && int(id) < len(m.vocab.ends) && m.vocab.ends[id]
}

// IsControl reports whether a token is no text of its own.
func (m *Model) IsControl(id int32) bool {
	return m.EndsResponse(id) || (id >= 0 && id < int32(len(m.vocab.pieces)) && m.vocab.control[id])
}

// Render applies the chat template and tokenizes, with control tokens parsed. The formatter is
// llama.cpp's own: it knows the templates of the common model families and not what else a file's
// Jinja text says, for example a system message that some add where there is none.
func (m *Model) Render(messages []harness.Message) ([]int32, error) {
	return m.RenderOpen(messages, true)
}

// RenderOpen is Render without the opening of the response where generationPrompt is false.
func (m *Model) RenderOpen(messages []harness.Message, generationPrompt bool) ([]int32, error) {
	release, err := m.use()
	if err != nil {
		return nil, err
	}
	defer release()
	text, err := m.vocab.render(messages, generationPrompt)
	if err != nil {
		return nil, err
	}
	return m.vocab.tokenize(text, true)
}

// Stream samples a response. MaxTokens 0 means as far as the context reaches; a response that reaches
// its end is cut there with "length". Errors wrap llm.ErrContextLength where the prompt leaves no room.
func (m *Model) Stream(ctx context.Context, req llm.StreamRequest, emit func(llm.TokenEvent) error) (string, error) {
	return m.StreamAdjusted(ctx, req, nil, emit)
}

// StreamAdjusted is Stream with a say in the sampling: adjust may be nil.
func (m *Model) StreamAdjusted(ctx context.Context, req llm.StreamRequest, adjust Adjust, emit func(llm.TokenEvent) error) (string, error) {
	room := m.info.ContextLength - len(req.Prompt)
	if err := m.checkPrompt(req.Prompt, 1); err != nil {
		return "", fmt.Errorf("generate: %w", err)
	}
	if n := req.Sampling.MaxTokens; n > 0 {
		room = min(room, n)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	t := newGeneration(ctx, req, room, m.EndsResponse, adjust)
	if err := m.loop.submit(t); err != nil {
		return "", err
	}
	stop := context.AfterFunc(ctx, m.loop.poke)
	defer stop()
	finish, err := m.read(t, textstream.New(req.Sampling.Stop, false), emit)
	cancel() // a stop string or an error of emit ends it early; AfterFunc tells the loop
	if left := m.drain(t); err == nil && finish == "" {
		err = left
	}
	if err != nil {
		return "", fmt.Errorf("generate: %w", err)
	}
	return finish, nil
}

// read hands the task's events to emit until there is a reason to end.
func (m *Model) read(t *task, text *textstream.Text, emit func(llm.TokenEvent) error) (finish string, err error) {
	for {
		select {
		case ev := <-t.events:
			finish, done, err := m.handle(ev, text, emit)
			if err != nil || done {
				return finish, err
			}
			m.loop.poke()
		case err := <-t.done:
			t.done <- err
			for {
				select {
				case ev := <-t.events:
					finish, done, err := m.handle(ev, text, emit)
					if err != nil || done {
						return finish, err
					}
				default:
					if err == nil {
						return "length", nil
					}
					return "", err
				}
			}
		}
	}
}

func (m *Model) handle(ev llm.TokenEvent, text *textstream.Text, emit func(llm.TokenEvent) error) (finish string, done bool, err error) {
	if err := emit(ev); err != nil {
		return "", true, err
	}
	if m.EndsResponse(ev.ID) || text.Write(m.TokenBytes(ev.ID)) {
		return "stop", true, nil
	}
	return "", false, nil
}

// drain waits until the loop has let go of the task and returns why it did.
func (m *Model) drain(t *task) error {
	for {
		select {
		case <-t.events:
		case err := <-t.done:
			return err
		}
	}
}

// checkPrompt reports a prompt that is empty, has ids outside the vocabulary or leaves less than
// extra tokens of the context.
func (m *Model) checkPrompt(prompt []int32, extra int) error {
	if len(prompt) == 0 {
		return errors.New("the prompt has no tokens")
	}
	if err := checkIDs("prompt", prompt, m.info.VocabSize); err != nil {
		return err
	}
	if n := len(prompt) + extra; n > m.info.ContextLength {
		return fmt.Errorf("%d tokens of %d: %w", n, m.info.ContextLength, llm.ErrContextLength)
	}
	return nil
}

// Score gives the log-probability of each continuation token. The prefix needs at least one token,
// because nothing is predicted before the first. Ranks are filled.
func (m *Model) Score(ctx context.Context, req llm.ScoreRequest) (llm.Score, error) {
	s := llm.Score{
		Logprobs: make([]float32, len(req.Continuation)), Ranks: make([]int32, len(req.Continuation)), Calls: 1,
	}
	if req.TopLogprobs > 0 {
		s.Top = make([][]llm.TokenLogprob, len(req.Continuation))
	}
	if err := m.checkPrompt(req.Prefix, len(req.Continuation)); err != nil {
		return llm.Score{}, fmt.Errorf("score: %w", err)
	}
	if err := checkIDs("continuation", req.Continuation, m.info.VocabSize); err != nil {
		return llm.Score{}, fmt.Errorf("score: %w", err)
	}
	if len(req.Continuation) == 0 {
		return s, nil
	}
	t := newScoring(ctx, req, &s)
	if err := m.loop.submit(t); err != nil {
		return llm.Score{}, err
	}
	stop := context.AfterFunc(ctx, m.loop.poke)
	defer stop()
	if err := <-t.done; err != nil {
		return llm.Score{}, fmt.Errorf("score: %w", err)
	}
	return s, nil
}
