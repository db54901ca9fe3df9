package webshop_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hindsightrl/harness/envs/webshop"
	"github.com/hindsightrl/harness/internal/testutil"
)

// A record that was changed in one place fails in one case, which says where.
func TestVerifyFindsDifferences(t *testing.T) {
	t.Parallel()
	truth := testutil.Shared(t, "truth/webshop")
	lib, err := webshop.OpenLibrary(t.Context(), testutil.Shared(t, "data/webshop"), filepath.Join(truth, "stub_nouns_1k.json"))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ file, old, new, want string }{
		{"episodes_sw_text_human_seed42.jsonl", "Page 1 (Total results: 50)", "Page 1 (Total results: 51)", "observation at byte"},
		{"episodes_sw_text_human_seed42.jsonl", `"reward": 1.0`, `"reward": 0.5`, "reward differs"},
		{"episodes_sw_text_human_seed42.jsonl", `"next >"`, `"previous"`, "clickables["},
		{"episodes_sw_text_human_seed42.jsonl", `"title_score": 1.0`, `"title_score": 0.9`, "verbose_info"},
		{"parse_action.json", `"red shoes"`, `"red"`, "parts differs"},
		{"normalize_color.json", `": "grey"`, `": "gray"`, "colour differs"},
		{"flask_site.json", "Thank you for shopping", "Thanks for shopping", "body at byte"},
		{"site_logs/fixed_0.jsonl", `"page": 2`, `"page": 3`, "line"},
		{"rng.json", "udoczwzmhh", "udoczwzmhi", "letters differs"},
	} {
		raw, err := os.ReadFile(filepath.Join(truth, c.file))
		if err != nil {
			t.Fatal(err)
		}
		changed := bytes.Replace(raw, []byte(c.old), []byte(c.new), 1)
		if bytes.Equal(raw, changed) {
			t.Fatalf("%s does not hold %q", c.file, c.old)
		}
		var first error
		_, failed, err := webshop.Verify(t.Context(), c.file, bytes.NewReader(changed), lib, func(k webshop.Case) {
			if k.Err != nil && first == nil {
				first = k.Err
			}
		})
		if err != nil || failed != 1 || first == nil || !strings.Contains(first.Error(), c.want) {
			t.Errorf("%s with %q: %d failed, %v, %v, want one that says %q", c.file, c.new, failed, first, err, c.want)
		}
	}
	for text, want := range map[string]string{
		"": "no record", "{}": "no known kind", `{"a": `: "value 1", "[]": "no record", "[1]": "want objects", `{"variant": "xx", "steps": [], "reset": {}}`: "no WebShop variant",
	} {
		if _, _, err := webshop.Verify(t.Context(), "x", strings.NewReader(text), lib, nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}
