package site_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/hindsightrl/harness/envs/webshop"
	"github.com/hindsightrl/harness/envs/webshop/catalog"
	"github.com/hindsightrl/harness/envs/webshop/embedded"
	"github.com/hindsightrl/harness/envs/webshop/site"
)

func newSite(tb testing.TB, cfg site.Config) (*site.Site, *catalog.World, *webshop.Suite) {
	tb.Helper()
	suite, err := embedded.SuiteWith(tb.Context(), webshop.Config{Human: true})
	if err != nil {
		tb.Fatal(err)
	}
	w, err := catalog.NewWorld(suite.Shop().Catalog, catalog.WorldConfig{Variant: catalog.Princeton, Human: true})
	if err != nil {
		tb.Fatal(err)
	}
	return site.New(suite.Shop(), w, cfg), w, suite
}

func get(tb testing.TB, h http.Handler, method, target string, form url.Values) (*http.Response, string) {
	tb.Helper()
	var body io.Reader
	if form != nil {
		body = strings.NewReader(form.Encode())
	}
	req := httptest.NewRequest(method, target, body)
	if form != nil {
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, req)
	res := w.Result()
	raw, err := io.ReadAll(res.Body)
	if err != nil {
		tb.Fatal(err)
	}
	_ = res.Body.Close()
	return res, string(raw)
}

// A visit from the first page to the last, by the links of the pages.
func TestVisit(t *testing.T) {
	t.Parallel()
	var logged []string
	h, w, suite := newSite(t, site.Config{Log: func(session string, line []byte) { logged = append(logged, session+" "+string(line)) }})
	g := w.At(0)
	product := suite.Shop().Products[g.Product]
	if res, _ := get(t, h, "GET", "/", nil); res.StatusCode != 302 || res.Header.Get("Location") != "/abc" {
		t.Errorf("/: %d to %q", res.StatusCode, res.Header.Get("Location"))
	}
	if _, body := get(t, h, "GET", "/fixed_0", nil); !strings.Contains(body, strings.ReplaceAll(g.Instruction, "'", "&#39;")) {
		t.Errorf("the first page lacks the instruction %q:\n%s", g.Instruction, body)
	}
	res, _ := get(t, h, "POST", "/fixed_0", url.Values{"search_query": {product.Title}})
	results := res.Header.Get("Location")
	if res.StatusCode != 302 || !strings.HasPrefix(results, "/search_results/fixed_0/%5B'") {
		t.Fatalf("a search leads to %d %q", res.StatusCode, results)
	}
	_, body := get(t, h, "GET", results, nil)
	item := href(t, body, `class="product-link" href="`)
	_, body = get(t, h, "GET", item, nil)
	if !strings.Contains(body, "<h2>"+product.Title+"</h2>") {
		t.Errorf("the first result is not the product that the search named:\n%s", body)
	}
	for _, o := range product.Options {
		item = href(t, body, `value="`+o.Values[0]+`" data-url="`)
		_, body = get(t, h, "GET", item, nil)
	}
	sub := href(t, body, `<form method="post" action="/item_sub_page`)
	if _, page := get(t, h, "POST", "/item_sub_page"+sub, nil); !strings.Contains(page, "product-info") {
		t.Errorf("the description's page:\n%s", page)
	}
	done := "/done" + href(t, body, `<form method="post" action="/done`)
	_, body = get(t, h, "POST", done, nil)
	if !strings.Contains(body, "Your score") || !strings.Contains(body, site.Code("fixed_0")) {
		t.Errorf("the last page:\n%s", body)
	}
	if len(logged) < 5 || !strings.Contains(logged[len(logged)-1], `"reward": `) || !strings.HasPrefix(logged[0], "fixed_0 {") {
		t.Errorf("logged %d lines: %q", len(logged), logged)
	}
}

// href is what follows a mark, up to the quote.
func href(t *testing.T, body, mark string) string {
	t.Helper()
	_, rest, ok := strings.Cut(body, mark)
	link, _, end := strings.Cut(rest, `"`)
	if !ok || !end {
		t.Fatalf("no %s in\n%s", mark, body)
	}
	return strings.NewReplacer("&#39;", "'", "&amp;", "&").Replace(link)
}

func TestPagesLoadNothingFromElsewhere(t *testing.T) {
	t.Parallel()
	h, _, suite := newSite(t, site.Config{})
	get(t, h, "GET", "/fixed_0", nil)
	asin := suite.Shop().Products[0].ASIN
	for _, target := range []string{
		"/fixed_0", "/search_results/fixed_0/pan/1", "/item_page/fixed_0/" + asin + "/pan/1/%7B%7D", "/item_sub_page/fixed_0/" + asin + "/pan/1/Features/%7B%7D",
		"/item_sub_page/fixed_0/" + asin + "/pan/1/Attributes/%7B%7D", "/done/fixed_0/" + asin + "/%7B%7D",
	} {
		res, body := get(t, h, "GET", target, nil)
		if res.StatusCode != 200 || strings.Contains(body, `src="http`) || strings.Contains(body, `href="http`) {
			t.Errorf("%s: %d\n%s", target, res.StatusCode, body)
		}
	}
	for name, typ := range map[string]string{"style.css": "text/css", "shop.js": "text/javascript", "product.svg": "image/svg"} {
		res, body := get(t, h, "GET", "/static/"+name, nil)
		if res.StatusCode != 200 || !strings.HasPrefix(res.Header.Get("Content-Type"), typ) || body == "" {
			t.Errorf("%s: %d %s", name, res.StatusCode, res.Header.Get("Content-Type"))
		}
	}
}

// What the original's site cannot do ends in its own error pages, and in nothing worse.
func TestBadRequests(t *testing.T) {
	t.Parallel()
	h, w, suite := newSite(t, site.Config{})
	get(t, h, "GET", "/fixed_0", nil)
	asin := suite.Shop().Products[0].ASIN
	for _, c := range []struct {
		method, target string
		want           int
	}{
		{"GET", "/search_results/fixed_0/%5B'a/c'%5D/1", 404}, // a slash ends the part
		{"GET", "/nowhere/at/all", 404},
		{"GET", "/fixed_0/", 404},
		{"GET", "/static/../site.go", 404},
		{"GET", "/static/%2e%2e/site.go", 404},
		{"PUT", "/fixed_0", 405},
		{"GET", "/search_results/nobody/pan/1", 500},
		{"GET", fmt.Sprintf("/fixed_%d", w.Len()), 500},
		{"GET", "/fixed_x", 500},
		{"GET", "/search_results/fixed_0/pan/one", 500},
		{"GET", "/search_results/fixed_0/%5B%5D/1", 500},
		{"GET", "/search_results/fixed_0/%5B'open/1", 500},
		{"GET", "/search_results/fixed_0/%5B1,2%5D/1", 500},
		{"GET", "/item_page/fixed_0/B000000000/pan/1/%7B%7D", 500},
		{"GET", "/item_page/fixed_0/" + asin + "/pan/1/__import__('os')", 500},
		{"GET", "/item_page/fixed_0/" + asin + "/pan/1/%5B%5D", 500},
		{"GET", "/item_sub_page/fixed_0/" + asin + "/pan/1/Elsewhere/%7B%7D", 500},
		{"GET", "/search_results/fixed_0/%5B'%3Ca%3E',%20'non%20stick'%5D/1", 200},
		{"GET", "/search_results/fixed_0/%5B'%3Cr%3E'%5D/1", 200},
		{"GET", "/search_results/fixed_0/%5B'%3Cc%3E'%5D/1", 500},
		{"GET", "/search_results/fixed_0/pan/-5", 200},
		{"GET", "/%ff%fe", 200}, // a session with a strange name
	} {
		res, body := get(t, h, c.method, c.target, nil)
		if res.StatusCode != c.want {
			t.Errorf("%s %s: %d, want %d\n%.300s", c.method, c.target, res.StatusCode, c.want, body)
		}
	}
	if res, _ := get(t, h, "POST", "/fixed_0", url.Values{"search_query": {strings.Repeat("x", 5<<20)}}); res.StatusCode != 500 {
		t.Errorf("a form of 5 MB: %d", res.StatusCode)
	}
}

// Nothing that a visitor sends comes back as markup.
func TestEverythingIsEscaped(t *testing.T) {
	t.Parallel()
	h, _, _ := newSite(t, site.Config{})
	get(t, h, "GET", "/fixed_0", nil)
	evil := `<script>alert("1")</script>'"`
	res, _ := get(t, h, "POST", "/fixed_0", url.Values{"search_query": {evil}})
	for _, target := range []string{
		"/search_results/fixed_0/" + url.PathEscape("<script>") + "/1", "/" + url.PathEscape("<script>alert(1)<"),
		"/item_page/fixed_0/HS00000000/" + url.PathEscape("<script>x") + "/1/" + url.PathEscape("{'<script>x': '<script>x'}"),
	} {
		_, body := get(t, h, "GET", target, nil)
		if strings.Contains(body, "<script>x") || strings.Contains(body, "<script>alert") {
			t.Errorf("%s comes back as markup:\n%s", target, body)
		}
	}
	if strings.ContainsAny(res.Header.Get("Location"), "<>\" \n") {
		t.Errorf("location %q", res.Header.Get("Location"))
	}
}

// A thousand sessions at once each keep their goal.
func TestParallelSessions(t *testing.T) {
	t.Parallel()
	h, w, _ := newSite(t, site.Config{Log: func(string, []byte) {}})
	var wg sync.WaitGroup
	sessions := 1000
	if testing.Short() {
		sessions = 100
	}
	for i := range sessions {
		wg.Go(func() {
			session := fmt.Sprintf("visitor%d", i)
			if i%2 == 0 {
				session = fmt.Sprintf("fixed_%d_%d", i, i%w.Len())
			}
			for range 1 + i%2 {
				get(t, h, "GET", "/"+session, nil)
				get(t, h, "GET", "/search_results/"+session+"/pan/1", nil)
			}
			k, ok := h.Goal(session)
			g := w.At(k)
			_, body := get(t, h, "GET", "/"+session, nil)
			if !ok || !strings.Contains(body, strings.ReplaceAll(g.Instruction, "'", "&#39;")) || i%2 == 0 && k != i%w.Len() {
				t.Errorf("session %s has goal %d", session, k)
			}
		})
	}
	wg.Wait()
}

func FuzzAddresses(f *testing.F) {
	for _, s := range []string{"/fixed_0", "/search_results/fixed_0/%5B'a'%5D/1", "/item_page/fixed_0/HS00000000/x/1/%7B%7D", "/done/fixed_0/HS00000000/%7B'a':%20'b'%7D", "/%ff"} {
		f.Add(s)
	}
	h, _, _ := newSite(f, site.Config{Log: func(string, []byte) {}})
	get(f, h, "GET", "/fixed_0", nil)
	f.Fuzz(func(t *testing.T, path string) {
		u, err := url.Parse("http://localhost/" + strings.TrimLeft(path, "/"))
		if err != nil || u.Host != "localhost" {
			return
		}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, &http.Request{Method: "GET", URL: u, Host: "localhost", Header: http.Header{}, Body: http.NoBody})
		if w.Code < 200 || w.Code > 599 {
			t.Fatalf("status %d", w.Code)
		}
	})
}
