package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/hindsightrl/harness"
	"github.com/hindsightrl/harness/internal/errext"
	"github.com/hindsightrl/harness/store"
	"github.com/hindsightrl/harness/teacher"
)

// scoreContext prints what a teacher is shown about one episode.
type scoreContext struct {
	scoreCommand
	step  int
	whole bool
}

func newScoreContext(st stops, g *globals) *cobra.Command {
	c := &scoreContext{scoreCommand: scoreCommand{st: st, g: g, dryRun: true}}
	cmd := &cobra.Command{
		Use:   "context EPISODE",
		Short: "Print what the teacher is shown about an episode's steps: the hindsight context",
		Long: `context builds an episode's hindsight contexts as a scoring pass does and prints what each adds to the prompt
that the agent saw (--whole: all of the teacher's prompt). Nothing is asked of the teacher's model but to count
tokens, and nothing is kept. A context that comes from other episodes of the group (anchor modes, successful
trajectories) is built from all finished ones.`,
		Example: `  harness score context 17 --mode future_trajectory --step 3
  harness score context 17 --mode anchor --step 3 --whole`,
		Args: cobra.ExactArgs(1),
		RunE: c.main,
	}
	ledgerFlag(cmd, &c.db)
	f := cmd.Flags()
	f.StringVar(&c.modes, "mode", "step", "what the teacher sees: names separated by commas, or all, step, anchor, judged")
	f.IntVar(&c.step, "step", -1, "only this step (0-based)")
	f.BoolVar(&c.whole, "whole", false, "the whole prompt, not only what hindsight adds")
	f.BoolVar(&c.asJSON, "json", false, "print JSON: the messages, byte for byte")
	f.StringVar(&c.templates, "templates", "", "file of context templates (JSON or YAML)")
	c.teacher.flags(cmd)
	c.context.flags(cmd)
	f.StringVar(&c.truncation, "truncation", string(teacher.TruncateParts), "what an over-long context loses: parts (the least useful first) or serl-compat (its end)")
	f.IntVar(&c.maxPrompt, "max-prompt", 0, "tokens of the teacher's prompt; 0 = what the server takes")
	return cmd
}

// shownContext is a context as --json prints it.
type shownContext struct {
	Mode          string            `json:"mode"`
	Episode       int64             `json:"episode"`
	Step          int               `json:"step"`
	StudentTokens int               `json:"student_tokens"` // of the prompt that the agent saw
	TeacherTokens int               `json:"teacher_tokens"` // of the prompt with the context
	AnswerTokens  int               `json:"answer_tokens"`
	LeftOut       teacher.LeftOut   `json:"left_out"`
	Messages      []harness.Message `json:"messages"`
}

func (c *scoreContext) main(cmd *cobra.Command, args []string) error {
	id, err := episodeArg(cmd, args[0])
	if err != nil {
		return err
	}
	modes, err := teacher.ParseModes(c.modes)
	if err != nil {
		return usageError(cmd, err)
	}
	c.schedule.update = -1
	opt, err := c.options(modes)
	if err != nil {
		return usageError(cmd, err)
	}
	return readLedger(cmd.Context(), c.db, func(db *store.Store) error { return c.show(db, opt, id) })
}

func (c *scoreContext) show(db *store.Store, opt teacher.Options, id int64) (err error) {
	ctx := c.st.soft
	ep, err := db.Episode(ctx, id)
	if err != nil {
		return err
	}
	if ep.Status != harness.StatusDone {
		return errext.WithHint(fmt.Errorf("episode %d is %s: only done episodes have hindsight contexts", id, ep.Status), fmt.Sprintf("see what there is: harness show %d", id))
	}
	steps, err := db.EpisodeSteps(ctx, id)
	if err != nil {
		return err
	}
	if c.step >= len(steps) {
		return noStep(id, c.step, len(steps))
	}
	if len(steps) > 0 && steps[0].Tokens == nil {
		return errors.New("the policy of this run gave text alone: its steps have no tokens that a teacher could score")
	}
	open, err := c.teacher.open(ctx, c.g)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, open.close()) }()
	found := []shownContext{}
	opt.RunID, opt.Groups, opt.Teacher, opt.Concurrency = ep.RunID, []int{ep.Group}, open.identity, open.concurrency
	opt.Contexts = func(s teacher.Shown) {
		if s.Episode.ID == id && (c.step < 0 || s.Step == c.step) {
			found = append(found, shownContext{string(s.Mode), id, s.Step, s.Student, s.Tokens, s.Answer, s.Context.Left, s.Context.Messages})
		}
	}
	if _, err := teacher.Score(ctx, db, open.engine, opt); err != nil {
		return err
	}
	if c.asJSON {
		return writeJSON(c.g.stdout, found)
	}
	if len(found) == 0 {
		fmt.Fprintf(c.g.stdout, "no context: %s has nothing to show about %s of episode %d\n", c.modes, stepsAsked(c.step), id)
		return nil
	}
	for i := range found {
		c.printContext(&found[i], steps[found[i].Step].Prompt)
	}
	return nil
}

func stepsAsked(step int) string {
	if step < 0 {
		return "any step"
	}
	return fmt.Sprintf("step %d", step)
}

// printContext prints what a context adds to the prompt that the agent saw.
func (c *scoreContext) printContext(s *shownContext, prompt []harness.Message) {
	w := c.g.stdout
	fmt.Fprintf(w, "── episode %d, step %d, %s: %d tokens of prompt, %d of them hindsight; %d of response\n", s.Episode, s.Step, s.Mode, s.TeacherTokens, s.TeacherTokens-s.StudentTokens, s.AnswerTokens)
	if l := s.LeftOut; l != (teacher.LeftOut{}) {
		fmt.Fprintf(w, "   left out to fit: %d future steps, %d steps of the successful trajectory, %d candidates, %d characters\n", l.FutureSteps, l.SuccessSteps, l.Candidates, l.Characters)
	}
	for i, m := range s.Messages {
		text, how := m.Content, ""
		if !c.whole && i < len(prompt) && prompt[i].Role == m.Role {
			if m.Content == prompt[i].Content {
				continue
			}
			if rest, ok := strings.CutPrefix(m.Content, prompt[i].Content); ok {
				text, how = strings.TrimLeft(rest, "\n"), " (behind the agent's own prompt)"
			}
		}
		fmt.Fprintf(w, "%s%s:\n%s\n", m.Role, how, indent(text))
	}
	fmt.Fprintln(w)
}
