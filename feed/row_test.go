package feed

import (
	"bytes"
	"encoding/json"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/hindsightrl/harness"
	"github.com/hindsightrl/harness/credit"
)

func mustRow(tb testing.TB, st harness.FeedStep, p *Pass) Row {
	tb.Helper()
	r, err := NewRow(&st, p)
	if err != nil {
		tb.Fatal(err)
	}
	return r
}

// TestWeightsRepeatTheFusion checks that base advantage, factor, weights and λ of a row give its token
// advantages, as package credit computed them.
func TestWeightsRepeatTheFusion(t *testing.T) {
	t.Parallel()
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 3))
	for _, stage := range []credit.TokenStage{credit.TokenSERL, credit.TokenRLSD, credit.TokenNone} {
		for i := range 50 {
			n := 1 + rng.IntN(30)
			st := testGroup(rng.IntN(1000), 1, 4, n)[0]
			st.Credit.Base = rng.NormFloat64()
			if i%7 == 0 {
				st.Credit.Base = 0
			}
			if i%5 == 0 {
				st.Scored = &harness.StepScore{Status: harness.ScoreNoContext}
			}
			p := testPass()
			p.Token, p.Response, st.Credit.Factor = stage, credit.ResponseNone, 1
			row := credit.Row[float32]{Advantage: st.Credit.Base, Out: make([]float32, n)}
			if st.Scored.Status == harness.ScoreDone {
				row.Context, row.Student, row.Teacher, row.ActionMask = true, st.Scored.Student.Values, st.Scored.Teacher.Values, st.Scored.ActionMask
			}
			cfg := credit.FusionConfig{Response: credit.ResponseNone, Token: stage, SERL: *p.SERL}
			if _, err := credit.Fuse([]credit.Row[float32]{row}, cfg); err != nil {
				t.Fatal(err)
			}
			st.Credit.Tokens = row.Out
			r := mustRow(t, st, p)
			if stage == credit.TokenNone {
				if r.Weights != nil {
					t.Fatalf("weights without a token stage: %v", r.Weights)
				}
				continue
			}
			for j, got := range r.Advantages {
				want := *r.BaseAdvantage * *r.Factor * ((1 - p.Lambda) + p.Lambda*float64(r.Weights[j]))
				// Weights and advantages are rounded to float32, each by at most 2^-24 of its value.
				if math.Abs(float64(got)-want) > 3e-7*(1+math.Abs(want)) {
					t.Fatalf("%s, token %d: advantage %v, from its parts %v", stage, j, got, want)
				}
			}
		}
	}
}

// sparse are rows that lack columns, one more each.
func sparse(tb testing.TB) []Row {
	p := testPass()
	full := testGroup(1, 8, 3, 5)
	full[1].Scored = nil
	full[2].Scored = &harness.StepScore{Status: harness.ScoreTooLong}
	full[3].Credit = nil
	full[4].Tokens.Logprobs, full[4].Tokens.Entropies, full[4].Tokens.Versions, full[4].Tokens.Meta = nil, nil, nil, nil
	full[5].Tokens, full[5].Scored, full[5].Credit.Tokens = nil, nil, nil
	full[6] = testGroup(2, 1, 0, 0)[0] // an empty response
	full[6].Tokens.Logprobs = []float32{}
	full[7].Tokens.Logprobs[0] = float32(math.Inf(-1))
	var out []Row
	for i, st := range full {
		own := *p
		if i == 4 {
			own.Reward = "vote"
		}
		out = append(out, mustRow(tb, st, &own))
	}
	return out
}

func TestAbsentColumnsStayAbsent(t *testing.T) {
	t.Parallel()
	rows := sparse(t)
	if r := rows[1]; r.ContextMask != nil || r.ActionMask != nil || r.TeacherLogprobs != nil {
		t.Errorf("unscored row: %+v", r)
	}
	if r := rows[2]; r.ContextMask == nil || *r.ContextMask || r.ActionMask != nil {
		t.Errorf("row without context: %+v", r)
	}
	if r := rows[3]; r.BaseAdvantage != nil || r.Factor != nil || r.Weights != nil || r.Advantages != nil {
		t.Errorf("row without credit: %+v", r)
	}
	if r := rows[5]; r.ResponseIDs != nil || r.ResponseMask != nil || r.Weights != nil || r.BaseAdvantage == nil {
		t.Errorf("row without tokens: %+v", r)
	}
}

// TestPlainRewardsAreTheParts: reward, won and score are those of reward_parts, and no reward is given where the
// credit pass had others.
func TestPlainRewardsAreTheParts(t *testing.T) {
	t.Parallel()
	for source, known := range map[string]bool{"": true, RewardEnvironment: true, "vote": false, "entropy": false, "entropy_sum": false} {
		p := testPass()
		p.Reward = source
		for i, st := range testGroup(3, 4, 2, 3) {
			st.Outcome.Reward, st.Outcome.Score = float64(i)-1.5, float64(i)/4
			r := mustRow(t, st, p)
			if r.Won != r.RewardParts.Won || r.Won != (i%2 == 1) || r.Score != r.RewardParts.Score || r.Score != float64(i)/4 {
				t.Errorf("%q: %+v beside %+v", source, r, r.RewardParts)
			}
			if (r.Reward != nil) != known || known && (*r.Reward != r.RewardParts.Episode || *r.Reward != float64(i)-1.5) {
				t.Errorf("%q: reward %v beside %+v", source, r.Reward, r.RewardParts)
			}
		}
	}
}

func TestRowsRoundTrip(t *testing.T) {
	t.Parallel()
	rows := sparse(t)
	h := &Header{Format: Format, Lease: "l", Expires: time.UnixMilli(5000).UTC(), Rows: len(rows), PolicyVersion: 3, Groups: []harness.FeedGroup{{Index: 1, Rows: 8}}, Pass: *testPass()}
	var buf bytes.Buffer
	w, err := NewArrowWriter(&buf, h)
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range [][]Row{rows[:3], rows[3:]} {
		if err := w.Write(part); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	gotH, got, err := ReadArrow(&buf)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(*h, gotH) + cmp.Diff(rows, got, cmpopts.EquateNaNs()); diff != "" {
		t.Errorf("Arrow: %s", diff)
	}
	for i := range rows {
		raw, err := json.Marshal(&rows[i])
		if err != nil {
			t.Fatal(err)
		}
		var got Row
		if err := json.Unmarshal(raw, &got); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(rows[i], got, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("JSON: %s", diff)
		}
	}
}

func TestColumnsOfOtherLengthsAreRefused(t *testing.T) {
	t.Parallel()
	for name, spoil := range map[string]func(*harness.FeedStep){
		"teacher log-probabilities have 1 values": func(s *harness.FeedStep) { s.Scored.Teacher.Values = []float32{1} },
		"student log-probabilities have 1 values": func(s *harness.FeedStep) { s.Scored.Student.Values = []float32{1} },
		"action mask have 1 values":               func(s *harness.FeedStep) { s.Scored.ActionMask = []bool{true} },
		"advantages have 2 values":                func(s *harness.FeedStep) { s.Credit.Tokens = []float32{1, 2} },
	} {
		st := testGroup(0, 1, 2, 5)[0]
		spoil(&st)
		if _, err := NewRow(&st, testPass()); err == nil || !strings.Contains(err.Error(), name) || !strings.Contains(err.Error(), "5 tokens") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestSequencesAndHash(t *testing.T) {
	t.Parallel()
	p := testPass()
	st := testGroup(0, 1, 2, 2)[0]
	if r := mustRow(t, st, p); r.SequenceID != r.StepID {
		t.Errorf("by step: %d", r.SequenceID)
	}
	p.Sequences = SequenceEpisode
	if r := mustRow(t, st, p); r.SequenceID != r.Episode {
		t.Errorf("by episode: %d", r.SequenceID)
	}
	if one, again := ConfigHash("a"), ConfigHash("a"); ConfigHash("a", "b") == ConfigHash("ab", "") || one != again {
		t.Error("the hash does not tell where parts end")
	}
}

func TestBadJSONColumns(t *testing.T) {
	t.Parallel()
	for _, raw := range []string{`{"response_mask":[2]}`, `{"response_mask":"x"}`, `{"logprobs":["minus"]}`, `{"logprobs":[true]}`, `{"logprobs":7}`} {
		if err := json.Unmarshal([]byte(raw), new(Row)); err == nil {
			t.Errorf("%s was read", raw)
		}
	}
}
