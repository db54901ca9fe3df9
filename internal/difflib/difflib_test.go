package difflib

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"testing"
)

type ratioCase struct {
	A     string  `json:"a"`
	B     string  `json:"b"`
	Ratio float64 `json:"ratio"`
}

// TestRatioGolden compares with numbers that Python computed; equality is exact.
func TestRatioGolden(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile("testdata/ratio.json")
	if err != nil {
		t.Fatal(err)
	}
	var file struct{ Cases []ratioCase }
	if err := json.Unmarshal(data, &file); err != nil {
		t.Fatal(err)
	}
	if len(file.Cases) == 0 {
		t.Fatal("no cases")
	}
	long := 0
	for i, c := range file.Cases {
		if got := Ratio(c.A, c.B); got != c.Ratio {
			t.Errorf("case %d: Ratio = %v, want %v", i, got, c.Ratio)
		}
		for _, threshold := range []float64{0.1, 0.5, 0.9, 0.95, c.Ratio} {
			if got, want := Similar(c.A, c.B, threshold), c.Ratio >= threshold; got != want {
				t.Errorf("case %d: Similar at %v = %v, want %v", i, threshold, got, want)
			}
		}
		if len([]rune(c.B)) >= autoJunkLength {
			long++
		}
	}
	if long == 0 {
		t.Error("no case is long enough for the automatic rule")
	}
}

const python = `
import difflib, json, sys
cases = json.load(sys.stdin)
json.dump([difflib.SequenceMatcher(None, c["a"], c["b"]).ratio() for c in cases], sys.stdout)
`

// TestRatioAgainstPython compares fresh random strings with the Python of this machine.
func TestRatioAgainstPython(t *testing.T) {
	t.Parallel()
	path, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("python3 is not installed: only the recorded ratios are compared")
	}
	seed := rand.Uint64()
	rnd := rand.New(rand.NewPCG(seed, 1))
	cases := make([]ratioCase, 300)
	for i := range cases {
		cases[i].A, cases[i].B = randomPair(rnd)
	}
	in, err := json.Marshal(cases)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), path, "-c", python)
	cmd.Stdin = bytes.NewReader(in)
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("run python3: %v", err)
	}
	var want []float64
	if err := json.Unmarshal(out, &want); err != nil {
		t.Fatal(err)
	}
	for i, c := range cases {
		if got := Ratio(c.A, c.B); got != want[i] {
			t.Errorf("seed %d, case %d: Ratio(%q, %q) = %v, want %v", seed, i, c.A, c.B, got, want[i])
		}
	}
}

func randomPair(rnd *rand.Rand) (a, b string) {
	alphabets := []string{"ab", "abcd ", "abcdefghijklmnop .", "aé世🙂 x"}
	letters := []rune(alphabets[rnd.IntN(len(alphabets))])
	lengths := []int{0, 3, 40, 199, 200, 230, 450}
	bs := make([]rune, lengths[rnd.IntN(len(lengths))])
	for i := range bs {
		bs[i] = letters[rnd.IntN(len(letters))]
	}
	as := append([]rune(nil), bs...)
	for range rnd.IntN(40) {
		at := rnd.IntN(len(as) + 1)
		if rnd.IntN(2) == 0 && at < len(as) {
			as = append(as[:at], as[at+1:]...)
		} else {
			as = append(as[:at], append([]rune{letters[rnd.IntN(len(letters))]}, as[at:]...)...)
		}
	}
	return string(as), string(bs)
}

func TestMatcherIsReusable(t *testing.T) {
	t.Parallel()
	rnd := rand.New(rand.NewPCG(7, 7))
	_, b := randomPair(rnd)
	m := NewMatcher(b)
	for range 50 {
		a, _ := randomPair(rnd)
		if got, want := m.Ratio(a), Ratio(a, b); got != want {
			t.Fatalf("reused matcher: %v, fresh one: %v", got, want)
		}
	}
}

func TestRatioByHand(t *testing.T) {
	t.Parallel()
	popular := strings.Repeat("ab", 100) // each character is half of the string
	for _, c := range []struct {
		name, a, b string
		want       float64
	}{
		{"empty", "", "", 1},
		{"one empty", "", "x", 0},
		{"equal", "abcd", "abcd", 1},
		{"documented", "abcd", "bcde", 0.75},
		{"all characters popular, equal", popular, popular, 1},
		{"all characters popular, shifted", "x" + popular, popular, 0},
		{"below the automatic rule", "x" + popular[:198], popular[:198], 2.0 * 198 / 397},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if got := Ratio(c.a, c.b); got != c.want {
				t.Errorf("Ratio = %v, want %v", got, c.want)
			}
			if got, want := Similar(c.a, c.b, 0.7), c.want >= 0.7; got != want {
				t.Errorf("Similar = %v, want %v", got, want)
			}
		})
	}
}

// FuzzBounds checks that neither quick bound ever contradicts the ratio, on any bytes.
func FuzzBounds(f *testing.F) {
	f.Add("abcd", "bcde", 0.75)
	f.Add(strings.Repeat("ab", 120), strings.Repeat("ba", 110), 0.9)
	f.Add("\xff\xfe", "", 0.5)
	f.Fuzz(func(t *testing.T, a, b string, threshold float64) {
		if len(a)+len(b) > 2000 {
			t.Skip("quadratic time")
		}
		r := Ratio(a, b)
		if r < 0 || r > 1 {
			t.Fatalf("Ratio = %v", r)
		}
		if got, want := Similar(a, b, threshold), r >= threshold; got != want {
			t.Fatalf("Similar at %v = %v, ratio is %v", threshold, got, r)
		}
	})
}

func BenchmarkRatio(b *testing.B) {
	rnd := rand.New(rand.NewPCG(1, 2))
	letters := "the quick brown fox jumps over a lazy dog "
	text := make([]byte, 600)
	for i := range text {
		text[i] = letters[rnd.IntN(len(letters))]
	}
	x, y := string(text), string(text[40:])
	for b.Loop() {
		Ratio(x, y)
	}
}
