package gguf

import (
	"path/filepath"
	"strings"
	"testing"
)

func TestConfigValidate(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		c    Config
		want string // "" = fine
	}{
		{Config{}, ""},
		{Config{Deterministic: true, Threads: 1}, ""},
		{Config{Deterministic: true, Threads: 2}, "one thread, not 2"},
		{Config{Slots: -1}, "slots -1"},
		{Config{Slots: 257}, "slots 257"},
		{Config{ContextLength: -5}, "context length -5"},
		{Config{BatchTokens: 1 << 20}, "batch tokens"},
		{Config{Threads: 1000}, "threads 1000"},
	} {
		err := tc.c.Validate()
		if (err == nil) != (tc.want == "") || err != nil && !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%+v: %v, want %q", tc.c, err, tc.want)
		}
	}
}

func TestConfigDefaults(t *testing.T) {
	t.Parallel()
	c := Config{}.withDefaults()
	if c.Slots != defaultSlots || c.BatchTokens != defaultBatch || c.Threads < 1 {
		t.Errorf("defaults %+v", c)
	}
	if c = (Config{Deterministic: true}).withDefaults(); c.Threads != 1 {
		t.Errorf("deterministic mode has %d threads", c.Threads)
	}
}

func TestContextLengths(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		asked, trained, want int
		ok                   bool
	}{
		{0, 512, 512, true},
		{0, 1 << 20, maxAutoContext, true},
		{0, 0, maxAutoContext, true}, // a model that does not say
		{300, 512, 300, true},
		{513, 512, 0, false},
		{99999, 0, 99999, true},
		{1 << 17, 1 << 20, 1 << 17, true},
	} {
		got, err := Config{ContextLength: tc.asked}.contextLength(tc.trained)
		if got != tc.want || (err == nil) != tc.ok {
			t.Errorf("asked for %d, trained for %d: %d, %v", tc.asked, tc.trained, got, err)
		}
	}
}

// The library of a process is one: a second folder is refused by name, before anything is loaded.
func TestOneLibraryPerProcess(t *testing.T) {
	dir := library(t)
	if err := loadLib(dir); err != nil {
		t.Fatal(err)
	}
	other := filepath.Join(t.TempDir(), "other")
	if err := loadLib(other); err == nil || !strings.Contains(err.Error(), "already runs") {
		t.Errorf("a second library: %v", err)
	}
	if err := loadLib(filepath.Join(dir, "..", filepath.Base(dir))); err != nil {
		t.Errorf("the same folder under another name: %v", err)
	}
}
