package gguf

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/hybridgroup/yzma/pkg/llama"

	"github.com/hindsightrl/harness"
	"github.com/hindsightrl/harness/internal/errext"
)

// vocabulary is the model's own tokenizer. Its tables never change, so it is safe for concurrent use.
type vocabulary struct {
	v        llama.Vocab
	bos, eos int32
	addBOS   bool
	pieces   [][]byte // exact bytes by id
	ends     []bool   // by id: the token ends a response
	control  []bool   // by id: the token is a control token
	space    bool     // the tokenizer puts a space before a text
	template string   // chat template; PlainTemplate where the model has none
}

func newVocabulary(m llama.Model, template string) (*vocabulary, error) {
	v := llama.ModelGetVocab(m)
	n := int(llama.VocabNTokens(v))
	if n <= 0 || llama.GetVocabType(v) == llama.VocabTypeNone {
		return nil, errors.New("the file has no vocabulary")
	}
	t := &vocabulary{
		v: v, bos: int32(llama.VocabBOS(v)), eos: int32(llama.VocabEOS(v)), addBOS: llama.VocabGetAddBOS(v),
		pieces: make([][]byte, n), ends: make([]bool, n), control: make([]bool, n), template: template,
	}
	buf := make([]byte, 256)
	for i := range n {
		id := llama.Token(i)
		size := llama.TokenToPiece(v, id, buf, 0, true)
		if size < 0 {
			buf = make([]byte, -size)
			size = llama.TokenToPiece(v, id, buf, 0, true)
		}
		t.pieces[i] = slices.Clone(buf[:max(size, 0)])
		t.ends[i], t.control[i] = llama.VocabIsEOG(v, id), llama.VocabIsControl(v, id)
	}
	if t.template == "" {
		t.template = llama.ModelChatTemplate(m, "")
	}
	if t.template == "" {
		t.template = PlainTemplate
	}
	// Found by trying, since the file's flag has a default that depends on the tokenizer's type.
	if ids, err := t.tokenize("a", false); err == nil && len(ids) > 0 {
		t.space = strings.HasPrefix(string(t.join(ids)), " ")
	}
	return t, nil
}

func (t *vocabulary) join(ids []int32) []byte {
	var b []byte
	for _, id := range ids {
		b = append(b, t.pieces[id]...)
	}
	return b
}

// tokenize turns text into ids; with special, control tokens in it are parsed and BOS comes first
// where the model wants it.
func (t *vocabulary) tokenize(text string, special bool) ([]int32, error) {
	if strings.IndexByte(text, 0) >= 0 {
		return nil, errors.New("tokenize: the text holds a zero byte, which llama.cpp cannot take")
	}
	if len(text) > math.MaxInt32/2 {
		return nil, fmt.Errorf("tokenize: %d bytes are too many", len(text))
	}
	var ids []int32
	if special && t.addBOS && t.bos >= 0 {
		ids = append(ids, t.bos)
	}
	if text == "" {
		return ids, nil
	}
	// The library adds what the model wants at both ends; the end-of-sequence token of some would
	// end the prompt, so the beginning is put there here.
	for _, id := range llama.Tokenize(t.v, text, false, special) {
		ids = append(ids, int32(id))
	}
	if len(ids) > 1 && ids[0] == t.bos && ids[1] == t.bos {
		ids = ids[1:] // a template that writes BOS itself
	}
	return ids, nil
}

// render applies the chat template, with the opening of the response where generationPrompt says so.
func (t *vocabulary) render(messages []harness.Message, generationPrompt bool) (string, error) {
	if len(messages) == 0 {
		return "", errors.New("render: no messages")
	}
	size := 0
	chat := make([]llama.ChatMessage, len(messages))
	contents := make([]string, len(messages))
	for i, m := range messages {
		if strings.IndexByte(m.Role+m.Content, 0) >= 0 {
			return "", fmt.Errorf("render: message %d holds a zero byte, which llama.cpp cannot take", i)
		}
		chat[i] = llama.NewChatMessage(m.Role, m.Content)
		contents[i] = m.Content
		size += len(m.Role) + len(m.Content)
	}
	if t.template == PlainTemplate {
		return strings.Join(contents, "\n\n"), nil
	}
	buf := make([]byte, 2*size+1024)
	n := llama.ChatApplyTemplate(t.template, chat, generationPrompt, buf)
	if int(n) > len(buf) {
		buf = make([]byte, n)
		n = llama.ChatApplyTemplate(t.template, chat, generationPrompt, buf)
	}
	if n <= 0 || int(n) > len(buf) {
		return "", errext.WithHint(errors.New("render: the model's chat template is none that llama.cpp's formatter knows"),
			`choose a chat template that fits: the name of a built-in one such as "chatml", or "plain"`)
	}
	return string(buf[:n]), nil
}
