package teacher_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/hindsightrl/harness"
	"github.com/hindsightrl/harness/llm"
	"github.com/hindsightrl/harness/teacher"
)

// critic is a judge that answers as told.
type critic struct {
	answer func(call int, req llm.Request) (llm.Generation, error)

	mu    sync.Mutex
	calls int
	asked []llm.Request
}

func (c *critic) Generate(_ context.Context, req llm.Request) (llm.Generation, error) {
	c.mu.Lock()
	c.calls++
	call := c.calls
	c.asked = append(c.asked, req)
	c.mu.Unlock()
	return c.answer(call, req)
}

func says(text string) *critic {
	return &critic{answer: func(int, llm.Request) (llm.Generation, error) { return llm.Generation{Text: text, Finish: "stop"}, nil }}
}

func judge(c *critic) teacher.JudgeConfig {
	return teacher.DefaultJudge(teacher.JudgeModel{Generator: c, Name: "critic"})
}

func TestJudgementsAreKeptAndShown(t *testing.T) {
	t.Parallel()
	db, run := makeRun(t, plan{tasks: 1, group: 2, steps: 2})
	c := says(" <think>hm</think>It failed for want of trying. \n")
	cfg := judge(c)
	for _, mode := range []teacher.Mode{teacher.JudgeTrajectory, teacher.JudgeTrajectoryOnSuccess} {
		for again, want := range []teacher.JudgeReport{{Episodes: 2, Judged: 2}, {Episodes: 2, Cached: 2}} {
			r, err := teacher.JudgeRun(t.Context(), db, db, run.ID, teacher.DefaultConfig(mode), false, cfg)
			if err != nil || r != want {
				t.Errorf("%s, call %d: %+v, %v", mode, again, r, err)
			}
		}
	}
	if c.calls != 4 {
		t.Errorf("%d questions, want 4", c.calls)
	}
	alone, withOther := c.asked[0].Messages[1].Content, c.asked[2].Messages[1].Content
	if !strings.Contains(alone, "[0] <action>") || !strings.Contains(alone, "2 steps") || strings.Contains(alone, "Another attempt") || strings.Contains(alone, "<think>look") {
		t.Errorf("asked %q", alone)
	}
	if !strings.Contains(withOther, "Another attempt at the same task") {
		t.Errorf("asked %q", withOther)
	}
	e := &engine{}
	opt := options(run, e, teacher.JudgeTrajectory, teacher.JudgeTrajectoryOnSuccess)
	opt.Judge, opt.DryRun = cfg.Key(), true
	shown := 0
	opt.Contexts = func(s teacher.Shown) {
		shown++
		if !strings.Contains(s.Context.Messages[0].Content, "\nIt failed for want of trying.\n") || !s.Context.Used.Judge {
			t.Errorf("context %q", s.Context.Messages[0].Content)
		}
	}
	if _, err := teacher.Score(t.Context(), db, e, opt); err != nil || shown != 8 {
		t.Errorf("%d contexts, %v", shown, err)
	}
	// Another judge's texts are not shown as this one's.
	opt.Judge, shown = "other", 0
	if r, err := teacher.Score(t.Context(), db, e, opt); err != nil || shown != 0 || r.Passes[0].Counts.Rows[harness.ScoreNoContext] != 4 {
		t.Errorf("%d contexts of a judge that never judged, %v", shown, err)
	}
}

func TestANewJudgementRenewsTheScores(t *testing.T) {
	t.Parallel()
	db, run := makeRun(t, plan{tasks: 1, group: 1, steps: 1})
	e := &engine{}
	opt := options(run, e, teacher.JudgeTrajectory)
	r, err := teacher.Score(t.Context(), db, e, opt)
	if err != nil || r.Passes[0].Counts.Rows[harness.ScoreNoContext] != 1 {
		t.Fatal(err, r)
	}
	if _, err := teacher.JudgeRun(t.Context(), db, db, run.ID, opt.Modes[0], false, judge(says("Fine."))); err != nil {
		t.Fatal(err)
	}
	if r, err = teacher.Score(t.Context(), db, e, opt); err != nil || r.Passes[0].Counts.Rows[harness.ScoreDone] != 1 {
		t.Errorf("%+v, %v", r.Passes[0].Counts, err)
	}
}

func TestJudgesThatFail(t *testing.T) {
	t.Parallel()
	down := harness.Fail(harness.FailServer, "generate", errors.New("503"))
	refused := harness.FailFinal(harness.FailServer, "generate", errors.New("401"))
	for _, c := range []struct {
		name     string
		answer   func(call int, req llm.Request) (llm.Generation, error)
		fallback *critic
		strict   bool
		want     teacher.JudgeReport
		calls    int
		err      string
	}{
		{"empty, lenient", func(int, llm.Request) (llm.Generation, error) { return llm.Generation{Text: " \n"}, nil }, nil, false, teacher.JudgeReport{Episodes: 1, Failed: 1}, 3, ""},
		{"says nothing, strict", func(int, llm.Request) (llm.Generation, error) { return llm.Generation{Text: "N/A."}, nil }, nil, true, teacher.JudgeReport{Episodes: 1}, 3, `judge: episode 1: judge critic answered "N/A.": no judgement`},
		{"second try", func(call int, _ llm.Request) (llm.Generation, error) {
			return llm.Generation{Text: []string{"none", "Well done."}[call-1]}, nil
		}, nil, true, teacher.JudgeReport{Episodes: 1, Judged: 1}, 2, ""},
		{"cut off in thought", func(call int, req llm.Request) (llm.Generation, error) {
			if req.Sampling.MaxTokens < 8192 {
				return llm.Generation{Text: "<think>so", Finish: "length"}, nil
			}
			return llm.Generation{Text: "<think>so</think>Well done."}, nil
		}, nil, true, teacher.JudgeReport{Episodes: 1, Judged: 1}, 2, ""},
		{"down, fallback", func(int, llm.Request) (llm.Generation, error) { return llm.Generation{}, down }, says("From the second."), true, teacher.JudgeReport{Episodes: 1, Judged: 1, Fallbacks: 1}, 3, ""},
		{"refused: no second try", func(int, llm.Request) (llm.Generation, error) { return llm.Generation{}, refused }, nil, true, teacher.JudgeReport{Episodes: 1}, 1, "judge: episode 1: ask judge critic: model_server failure: generate: 401"},
		{"both fail", func(int, llm.Request) (llm.Generation, error) { return llm.Generation{}, refused }, says("none"), false, teacher.JudgeReport{Episodes: 1, Failed: 1}, 1, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			db, run := makeRun(t, plan{tasks: 1, group: 1, steps: 1})
			model := &critic{answer: c.answer}
			cfg := judge(model)
			cfg.Strict = c.strict
			if c.fallback != nil {
				cfg.Fallback = teacher.JudgeModel{Generator: c.fallback, Name: "second"}
			}
			r, err := teacher.JudgeRun(t.Context(), db, db, run.ID, teacher.DefaultConfig(teacher.JudgeTrajectory), false, cfg)
			if r != c.want || model.calls != c.calls || (err == nil) != (c.err == "") || err != nil && err.Error() != c.err {
				t.Errorf("report %+v, %d calls, error %v", r, model.calls, err)
			}
		})
	}
}

func TestJudgement(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"": "", "None": "", " n/a. ": "", "No comment!": "", "<think>x": "", "<think>a</think>": "", "It worked.": "It worked.",
		"plan</think> It failed.": "It failed.", "<think>a</think>None of it worked.": "None of it worked.",
	} {
		if got, ok := teacher.Judgement(in); got != want || ok != (want != "") {
			t.Errorf("%q: got %q, %v", in, got, ok)
		}
	}
}

func TestJudgeConfigIsChecked(t *testing.T) {
	t.Parallel()
	c := judge(says("x"))
	for want, change := range map[string]func(*teacher.JudgeConfig){
		"judge: no model": func(c *teacher.JudgeConfig) { c.Model.Generator = nil },
		"judge: 0 tries":  func(c *teacher.JudgeConfig) { c.Tries = 0 },
		"judge: temper":   func(c *teacher.JudgeConfig) { c.Temperature = -1 },
	} {
		bad := c
		change(&bad)
		if err := bad.Validate(); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
	other := c
	other.Temperature = 1
	if c.Key() == other.Key() || c.Key() != judge(says("y")).Key() {
		t.Error("the key does not name the judge")
	}
	if _, err := teacher.JudgeRun(t.Context(), nil, nil, 1, teacher.DefaultConfig(teacher.ImmediateFeedback), false, c); err == nil || err.Error() != "judge: mode immediate_feedback needs no judge" {
		t.Errorf("an unjudged mode: %v", err)
	}
}
