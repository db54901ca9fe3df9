package shop_test

import (
	"slices"
	"testing"

	"github.com/hindsightrl/harness/envs/webshop/shop"
)

// As Python's re.match(r'(.+)\[(.+)\]', action).
func TestParseAction(t *testing.T) {
	t.Parallel()
	for action, want := range map[string][2]string{
		"search[red shoes]": {"search", "red shoes"}, "click[< prev]": {"click", "< prev"}, "click[x] trailing": {"click", "x"},
		"search[a [b] c]": {"search[a ", "b] c"}, "search[a[b]": {"search[a", "b"}, "search[x]]": {"search", "x]"}, "search[[x]": {"search[", "x"},
		"a[b]c[]": {"a", "b]c["}, "search[a]\nclick[b]": {"search", "a"}, "[[x]": {"[", "x"},
	} {
		if name, arg, ok := shop.ParseAction(action); !ok || name != want[0] || arg != want[1] {
			t.Errorf("%q: %q, %q, %v, want %q", action, name, arg, ok, want)
		}
	}
	for _, action := range []string{"", "x", "search[]", "a[b", "a]b[", "[x]", "search[line\nbreak]", "\nsearch[a]"} {
		if name, arg, ok := shop.ParseAction(action); ok || name != action || arg != "" {
			t.Errorf("%q: %q, %q, %v, want no argument", action, name, arg, ok)
		}
	}
}

// As Python's found[(n-1)*10 : n*10], also for numbers that are no page's.
func TestPageOf(t *testing.T) {
	t.Parallel()
	found := make([]int32, 25)
	for i := range found {
		found[i] = int32(i)
	}
	for n, want := range map[int][]int32{1: found[:10], 3: found[20:], 4: nil, 100: nil, 0: nil, -1: found[5:15], -2: found[:5], -3: nil} {
		if got := shop.PageOf(found, n); !slices.Equal(got, want) {
			t.Errorf("page %d: %v, want %v", n, got, want)
		}
	}
}
