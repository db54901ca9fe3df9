package templatefile

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestDecodeReadsBothForms(t *testing.T) {
	t.Parallel()
	want := map[string]string{"a": "x\ny", "b": "{c}"}
	for name, file := range map[string]string{
		"json":     `{"_note": 1, "a": "x\ny", "b": "{c}"}`,
		"json bom": "\ufeff{\"a\": \"x\\ny\", \"b\": \"{c}\"}",
		"yaml":     "_note: [1]\na: |-\n  x\n  y\nb: '{c}'\n",
	} {
		got, err := Decode([]byte(file))
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("%s: %v\n%s", name, err, diff)
		}
	}
}

func TestDecodeRefuses(t *testing.T) {
	t.Parallel()
	for file, want := range map[string]string{
		`{"a": 3}`:               `key "a": not a string`,
		`{"a": "", "a": ""}`:     `key "a" occurs twice`,
		"a: 3":                   `line 1: key "a": not a string`,
		"- a":                    "the file is not a mapping of keys to strings",
		"":                       "the file is empty",
		"a: \xff":                "the file is not UTF-8",
		`{} x`:                   "something follows the closing brace",
		strings.Repeat("#", 5e6): "the file has 5000000 bytes, more than 4194304",
	} {
		if _, err := Decode([]byte(file)); err == nil || err.Error() != want {
			t.Errorf("%.20q: got %v, want %s", file, err, want)
		}
	}
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte(`{"a": "b", "_x": 1}`))
	f.Add([]byte("a: &x b\nc: *x\n"))
	f.Fuzz(func(t *testing.T, file []byte) {
		texts, err := Decode(file)
		if (texts == nil) == (err == nil) {
			t.Fatalf("Decode = %v, %v", texts, err)
		}
	})
}
