package agent

import (
	"encoding/json"
	"os"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/hindsightrl/harness/internal/pystr"
	"github.com/hindsightrl/harness/internal/testutil"
)

func readJSON(t testing.TB, rel string, into any) {
	t.Helper()
	b, err := os.ReadFile(testutil.Shared(t, rel))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(b, into); err != nil {
		t.Fatal(err)
	}
}

func TestProjectionsOfTheReference(t *testing.T) {
	t.Parallel()
	type parsed struct {
		Action string
		Valid  bool
	}
	var cases []struct {
		Text              string
		ALFWorld, WebShop parsed
	}
	readJSON(t, "vectors/serl/projections.json", &cases)
	if len(cases) == 0 {
		t.Fatal("no cases")
	}
	for _, c := range cases {
		for env, want := range map[string]parsed{"alfworld": c.ALFWorld, "webshop": c.WebShop} {
			if action, valid := Project(env, c.Text); action != want.Action || valid != want.Valid {
				t.Errorf("%s of %q: %q %v, reference %q %v", env, c.Text, action, valid, want.Action, want.Valid)
			}
		}
	}
}

func TestProject(t *testing.T) {
	t.Parallel()
	const thought = "<think>x</think>"
	long := strings.Repeat("abcdefghij", 5)
	for _, c := range []struct {
		name, env, in, action string
		valid                 bool
	}{
		{"plain", "alfworld", thought + "<action>Go To Shelf 1</action>", "go to shelf 1", true},
		{"upper tags", "alfworld", thought + "<ACTION>look</Action>", "look", true},
		{"upper thought", "alfworld", "<THINK>x</THINK><action>look</action>", "look", false},
		{"empty", "alfworld", "", "", false},
		{"half a tag", "alfworld", thought + "<action>look</acti", "nk>x</think><action>look</acti", false},
		{"closed first", "alfworld", thought + "</action><action>look", "", true},
		{"closed first, then closed", "alfworld", thought + "</action><action>look</action>", "", true},
		{"overlapping", "alfworld", thought + "<action></action>", "", true},
		{"python space", "alfworld", thought + "<action>\x1f\u00a0look\u3000\n</action>", "look", true},
		{"zero width stays", "alfworld", thought + "<action>\u200blook</action>", "\u200blook", true},
		{"dotted capital i", "alfworld", thought + "<action>İ</action>", "i\u0307", true},
		{"final sigma", "alfworld", thought + "<action>ΟΔΟΣ</action>", "οδος", true},
		{"dotted tag is none", "alfworld", "<actİon>look</action>", "<acti\u0307on>look</action>", false},
		{"tail of code points", "alfworld", long + "é🙂", "cdefghijabcdefghijabcdefghijé🙂", false},
		{"shop tail", "webshop", long + "é🙂", "cdefghijabcdefghijé🙂", false},
		{"ideograph", "alfworld", thought + "<action>look\u4e00</action>", "look\u4e00", false},
		{"last ideograph", "webshop", "\u9fff" + thought + "<action>look</action>", "look", false},
		{"kana and extensions", "alfworld", "あ\u3400\ua000" + thought + "<action>look</action>", "look", true},
		{"not utf-8", "alfworld", thought + "<action>a\xffb</action>", "a\uFFFDb", false},
		{"not utf-8, no tags", "webshop", "a\xe2\x82", "a\uFFFD\uFFFD", false},
		{"generic", "other", thought + "<action> ls -la /Tmp </action> x</action>", "ls -la /Tmp", true},
		{"generic upper tags", "other", thought + "<ACTION>ls</ACTION>", "", false},
		{"generic unclosed", "other", thought + "<action>ls", "", false},
		{"generic closed before", "other", thought + "</action><action>ls</action>", "ls", true},
		{"generic without thought", "other", "<action>ls</action>", "ls", false},
		{"generic not utf-8", "other", thought + "<action>l\xff\xfes</action>", "l\uFFFDs", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if action, valid := Project(c.env, c.in); action != c.action || valid != c.valid {
				t.Errorf("Project(%q, %q) = %q, %v, want %q, %v", c.env, c.in, action, valid, c.action, c.valid)
			}
		})
	}
}

func TestProjectLongResponses(t *testing.T) {
	t.Parallel()
	const size = 1 << 20
	for name, text := range map[string]string{
		"letters":   strings.Repeat("a", size),
		"openers":   strings.Repeat("<action>", size/8),
		"brackets":  strings.Repeat("<action ", size/8),
		"calls":     strings.Repeat("search[", size/7) + "\n",
		"ideograph": strings.Repeat("看", size/3),
		"bytes":     strings.Repeat("\xff", size),
	} {
		action, valid := ProjectALFWorld(text)
		if valid || utf8.RuneCountInString(action) != alfworldTail || !strings.HasSuffix(pystr.Lower(text), action) {
			t.Errorf("%s: %.40q, %v", name, action, valid)
		}
		if spans := ExactSpans(text); spans != nil {
			t.Errorf("%s: exact spans %v", name, spans)
		}
		CompatByteSpans(text) // ends in time
	}
}

// The action is what the exact span covers, and projections hold for any text.
func FuzzProject(f *testing.F) {
	for _, s := range []string{
		"", "<think>a</think><action>Go</action>", "<ACTION>x</action>", "</action><action>", "<action>\xff", "<action> \u00a0</action>", "ΑΣ<action>ΑΣ</action>İ",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		for env, tail := range map[string]int{"alfworld": alfworldTail, "webshop": webshopTail} {
			action, valid := Project(env, s)
			if !utf8.ValidString(action) {
				t.Fatalf("%s: action %q is not UTF-8", env, action)
			}
			if valid && !strings.Contains(pystr.Lower(s), openAction) {
				t.Fatalf("%s: valid without a tag", env)
			}
			spans := ExactSpans(s)
			if len(spans) == 0 {
				if strings.Contains(pystr.Lower(s), openAction) && strings.Contains(pystr.Lower(s), closeAction) && action != "" {
					t.Fatalf("%s: action %q has no span", env, action)
				}
				if utf8.RuneCountInString(action) > tail {
					t.Fatalf("%s: a tail of %d", env, utf8.RuneCountInString(action))
				}
				continue
			}
			// A sigma's form depends on what follows, and inside the span nothing does.
			sigma := strings.NewReplacer("ς", "σ")
			if got := sigma.Replace(pystr.Lower(s[spans[0].Start:spans[0].End])); got != sigma.Replace(action) {
				t.Fatalf("%s: span %q, action %q", env, got, action)
			}
		}
		if action, _ := ProjectGeneric(s); len(GenericSpans(s)) == 1 {
			if got := strings.ToValidUTF8(s[GenericSpans(s)[0].Start:GenericSpans(s)[0].End], "\uFFFD"); got != action {
				t.Fatalf("generic span %q, action %q", got, action)
			}
		} else if action != "" {
			t.Fatalf("generic action %q has no span", action)
		}
	})
}
