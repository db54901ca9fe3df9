package teacher

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/hindsightrl/harness"
	"github.com/hindsightrl/harness/internal/errext"
	"github.com/hindsightrl/harness/internal/pystr"
	"github.com/hindsightrl/harness/llm"
)

// ErrNoJudgement says that a judge answered with nothing, or with a word that says nothing. That is not a judgement.
var ErrNoJudgement = errors.New("no judgement")

// JudgeModel is a model that judges.
type JudgeModel struct {
	Generator llm.Generator
	Name      string // who it is: part of the key under which its texts are kept
}

// JudgeConfig says who judges, and how. DefaultJudge has the reference's values.
type JudgeConfig struct {
	Model    JudgeModel
	Fallback JudgeModel // asked where Model fails or says nothing; no Generator = none

	Tries          int // of one model, the first included
	MaxTokens      int // of an answer
	RetryMaxTokens int // of the next answer after one that was cut off before it said anything
	Temperature    float64
	WithFeedback   bool // the prompt shows the environment's last answer
	Strict         bool // an episode without a judgement ends the call; otherwise it goes without
	Concurrency    int  // questions in flight

	Templates *Templates            // nil: the default wording
	Progress  func(done, total int) // called from one goroutine at a time; may be nil
	Log       *slog.Logger          // nil: none
}

// DefaultJudge returns the reference's settings for a model: three tries, 4,096 tokens and 8,192 after a
// cut-off answer, temperature 0, feedback shown, lenient, 32 questions in flight.
// Source: OliverLeeXZ/SERL@5a2a85b recipe/serl/config/serl_trainer.yaml.
func DefaultJudge(m JudgeModel) JudgeConfig {
	return JudgeConfig{Model: m, Tries: 3, MaxTokens: 4096, RetryMaxTokens: 8192, WithFeedback: true, Concurrency: 32}
}

// Validate reports the first setting that cannot work.
func (c JudgeConfig) Validate() error {
	switch {
	case c.Model.Generator == nil:
		return errors.New("judge: no model")
	case c.Tries < 1 || c.MaxTokens < 1 || c.RetryMaxTokens < 0 || c.Concurrency < 1:
		return fmt.Errorf("judge: %d tries, %d and %d tokens, %d in flight: want at least 1", c.Tries, c.MaxTokens, c.RetryMaxTokens, c.Concurrency)
	case !(c.Temperature >= 0):
		return fmt.Errorf("judge: temperature %v is negative", c.Temperature)
	}
	return nil
}

// Key names the judge: who is asked and how answers are drawn. Texts are kept under it, so that another judge
// does not take them for its own.
func (c JudgeConfig) Key() string {
	raw, err := json.Marshal([]any{1, c.Model.Name, c.Fallback.Name, c.MaxTokens, c.RetryMaxTokens, c.Temperature, c.WithFeedback})
	if err != nil { // strings and finite numbers
		panic(err)
	}
	sum := sha256.Sum256(raw)
	return hex.EncodeToString(sum[:6])
}

// Texts is where judgements are kept: texts about steps, by source.
type Texts interface {
	// AddStepText writes a text, in place of one of the same step and source; it returns when it is durable.
	AddStepText(ctx context.Context, attempt int64, t harness.StepText) error
}

// JudgeReport says what a call of JudgeRun did.
type JudgeReport struct {
	Episodes  int `json:"episodes"`  // done ones
	Cached    int `json:"cached"`    // judged before
	Judged    int `json:"judged"`    // now
	Fallbacks int `json:"fallbacks"` // of those, by the fallback model
	Failed    int `json:"failed"`    // without a judgement
}

// JudgeRun has every done episode of a run judged in a judged mode and keeps the texts with the episodes'
// last steps. What is there already under the same judge and the same question is not asked again. whole
// leaves groups alone that have open episodes.
func JudgeRun(ctx context.Context, rollouts Rollouts, texts Texts, run int64, mode Config, whole bool, c JudgeConfig) (JudgeReport, error) {
	if err := c.Validate(); err != nil {
		return JudgeReport{}, err
	}
	if err := mode.Validate(); err != nil {
		return JudgeReport{}, fmt.Errorf("judge: %w", err)
	}
	if !mode.Mode.Judged() {
		return JudgeReport{}, fmt.Errorf("judge: mode %s needs no judge", mode.Mode)
	}
	if c.Templates == nil {
		c.Templates = DefaultTemplates()
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	j := &judgeRun{JudgeConfig: c, texts: texts, mode: mode, slots: make(chan struct{}, c.Concurrency)}
	groups, err := rollouts.ScoreGroups(ctx, run)
	if err != nil {
		return JudgeReport{}, fmt.Errorf("judge: %w", err)
	}
	for _, g := range groups {
		if whole && g.Open > 0 {
			continue
		}
		j.report.Episodes += g.Done
	}
	eg, ctx := errgroup.WithContext(ctx)
	eg.SetLimit(groupsInFlight + c.Concurrency)
	for _, g := range groups {
		if g.Done == 0 || whole && g.Open > 0 {
			continue
		}
		eg.Go(func() error {
			episodes, err := rollouts.GroupEpisodes(ctx, run, g.Index)
			if err != nil {
				return err
			}
			return j.group(ctx, episodes)
		})
	}
	err = eg.Wait()
	if err != nil {
		err = fmt.Errorf("judge: %w", err)
	}
	return j.report, err
}

// judgeRun is one call of JudgeRun.
type judgeRun struct {
	JudgeConfig
	texts Texts
	mode  Config
	slots chan struct{}

	mu     sync.Mutex
	report JudgeReport
}

func (j *judgeRun) count(f func(*JudgeReport)) {
	j.mu.Lock()
	defer j.mu.Unlock()
	f(&j.report)
	if r := j.report; j.Progress != nil {
		j.Progress(r.Cached+r.Judged+r.Failed, r.Episodes)
	}
}

func (j *judgeRun) group(ctx context.Context, episodes []harness.GroupEpisode) error {
	prompts := judgePrompts(episodes, j.mode, j.Templates, j.WithFeedback)
	eg, ctx := errgroup.WithContext(ctx)
	for i := range episodes {
		if prompts[i] == nil {
			j.count(func(r *JudgeReport) { r.Failed++ })
			continue
		}
		eg.Go(func() error { return j.episode(ctx, &episodes[i], prompts[i]) })
	}
	return eg.Wait()
}

// source is where the answer to a question is kept.
func (j *judgeRun) source(prompt []harness.Message) string {
	h := sha256.New()
	for _, m := range prompt {
		fmt.Fprintf(h, "%d:%s%d:%s", len(m.Role), m.Role, len(m.Content), m.Content)
	}
	return judgeSource + string(j.mode.Mode) + "/" + j.Key() + "/" + hex.EncodeToString(h.Sum(nil)[:6])
}

func (j *judgeRun) episode(ctx context.Context, e *harness.GroupEpisode, prompt []harness.Message) error {
	source := j.source(prompt)
	for _, t := range e.Texts {
		if t.Source == source {
			j.count(func(r *JudgeReport) { r.Cached++ })
			return nil
		}
	}
	select {
	case j.slots <- struct{}{}:
		defer func() { <-j.slots }()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	text, fallback, err := j.ask(ctx, prompt)
	switch {
	case err == nil:
	case ctx.Err() != nil || j.Strict:
		return fmt.Errorf("episode %d: %w", e.ID, err)
	default:
		j.Log.Warn("an episode goes without a judgement", "episode", e.ID, "reason", err)
		j.count(func(r *JudgeReport) { r.Failed++ })
		return nil
	}
	last := e.Steps[len(e.Steps)-1].Index
	if err := j.texts.AddStepText(ctx, e.Attempt, harness.StepText{Step: last, Source: source, Text: text}); err != nil {
		return err
	}
	j.count(func(r *JudgeReport) {
		r.Judged++
		if fallback {
			r.Fallbacks++
		}
	})
	return nil
}

// ask asks the model, and then the fallback model.
func (j *judgeRun) ask(ctx context.Context, prompt []harness.Message) (text string, fallback bool, err error) {
	if text, err = j.askModel(ctx, j.Model, prompt); err == nil || j.Fallback.Generator == nil || ctx.Err() != nil {
		return text, false, err
	}
	j.Log.Info("asking the fallback judge", "model", j.Fallback.Name, "reason", err)
	text, second := j.askModel(ctx, j.Fallback, prompt)
	if second != nil {
		return "", true, errors.Join(err, second)
	}
	return text, true, nil
}

func (j *judgeRun) askModel(ctx context.Context, m JudgeModel, prompt []harness.Message) (string, error) {
	var last error
	tokens := j.MaxTokens
	for range j.Tries {
		g, err := m.Generator.Generate(ctx, llm.Request{
			Messages: prompt, Sampling: llm.Sampling{Temperature: j.Temperature, TopP: 1, MaxTokens: tokens},
		})
		if err != nil {
			last = fmt.Errorf("ask judge %s: %w", m.Name, err)
			if f := (*harness.Failure)(nil); ctx.Err() != nil || errors.As(err, &f) && !f.Retryable {
				return "", last
			}
			continue
		}
		if text, ok := Judgement(g.Text); ok {
			return text, nil
		}
		last = errext.WithHint(fmt.Errorf("judge %s answered %.40q: %w", m.Name, g.Text, ErrNoJudgement),
			"raise the judge's tokens, or name a fallback model")
		if g.Finish == "length" {
			tokens = max(tokens, j.RetryMaxTokens)
		}
	}
	return "", last
}

// nothing are answers that say nothing, in lower case and without the dot.
var nothing = map[string]bool{"": true, "none": true, "n/a": true, "na": true, "no comment": true, "no judgment": true, "no judgement": true, "no judge": true, "no review": true}

// Judgement reads a judge's answer: without thoughts and the space around it. ok is false for an answer
// that says nothing, and for one that is all thought and was cut off within it.
func Judgement(answer string) (text string, ok bool) {
	text = pystr.Strip(stripThinking(answer))
	if strings.HasPrefix(text, openThink) {
		return "", false
	}
	if _, after, found := strings.Cut(text, closeThink); found && !strings.Contains(text, openThink) {
		text = pystr.Strip(after) // servers that leave out the opening tag
	}
	if nothing[strings.TrimRight(pystr.Lower(text), ".!")] {
		return "", false
	}
	return text, true
}
