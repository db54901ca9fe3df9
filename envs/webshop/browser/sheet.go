package browser

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/hindsightrl/harness/envs/webshop/page"
	"github.com/hindsightrl/harness/envs/webshop/shop"
	"github.com/hindsightrl/harness/internal/pystr"
)

// sheet is what was read from a page.
type sheet struct {
	URL        string      `json:"url"`
	Status     int         `json:"status"` // of HTTP
	Search     bool        `json:"search"` // there is a search field
	Clickables []clickable `json:"clickables"`
	Nodes      []node      `json:"nodes"`
	Reward     *string     `json:"reward"` // as shown; null but on the last page
	Source     string      `json:"source"`
}

// clickable is an element that takes clicks.
type clickable struct {
	Kind string `json:"kind"` // "button", "link" or "radio"
	Name string `json:"name"` // as shown
}

// node is a text of the page.
type node struct {
	Text   string `json:"text"`
	Parent string `json:"parent"` // the element's name
	Link   bool   `json:"link"`   // to a product
	Pre    bool   `json:"pre"`    // white space counts
}

// check reports a page that is none of the shop's.
func (s *sheet) check() error {
	if s.Status == http.StatusOK {
		return nil
	}
	said := make([]string, len(s.Nodes))
	for i, n := range s.Nodes {
		said[i] = n.Text
	}
	return fmt.Errorf("the site answers %s with status %d: %.200s", s.URL, s.Status, strings.Join(said, " "))
}

// name is what actions call an element: an option by its value, all others in lower case.
func (c clickable) name() string {
	if c.Kind == "radio" {
		return c.Name
	}
	return pystr.Lower(c.Name)
}

// find finds the element that a click on a name hits: a button before a link or an option, of options
// the last. -1 if there is none.
func (s *sheet) find(name string) int {
	found := -1
	for i, c := range slices.Backward(s.Clickables) {
		if c.name() == name && (found < 0 || c.Kind == "button") {
			found = i
		}
	}
	return found
}

// admissible lists the actions that the page offers, as the native environment does.
func (s *sheet) admissible() []string {
	if len(s.Clickables) == 0 {
		return nil
	}
	var out []string
	if s.Search {
		out = append(out, shop.SearchAction)
	}
	seen := map[string]bool{}
	for _, c := range s.Clickables {
		if name := c.name(); !seen[name] {
			seen[name] = true
			out = append(out, "click["+name+"]")
		}
	}
	return out
}

// score reads the reward of the last page.
func (s *sheet) score() (float64, error) {
	if s.Reward == nil {
		return 0, errors.New("the last page shows no reward")
	}
	score, err := strconv.ParseFloat(strings.TrimSpace(*s.Reward), 64)
	if err != nil || !(score >= 0 && score <= 1) {
		return 0, fmt.Errorf("the last page shows the reward %q", *s.Reward)
	}
	return score, nil
}

// visible is a text as BeautifulSoup keeps it; ok is false for those that observations leave out:
// white space with a line break in it, between elements.
func (n node) visible() (text string, ok bool) {
	switch {
	case n.Text == "\n":
		return "", false
	case n.Pre || strings.Trim(n.Text, " \n\t\f\r") != "":
		return n.Text, true
	}
	return " ", !strings.Contains(n.Text, "\n")
}

// text is the observation of mode "text".
func (s *sheet) text() string {
	var parts []string
	for _, n := range s.Nodes {
		if text, ok := n.visible(); ok {
			parts = append(parts, pystr.Strip(text))
		}
	}
	return strings.Join(parts, page.Separator)
}

// rich is the observation of mode "text_rich". Clicked options are found in the address that the
// environment pretends to be at, clicked products among the visited.
func (s *sheet) rich(address string, visited []string) string {
	var head, body strings.Builder
	var clicked []string
	for _, n := range s.Nodes {
		text, ok := n.visible()
		if !ok {
			continue
		}
		was := ""
		switch {
		case n.Parent == "button":
			body.WriteString("[button] " + text + " [button_]\n")
			continue
		case n.Parent == "label":
			body.WriteString("  ")
			if strings.Contains(address, `"`+text+`"`) {
				was = "clicked "
				clicked = append(clicked, text)
			}
		case n.Link:
			body.WriteString("\n")
			if slices.Contains(visited, text) {
				was = "clicked "
			}
		default:
			body.WriteString(text + "\n")
			continue
		}
		body.WriteString("[" + was + "button] " + text + " [" + was + "button_]\n")
	}
	// Each is put before all that is there.
	for _, text := range slices.Backward(clicked) {
		head.WriteString("You have clicked " + text + ".\n")
	}
	return head.String() + body.String()
}
