package search

import (
	"slices"
	"testing"
)

// TestTokensBeyondASCII holds against what Lucene's analyzer (anserini 0.14.3) answers: characters that its
// tables, of Unicode 9, do not know, scripts without spaces, and the parts of emoji.
func TestTokensBeyondASCII(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		text string
		want []string
	}{
		{"ա՚բ ֈ ՠ a՟b", []string{"ա", "բ", "b"}}, // Armenian signs of later versions; "a" is a stop word
		{"xꞸy \u08b5 \u4db6 \U00030000", []string{"x", "y"}},
		{"xˉy ˗ x˗y 1˗2", []string{"xˉy", "x˗y", "1", "2"}},
		{"〻ơ 々 日々 〆", []string{"〻ơ", "々", "日", "々"}},
		{"xℹy Ⓜ x🅰y", []string{"xℹy", "ⓜ", "x🅰y"}},
		{"ก็ xาy xัy \u0e34", []string{"ก็", "x", "า", "y", "xัy", "\u0e34"}},
		{"🇺🇸 🇺 x🇺🇸🇬y", []string{"🇺🇸", "x", "🇺🇸", "y"}},
		{"🏽🏽 x🏽y", []string{"🏽", "🏽", "x", "🏽", "y"}},
		{"👍🏽\ufe0f 👍\ufe0f🏽 ❤\ufe0e ❤\ufe0f", []string{"👍🏽", "👍\ufe0f", "🏽", "❤", "❤\ufe0f"}},
		{"👨🏽\u200d💻 👍\ufe0f\u200d👨 👍\ufe0f\u200dx", []string{"👨🏽\u200d💻", "👍\ufe0f\u200d👨", "👍\ufe0f", "x"}},
		{"\u200d👨 \u200dx x\u200d👨", []string{"\u200d👨", "x", "x\u200d", "👨"}},
		{"1\ufe0f\u20e3,1٫5 #\ufe0f\u20e3 12\u20e33", []string{"1\ufe0f\u20e3,1٫5", "#\ufe0f\u20e3", "12\u20e33"}},
		{"\U0001fbf0\U0001fbf1", []string{"\U0001fbf0", "\U0001fbf1"}},
	} {
		if got := Analyze(c.text); !slices.Equal(got, c.want) {
			t.Errorf("Analyze(%q) = %q, want %q", c.text, got, c.want)
		}
	}
}
