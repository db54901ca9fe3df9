package gguf

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/hybridgroup/yzma/pkg/llama"

	"github.com/hindsightrl/harness/internal/errext"
	"github.com/hindsightrl/harness/llm"
)

// Model is an open GGUF model. It is safe for concurrent use.
type Model struct {
	cfg   Config
	info  llm.ModelInfo
	vocab *vocabulary
	loop  *loop
	eng   *engine

	closing sync.RWMutex // held for reading while a call uses the library
	closed  bool
}

var _ llm.Model = (*Model)(nil)

// Open checks the file, loads the library (once per process) and the model, and starts its decode
// loop. Close frees it. Errors of a missing library wrap ErrNoLibrary, those of a bad file ErrBroken.
func Open(ctx context.Context, path string, cfg Config) (*Model, error) {
	m, err := open(ctx, path, cfg)
	if err != nil {
		return nil, fmt.Errorf("open model %q: %w", path, err)
	}
	return m, nil
}

func open(ctx context.Context, path string, cfg Config) (*Model, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	header, err := CheckFile(path)
	if err != nil {
		return nil, errext.WithHint(err, "fetch the file again, or check that it is a GGUF file")
	}
	dir, err := FindLib(cfg.LibDir)
	if err != nil {
		return nil, err
	}
	weights, err := digest(ctx, path)
	if err != nil {
		return nil, err
	}
	if err := loadLib(dir); err != nil {
		return nil, err
	}
	library, err := digest(ctx, filepath.Join(dir, libFiles[0]))
	if err != nil {
		return nil, err
	}
	cfg = cfg.withDefaults()
	eng, err := newEngine(path, cfg)
	if err != nil {
		return nil, withComplaints(err)
	}
	vocab, err := newVocabulary(eng.model, cfg.ChatTemplate)
	if err != nil {
		eng.free()
		return nil, err
	}
	name := cfg.Name
	if name == "" {
		name = strings.TrimSuffix(filepath.Base(path), filepath.Ext(path))
	}
	return &Model{
		cfg: cfg, vocab: vocab, eng: eng,
		loop: newLoop(eng, cfg.Slots, cfg.BatchTokens, cfg.Threads, cfg.Deterministic),
		info: llm.ModelInfo{
			Name: name, Engine: "llama.cpp", Version: version(library, weights, header, vocab.template, cfg),
			VocabSize: len(vocab.pieces), ContextLength: eng.context, BOS: vocab.bos, EOS: vocab.eos,
		},
	}, nil
}

// version names everything that answers depend on: the library's and the weights' digests, the
// processor features that chose the arithmetic, the chat template and the mode.
func version(library, weights string, h Header, template string, cfg Config) string {
	if template != PlainTemplate {
		template = short(template)
	}
	mode := "fast"
	if cfg.Deterministic {
		mode = "deterministic"
	}
	return fmt.Sprintf("llama.cpp %s %s cpu %s weights %s template %s %s",
		library[:12], h.Architecture, short(llama.PrintSystemInfo()), weights[:16], template, mode)
}

func short(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:4])
}

// digest is the SHA-256 of a whole file, in hex.
func digest(ctx context.Context, path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	for {
		if err := context.Cause(ctx); err != nil {
			return "", err
		}
		_, err := io.CopyN(h, f, 1<<24)
		if errors.Is(err, io.EOF) {
			return hex.EncodeToString(h.Sum(nil)), nil
		}
		if err != nil {
			return "", err
		}
	}
}

// Info describes the model.
func (m *Model) Info() llm.ModelInfo { return m.info }

// CachedTokens is the number of prompt tokens, over all calls so far, that were not computed because a
// sequence's cache held them: what siblings of a tree share, and conversations that go on.
func (m *Model) CachedTokens() int64 { return m.loop.reused.Load() }

// Close ends what is under way with ErrClosed and frees the model. Closing twice is fine.
func (m *Model) Close() error {
	m.loop.close()
	m.closing.Lock()
	defer m.closing.Unlock()
	if !m.closed {
		m.closed = true
		m.eng.free()
	}
	return nil
}
