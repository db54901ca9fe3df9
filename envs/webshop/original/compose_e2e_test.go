//go:build e2e

package original_test

import (
	"errors"
	"net"
	"os"
	"testing"
	"time"

	"github.com/hindsightrl/harness/envs/envdiff"
	"github.com/hindsightrl/harness/envs/originaltest"
	"github.com/hindsightrl/harness/envs/webshop/original"
	"github.com/hindsightrl/harness/internal/testutil"
)

// TestComposeWebShop: the service webshop becomes healthy, answers those who know its token at its
// published address, and plays an episode as the native shop does.
func TestComposeWebShop(t *testing.T) {
	checkout := os.Getenv(checkoutEnv)
	if checkout == "" {
		t.Skipf("no checkout of WebShop: set %s to one with its data (docs/originals.md)", checkoutEnv)
	}
	image := originaltest.WebShop(t, checkout)
	address := testutil.Address(t)
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		t.Fatal(err)
	}
	p := originaltest.Compose(t, "WEBSHOP_IMAGE="+image, "WEBSHOP_PORT="+port, "BRIDGE_TOKEN=open sesame")
	if _, err := p.Run(t.Context(), "--profile", "webshop", "up", "--detach", "--no-build", "webshop"); err != nil {
		t.Fatal(err)
	}
	native := shopOf(t, checkout, image)
	cfg := original.Config{Address: "ws://" + address, Token: "open sesame"}
	var s *original.Suite
	for until := time.Now().Add(10 * time.Minute); ; time.Sleep(time.Second) { // it loads its products first
		if s, err = original.New(t.Context(), native, cfg); err == nil {
			break
		}
		if time.Now().After(until) {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	cfg.Token = "wrong"
	if _, err := original.New(t.Context(), native, cfg); err == nil {
		t.Error("the service answers a wrong token")
	}
	tasks, err := native.Tasks(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	a, err := native.NewEnv(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	b, err := s.NewEnv(t.Context())
	if err != nil {
		t.Fatal(errors.Join(err, a.Close()))
	}
	res, err := envdiff.Play(t.Context(), a, b, tasks[0], envdiff.Config{Seed: 1, Steps: 12, Expert: 0.6, Fill: fill})
	if err = errors.Join(err, a.Close(), b.Close()); err != nil {
		t.Fatal(err)
	}
	if d := res.Difference; d != nil {
		t.Errorf("step %d, %q: %s\nnative   %q\noriginal %q", d.Step, d.Action, d.What, d.Native, d.Original)
	}
}
