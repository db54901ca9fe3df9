package refmodel

import (
	"context"
	"crypto/sha256"
	_ "embed" // the tables
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"sync"

	"github.com/hindsightrl/harness"
	"github.com/hindsightrl/harness/internal/errext"
	"github.com/hindsightrl/harness/llm"
	"github.com/hindsightrl/harness/llm/refmodel/internal/ngram"
	"github.com/hindsightrl/harness/llm/refmodel/internal/prime"
	"github.com/hindsightrl/harness/llm/refmodel/internal/vocab"
)

//go:generate go run ./record -o corpus.jsonl.gz
//go:generate go run ./gen -o tables.bin corpus.jsonl.gz

//go:embed tables.bin
var tables []byte

//go:embed fitted.json
var fitted []byte

// Config sets a model's limits. The zero value is usable.
type Config struct {
	// ContextLength bounds prompt and response together, in tokens; 0 means 32,768.
	ContextLength int
	// MaxTokens is the length of a response where a request sets none; 0 means 512.
	MaxTokens int
}

// Validate reports a limit that no request could meet.
func (c Config) Validate() error {
	if c.ContextLength < 0 || c.MaxTokens < 0 {
		return fmt.Errorf("reference model: context length %d and max tokens %d must not be negative", c.ContextLength, c.MaxTokens)
	}
	return nil
}

// Model is the reference model. It is immutable and safe for concurrent use: calls share nothing but
// read-only tables, so there is no queue and no lock, and as many run at once as there are processors.
type Model struct {
	cfg         Config
	info        llm.ModelInfo
	vocab       *vocab.Vocab
	settings    []setting // the first is the one that no offer tells
	traits      []trait
	ties        []int32 // classes tied to a token, by trait.tieStart … tieEnd
	openSearch  int32
	openClick   int32
	fullStop    int32
	openAction  int32
	closeAction int32
	openThink   int32
	closeThink  int32
	params      params
	modes       [2]modeParams
	windows     sync.Pool // *window
}

var _ llm.Model = (*Model)(nil)

// trait is what reading a token needs, side by side in memory.
type trait struct {
	meta             uint32 // class << 8 | flags
	tieStart, tieEnd uint16
}

// New opens the model with the embedded tables.
func New(cfg Config) (*Model, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	return open(cfg, tables)
}

// open decodes tables. It takes tens of milliseconds.
func open(cfg Config, data []byte) (*Model, error) {
	if cfg.ContextLength == 0 {
		cfg.ContextLength = 32768
	}
	if cfg.MaxTokens == 0 {
		cfg.MaxTokens = 512
	}
	t, err := prime.Unpack(data)
	if err != nil {
		return nil, fmt.Errorf("open reference model: %w", err)
	}
	m := &Model{cfg: cfg}
	if m.vocab, err = vocab.Parse(t.Vocabulary); err != nil {
		return nil, fmt.Errorf("open reference model: %w", err)
	}
	if err := m.readSettings(t.Settings); err != nil {
		return nil, fmt.Errorf("open reference model: %w", err)
	}
	var p params
	if err := json.Unmarshal(fitted, &p); err != nil {
		return nil, fmt.Errorf("open reference model: constants: %w", err)
	}
	m.setParams(p)
	m.readTraits(t.Ties)
	m.openSearch, m.openClick, m.fullStop = m.vocab.Lookup("search["), m.vocab.Lookup("click["), m.vocab.Lookup(". ")
	m.openAction, m.closeAction = m.vocab.Lookup("<action>"), m.vocab.Lookup("</action>")
	m.openThink, m.closeThink = m.vocab.Lookup("<think>"), m.vocab.Lookup("</think>")
	m.info = llm.ModelInfo{
		Name: "refmodel", Engine: "refmodel", Version: version(t.Hash),
		VocabSize: m.vocab.Size(), ContextLength: cfg.ContextLength, BOS: -1, EOS: vocab.EOS,
	}
	m.windows.New = func() any { return newWindow(m) }
	return m, nil
}

// version names the arithmetic and hashes the tables and the fitted constants.
func version(hash string) string {
	sum := sha256.Sum256(append([]byte(hash), fitted...))
	return algorithm + "-" + hex.EncodeToString(sum[:6])
}

func (m *Model) readTraits(ties []prime.Tie) {
	m.traits = make([]trait, m.vocab.Size())
	at := 0
	for id := range m.traits {
		t := &m.traits[id]
		t.meta = uint32(m.vocab.Class(int32(id)))<<8 | uint32(m.vocab.Flags(int32(id)))
		t.tieStart = uint16(len(m.ties))
		for ; at < len(ties) && ties[at].From == int32(id); at++ {
			m.ties = append(m.ties, m.vocab.Class(ties[at].To))
		}
		t.tieEnd = uint16(len(m.ties))
	}
}

// setting is what the model knows of a household, or of one kind of page of a shop.
type setting struct {
	open   int32 // the tokens that begin a command of a kind which is offered here only: the token
	class  int32 // and the next one's class
	static *ngram.Table
}

func (m *Model) readSettings(list []prime.Setting) error {
	for i, s := range list {
		static, err := ngram.Load(s.NGrams, m.vocab.Size())
		if err != nil {
			return fmt.Errorf("setting %d: %w", i, err)
		}
		k := setting{open: -1, static: static}
		if ids := m.vocab.Append(nil, s.Offers, false); len(ids) == 2 && i > 0 {
			k.open, k.class = ids[0], m.vocab.Class(ids[1])
		} else if len(ids) != 0 || i > 0 {
			return fmt.Errorf("setting %d is told by %d tokens, want 2, and 0 for the first", i, len(ids))
		}
		m.settings = append(m.settings, k)
	}
	if len(m.settings) == 0 {
		return errors.New("no settings")
	}
	return nil
}

// setParams spreads the fitted constants for reading.
func (m *Model) setParams(p params) {
	m.params = p
	for i := range m.modes {
		c := &m.modes[i]
		*c = modeParams{match: p.Match[i], habit: p.Habit[i], plausible: p.Plausible[i], extra: p.Extra[i], recency: p.Recency[i], self: p.Self[i]}
		for q := range c.topic {
			c.topic[q] = math.Pow(p.Topic[i], float64(q)/topicSaid)
		}
	}
}

// Info describes the model. Version changes whenever a number could.
func (m *Model) Info() llm.ModelInfo { return m.info }

// Tokenize turns text into ids. With special set, role markers in the text become role tokens.
func (m *Model) Tokenize(text string, special bool) ([]int32, error) {
	return m.vocab.Append(make([]int32, 0, len(text)/3+1), text, special), nil
}

// TokenBytes is the exact text of one token; the end of a turn has none. The caller must not change it.
func (m *Model) TokenBytes(id int32) []byte { return m.vocab.Bytes(id) }

// Render puts each message between its role's token and the end-of-turn token, and the assistant's
// token last. Role markers inside a message stay text. An unknown role is an error.
func (m *Model) Render(messages []harness.Message) ([]int32, error) {
	var ids []int32
	for i, msg := range messages {
		role, known := roles[msg.Role]
		if !known {
			return nil, errext.WithHint(fmt.Errorf("render message %d: unknown role %q", i, msg.Role),
				"the roles are system, user and assistant")
		}
		ids = append(ids, role)
		ids = m.vocab.Append(ids, msg.Content, false)
		ids = append(ids, vocab.EOS)
	}
	return append(ids, vocab.Assistant), nil
}

var roles = map[string]int32{"system": vocab.System, "user": vocab.User, "assistant": vocab.Assistant}

// window puts a window over a prefix that more tokens follow. The caller returns it to the pool.
func (m *Model) window(ctx context.Context, op string, prefix []int32, more int) (*window, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if n := len(prefix) + more; n > m.cfg.ContextLength {
		err := fmt.Errorf("%s: %w: %d tokens, context of %d", op, llm.ErrContextLength, n, m.cfg.ContextLength)
		return nil, harness.FailFinal(harness.FailAgent, op, errext.WithHint(err, "shorten the prompt or raise the context length"))
	}
	if err := m.check(op, prefix); err != nil {
		return nil, err
	}
	w := m.windows.Get().(*window)
	w.reset(prefix)
	return w, nil
}

// check reports the first id that is none of the model's.
func (m *Model) check(op string, ids []int32) error {
	size := uint32(len(m.traits))
	for i, id := range ids {
		if uint32(id) >= size { // negative ids are large ones
			return harness.FailFinal(harness.FailAgent, op, fmt.Errorf("%s: token %d is %d, the vocabulary has %d", op, i, id, len(m.traits)))
		}
	}
	return nil
}
