package teacher

import (
	"math"
	"math/rand/v2"
	"testing"
	"unicode/utf8"

	"github.com/hindsightrl/harness"
)

var nan = math.NaN()

func TestStripThinking(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"": "", "a": "a", "<think>x</think> \n<action>y</action>": "<action>y</action>", "a<think>1</think>b<think>2</think>\u3000c": "abc",
		"<think>open": "<think>open", "<THINK>x</THINK>y": "<THINK>x</THINK>y", "</think><think>": "</think><think>", "<think><think>x</think>y</think>": "y</think>",
	} {
		if got := stripThinking(in); got != want {
			t.Errorf("%q: got %q, want %q", in, got, want)
		}
	}
}

func TestCandidateAction(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"": "", "look": "look", "<action> Go\n\tto  X </action>": "go to x", "<ACTION>a</Action><action>b</action>": "a",
		"<action>a": "<action>a", "</action><action>A": "</action><action>a", "<actıon>Q</actİon>": "q", " \u2028 ": "", "a  b": "a b", "ΑΣ": "ας",
	} {
		if got := candidateAction(in); got != want {
			t.Errorf("%q: got %q, want %q", in, got, want)
		}
	}
}

func TestPromptTextIsTheLastThatSaysSomething(t *testing.T) {
	t.Parallel()
	for want, ms := range map[string][]harness.Message{
		"": nil, "b": {{Content: "a"}, {Content: " b\n"}}, "a": {{Content: "a"}, {Content: "\n"}},
	} {
		if got := promptText(ms); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestCutMiddleKeepsBothEnds(t *testing.T) {
	t.Parallel()
	w := newWording(DefaultTemplates())
	for _, c := range []struct {
		s     string
		limit int
		want  string
		cut   int
	}{
		{"abcdef", 0, "abcdef", 0},
		{"abcdef", 6, "abcdef", 0},
		{"日本語日本語", 6, "日本語日本語", 0},
		{"abcdef", 3, "ab (… 3 characters left out …) f", 3},
		{"日本語日本", 2, "日 (… 3 characters left out …) 本", 3},
	} {
		if got, cut := w.cutMiddle(c.s, c.limit); got != c.want || cut != c.cut || !utf8.ValidString(got) {
			t.Errorf("%q to %d: got %q and %d", c.s, c.limit, got, cut)
		}
	}
}

func TestMeanAddsInNumpysOrder(t *testing.T) {
	t.Parallel()
	// numpy.mean([0.1]*n), where adding from the left gives other last bits.
	if got := mean([]float64{.1, .1, .1, .1, .1, .1, .1, .1, .1, .1}); got != 0.1 {
		t.Errorf("ten times 0.1: %v", got)
	}
	seed := rand.Uint64()
	r := rand.New(rand.NewPCG(seed, 1))
	for _, n := range []int{1, 7, 8, 9, 127, 128, 129, 1000} {
		v, sum := make([]float64, n), 0.0
		for i := range v {
			v[i] = r.NormFloat64()
			sum += v[i]
		}
		if got := mean(v); math.Abs(got-sum/float64(n)) > 1e-13 {
			t.Errorf("seed %d, n %d: %v, want %v", seed, n, got, sum/float64(n))
		}
	}
}

func FuzzTexts(f *testing.F) {
	f.Add("<think>a</think> <action>B</action>", 3)
	f.Add("\xff<action>\xfe</action>", 1)
	w := newWording(DefaultTemplates())
	f.Fuzz(func(t *testing.T, s string, limit int) {
		if again := stripThinking(stripThinking(s)); len(again) > len(s) {
			t.Fatalf("%q grew to %q", s, again)
		}
		if a := candidateAction(s); a != foldSpace(a) && utf8.ValidString(s) {
			t.Fatalf("%q is not folded: %q", s, a)
		}
		if limit > 0 && limit < 1000 {
			got, cut := w.cutMiddle(s, limit)
			if (cut == 0) != (got == s) {
				t.Fatalf("%q: %d cut, %q left", s, cut, got)
			}
		}
	})
}
