package browser

import (
	"context"
	"fmt"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/hindsightrl/harness"
	"github.com/hindsightrl/harness/envs/webshop"
	"github.com/hindsightrl/harness/envs/webshop/embedded"
	"github.com/hindsightrl/harness/internal/testutil"
)

// shared is the suite of the tests that harm no browser: one Chromium for all of them.
var shared struct {
	once  sync.Once
	suite *Suite
	err   error
}

func TestMain(m *testing.M) {
	code := m.Run()
	if shared.suite != nil {
		if err := shared.suite.Close(); err != nil {
			fmt.Fprintln(os.Stderr, "close the shared browser:", err)
			code = 1
		}
	}
	if code == 0 {
		if err := testutil.FindLeaks(time.Minute); err != nil {
			fmt.Fprintln(os.Stderr, "goroutines leaked:", err)
			code = 1
		}
	}
	os.Exit(code)
}

// needBrowser skips a test where there is no Chromium, and in short runs: pages take their time.
func needBrowser(tb testing.TB) {
	tb.Helper()
	if testing.Short() {
		tb.Skip("Chromium takes its time: left out of -short")
	}
	if _, err := Find(""); err != nil {
		tb.Skip("no Chromium in the search path: apt-get install chromium runs the browser tests")
	}
}

// embeddedSuite is the shared suite, on the embedded shop.
func embeddedSuite(tb testing.TB) *Suite {
	tb.Helper()
	needBrowser(tb)
	shared.once.Do(func() {
		var shop *webshop.Suite
		if shop, shared.err = embedded.Suite(context.Background()); shared.err == nil {
			shared.suite, shared.err = New(shop, Config{Pages: 6})
		}
	})
	if shared.err != nil {
		tb.Fatal(shared.err)
	}
	return shared.suite
}

// onShared is a suite of another shop in the shared browser; the test's end closes it.
func onShared(tb testing.TB, shop *webshop.Suite) *Suite {
	tb.Helper()
	s := *embeddedSuite(tb)
	s.shop = shop
	var err error
	if s.server, err = serve(shop.Shop(), shop.World); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := s.server.close(); err != nil {
			tb.Errorf("close server: %v", err)
		}
	})
	return &s
}

// ownSuite opens a suite with a browser of its own; the test's end closes it.
func ownSuite(tb testing.TB, shop *webshop.Suite, cfg Config) *Suite {
	tb.Helper()
	if cfg.Bin == "" {
		needBrowser(tb)
	}
	if shop == nil {
		var err error
		if shop, err = embedded.Suite(tb.Context()); err != nil {
			tb.Fatal(err)
		}
	}
	s, err := New(shop, cfg)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := s.Close(); err != nil {
			tb.Errorf("close suite: %v", err)
		}
	})
	return s
}

// open opens an environment; the test's end closes it.
func open(tb testing.TB, s harness.Suite) harness.Env {
	tb.Helper()
	env, err := s.NewEnv(tb.Context())
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := env.Close(); err != nil {
			tb.Errorf("close: %v", err)
		}
	})
	return env
}

func task(tb testing.TB, s *Suite, index int) harness.Task {
	tb.Helper()
	t, err := s.shop.Task(0, index)
	if err != nil {
		tb.Fatal(err)
	}
	return t
}
