package site_test

import (
	"net/url"
	"strings"
	"testing"

	"github.com/hindsightrl/harness/envs/webshop/site"
)

// TestAsTextKeepsSlashes: the original's site loses a search with a slash, its text environment does not.
func TestAsTextKeepsSlashes(t *testing.T) {
	t.Parallel()
	for _, asText := range []bool{true, false} {
		h, _, _ := newSite(t, site.Config{AsText: asText})
		get(t, h, "GET", "/fixed_0", nil)
		res, _ := get(t, h, "POST", "/fixed_0", url.Values{"search_query": {"50/50 pan"}})
		to := res.Header.Get("Location")
		if kept := strings.Contains(to, `%5Cx2f`); kept != asText {
			t.Errorf("AsText %v leads to %s", asText, to)
		}
		res, body := get(t, h, "GET", to, nil)
		if found := res.StatusCode == 200 && strings.Contains(body, "Page 1 (Total results: "); found != asText {
			t.Errorf("AsText %v: %s gives status %d", asText, to, res.StatusCode)
		}
	}
}

// TestPagesHaveAPolicy: no text can run as a script in a browser, in pages that are not the original's.
func TestPagesHaveAPolicy(t *testing.T) {
	t.Parallel()
	for _, original := range []bool{true, false} {
		h, _, _ := newSite(t, site.Config{Original: original})
		res, _ := get(t, h, "GET", "/fixed_0", nil)
		if has := strings.Contains(res.Header.Get("Content-Security-Policy"), "script-src 'self';"); has == original {
			t.Errorf("original %v: a policy is there: %v", original, has)
		}
	}
}
