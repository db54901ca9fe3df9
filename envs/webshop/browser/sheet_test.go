package browser

import (
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestAddresses(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ path, want, err string }{
		{"/seed1_fixed_7", "http://127.0.0.1:3000/7", ""},
		{"/search_results/s/['a', 'b/c']/2", "", "is no page of the shop"},
		{`/search_results/s/['a', 'b\x2fc']/2`, "http://127.0.0.1:3000/search_results/7/a+b/c/2", ""},
		{"/item_page/s/B01/['a']/1/{}", "http://127.0.0.1:3000/item_page/7/B01/a/1/{}", ""},
		{"/item_page/s/B01/['a']/1/{'size': '2\" é'}", `http://127.0.0.1:3000/item_page/7/B01/a/1/{"size": "2\" \u00e9"}`, ""},
		{"/item_sub_page/s/B01/['a']/1/Features/{'size': 'it is'}", "http://127.0.0.1:3000/item_sub_page/7/B01/a/1/Features/{'size': 'it is'}", ""},
		{"/done/s/B01/{'a': 'b'}", "http://127.0.0.1:3000/done/7/B01/{'a': 'b'}", ""},
		{"/done/s/B01/['a']", "", "the options are no dict"},
		{"/done/s/B01/{", "", "read address"},
		{"/search_results/s/a/1", "", "read address"},
		{"/search_results/s/[1]/1", "", "a keyword is no text"},
		{"/elsewhere/s", "", "is no page of the shop"},
		{"/elsewhere/s/a", "", "is no page of the shop"},
	} {
		parts := strings.Split(c.path, "/")
		for i := range parts {
			parts[i] = url.PathEscape(parts[i])
		}
		a, err := parseAddress("http://127.0.0.1:9" + strings.Join(parts, "/"))
		if c.err != "" {
			if err == nil || !strings.Contains(err.Error(), c.err) {
				t.Errorf("%s: got error %v, want %q", c.path, err, c.err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", c.path, err)
		} else if got := a.pretended("7"); got != c.want {
			t.Errorf("%s pretends\n%s\nwant\n%s", c.path, got, c.want)
		}
	}
}

func FuzzParseAddress(f *testing.F) {
	f.Add("http://127.0.0.1:9/seed1_fixed_7")
	f.Add("http://127.0.0.1:9/item_page/s/B01/%5B'a'%5D/1/%7B'x':%20'y'%7D")
	f.Add("http://127.0.0.1:9/done/s/B01/%7B%7D")
	f.Add("chrome-error://chromewebdata/")
	f.Add("%zz")
	f.Fuzz(func(t *testing.T, s string) {
		if a, err := parseAddress(s); err == nil {
			if got := a.pretended("0"); !strings.HasPrefix(got, "http://127.0.0.1:3000/") {
				t.Errorf("%q pretends %q", s, got)
			}
		}
	})
}

func TestSheet(t *testing.T) {
	t.Parallel()
	s := &sheet{
		Search: true,
		Clickables: []clickable{
			{"button", "Back to Search"}, {"link", "B0ABC"}, {"radio", "Large"}, {"radio", "back to search"}, {"radio", "Large"},
		},
		Nodes: []node{
			{Text: "\n  \n"},
			{Text: "  \t"},
			{Text: " one\u00a0", Parent: "h4"},
			{Text: "Back to Search", Parent: "button"},
			{Text: "Large", Parent: "label"},
			{Text: "small", Parent: "label"},
			{Text: "B0ABC", Parent: "a", Link: true},
			{Text: "B0XYZ", Parent: "a", Link: true},
			{Text: "\n", Parent: "pre", Pre: true},
			{Text: "\n\n", Parent: "pre", Pre: true},
		},
	}
	want := []string{"search[<your query>]", "click[back to search]", "click[b0abc]", "click[Large]"}
	if d := cmp.Diff(want, s.admissible()); d != "" {
		t.Errorf("admissible (-want +got):\n%s", d)
	}
	for name, want := range map[string]int{"back to search": 0, "b0abc": 1, "B0ABC": -1, "Large": 4, "large": -1, "": -1} {
		if got := s.find(name); got != want {
			t.Errorf("find(%q) = %d, want %d", name, got, want)
		}
	}
	if got, want := s.text(), " [SEP] one [SEP] Back to Search [SEP] Large [SEP] small [SEP] B0ABC [SEP] B0XYZ [SEP] "; got != want {
		t.Errorf("text is\n%q\nwant\n%q", got, want)
	}
	rich := "You have clicked Large.\n \n one\u00a0\n[button] Back to Search [button_]\n  [clicked button] Large [clicked button_]\n" +
		"  [button] small [button_]\n\n[clicked button] B0ABC [clicked button_]\n\n[button] B0XYZ [button_]\n\n\n\n"
	if d := cmp.Diff(rich, s.rich(`{"size": "Large"}`, []string{"B0ABC"})); d != "" {
		t.Errorf("rich (-want +got):\n%s", d)
	}
	if (&sheet{}).admissible() != nil {
		t.Error("a page without anything to click has actions")
	}
}

func TestScores(t *testing.T) {
	t.Parallel()
	for shown, want := range map[string]float64{"1.0": 1, " 0.25\n": 0.25, "0.0": 0} {
		if got, err := (&sheet{Reward: &shown}).score(); err != nil || got != want {
			t.Errorf("%q reads as %v, %v", shown, got, err)
		}
	}
	for _, shown := range []string{"", "None", "-1", "1.5", "NaN"} {
		if got, err := (&sheet{Reward: &shown}).score(); err == nil {
			t.Errorf("%q reads as %v", shown, got)
		}
	}
	if _, err := (&sheet{}).score(); err == nil {
		t.Error("a page without a reward has one")
	}
}

func TestTailKeepsTheEnd(t *testing.T) {
	t.Parallel()
	var b tail
	for range 1000 {
		if n, err := b.Write([]byte("a line of no use\n")); n != 17 || err != nil {
			t.Fatal(n, err)
		}
	}
	_, _ = b.Write([]byte("one\ntwo\n")) // it cannot fail
	if got := b.lines(2); got != "one | two" || len(b.buf) > keptOutput {
		t.Errorf("kept %d bytes, the last lines are %q", len(b.buf), got)
	}
}
