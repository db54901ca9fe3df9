package teacher

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hindsightrl/harness"
)

// plainTemplates write contexts that a test can read.
func plainTemplates(t *testing.T) *Templates {
	t.Helper()
	got, err := ParseTemplates([]byte(`{
		"context": "{prompt} || {privileged_context}", "section": "{title}: {content}", "section_separator": " & ",
		"title_successful_trajectory": "success", "title_immediate_feedback": "feedback", "title_next_observation": "next",
		"title_future_trajectory": "future", "title_anchor_candidates": "tried", "title_trajectory_judge": "judge", "title_privileged": "secret",
		"trajectory_step_response": "{step}={response}", "trajectory_step_observation_action": "{step}={observation}>{action}",
		"trajectory_step_separator": ", ", "trajectory_omitted": "+{count}", "trajectory_skipped": "{count}+", "text_cut": "~{count}~",
		"candidate": "{action} {successes}/{count} {average_return:.1f}", "candidate_best": "best {outcome}", "candidate_worst": "worst {outcome}",
		"outcome": "{label} {reward:.0f}", "outcome_success": "won", "outcome_failure": "lost", "candidate_separator": " ; ", "candidates_skipped": "{count} more",
		"candidate_best_feedback": "best said", "candidate_worst_feedback": "worst said", "candidate_best_next": "best next", "candidate_worst_next": "worst next",
		"candidate_success_future": "if won", "candidate_failed_future": "if lost", "candidate_no_future": "over",
		"anchor_feedback_line": "{action} -> {feedback}", "empty_action": "nothing"}`))
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// twoEpisodes is a group of a lost episode of three steps and a won one of two; their first steps share
// an anchor.
func twoEpisodes() []Row {
	row := func(episode string, step int, anchor, action string, won bool) Row {
		r := Row{
			Group: "g", Episode: episode, Step: step, Prompt: user(fmt.Sprint(" p", episode, step, " ")), Anchor: &anchor,
			Response: "<think>t</think><action>" + action + "</action>", Feedback: fmt.Sprint("f", episode, step), Next: fmt.Sprint("n", episode, step),
			Privileged: fmt.Sprint("s", episode, step), Success: &won, Return: ref(0.0),
		}
		if won {
			r.Return = ref(10.0)
		}
		return r
	}
	return []Row{
		row("a", 0, "start", "left", false), row("a", 1, "hall", "up", false), row("a", 2, "roof", "jump", false),
		row("b", 0, "start", "Right", true), row("b", 1, "yard", "stop", true),
	}
}

func TestEveryModeOfOneRow(t *testing.T) {
	t.Parallel()
	const (
		future  = "future: 1=<action>up</action>, 2=<action>jump</action>"
		success = "success: 0=<action>Right</action>, 1=<action>stop</action>"
		left    = "left 0/1 0.0\nbest lost 0\nworst lost 0"
		right   = "right 1/1 10.0\nbest won 10\nworst won 10"
	)
	rows := twoEpisodes()
	rows[0].Judged, rows[0].JudgedOnSuccess, rows[0].JudgeHadSuccess = " bad ", "worse", true
	for mode, want := range map[Mode]string{
		ImmediateFeedback:                           "feedback: fa0",
		NextObservation:                             "next: na0",
		FutureTrajectory:                            future,
		SuccessOrFeedback:                           success,
		SuccessFeedback:                             success + " & feedback: fa0",
		SuccessNextObservation:                      success + " & next: na0",
		SuccessFuture:                               success + " & " + future,
		SuccessFutureFeedback:                       success + " & " + future + " & feedback: fa0",
		SuccessFutureNextObservation:                success + " & " + future + " & next: na0",
		AnchorImmediateFeedback:                     "feedback: left -> fa0\nright -> fb0",
		anchorPrefix + NextObservation:              "tried: " + left + "\nbest next\nna0 ; " + right + "\nbest next\nnb0",
		anchorPrefix + FutureTrajectory:             "tried: " + left + "\nif lost\n" + future[8:] + " ; " + right + "\nif won\n1=<action>stop</action>",
		anchorPrefix + SuccessOrFeedback:            "tried: " + left + " ; " + right + " & " + success,
		anchorPrefix + SuccessFeedback:              "tried: " + left + "\nbest said\nfa0 ; " + right + "\nbest said\nfb0 & " + success,
		anchorPrefix + SuccessNextObservation:       "tried: " + left + "\nbest next\nna0 ; " + right + "\nbest next\nnb0 & " + success,
		anchorPrefix + SuccessFuture:                "tried: " + left + "\nif lost\n" + future[8:] + " ; " + right + "\nif won\n1=<action>stop</action> & " + success,
		anchorPrefix + SuccessFutureFeedback:        "tried: " + left + "\nbest said\nfa0\nif lost\n" + future[8:] + " ; " + right + "\nbest said\nfb0\nif won\n1=<action>stop</action> & " + success,
		anchorPrefix + SuccessFutureNextObservation: "tried: " + left + "\nbest next\nna0\nif lost\n" + future[8:] + " ; " + right + "\nbest next\nnb0\nif won\n1=<action>stop</action> & " + success,
		JudgeTrajectory:                             "judge: bad",
		JudgeTrajectoryOnSuccess:                    "judge: worse",
		Privileged:                                  "secret: sa0",
		AnchorPrivileged:                            "secret: left -> sa0\nright -> sb0",
	} {
		b, err := Build(rows, DefaultConfig(mode), plainTemplates(t))
		if err != nil {
			t.Fatal(err)
		}
		c := b.Context(0)
		if diff := cmp.Diff(user("pa0 || "+want), c.Messages); diff != "" || !c.Available {
			t.Errorf("%s: %s", mode, diff)
		}
		if c.Used.Privileged != mode.Privileged() || c.Used.Judge != mode.Judged() || c.Used.Anchor != mode.Anchor() {
			t.Errorf("%s: used %+v", mode, c.Used)
		}
	}
}

func TestRowsWithoutWhatTheModeNeeds(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		mode   Mode
		change func(rows []Row)
		row    int
		want   string // "" = no context
	}{
		"no feedback":                     {ImmediateFeedback, func(r []Row) { r[0].Feedback = " \n" }, 0, ""},
		"no next observation":             {NextObservation, func(r []Row) { r[0].Next = "" }, 0, ""},
		"last step has no future":         {FutureTrajectory, nil, 2, ""},
		"own success is excluded":         {SuccessFeedback, nil, 3, ""},
		"or feedback instead":             {SuccessOrFeedback, nil, 3, "feedback: fb0"},
		"success, but no feedback":        {SuccessFeedback, func(r []Row) { r[0].Feedback = "" }, 0, ""},
		"no success, but either":          {SuccessOrFeedback, func(r []Row) { *r[3].Success, *r[4].Success = false, false }, 0, "feedback: fa0"},
		"neither":                         {SuccessOrFeedback, func(r []Row) { *r[3].Success, *r[4].Success, r[0].Feedback = false, false, "" }, 0, ""},
		"not judged":                      {JudgeTrajectory, nil, 0, ""},
		"nothing privileged":              {Privileged, func(r []Row) { r[0].Privileged = "" }, 0, ""},
		"anchor without any feedback":     {AnchorImmediateFeedback, func(r []Row) { r[0].Feedback, r[3].Feedback = "", "" }, 0, ""},
		"anchor: the other row's":         {AnchorImmediateFeedback, func(r []Row) { r[0].Feedback = "" }, 0, "feedback: right -> fb0"},
		"empty response":                  {AnchorImmediateFeedback, func(r []Row) { r[0].Response = "<think>x</think>" }, 0, "feedback: nothing -> fa0\nright -> fb0"},
		"a group of one":                  {anchorPrefix + SuccessFeedback, nil, 1, "tried: up 0/1 0.0\nbest lost 0\nworst lost 0\nbest said\nfa1 & success: 0=<action>Right</action>, 1=<action>stop</action>"},
		"no success flag, by the return":  {SuccessFeedback, func(r []Row) { r[3].Success, r[4].Success = nil, nil }, 0, "success: 0=<action>Right</action>, 1=<action>stop</action> & feedback: fa0"},
		"no return, by the step's reward": {SuccessFeedback, func(r []Row) { r[3].Success, r[3].Return, r[3].Reward, *r[4].Success = nil, nil, 1, false }, 0, "success: 0=<action>Right</action>, 1=<action>stop</action> & feedback: fa0"},
	} {
		rows := twoEpisodes()
		if c.change != nil {
			c.change(rows)
		}
		b, err := Build(rows, DefaultConfig(c.mode), plainTemplates(t))
		if err != nil {
			t.Fatal(err)
		}
		prompt := strings.TrimSpace(rows[c.row].Prompt[0].Content)
		want := prompt
		if c.want != "" {
			want += " || " + c.want
		}
		got := b.Context(c.row)
		if got.Messages[0].Content != want || got.Available != (c.want != "") || b.Available(c.row) != got.Available {
			t.Errorf("%s: available %v\n got %q\nwant %q", name, got.Available, got.Messages[0].Content, want)
		}
		if !got.Available && got.Used != (Used{}) {
			t.Errorf("%s: no context, but %+v", name, got.Used)
		}
	}
}

func TestMessagesBeforeTheLastStay(t *testing.T) {
	t.Parallel()
	rows := twoEpisodes()
	rows[0].Prompt = []harness.Message{{Role: "system", Content: " s "}, {Role: "assistant", Content: "p"}}
	b, err := Build(rows, DefaultConfig(ImmediateFeedback), plainTemplates(t))
	if err != nil {
		t.Fatal(err)
	}
	want := []harness.Message{{Role: "system", Content: " s "}, {Role: "user", Content: "p || feedback: fa0"}}
	if diff := cmp.Diff(want, b.Context(0).Messages); diff != "" {
		t.Error(diff)
	}
	if rows[0].Prompt[1].Content != "p" {
		t.Error("the row was changed")
	}
}

func TestLimitsShowTheFirstSteps(t *testing.T) {
	t.Parallel()
	cfg := DefaultConfig(SuccessFuture)
	cfg.MaxTrajectorySteps, cfg.MaxFutureSteps, cfg.Format, cfg.StripThinking = 1, 1, FormatObservationAction, false
	b, err := Build(twoEpisodes(), cfg, plainTemplates(t))
	if err != nil {
		t.Fatal(err)
	}
	want := "pa0 || success: 0=pb0><think>t</think><action>Right</action>, +1 & future: 1=pa1><think>t</think><action>up</action>, +1"
	if got := b.Context(0).Messages[0].Content; got != want {
		t.Errorf("got %q\nwant %q", got, want)
	}
}

// Equal batches in another order give equal contexts, but for what is defined by the order of rows: which
// trajectory comes first, and the order of candidates.
func TestOrderOfStepsDoesNotMatter(t *testing.T) {
	t.Parallel()
	seed := rand.Uint64()
	r := rand.New(rand.NewPCG(seed, 1))
	rows := household(seed, 3, 1, 12) // one episode per group: no order of trajectories
	for _, mode := range []Mode{FutureTrajectory, ImmediateFeedback, SuccessOrFeedback} {
		cfg := DefaultConfig(mode)
		cfg.ExcludeOwn = false
		perm := r.Perm(len(rows))
		shuffled := make([]Row, len(rows))
		for i, p := range perm {
			shuffled[i] = rows[p]
		}
		a, err := Build(rows, cfg, DefaultTemplates())
		if err != nil {
			t.Fatal(err)
		}
		b, err := Build(shuffled, cfg, DefaultTemplates())
		if err != nil {
			t.Fatal(err)
		}
		for i, p := range perm {
			if diff := cmp.Diff(a.Context(p), b.Context(i)); diff != "" {
				t.Fatalf("seed %d, %s, row %d: %s", seed, mode, p, diff)
			}
		}
	}
}

func TestSimilarAnchorsJoinTheFirstGroup(t *testing.T) {
	t.Parallel()
	texts := []string{"You see a red mug.", "You see a red cup!", "Quite another place", "You see a red mug. ", " ", " "}
	var rows []Row
	for i := range texts {
		rows = append(rows, Row{Group: "g", Episode: fmt.Sprint(i), Anchor: &texts[i], Prompt: user("p"), Response: fmt.Sprint("<action>a", i, "</action>"), Feedback: "f"})
	}
	sizes := func(similarity bool) []int {
		cfg := DefaultConfig(AnchorImmediateFeedback)
		cfg.Similarity, cfg.SimilarityThreshold = similarity, 0.75
		b, err := Build(rows, cfg, DefaultTemplates())
		if err != nil {
			t.Fatal(err)
		}
		out := make([]int, len(rows))
		for i := range rows {
			out[i] = len(b.x.records[i].anchor.rows)
		}
		return out
	}
	if got := sizes(false); !slices.Equal(got, []int{1, 1, 1, 1, 2, 2}) {
		t.Errorf("equal anchors: groups of %v", got)
	}
	if got := sizes(true); !slices.Equal(got, []int{3, 3, 1, 3, 1, 1}) {
		t.Errorf("similar anchors: groups of %v", got)
	}
}

func TestMetricsCountRows(t *testing.T) {
	t.Parallel()
	b, err := Build(twoEpisodes(), DefaultConfig(anchorPrefix+SuccessOrFeedback), DefaultTemplates())
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]float64{
		"serl/context_available_fraction": 1, "serl/reprompt_sample_fraction": 1, "serl/success_reference_fraction": 0.6,
		"serl/feedback_reference_fraction": 0.4, "serl/anchor_reference_fraction": 1, "serl/anchor_group_size_mean": 1.4, "serl/anchor_action_count_mean": 1.4,
	}
	if diff := cmp.Diff(want, b.Metrics()); diff != "" {
		t.Error(diff)
	}
	empty, err := Build(nil, DefaultConfig(ImmediateFeedback), DefaultTemplates())
	if err != nil || empty.Len() != 0 || empty.Metrics()["serl/context_available_fraction"] != 0 {
		t.Errorf("no rows: %v", err)
	}
}
