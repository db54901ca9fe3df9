package pyjson_test

import (
	"encoding/json"
	"testing"
	"unicode/utf8"

	"github.com/hindsightrl/harness/internal/pyjson"
)

// Expected values are json.dumps' own.
func TestIndent(t *testing.T) {
	t.Parallel()
	v := pyjson.Object{
		{Key: "b", Value: []any{1, int64(-2), true, nil, []any{}, pyjson.Object{}}},
		{Key: "a\n", Value: []string{"é", "😀"}},
		{Key: "none", Value: []string(nil)},
	}
	want := "{\n  \"b\": [\n    1,\n    -2,\n    true,\n    null,\n    [],\n    {}\n  ],\n  \"a\\n\": [\n    \"\\u00e9\",\n    \"\\ud83d\\ude00\"\n  ],\n  \"none\": []\n}"
	if got := string(pyjson.Indent(v, 2)); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestQuote(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"":                       `""`,
		"a\"\\/\b\f\n\r\t\x01":   `"a\"\\/\b\f\n\r\t\u0001"`,
		"<&>\x7f":                "\"<&>\x7f\"",
		"\u2028\uffff\U00010000": `"\u2028\uffff\ud800\udc00"`,
		"\xff":                   `"\ufffd"`,
	} {
		if got := pyjson.Quote(in); got != want {
			t.Errorf("Quote(%q) = %s, want %s", in, got, want)
		}
	}
}

func TestIndentRefusesOtherTypes(t *testing.T) {
	t.Parallel()
	defer func() {
		if recover() == nil {
			t.Error("a float was written")
		}
	}()
	pyjson.Indent(1.5, 2)
}

func FuzzQuote(f *testing.F) {
	f.Add("é\x00\U0001F600")
	f.Fuzz(func(t *testing.T, s string) {
		q := pyjson.Quote(s)
		var back string
		if err := json.Unmarshal([]byte(q), &back); err != nil {
			t.Fatalf("%q gives %s: %v", s, q, err)
		}
		if utf8.ValidString(s) && back != s {
			t.Errorf("%q comes back as %q", s, back)
		}
	})
}
