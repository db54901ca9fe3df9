package browser

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/hindsightrl/harness/envs/webshop/internal/py"
)

// address is where a page of the site lies, taken apart.
type address struct {
	kind     string // a route: "search_results", "item_page", "item_sub_page", "done", or "" for the search page
	asin     string
	keywords []string
	number   string
	sub      string
	options  py.Dict
}

// routes tell what the parts of an address are, behind the session: asin, keywords, number of the page of
// results, name of the sub page, options.
var routes = map[string]string{
	"search_results": "kn", "item_page": "akno", "item_sub_page": "aknso", "done": "ao",
}

// parseAddress takes an address of the site apart.
func parseAddress(s string) (a address, err error) {
	u, err := url.Parse(s)
	if err != nil {
		return address{}, err
	}
	parts := strings.Split(strings.TrimPrefix(u.EscapedPath(), "/"), "/")
	for i, p := range parts {
		if parts[i], err = url.PathUnescape(p); err != nil {
			return address{}, err
		}
	}
	if len(parts) == 1 {
		return address{}, nil
	}
	layout := routes[parts[0]]
	if len(parts) != len(layout)+2 || layout == "" {
		return address{}, fmt.Errorf("%.200q is no page of the shop", s)
	}
	a.kind = parts[0]
	for i, p := range parts[2:] {
		switch layout[i] {
		case 'a':
			a.asin = p
		case 'k':
			a.keywords, err = words(p)
		case 'n':
			a.number = p
		case 's':
			a.sub = p
		case 'o':
			a.options, err = dict(p)
		}
		if err != nil {
			return address{}, fmt.Errorf("read address %.200q: %w", s, err)
		}
	}
	return a, nil
}

// words reads the words of a search, a Python list.
func words(s string) ([]string, error) {
	value, err := py.Literal(s)
	if err != nil {
		return nil, err
	}
	list, ok := value.([]any)
	if !ok {
		return nil, errors.New("the keywords are no list")
	}
	out := make([]string, len(list))
	for i, v := range list {
		if out[i], ok = v.(string); !ok {
			return nil, errors.New("a keyword is no text")
		}
	}
	return out, nil
}

func dict(s string) (py.Dict, error) {
	value, err := py.Literal(s)
	if err != nil {
		return nil, err
	}
	d, ok := value.(py.Dict)
	if !ok {
		return nil, errors.New("the options are no dict")
	}
	return d, nil
}

// pretended is where the text environment says that it is when it shows that page.
func (a address) pretended(session string) string {
	parts := []string{"http://127.0.0.1:3000"}
	if a.kind != "" {
		parts = append(parts, a.kind)
	}
	parts = append(parts, session)
	for _, p := range routes[a.kind] {
		switch p {
		case 'a':
			parts = append(parts, a.asin)
		case 'k':
			parts = append(parts, strings.Join(a.keywords, "+"))
		case 'n':
			parts = append(parts, a.number)
		case 's':
			parts = append(parts, a.sub)
		case 'o':
			if a.kind == "item_page" {
				parts = append(parts, py.JSON(slices.Clip(a.options)))
			} else {
				parts = append(parts, py.Repr(a.options))
			}
		}
	}
	return strings.Join(parts, "/")
}
