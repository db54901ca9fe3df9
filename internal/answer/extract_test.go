package answer

import (
	"strings"
	"testing"
)

func TestExtract(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		response, want string
		how            How
	}{
		{`So the result is \boxed{42}.`, "42", Boxed},
		{`\boxed{\frac{1}{2}}`, `\frac{1}{2}`, Boxed},
		{`First \boxed{1}, then \boxed{2}.`, "2", Boxed},
		{`\boxed {7}`, "7", Boxed},
		{`\fbox{7}`, "7", Boxed},
		{`\boxed{\{1,2\}}`, `\{1,2\}`, Boxed},
		{`\boxed{3} and then \boxed{4`, "3", Boxed},
		{`\boxed{}; the answer is 5.`, "5", Stated},
		{`\boxed{\boxed{5}}`, `\boxed{5}`, Boxed},
		{"<think>maybe \\boxed{1}</think> The answer is 2.", "2", Stated},
		{"<think>\\boxed{1}</think> so that is it, 3 times", "1", Boxed},
		{"<think>hm</think><action> 12 </action>", "12", Tagged},
		{"<answer>a</answer><answer>b</answer>", "b", Tagged},
		{"The final answer is 3.5.", "3.5", Stated},
		{"the final answer is $\\frac{3}{4}$. I hope it is correct.", `$\frac{3}{4}$`, Stated},
		{"Answer: **x = 5**", "x = 5", Stated},
		{"The answer is 42 because 6 times 7 is 42", "42", Stated},
		{"The answer is:\n", "", None},
		{"Natalia sold 48/2 = 24 clips.\n#### 72", "72", Stated},
		{"The answer is (B).", "(B)", Stated},
		{"THE ANSWER IS 9.", "9", Stated},
		{"I would take (C), clearly", "C", Letter},
		{"Reasons…\nD", "D", Letter},
		{"(A) has 3 and 4", "4", Number},
		{"We get 1,234.50 in the end.", "1,234.50", Number},
		{"We get −5 in the end.", "−5", Number},
		{"It costs $5", "$5", Number},
		{"about 3/4 of it", "3/4", Number},
		{"50% of them.", "50%", Number},
		{"no idea at all", "", None},
		{"", "", None},
		{"\\", "", None},
		{"}}{{\\boxed{", "", None},
	} {
		got := Extract(c.response)
		if got.Text != c.want || got.How != c.how {
			t.Errorf("Extract(%q) = %q by %q, want %q by %q", c.response, got.Text, got.How, c.want, c.how)
		}
		if got.How != None && c.response[got.Span.Start:got.Span.End] != got.Text {
			t.Errorf("Extract(%q): the span holds %q", c.response, c.response[got.Span.Start:got.Span.End])
		}
	}
}

func TestDeclared(t *testing.T) {
	t.Parallel()
	for how, want := range map[How]bool{Boxed: true, Tagged: true, Stated: true, Letter: false, Number: false, None: false} {
		if how.Declared() != want {
			t.Errorf("%q declares itself: %v, want %v", how, !want, want)
		}
	}
}

// TestExtractLinear: a hostile response costs no more than its length.
func TestExtractLinear(t *testing.T) {
	t.Parallel()
	for _, part := range []string{`\boxed{`, "<answer>", "answer is ", "{", "}", `\`, "1,", "(A)"} {
		if f := Extract(strings.Repeat(part, 20_000)); len(f.Text) > 200_000 {
			t.Errorf("%q repeated: an answer of %d bytes", part, len(f.Text))
		}
	}
}

func BenchmarkExtract(b *testing.B) {
	response := strings.Repeat("What I see (so far): you arrive at shelf 1, and on it there is nothing that helps.\n", 20)
	for name, text := range map[string]string{"boxed": response + `So \boxed{\frac{1}{2}}.`, "stated": response + "The final answer is 7.", "number": response} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				Extract(text)
			}
		})
	}
}

func FuzzExtract(f *testing.F) {
	for _, s := range []string{`\boxed{1}`, "The answer is 5.", "<answer>x</answer>", "(B)", "1,234", `\boxed{\{`, "</think>", "\xff\xfe", "#### 7"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, response string) {
		got := Extract(response)
		if got.How == None {
			if got != (Found{}) {
				t.Fatalf("no answer, and %+v", got)
			}
			return
		}
		if got.Text == "" || response[got.Span.Start:got.Span.End] != got.Text {
			t.Fatalf("%+v does not stand in the response", got)
		}
	})
}
