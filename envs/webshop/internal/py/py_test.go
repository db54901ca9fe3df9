package py

import (
	"math"
	"reflect"
	"strings"
	"testing"
)

// Values and texts are those of python@3.11.
func TestFloat(t *testing.T) {
	t.Parallel()
	for f, want := range map[float64]string{
		0: "0.0", 13: "13.0", 24.99: "24.99", 0.30000000000000004: "0.30000000000000004", 1e16: "1e+16", 1e15: "1000000000000000.0",
		0.0001: "0.0001", 0.00001: "1e-05", 123456789012345680: "1.2345678901234568e+17", -2.5: "-2.5", math.Inf(1): "inf", math.Inf(-1): "-inf",
	} {
		if got := Float(f); got != want {
			t.Errorf("Float(%v) = %s, want %s", f, got, want)
		}
	}
	if got := Float(math.NaN()); got != "nan" {
		t.Errorf("NaN prints %s", got)
	}
}

func TestReprAndJSON(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		v          any
		repr, json string
	}{
		{nil, "None", "null"},
		{true, "True", "true"},
		{7, "7", "7"},
		{1.0, "1.0", "1.0"},
		{"it's", `"it's"`, `"it's"`},
		{`28" x 28"`, `'28" x 28"'`, `"28\" x 28\""`},
		{`both ' and "`, `'both \' and "'`, `"both ' and \""`},
		{"a\n\t\r\\\x00\x7f", `'a\n\t\r\\\x00\x7f'`, "\"a\\n\\t\\r\\\\\\u0000\x7f\""},
		{"é\u00a0\u200b😀", `'é\xa0\u200b😀'`, `"\u00e9\u00a0\u200b\ud83d\ude00"`},
		{[]any{"a", 1}, "['a', 1]", `["a", 1]`},
		{Tuple{"size", "large"}, "('size', 'large')", `["size", "large"]`},
		{Tuple{"x"}, "('x',)", `["x"]`},
		{Dict{{"b", 1}, {"a", []any{}}}, "{'b': 1, 'a': []}", `{"b": 1, "a": []}`},
		{Dict(nil), "{}", "{}"},
	} {
		if got := Repr(c.v); got != c.repr {
			t.Errorf("repr: %s, want %s", got, c.repr)
		}
		if got := JSON(c.v); got != c.json {
			t.Errorf("json: %s, want %s", got, c.json)
		}
	}
	if got, want := HTMLJSON(Dict{{"b", "<&'>"}, {"a", nil}}), `{"a": null, "b": "\u003c\u0026\u0027\u003e"}`; got != want {
		t.Errorf("tojson: %s, want %s", got, want)
	}
}

func TestPretty(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		v    any
		want string
	}{
		{Dict{{"b", 1}, {"a", "x"}}, "{'a': 'x', 'b': 1}"},
		{
			Dict{{"text", strings.Repeat("word ", 20)}, {"a", []any{"tongue scraper", "tongue cleaner", "oral hygiene", "fresh breath", "oral care and more"}}},
			"{'a': ['tongue scraper',\n       'tongue cleaner',\n       'oral hygiene',\n       'fresh breath',\n       'oral care and more'],\n" +
				" 'text': 'word word word word word word word word word word word word word '\n         'word word word word word word word '}",
		},
		{strings.Repeat("long ", 18), "('long long long long long long long long long long long long long long long '\n 'long long long ')"},
		{[]any{strings.Repeat("x", 90)}, "['" + strings.Repeat("x", 90) + "']"},
	} {
		if got := Pretty(c.v); got != c.want {
			t.Errorf("pformat:\n%s\nwant\n%s", got, c.want)
		}
	}
}

func TestLiteral(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]any{
		"['a', \"b\", 'it\\'s', '\\u00e9\\x41\\101\\q']":  []any{"a", "b", "it's", "éAA\\q"},
		" {'color': 'blue', 'n': 1, 'f': 1.5, 'x': None}": Dict{{"color", "blue"}, {"n", 1}, {"f", 1.5}, {"x", nil}},
		"('a', 'b')":        Tuple{"a", "b"},
		"('a')":             "a",
		"('a',)":            Tuple{"a"},
		"'a' 'b'":           "ab",
		"[True, False, -3]": []any{true, false, -3},
		"{}":                Dict{},
		"{'a': 1, 'a': 2}":  Dict{{"a", 2}},
	} {
		if got, err := Literal(in); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("Literal(%s) = %#v, %v, want %#v", in, got, err, want)
		}
	}
	for _, bad := range []string{
		"", "[", "['a'", "['a' 1]", "{'a'}", "{1: 2}", "'a", "'\\x4'", "'\\", "foo()", "__import__('os')", "[1]]", "'a\nb'", "{'a': }", "1.2.3", "Nonesuch",
		strings.Repeat("[", 1000),
	} {
		if v, err := Literal(bad); err == nil {
			t.Errorf("Literal(%.20q) = %#v, want an error", bad, v)
		}
	}
}

// What repr prints, literal_eval reads.
func FuzzLiteral(f *testing.F) {
	for _, s := range []string{"['a']", "{'a': \"b'\"}", "it's \"x\" \\ \n \x00 é 😀 \u200b", "('a', 1.5)", "\xff"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if v, err := Literal(s); err == nil {
			if again, err := Literal(Repr(v)); err != nil || !reflect.DeepEqual(again, v) {
				t.Fatalf("%q reads as %#v, which prints as %s and reads as %#v (%v)", s, v, Repr(v), again, err)
			}
		}
		clean := strings.ToValidUTF8(s, "?")
		v := []any{clean, Dict{{clean, clean}}}
		if got, err := Literal(Repr(v)); err != nil || !reflect.DeepEqual(got, v) {
			t.Fatalf("%q: %s reads as %#v (%v)", s, Repr(v), got, err)
		}
		Pretty(v)
		HTMLJSON(Dict{{clean, clean}})
	})
}
