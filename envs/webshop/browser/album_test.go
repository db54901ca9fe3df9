package browser

import (
	"image/png"
	"os"
	"path/filepath"
	"testing"
)

// TestScreenshots: one picture for each observation, a folder for each attempt.
func TestScreenshots(t *testing.T) {
	t.Parallel()
	s := *embeddedSuite(t)
	s.cfg.Screenshots = t.TempDir()
	env := open(t, &s)
	for range 2 {
		mustReset(t, env, task(t, &s, 2))
		for _, a := range []string{"search[pan]", "click[nothing]"} {
			if _, err := env.Step(t.Context(), a); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, name := range []string{"001/000.png", "001/001.png", "001/002.png", "002/000.png", "002/002.png"} {
		f, err := os.Open(filepath.Join(s.cfg.Screenshots, "webshop-serl-synthetic-2-42", name))
		if err != nil {
			t.Fatal(err)
		}
		cfg, err := png.DecodeConfig(f)
		_ = f.Close() // it was read only
		if err != nil || cfg.Width != viewWidth || cfg.Height < viewHeight || cfg.Height > shotHeight {
			t.Errorf("%s is %d×%d (%v)", name, cfg.Width, cfg.Height, err)
		}
	}
}

func TestFileNames(t *testing.T) {
	t.Parallel()
	for key, want := range map[string]string{"webshop/serl-synthetic/3#42": "webshop-serl-synthetic-3-42", "a b\\../é": "a-b-..--", "": ""} {
		if got := fileName(key); got != want {
			t.Errorf("fileName(%q) = %q, want %q", key, got, want)
		}
	}
}
