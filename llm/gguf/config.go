package gguf

import (
	"fmt"
	"runtime"
)

// Config says how a model is opened. The zero value is usable.
type Config struct {
	// LibDir is the folder with libllama.so; "" = where Install puts it.
	LibDir string
	// Name is the model's name for clients; "" = the file's name without its ending.
	Name string
	// Slots is how many sequences are worked on at once; 0 = 4.
	Slots int
	// ContextLength is the limit in tokens of one sequence, prompt and response together; 0 = what
	// the model was trained for, at most 8192, because the cache is allocated at once.
	ContextLength int
	// BatchTokens is how many tokens one pass takes; 0 = 256. Memory for logits grows with it.
	BatchTokens int
	// Threads computes with so many threads; 0 = half the processors (1 when Deterministic). The
	// library's threads wait for each other by spinning: one that has no processor stops them all.
	Threads int
	// Deterministic gives up speed for numbers that are equal whatever else runs; see the package.
	Deterministic bool
	// ChatTemplate overrides the file's own: a template's text or the name of one that llama.cpp
	// has built in ("chatml", "llama3", …). PlainTemplate joins the messages without roles.
	ChatTemplate string
}

// PlainTemplate names the rendering of models without a chat template: the contents of the messages,
// in order, one blank line between two, nothing else. The response continues the last of them.
const PlainTemplate = "plain"

const (
	defaultSlots   = 4
	defaultBatch   = 256
	maxAutoContext = 8192
)

// Validate reports a setting that cannot be meant.
func (c Config) Validate() error {
	for _, f := range []struct {
		name  string
		value int
		most  int
	}{
		{"slots", c.Slots, 256},
		{"context length", c.ContextLength, 1 << 24},
		{"batch tokens", c.BatchTokens, 1 << 16},
		{"threads", c.Threads, 512},
	} {
		if f.value < 0 || f.value > f.most {
			return fmt.Errorf("%s %d is not between 0 and %d", f.name, f.value, f.most)
		}
	}
	if c.Deterministic && c.Threads > 1 {
		return fmt.Errorf("deterministic mode runs one thread, not %d", c.Threads)
	}
	return nil
}

func (c Config) withDefaults() Config {
	if c.Slots == 0 {
		c.Slots = defaultSlots
	}
	if c.BatchTokens == 0 {
		c.BatchTokens = defaultBatch
	}
	if c.Threads == 0 {
		c.Threads = max(1, runtime.NumCPU()/2)
	}
	if c.Deterministic {
		c.Threads = 1
	}
	return c
}

// contextLength is the limit for a model that was trained for trained tokens.
func (c Config) contextLength(trained int) (int, error) {
	switch {
	case c.ContextLength == 0 && trained <= 0:
		return maxAutoContext, nil
	case c.ContextLength == 0:
		return min(trained, maxAutoContext), nil
	case trained > 0 && c.ContextLength > trained:
		return 0, fmt.Errorf("context length %d: the model was trained for %d tokens", c.ContextLength, trained)
	}
	return c.ContextLength, nil
}
