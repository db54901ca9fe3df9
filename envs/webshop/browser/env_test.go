package browser

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hindsightrl/harness"
	"github.com/hindsightrl/harness/envs/envtest"
	"github.com/hindsightrl/harness/envs/webshop"
	"github.com/hindsightrl/harness/envs/webshop/embedded"
	"github.com/hindsightrl/harness/envs/webshop/shop"
)

func TestEnvPassesTheSuite(t *testing.T) {
	t.Parallel()
	s := embeddedSuite(t)
	newEnv := func(tb testing.TB) harness.Env { return open(tb, s) }
	envtest.RunWith(t, newEnv, task(t, s, 3), envtest.Options{
		Steps: 8, UnknownTask: harness.Task{Env: webshop.Name, ID: "serl-synthetic/99999999"}, Admissible: shop.Offers,
	})
}

// sideBySide plays actions in the native environment and in the browser and compares all that comes
// back. choose picks the next action; "" ends the episode.
func sideBySide(t *testing.T, native, browser harness.Env, task harness.Task, choose func(step int, obs harness.Observation) string) {
	t.Helper()
	want, err := native.Reset(t.Context(), task)
	if err != nil {
		t.Fatal(err)
	}
	got, err := browser.Reset(t.Context(), task)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Fatalf("reset of %s (-native +browser):\n%s", task.Key(), d)
	}
	var done []string
	for step := 0; ; step++ {
		action := choose(step, want)
		if action == "" {
			return
		}
		done = append(done, action)
		a, err := native.Step(t.Context(), action)
		if err != nil {
			t.Fatal(err)
		}
		b, err := browser.Step(t.Context(), action)
		if err != nil {
			t.Fatalf("after %.500q: %v", done, err)
		}
		if d := cmp.Diff(a, b); d != "" {
			t.Fatalf("after %.500q (-native +browser):\n%s", done, d)
		}
		want = a.Observation
	}
}

// replay chooses from a list.
func replay(actions []string) func(int, harness.Observation) string {
	return func(step int, _ harness.Observation) string {
		if step < len(actions) {
			return actions[step]
		}
		return ""
	}
}

// wander chooses at random among what the page offers, and at times what it does not.
func wander(rng *rand.Rand, steps int) func(int, harness.Observation) string {
	return func(step int, obs harness.Observation) string {
		switch {
		case step >= steps:
			return ""
		case step == 0 || rng.IntN(10) == 0:
			words := strings.Fields(obs.Task)
			from := rng.IntN(len(words))
			return "search[" + strings.Join(words[from:min(from+6, len(words))], " ") + "]"
		case len(obs.Admissible) == 0 || rng.IntN(12) == 0:
			return []string{"click[nothing]", "look", "click[search]", "click[Back to Search]", "press[x]"}[rng.IntN(5)]
		}
		return obs.Admissible[rng.IntN(len(obs.Admissible))]
	}
}

// TestBrowserAgreesWithNative walks at random; every observation, list of actions, reward and
// explanation must be equal.
func TestBrowserAgreesWithNative(t *testing.T) {
	t.Parallel()
	for _, mode := range []shop.Mode{shop.Text, shop.Rich, shop.URL} {
		t.Run(string(mode), func(t *testing.T) {
			t.Parallel()
			s := embeddedSuite(t)
			if mode != shop.Text {
				native, err := embedded.SuiteWith(t.Context(), webshop.Config{Mode: mode})
				if err != nil {
					t.Fatal(err)
				}
				other := *s // the same browser shows another observation
				other.shop = native
				s = &other
			}
			native, browser := open(t, s.shop), open(t, s)
			for seed := range uint64(4) {
				t.Logf("seed %d", seed)
				rng := rand.New(rand.NewPCG(seed, 11))
				sideBySide(t, native, browser, task(t, s, rng.IntN(300)), wander(rng, 12))
			}
		})
	}
}

// TestBrowserAgreesOnStrangeActions: slashes end an address of the original's site, quotes and
// backslashes a literal, carriage returns a field.
func TestBrowserAgreesOnStrangeActions(t *testing.T) {
	t.Parallel()
	s := embeddedSuite(t)
	sideBySide(t, open(t, s.shop), open(t, s), task(t, s, 5), replay([]string{
		"search[50/50 cotton a/../b //]", "click[next >]", "click[< prev]", `search["red" 'blue' \ %2F %00 + & ? # é 漢字 🛒]`, "click[next >]",
		"search[a\rb]", "search[x\x00y]", "search[]", "search[ ]", "search[the]", "click[next >]", "search[<a> cotton]", "search[<c>]",
		"search[<q> nothing]", "search[<script>alert(1)</script>]", "click[]", "click[back to search]", "click[back to search]", "", "\xff",
		"search[shirt][blue]", "Search[x]", "click[buy now]",
	}))
}

// TestExpertWinsInTheBrowser follows the native expert, whose actions lead to a purchase.
func TestExpertWinsInTheBrowser(t *testing.T) {
	t.Parallel()
	s := embeddedSuite(t)
	native, browser := open(t, s.shop), open(t, s)
	expert := native.(harness.Advisor)
	won := false
	sideBySide(t, native, browser, task(t, s, 8), func(step int, obs harness.Observation) string {
		if len(obs.Admissible) == 0 || step > 30 {
			won = step <= 30
			return ""
		}
		a, err := expert.Advise(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return a
	})
	if !won {
		t.Error("the expert did not finish")
	}
	tr, err := browser.Step(t.Context(), "click[back to search]")
	if err != nil || !tr.Done || !tr.Won || tr.Reward != 0 {
		t.Errorf("a step after the end gives %+v, %v; want the last answer without reward", tr, err)
	}
}

func TestLongSearchesDoNotFitIntoAddresses(t *testing.T) {
	t.Parallel()
	s := embeddedSuite(t)
	env := open(t, s)
	first, err := env.Reset(t.Context(), task(t, s, 0))
	if err != nil {
		t.Fatal(err)
	}
	tr, err := env.Step(t.Context(), "search["+strings.Repeat("cotton ", 150_000)+"]")
	if err != nil || !strings.Contains(tr.Privileged, "does not fit into an address") || tr.Observation.Text != first.Text {
		t.Errorf("got %.200q, %v", tr.Privileged, err)
	}
	native, browser := open(t, s.shop), open(t, s)
	sideBySide(t, native, browser, task(t, s, 0), replay([]string{"search[" + strings.Repeat("cotton ", 3000) + "]", "click[next >]", "click[back to search]"}))
}
