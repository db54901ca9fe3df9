package feed

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hindsightrl/harness"
	"github.com/hindsightrl/harness/credit"
)

// grownGroup is a root of two steps and two leaves: both fork at its second step, before token 3 of 6.
func grownGroup(tb testing.TB) []harness.FeedStep {
	tb.Helper()
	all := testGroup(1, 15, 4, 6)
	var out []harness.FeedStep
	root := all[:2]
	out = append(out, root...)
	for leaf := range 2 {
		f := &harness.Fork{Parent: root[0].Episode, Step: 1, Token: 3}
		shared, own := root[0], all[5*(leaf+1)+1]
		shared.StepID, shared.Episode, shared.Sample, shared.Shared, shared.Fork = own.StepID-1, own.Episode, own.Sample, 6, f
		tokens := *own.Tokens
		tokens.PromptIDs, tokens.IDs = root[1].Tokens.PromptIDs, slices.Concat(root[1].Tokens.IDs[:3], tokens.IDs[3:])
		own.Tokens, own.Shared, own.Fork = &tokens, 3, f
		out = append(out, shared, own)
	}
	return out
}

// Rows of a tree say what their leaves share, and what of each token is theirs; shares of the very token add
// up to 1.
func TestRowsOfATreeSayWhatIsShared(t *testing.T) {
	t.Parallel()
	h := &Header{Format: Format, Rows: 6, Tokens: 36, Pass: *testPass()}
	rows, err := h.RowsOf(grownGroup(t))
	if err != nil {
		t.Fatal(err)
	}
	third := float32(1) / 3
	first, forked := Floats{third, third, third, third, third, third}, Floats{third, third, third, 1, 1, 1}
	for i, want := range []struct {
		leaf   bool
		shared int32
		shares Floats
	}{{false, 0, first}, {false, 0, forked}, {true, 6, first}, {true, 3, forked}, {true, 6, first}, {true, 3, forked}} {
		r := rows[i]
		if (r.Parent != nil) != want.leaf || r.Parent != nil && *r.Parent != rows[0].Episode || r.SharedTokens != want.shared {
			t.Errorf("row %d: parent %v, %d shared tokens", i, r.Parent, r.SharedTokens)
		}
		if d := cmp.Diff(want.shares, r.TokenShares); d != "" {
			t.Errorf("row %d (-want +got):\n%s", i, d)
		}
	}
	var buf bytes.Buffer
	w, err := NewArrowWriter(&buf, h)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Write(rows); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	_, got, err := ReadArrow(&buf)
	if d := cmp.Diff(rows, got); d != "" || err != nil {
		t.Errorf("through Arrow: %v\n%s", err, d)
	}
	// A group without a leaf has none of it.
	flat, err := h.RowsOf(testGroup(1, 2, 4, 6))
	if err != nil || flat[0].TokenShares != nil || flat[0].Parent != nil {
		t.Errorf("%+v, %v", flat[0], err)
	}
	broken := grownGroup(t)[2:]
	if _, err := h.RowsOf(broken); err == nil || !strings.Contains(err.Error(), "which its group does not have") {
		t.Errorf("leaves without their root: %v", err)
	}
}

// Where the advantage of a response changes its sign at a fork, the weights follow it.
func TestWeightsFollowASignThatAForkTurns(t *testing.T) {
	t.Parallel()
	p := testPass()
	p.Token = credit.TokenRLSD
	h := &Header{Format: Format, Rows: 6, Tokens: 36, Pass: *p}
	steps := grownGroup(t)
	st := &steps[3]
	st.Credit = &harness.StepCredit{Base: -1, Factor: 1, Tokens: []float32{1, 1, 1, -1, -1, -1}}
	rows, err := h.RowsOf(steps)
	if err != nil {
		t.Fatal(err)
	}
	for k, w := range rows[3].Weights {
		sign := 1.0
		if k > 2 {
			sign = -1
		}
		delta := float64(st.Scored.Teacher.Values[k]) - float64(st.Scored.Student.Values[k])
		if want := float32(credit.SERLWeight(sign, delta, p.SERL.Clip)); w != want {
			t.Errorf("token %d: weight %v, want %v", k, w, want)
		}
	}
}
