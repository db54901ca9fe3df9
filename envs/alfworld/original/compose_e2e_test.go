//go:build e2e

package original_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/hindsightrl/harness/envs/originaltest"
)

// TestComposeHarness: the service's image is this program; it plays games into the ledger of its volume, and
// another container of the service finds them there and reads them whole.
func TestComposeHarness(t *testing.T) {
	p := originaltest.Compose(t, "HARNESS_IMAGE="+originaltest.Harness(t))
	harness := func(args ...string) string {
		t.Helper()
		out, err := p.Run(t.Context(), slices.Concat([]string{"--profile", "harness", "run", "--rm", "--no-deps", "-T", "harness"}, args)...)
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	for want, args := range map[string][]string{
		"harness ":  {"--version"},
		"alfworld ": {"env", "list"},
		"100.0%":    {"rollout", "--env", "alfworld", "--policy", "expert", "--tasks", "2", "--group", "2", "--name", "e2e", "--quiet"},
		"webshop ":  {"rollout", "--env", "webshop", "--policy", "expert", "--tasks", "1", "--group", "1", "--name", "shop", "--quiet"},
	} {
		if out := harness(args...); !strings.Contains(out, want) {
			t.Errorf("%v: %q is not in\n%s", args, want, out)
		}
	}
	if out := harness("runs"); !strings.Contains(out, "e2e") || !strings.Contains(out, "shop") {
		t.Errorf("runs in another container:\n%s", out)
	}
	if out := harness("db", "check"); !strings.Contains(out, "hindsight.db: 0 violations") {
		t.Errorf("check:\n%s", out)
	}
}

// TestComposeHarnessPlaysTheOriginal: the service's own command plays the service alfworld, which it waits
// for.
func TestComposeHarnessPlaysTheOriginal(t *testing.T) {
	p := originaltest.Compose(t, "ALFWORLD_IMAGE="+originaltest.ALFWorld(t), "HARNESS_IMAGE="+originaltest.Harness(t), "ALFWORLD_PORT="+freePort(t), "BRIDGE_TOKEN=open sesame")
	out, err := p.Run(t.Context(), "--profile", "harness", "run", "--rm", "-T", "harness")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(out, "100.0%") {
		t.Errorf("the expert did not win every game of the original:\n%s", out)
	}
}
