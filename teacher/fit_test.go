package teacher

import (
	"errors"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/hindsightrl/harness"
)

// words counts tokens as words.
func words(ms []harness.Message) (int, error) {
	n := 0
	for _, m := range ms {
		n += len(strings.Fields(m.Content))
	}
	return n, nil
}

func TestShorteningGoesFromTheLeastUsefulPartOn(t *testing.T) {
	t.Parallel()
	rows := twoEpisodes()
	for i := range rows {
		rows[i].Response = strings.Replace(rows[i].Response, "</think>", "</think> said: ", 1)
	}
	b, err := Build(rows, DefaultConfig(SuccessFuture), plainTemplates(t))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		limit int
		want  string
		left  LeftOut
	}{
		{13, "pa0 || success: 0=said: <action>Right</action>, 1=said: <action>stop</action> & future: 1=said: <action>up</action>, 2=said: <action>jump</action>", LeftOut{}},
		{12, "pa0 || success: 0=said: <action>Right</action>, 1=said: <action>stop</action> & future: 1+, 2=said: <action>jump</action>", LeftOut{FutureSteps: 1}},
		{11, "pa0 || success: 1+, 1=said: <action>stop</action> & future: 1+, 2=said: <action>jump</action>", LeftOut{FutureSteps: 1, SuccessSteps: 1}},
	} {
		got, err := b.Fit(0, c.limit, words)
		if err != nil || got.Messages[0].Content != c.want || got.Left != c.left || !got.Available {
			t.Errorf("%d words: %v, left out %+v\n got %q\nwant %q", c.limit, err, got.Left, got.Messages[0].Content, c.want)
		}
	}
	got, err := b.Fit(0, 3, words)
	if err != nil || got.Available || !got.TooLong {
		t.Errorf("what cannot fit: %+v, %v", got, err)
	}
}

// A shortened context fits, keeps its end, is no shorter than it must be, and says what it lacks.
func TestFittedContexts(t *testing.T) {
	t.Parallel()
	seed := rand.Uint64()
	r := rand.New(rand.NewPCG(seed, 1))
	rows := household(seed, 2, 4, 12)
	for _, mode := range Unjudged() {
		b, err := Build(rows, DefaultConfig(mode), DefaultTemplates())
		if err != nil {
			t.Fatal(err)
		}
		for range 20 {
			i := r.IntN(len(rows))
			whole := b.Context(i)
			full, _ := words(whole.Messages)
			limit := 1 + r.IntN(full+20)
			calls := 0
			got, err := b.Fit(i, limit, func(ms []harness.Message) (int, error) { calls++; return words(ms) })
			if err != nil {
				t.Fatal(err)
			}
			n, _ := words(got.Messages)
			switch {
			case !whole.Available:
				if got.Available || calls > 0 {
					t.Fatalf("seed %d: %s row %d: a context out of nothing", seed, mode, i)
				}
			case full <= limit:
				if got.Left != (LeftOut{}) || calls != 1 || got.Tokens != full {
					t.Fatalf("seed %d: %s row %d: shortened without need: %+v", seed, mode, i, got.Left)
				}
			case got.TooLong:
				if got.Available {
					t.Fatalf("seed %d: %s row %d: too long and available", seed, mode, i)
				}
			default:
				if n > limit || n != got.Tokens || got.Left == (LeftOut{}) || calls > 12 {
					t.Fatalf("seed %d: %s row %d: %d words of %d, %d calls, left out %+v", seed, mode, i, n, limit, calls, got.Left)
				}
				if !strings.HasSuffix(got.Messages[0].Content, "Take the step again, with this in mind.\n") || !strings.HasPrefix(got.Messages[0].Content, promptText(rows[i].Prompt)) {
					t.Fatalf("seed %d: %s row %d: lost its beginning or end: %q", seed, mode, i, got.Messages[0].Content)
				}
			}
		}
	}
}

func TestTheRowsOwnActionIsNeverLeftOut(t *testing.T) {
	t.Parallel()
	rows := twoEpisodes()
	for mode, limit := range map[Mode]int{AnchorImmediateFeedback: 8, anchorPrefix + NextObservation: 20} {
		b, err := Build(rows, DefaultConfig(mode), plainTemplates(t))
		if err != nil {
			t.Fatal(err)
		}
		for i, own := range map[int]string{0: "left", 3: "right"} {
			got, err := b.Fit(i, limit, words)
			if err != nil || got.Left.Candidates != 1 || !strings.Contains(got.Messages[0].Content, own) || !strings.Contains(got.Messages[0].Content, "1 more") {
				t.Errorf("%s, row %d: %v, %+v in %q", mode, i, err, got.Left, got.Messages[0].Content)
			}
		}
	}
}

func TestFitReportsTheCountersError(t *testing.T) {
	t.Parallel()
	b, err := Build(twoEpisodes(), DefaultConfig(SuccessFuture), DefaultTemplates())
	if err != nil {
		t.Fatal(err)
	}
	broken := errors.New("no tokenizer")
	for good := range 2 {
		n := 0
		_, err := b.Fit(0, 5, func(ms []harness.Message) (int, error) {
			if n++; n > good {
				return 0, broken
			}
			return words(ms)
		})
		if !errors.Is(err, broken) {
			t.Errorf("after %d counts: %v", good, err)
		}
	}
}
