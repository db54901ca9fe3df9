package browser

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/go-rod/rod/lib/proto"

	"github.com/hindsightrl/harness"
	"github.com/hindsightrl/harness/envs/webshop"
	"github.com/hindsightrl/harness/envs/webshop/catalog"
)

// hostile is a product whose texts are everything that markup, script and addresses read.
func hostile(id string) map[string]any {
	const program = "`; window.pwned = 1; `${window.pwned = 1}"
	return map[string]any{
		"asin": id, "name": "Mug </h4></pre></script><script>window.pwned = 1</script> <img src=x onerror='window.pwned=1'> & &amp; &#39; \u00a0 \u2028",
		"full_description": "line\r\nbreak \r and\tTab <!-- no comment --> </body></html> " + program,
		"small_description": []string{
			"", " ", "\u00a0", "<b>bold</b>", "a \x85 b", strings.Repeat("long ", 20_000),
		},
		"pricing": "$5.00", "images": []string{"javascript:window.pwned=1"}, "category": "<c>", "query": "mugs", "product_category": "A › B",
		"customization_options": map[string]any{
			"size/inch": []any{value(`28" x 28"`, ""), value(`it's`, ""), value(`back\slash`, "")},
			"colour":    []any{value(program, "x`"), value("<script>window.pwned=1</script>", "\"'`"), value("é漢🛒", ""), value("Search", ""), value("buy now", ""), value("a]b[c", "")},
		},
	}
}

func value(v, image string) map[string]any { return map[string]any{"value": v, "image": image} }

func hostileShop(t *testing.T) *webshop.Suite {
	t.Helper()
	encode := func(v any) *strings.Reader {
		raw, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		return strings.NewReader(string(raw))
	}
	instruction := map[string]any{
		"attributes": []string{"<i>dry</i>"}, "instruction": "Buy </h4> a `mug` & <script>window.pwned=1</script>", "instruction_attributes": []string{"<i>dry</i>"},
	}
	s, err := webshop.NewFiles(t.Context(), catalog.Files{
		Products:   encode([]any{hostile("B000000001"), hostile("B000000002")}),
		Attributes: encode(map[string]any{"B000000001": instruction, "B000000002": instruction}),
	}, webshop.Config{})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestHostileProducts: no text of a product runs, breaks a page, or reads otherwise than natively.
func TestHostileProducts(t *testing.T) {
	t.Parallel()
	s := onShared(t, hostileShop(t))
	native, env := open(t, s.shop), open(t, s).(*Env)
	chosen := 0
	sideBySide(t, native, env, task(t, s, 0), func(step int, obs harness.Observation) string {
		if step > 0 {
			var pwned bool
			check(t, env, "window.pwned !== undefined", &pwned)
			if pwned {
				t.Fatalf("after step %d the page runs what a product says", step)
			}
		}
		opening := []string{"search[mug]", "click[b000000001]", "click[description]", "click[< prev]", "click[features]", "click[< prev]"}
		if step < len(opening) {
			return opening[step]
		}
		// Each option in turn: one that breaks the page's script leaves the next without effect.
		options := obs.Admissible
		for _, a := range options[min(chosen, len(options)):] {
			chosen++
			switch name := strings.TrimSuffix(strings.TrimPrefix(a, "click["), "]"); name {
			case "back to search", "< prev", "description", "features", "reviews", "buy now":
			default:
				return a
			}
		}
		if len(obs.Admissible) == 0 {
			return ""
		}
		return "click[buy now]"
	})
	if env.address.kind != "done" || len(env.address.options) != 2 {
		t.Errorf("the episode ended at %q with options %v", env.address.kind, env.address.options)
	}
}

// check evaluates an expression in the page.
func check(t *testing.T, env *Env, expression string, into any) {
	t.Helper()
	res, err := proto.RuntimeEvaluate{Expression: expression, ReturnByValue: true}.Call(env.tab.page.Context(t.Context()))
	if err != nil {
		t.Fatal(err)
	}
	raw, err := res.Result.Value.MarshalJSON()
	if err == nil {
		err = json.Unmarshal(raw, into)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// TestPagesAskNoOtherHost: the content policy holds in the browser, and the options' script runs.
func TestPagesAskNoOtherHost(t *testing.T) {
	t.Parallel()
	s := embeddedSuite(t)
	env := open(t, s).(*Env)
	mustReset(t, env, task(t, s, 0))
	if _, err := env.Step(t.Context(), "search[pan]"); err != nil {
		t.Fatal(err)
	}
	var hosts []string
	check(t, env, "performance.getEntriesByType('resource').map((r) => r.name)", &hosts)
	for _, h := range hosts {
		if !strings.HasPrefix(h, s.server.base+"/static/") {
			t.Errorf("the page asks for %s", h)
		}
	}
	if len(hosts) == 0 {
		t.Error("the page loads no style")
	}
}
