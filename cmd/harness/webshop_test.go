package main

import (
	"path/filepath"
	"testing"
)

func TestShopCacheFolder(t *testing.T) {
	home := t.TempDir()
	t.Setenv("XDG_CACHE_HOME", home)
	for flag, want := range map[string]string{"": filepath.Join(home, "hindsight", "webshop"), noCache: "", "/somewhere": "/somewhere"} {
		f := shopFlags{cache: flag}
		if got := f.cacheFolder(); got != want {
			t.Errorf("--shop-cache %q keeps in %q, want %q", flag, got, want)
		}
	}
	t.Setenv("XDG_CACHE_HOME", "")
	t.Setenv("HOME", "")
	if got := (&shopFlags{}).cacheFolder(); got != "" {
		t.Errorf("without a cache folder it keeps in %q", got)
	}
}
