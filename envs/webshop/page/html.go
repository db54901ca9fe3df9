package page

import (
	"bytes"
	"embed"
	"fmt"
	"strings"
	"text/template"

	"github.com/hindsightrl/harness/envs/webshop/internal/py"
)

//go:embed templates/*.html
var files embed.FS

// escaper writes what Jinja's autoescaping writes.
var escaper = strings.NewReplacer("&", "&amp;", ">", "&gt;", "<", "&lt;", "'", "&#39;", `"`, "&#34;")

// Escape makes text safe in HTML, text or attribute.
func Escape(s string) string { return escaper.Replace(s) }

// templates are text templates that escape by hand: html/template escapes other characters, and
// otherwise, than the original.
var templates = template.Must(template.New("").Funcs(template.FuncMap{
	"esc":    Escape,
	"add":    func(a, b int) int { return a + b },
	"tojson": func(d py.Dict) string { return py.HTMLJSON(d) },
	"choose": func(d py.Dict, name, value string) py.Dict {
		return append(py.Dict(nil), d...).Set(name, value)
	},
}).ParseFS(files, "templates/*.html"))

// templateNames of the sub pages.
var templateNames = map[string]string{
	Description: "description.html", Features: "features.html", Reviews: "review.html", Attributes: "attributes.html",
}

// HTML renders the page.
func (p *Page) HTML() (string, error) {
	name := map[Kind]string{Start: "search.html", Results: "results.html", Item: "item.html", Done: "done.html"}[p.Kind]
	if p.Kind == Sub {
		name = templateNames[p.Sub]
	}
	if p.Static == "" {
		q := *p
		q.Static = "/static/"
		p = &q
	}
	var b bytes.Buffer
	if err := templates.ExecuteTemplate(&b, name, p); err != nil {
		return "", fmt.Errorf("render page %q: %w", name, err)
	}
	return b.String(), nil
}
