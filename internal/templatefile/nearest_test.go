package templatefile

import "testing"

func TestNearest(t *testing.T) {
	t.Parallel()
	names := []string{"alfworld", "webshop", "swebench"}
	for in, want := range map[string]string{"alfword": "alfworld", "shop": "webshop", "swe": "swebench"} {
		if got := Nearest(in, names); got != want {
			t.Errorf("nearest(%q) = %q, want %q", in, got, want)
		}
	}
	if Nearest("x", nil) != "" || Misspelt("x", names) != "" || Misspelt("webshp", names) != "webshop" {
		t.Error("nearest of nothing, or a slip")
	}
	for _, c := range []struct {
		a, b string
		want int
	}{{"", "", 0}, {"", "abc", 3}, {"kitten", "sitting", 3}, {"flaw", "lawn", 2}} {
		if got := editDistance(c.a, c.b); got != c.want || editDistance(c.b, c.a) != c.want {
			t.Errorf("distance of %q and %q: %d, want %d", c.a, c.b, got, c.want)
		}
	}
}
