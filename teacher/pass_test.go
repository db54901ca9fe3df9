package teacher_test

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hindsightrl/harness"
	"github.com/hindsightrl/harness/internal/errext"
	"github.com/hindsightrl/harness/llm/llmtest"
	"github.com/hindsightrl/harness/store"
	"github.com/hindsightrl/harness/teacher"
)

var _ teacher.Ledger = (*store.Store)(nil)

func TestScoresAreTheModelsOwnNumbers(t *testing.T) {
	t.Parallel()
	db, run := makeRun(t, plan{tasks: 2, group: 2, steps: 2})
	e := &engine{}
	r, err := teacher.Score(t.Context(), db, e, options(run, e, teacher.ImmediateFeedback, teacher.SuccessFuture))
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Passes) != 2 || r.Check == nil || r.Check.MaxDelta != 0 || r.Check.Rows != 4 {
		t.Errorf("report: %+v, check %+v", r, r.Check)
	}
	rows := scoresOf(t, db, r.Passes[0].Pass.ID)
	if len(rows) != 8 {
		t.Fatalf("%d rows, want 8", len(rows))
	}
	for _, s := range rows {
		steps, err := db.EpisodeSteps(t.Context(), s.Episode)
		if err != nil {
			t.Fatal(err)
		}
		step := steps[s.Step]
		if s.Status != harness.ScoreDone || !slices.Equal(s.Student.Values, step.Tokens.Logprobs) {
			t.Fatalf("episode %d, step %d: %s, student %v, want the recorded numbers", s.Episode, s.Step, s.Status, s.Student.Values)
		}
		context := teacher.DefaultTemplates().Text("title_immediate_feedback")
		prompt := strings.Replace(strings.Replace(teacher.DefaultTemplates().Text("context"), "{prompt}", step.Prompt[0].Content, 1),
			"{privileged_context}", "# "+context+"\nYou arrive at drawer.", 1)
		ids := llmtest.Render([]harness.Message{{Role: "user", Content: prompt}})
		if want := exact(ids, step.Tokens.IDs); !slices.Equal(s.Teacher.Values, want) || s.PromptTokens != len(ids) {
			t.Fatalf("episode %d, step %d: teacher %v, want %v", s.Episode, s.Step, s.Teacher.Values, want)
		}
		marked := ""
		for i, m := range s.ActionMask {
			if m {
				marked += string(llmtest.Spell(step.Tokens.IDs[i]))
			}
		}
		if marked != step.Action {
			t.Errorf("the mask spells %q, the action is %q", marked, step.Action)
		}
	}
	// The winner has no other success, and the last step of the loser no future.
	status := map[harness.ScoreStatus]int{}
	for _, s := range scoresOf(t, db, r.Passes[1].Pass.ID) {
		status[s.Status]++
		if s.Status == harness.ScoreNoContext && (s.Delta() != nil || s.PromptTokens != 0) {
			t.Errorf("a row without context has %v", s.Delta())
		}
	}
	if status[harness.ScoreDone] != 2 || status[harness.ScoreNoContext] != 6 {
		t.Errorf("statuses: %v", status)
	}
}

func TestASecondRunCostsNothing(t *testing.T) {
	t.Parallel()
	db, run := makeRun(t, plan{tasks: 2, group: 2, steps: 3})
	e := &engine{}
	opt := options(run, e, teacher.Unjudged()...)
	first, err := teacher.Score(t.Context(), db, e, opt)
	if err != nil || first.UpToDate {
		t.Fatal(err, first)
	}
	before := scoresOf(t, db, first.Passes[3].Pass.ID)
	calls, renders := e.calls, e.renders
	again, err := teacher.Score(t.Context(), db, e, opt)
	if err != nil || !again.UpToDate || e.calls != calls || e.renders != renders || again.Check != nil {
		t.Errorf("%d calls and %d renders more, up to date %v, %v", e.calls-calls, e.renders-renders, again.UpToDate, err)
	}
	for i := range first.Passes {
		if diff := cmp.Diff(first.Passes[i].Counts, again.Passes[i].Counts); diff != "" {
			t.Error(diff)
		}
	}
	if diff := cmp.Diff(before, scoresOf(t, db, again.Passes[3].Pass.ID)); diff != "" {
		t.Error(diff)
	}
}

// Two modes whose contexts are equal ask once, and a template that changes one mode's context leaves
// the other's answers.
func TestOnlyWhatChangedIsAskedAgain(t *testing.T) {
	t.Parallel()
	db, run := makeRun(t, plan{tasks: 1, group: 2, steps: 2})
	e := &engine{}
	opt := options(run, e, teacher.ImmediateFeedback, teacher.NextObservation)
	if _, err := teacher.Score(t.Context(), db, e, opt); err != nil {
		t.Fatal(err)
	}
	changed, err := teacher.ParseTemplates([]byte(`{"title_next_observation": "Another title"}`))
	if err != nil {
		t.Fatal(err)
	}
	opt.Templates = changed
	e.calls = 0
	r, err := teacher.Score(t.Context(), db, e, opt)
	if err != nil {
		t.Fatal(err)
	}
	checks := 2 * r.Check.Rows
	if r.Calls != 4 || e.calls != 4+checks || r.Cached != 4+4 {
		t.Errorf("%d questions asked, %d answers known, want 4 and 8", r.Calls, r.Cached)
	}
	passes, err := db.ScorePasses(t.Context(), run.ID)
	if err != nil || len(passes) != 4 {
		t.Errorf("%d passes, %v, want 4: other templates are another pass", len(passes), err)
	}
}

func TestAKilledPassResumesToIdenticalRows(t *testing.T) {
	t.Parallel()
	p := plan{tasks: 3, group: 2, steps: 3}
	modes := []teacher.Mode{teacher.FutureTrajectory, teacher.AnchorImmediateFeedback}
	whole, wholeRun := makeRun(t, p)
	e := &engine{}
	want, err := teacher.Score(t.Context(), whole, e, options(wholeRun, e, modes...))
	if err != nil {
		t.Fatal(err)
	}
	total := e.calls
	db, run := makeRun(t, p)
	asked := 0
	for stop := 12; ; stop += 7 { // each try is killed after so many calls
		ctx, cancel := context.WithCancelCause(t.Context())
		killed := errors.New("killed")
		e := &engine{fail: func(call int) error {
			if call > stop {
				cancel(killed)
				return killed
			}
			return nil
		}}
		opt := options(run, e, modes...)
		opt.Concurrency = 1
		r, err := teacher.Score(ctx, db, e, opt)
		cancel(nil)
		asked += r.Calls
		if err == nil {
			for i := range modes {
				if diff := cmp.Diff(scoresOf(t, whole, want.Passes[i].Pass.ID), scoresOf(t, db, r.Passes[i].Pass.ID)); diff != "" {
					t.Errorf("%s: %s", modes[i], diff)
				}
			}
			break
		}
		if !errors.Is(err, killed) && !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
		if stop > 200 {
			t.Fatal("no progress")
		}
	}
	if asked > total {
		t.Errorf("%d questions in all tries together, %d in one", asked, total)
	}
}

func TestOneCallAtATimeAndManyGiveEqualRows(t *testing.T) {
	t.Parallel()
	p := plan{tasks: 3, group: 3, steps: 3}
	var all [][]harness.StepScore
	for _, n := range []int{1, 16} {
		db, run := makeRun(t, p)
		e := &engine{}
		opt := options(run, e, teacher.Unjudged()...)
		opt.Concurrency = n
		r, err := teacher.Score(t.Context(), db, e, opt)
		if err != nil {
			t.Fatal(err)
		}
		var rows []harness.StepScore
		for _, pass := range r.Passes {
			rows = append(rows, scoresOf(t, db, pass.Pass.ID)...)
		}
		all = append(all, rows)
	}
	if diff := cmp.Diff(all[0], all[1]); diff != "" {
		t.Error(diff)
	}
}

func TestSelfCheckRefuses(t *testing.T) {
	t.Parallel()
	db, run := makeRun(t, plan{tasks: 1, group: 2, steps: 2})
	for _, c := range []struct {
		name       string
		e          *engine
		change     func(*teacher.Options)
		want, hint string
	}{
		{"noise", &engine{noise: 0.3}, nil, "self-check failed: behind the student's own prompt the teacher's log-probabilities differ by up to 0.3", "the server does not repeat its own numbers"},
		{"other weights", &engine{model: llmtest.Model{Weights: 1}}, func(o *teacher.Options) { o.Student = teacher.StudentRecorded }, "self-check failed", "the teacher is not the policy that was recorded"},
		{"other template", &engine{render: func(ms []harness.Message) []int32 { return append(llmtest.Render(ms), 7) }}, nil, "the teacher has another tokenizer or chat template than the policy: the policy's prompt has", "use a teacher of the policy's own model family"},
		{"other vocabulary", &engine{spell: func(ids []int32) string { return strings.Repeat("x", len(ids)) }}, nil, "the teacher has another tokenizer or chat template than the policy: none of 4 responses is spelled", "use a teacher of the policy's own model family"},
		{"smaller vocabulary", &engine{render: func(ms []harness.Message) []int32 { return llmtest.Render(ms)[1:] }}, func(o *teacher.Options) { o.Teacher.VocabSize = 100 }, "the teacher has another tokenizer or chat template than the policy: prompt id 256 is outside the teacher's vocabulary of 100", "use a teacher"},
		{"too few", &engine{short: true}, nil, "log-probabilities for", ""},
	} {
		opt := options(run, c.e, teacher.ImmediateFeedback)
		if c.change != nil {
			c.change(&opt)
		}
		_, err := teacher.Score(t.Context(), db, c.e, opt)
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.HasPrefix(errext.Hint(err), c.hint) {
			t.Errorf("%s: got %v (hint %q)", c.name, err, errext.Hint(err))
		}
		if strings.HasPrefix(c.want, "self-check") != errors.Is(err, teacher.ErrSelfCheck) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
	e := &engine{noise: 0.3}
	opt := options(run, e, teacher.ImmediateFeedback)
	opt.Tolerance = 0.31
	if r, err := teacher.Score(t.Context(), db, e, opt); err != nil || math.Abs(r.Check.MaxDelta-0.3) > 1e-4 {
		t.Errorf("within the tolerance: %v, %+v", err, r.Check)
	}
}

func TestRowsThatCannotBeScoredSayWhy(t *testing.T) {
	t.Parallel()
	db, run := makeRun(t, plan{tasks: 1, group: 6, steps: 1, leave: 1, change: func(_, sample int, s *harness.Step) {
		switch sample {
		case 0:
			s.Tokens = nil
		case 1:
			s.Tokens.IDs, s.Tokens.Logprobs, s.Tokens.Versions, s.Response, s.Spans = []int32{}, nil, nil, "", nil
		case 2:
			s.Tokens.IDs[0] = 65
		case 3:
			s.Spans = nil // no action
		}
	}})
	e := &engine{}
	r, err := teacher.Score(t.Context(), db, e, options(run, e, teacher.ImmediateFeedback))
	if err != nil {
		t.Fatal(err)
	}
	want := harness.ScoreCounts{
		Rows:   map[harness.ScoreStatus]int{harness.ScoreNoTokens: 1, harness.ScoreEmpty: 1, harness.ScoreMisaligned: 1, harness.ScoreDone: 2},
		Groups: 1, NoAction: 1,
	}
	got := r.Passes[0].Counts
	if got.Tokens == 0 || got.Marked == 0 || got.Marked >= got.Tokens || r.OpenEpisodes != 1 {
		t.Errorf("counts %+v, %d open", got, r.OpenEpisodes)
	}
	want.Tokens, want.Marked, want.Prompts = got.Tokens, got.Marked, got.Prompts
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	var kept struct {
		Low, High *int32 `json:"-"`
		L         int32  `json:"low_version"`
		H         int32  `json:"high_version"`
		Open      int    `json:"open_episodes"`
	}
	if err := json.Unmarshal(r.Passes[0].Pass.Report, &kept); err != nil || kept.L != 5 || kept.H != 7 || kept.Open != 1 {
		t.Errorf("kept report %s: %v", r.Passes[0].Pass.Report, err)
	}
}

// When the open episode ends, its group is scored anew and the others' are left alone.
func TestNewEpisodesRenewTheirGroup(t *testing.T) {
	t.Parallel()
	p := plan{tasks: 2, group: 2, steps: 2, leave: 1}
	db, run := makeRun(t, p)
	e := &engine{}
	opt := options(run, e, teacher.AnchorImmediateFeedback)
	opt.WholeGroups = true
	r, err := teacher.Score(t.Context(), db, e, opt)
	if err != nil || r.Passes[0].Counts.Groups != 1 {
		t.Fatalf("%v, %d groups, want the complete one", err, r.Passes[0].Counts.Groups)
	}
	refs, err := db.Pending(t.Context(), run.ID)
	if err != nil {
		t.Fatal(err)
	}
	record(t, db, run, refs[0], p)
	r, err = teacher.Score(t.Context(), db, e, opt)
	if err != nil || r.Passes[0].Counts.Groups != 2 || r.Passes[0].Counts.Rows[harness.ScoreDone] != 8 {
		t.Errorf("%v, %+v", err, r.Passes[0].Counts)
	}
}

func TestLongContextsAreShortenedOrCut(t *testing.T) {
	t.Parallel()
	db, run := makeRun(t, plan{tasks: 1, group: 2, steps: 6})
	whole := &engine{}
	both := options(run, whole, teacher.FutureTrajectory)
	both.Modes[0].Format = teacher.FormatObservationAction
	wide, err := teacher.Score(t.Context(), db, whole, both)
	if err != nil {
		t.Fatal(err)
	}
	longest := 0
	for _, s := range scoresOf(t, db, wide.Passes[0].Pass.ID) {
		longest = max(longest, s.PromptTokens)
	}
	limit := longest - 40
	for _, truncation := range []teacher.Truncation{teacher.TruncateParts, teacher.TruncateCompat} {
		e := &engine{}
		opt := options(run, e, teacher.FutureTrajectory)
		opt.MaxPrompt, opt.Truncation, opt.Modes = limit, truncation, both.Modes
		r, err := teacher.Score(t.Context(), db, e, opt)
		if err != nil {
			t.Fatal(err)
		}
		short := 0
		for _, s := range scoresOf(t, db, r.Passes[0].Pass.ID) {
			if s.PromptTokens > limit {
				t.Errorf("%s: a prompt of %d tokens, limit %d", truncation, s.PromptTokens, limit)
			}
			if s.LeftOut != nil {
				short++
				want := map[teacher.Truncation]string{teacher.TruncateParts: "future_steps", teacher.TruncateCompat: "truncated_tokens"}[truncation]
				if !strings.Contains(string(s.LeftOut), want) {
					t.Errorf("%s: left out %s", truncation, s.LeftOut)
				}
			}
		}
		if short == 0 || short != r.Passes[0].Counts.Shortened {
			t.Errorf("%s: %d rows say what they lack, the report counts %d", truncation, short, r.Passes[0].Counts.Shortened)
		}
		ends := 0
		tail := llmtest.Tokenize("<|turn|>assistant\n", true)
		for _, prefix := range e.prefix {
			if len(prefix) >= len(tail) && slices.Equal(prefix[len(prefix)-len(tail):], tail) {
				ends++
			}
		}
		if lost := len(e.prefix) - ends; (lost > 0) != (truncation == teacher.TruncateCompat) {
			t.Errorf("%s: %d of %d prompts lost their end", truncation, lost, len(e.prefix))
		}
	}
	tiny := &engine{context: 60}
	r, err := teacher.Score(t.Context(), db, tiny, options(run, tiny, teacher.FutureTrajectory))
	if err != nil || r.Passes[0].Counts.Rows[harness.ScoreTooLong] != 10 || r.Passes[0].Counts.Rows[harness.ScoreNoContext] != 2 {
		t.Errorf("a server with a tiny context: %v, %+v", err, r.Passes)
	}
}

func TestRecordedStudent(t *testing.T) {
	t.Parallel()
	db, run := makeRun(t, plan{tasks: 1, group: 2, steps: 2, change: func(_, sample int, s *harness.Step) {
		if sample == 0 {
			s.Tokens.Logprobs = nil
		}
	}})
	e := &engine{}
	opt := options(run, e, teacher.ImmediateFeedback)
	opt.Student = teacher.StudentRecorded
	r, err := teacher.Score(t.Context(), db, e, opt)
	if err != nil {
		t.Fatal(err)
	}
	if r.Calls != 2 || r.Passes[0].Counts.Rows[harness.ScoreNoLogprobs] != 2 {
		t.Errorf("%d questions, %+v: only the teacher's numbers are asked", r.Calls, r.Passes[0].Counts.Rows)
	}
	sampled, run2 := makeRun(t, plan{tasks: 1, group: 1, steps: 1, change: func(_, _ int, s *harness.Step) {
		s.Tokens.Meta = &harness.TokenMeta{Mode: "processed", Temperature: 0.7, TopP: 1}
	}})
	opt.RunID = run2.ID
	if _, err := teacher.Score(t.Context(), sampled, e, opt); err == nil || !strings.Contains(err.Error(), "those of the sampler") {
		t.Errorf("log-probabilities of the sampler: %v", err)
	}
}

// A conversation continued in token space: the policy's ids are split otherwise than rendering splits
// them. Student and teacher must still differ in the context alone.
func TestContextsGoOntoThePolicysOwnIDs(t *testing.T) {
	t.Parallel()
	db, run := makeRun(t, plan{tasks: 1, group: 1, steps: 2, change: func(_, _ int, s *harness.Step) {
		s.Prompt = []harness.Message{{Role: "assistant", Content: "the action"}, s.Prompt[0]}
		rendered := llmtest.Render(s.Prompt)
		piece := llmtest.Tokenize(" the", false)[0]
		_ = piece
		at := slices.Index(rendered, llmtest.Tokenize("the", false)[0])
		ids := slices.Concat(rendered[:at], []int32{'t', 'h', 'e'}, rendered[at+1:])
		s.Tokens.PromptIDs, s.Tokens.Logprobs = ids, exact(ids, s.Tokens.IDs)
	}})
	e := &engine{}
	r, err := teacher.Score(t.Context(), db, e, options(run, e, teacher.ImmediateFeedback))
	if err != nil {
		t.Fatal(err)
	}
	if r.Check.Realigned != 2 || r.Check.MaxDelta != 0 {
		t.Errorf("check %+v", r.Check)
	}
	for _, s := range scoresOf(t, db, r.Passes[0].Pass.ID) {
		steps, err := db.EpisodeSteps(t.Context(), s.Episode)
		if err != nil {
			t.Fatal(err)
		}
		if s.Status != harness.ScoreDone || !slices.Equal(s.Student.Values, steps[s.Step].Tokens.Logprobs) {
			t.Errorf("step %d: %s", s.Step, s.Status)
		}
	}
	split := 0
	for _, prefix := range e.prefix {
		if text := llmtest.SpellAll(prefix, true); strings.Contains(text, "the action") && slices.Contains(prefix, 't') {
			split++
		}
	}
	if split != len(e.prefix) {
		t.Errorf("%d of %d prompts keep the policy's own split", split, len(e.prefix))
	}
}

func TestDryRunAsksAndKeepsNothing(t *testing.T) {
	t.Parallel()
	db, run := makeRun(t, plan{tasks: 1, group: 2, steps: 2})
	e := &engine{}
	opt := options(run, e, teacher.ImmediateFeedback, teacher.SuccessFeedback)
	opt.DryRun = true
	shown := 0
	opt.Contexts = func(s teacher.Shown) {
		shown++
		if s.Tokens <= s.Student || s.Answer == 0 || !s.Context.Available {
			t.Errorf("shown %+v", s)
		}
	}
	dry, err := teacher.Score(t.Context(), db, e, opt)
	if err != nil || e.calls != 0 || shown != 6 {
		t.Fatalf("%v, %d calls, %d contexts", err, e.calls, shown)
	}
	if passes, err := db.ScorePasses(t.Context(), run.ID); err != nil || len(passes) != 0 {
		t.Errorf("%d passes were kept, %v", len(passes), err)
	}
	opt.DryRun = false
	real, err := teacher.Score(t.Context(), db, e, opt)
	if err != nil || real.Calls != dry.Missing || real.PromptTokens != dry.PromptTokens || real.AnswerTokens != dry.AnswerTokens {
		t.Errorf("%v: foretold %d questions with %d and %d tokens, asked %d with %d and %d", err, dry.Missing, dry.PromptTokens, dry.AnswerTokens, real.Calls, real.PromptTokens, real.AnswerTokens)
	}
	opt.DryRun = true
	if again, err := teacher.Score(t.Context(), db, e, opt); err != nil || again.Missing != 0 {
		t.Errorf("after the pass, %d questions are missing, %v", again.Missing, err)
	}
}

func TestCompatMask(t *testing.T) {
	t.Parallel()
	db, run := makeRun(t, plan{tasks: 1, group: 1, steps: 1, change: func(_, _ int, s *harness.Step) {
		// "th" + "ink" was sampled where tokenising says "think": from there on indices are shifted.
		ids := s.Tokens.IDs
		at := slices.Index(ids, llmtest.Tokenize("think", false)[0])
		s.Tokens.IDs = slices.Concat(ids[:at], []int32{'t', 'h', 'i', 'n', 'k'}, ids[at+1:])
		s.Tokens.Logprobs, s.Tokens.Versions = nil, nil
	}})
	spelled := map[teacher.Mask]string{}
	for _, mask := range []teacher.Mask{teacher.MaskExact, teacher.MaskCompat} {
		e := &engine{}
		opt := options(run, e, teacher.ImmediateFeedback)
		opt.Mask = mask
		r, err := teacher.Score(t.Context(), db, e, opt)
		if err != nil {
			t.Fatal(err)
		}
		s := scoresOf(t, db, r.Passes[0].Pass.ID)[0]
		steps, _ := db.EpisodeSteps(t.Context(), s.Episode)
		for i, m := range s.ActionMask {
			if m {
				spelled[mask] += string(llmtest.Spell(steps[0].Tokens.IDs[i]))
			}
		}
	}
	if spelled[teacher.MaskExact] != "go to drawer 1" {
		t.Errorf("exact: %q", spelled[teacher.MaskExact])
	}
	if spelled[teacher.MaskCompat] == spelled[teacher.MaskExact] {
		t.Errorf("the reference's mask is not shifted: %q", spelled[teacher.MaskCompat])
	}
}

func TestOptionsAreChecked(t *testing.T) {
	t.Parallel()
	db, run := makeRun(t, plan{tasks: 1, group: 1, steps: 1})
	e := &engine{}
	for want, change := range map[string]func(*teacher.Options){
		"score: no mode":                             func(o *teacher.Options) { o.Modes = nil },
		"score: mode immediate_feedback twice":       func(o *teacher.Options) { o.Modes = append(o.Modes, o.Modes[0]) },
		`score: unknown student "x"`:                 func(o *teacher.Options) { o.Student = "x" },
		`score: unknown action mask "x"`:             func(o *teacher.Options) { o.Mask = "x" },
		`score: unknown truncation "x"`:              func(o *teacher.Options) { o.Truncation = "x" },
		"score: -1 prompt tokens, 4 calls: negative": func(o *teacher.Options) { o.MaxPrompt = -1 },
		"score: the tolerance is not a number":       func(o *teacher.Options) { o.Tolerance = math.NaN() },
		`score: unknown teacher mode "x"`:            func(o *teacher.Options) { o.Modes[0].Mode = "x" },
	} {
		opt := options(run, e, teacher.ImmediateFeedback)
		change(&opt)
		if _, err := teacher.Score(t.Context(), db, e, opt); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

// TestPassesOfSomeGroupsAreFinished: calls with Groups leave a pass running and keep what they learnt; Finish
// sums it up.
func TestPassesOfSomeGroupsAreFinished(t *testing.T) {
	t.Parallel()
	db, run := makeRun(t, plan{tasks: 3, group: 2, steps: 2, change: func(task, _ int, s *harness.Step) {
		if s.Tokens != nil {
			for i := range s.Tokens.Versions {
				s.Tokens.Versions[i] = int32(task)
			}
		}
	}})
	e := &engine{}
	opt := options(run, e, teacher.ImmediateFeedback)
	var pass harness.ScorePass
	for _, g := range []int{1, 2} {
		opt.Groups = []int{g}
		if _, err := teacher.Score(t.Context(), db, e, opt); err != nil {
			t.Fatal(err)
		}
		passes, err := db.ScorePasses(t.Context(), run.ID)
		if err != nil || len(passes) != 1 || passes[0].State != "running" {
			t.Fatalf("%+v, %v", passes, err)
		}
		pass = passes[0]
	}
	if err := teacher.Finish(t.Context(), db, pass); err != nil {
		t.Fatal(err)
	}
	passes, err := db.ScorePasses(t.Context(), run.ID)
	if err != nil || passes[0].State != "done" {
		t.Fatalf("%+v, %v", passes, err)
	}
	var kept struct {
		Counts harness.ScoreCounts `json:"counts"`
		Check  *teacher.SelfCheck  `json:"self_check"`
		Low    int                 `json:"low_version"`
		High   int                 `json:"high_version"`
	}
	if err := json.Unmarshal(passes[0].Report, &kept); err != nil {
		t.Fatal(err)
	}
	if kept.Counts.Groups != 2 || kept.Counts.Rows[harness.ScoreDone] != 8 || kept.Check == nil || kept.Low != 1 || kept.High != 2 {
		t.Errorf("report %s", passes[0].Report)
	}
}
