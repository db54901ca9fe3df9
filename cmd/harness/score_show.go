package main

import (
	"context"
	"fmt"
	"math"
	"strings"

	"github.com/spf13/cobra"

	"github.com/hindsightrl/harness"
	"github.com/hindsightrl/harness/internal/errext"
	"github.com/hindsightrl/harness/store"
)

// scoreShow prints what a teacher made of an episode's tokens.
type scoreShow struct {
	g      *globals
	db     string
	pass   string
	step   int
	all    bool
	spell  spellFlags
	html   string
	asJSON bool
}

func newScoreShow(g *globals) *cobra.Command {
	c := &scoreShow{g: g}
	cmd := &cobra.Command{
		Use:   "show EPISODE",
		Short: "Print an episode's action tokens with their log-probabilities and what hindsight changed",
		Long: `show prints, for each step that a teacher pass scored, the response (on a terminal coloured by delta: green
where hindsight makes a token likelier, red where it makes it less likely) and a line per action token: the
log-probability without the context, with it, and the difference in nats.`,
		Example: `  harness score show 17 --mode future_trajectory
  harness score show 17 --mode future_trajectory --html 17.html
  harness score show 17 --mode immediate_feedback --step 3 --all`,
		Args: cobra.ExactArgs(1),
		RunE: onEpisode(&c.db, c.run),
	}
	ledgerFlag(cmd, &c.db)
	f := cmd.Flags()
	f.StringVar(&c.pass, "mode", "", "the pass: a mode, a pass number, or the beginning of a key (default: the run's last pass)")
	f.IntVar(&c.step, "step", -1, "only this step (0-based)")
	f.BoolVar(&c.all, "all", false, "every token, not those of the action alone")
	f.StringVar(&c.html, "html", "", "write a page for a browser to this file instead: every token in the colour of its delta")
	f.BoolVar(&c.asJSON, "json", false, "print JSON")
	c.spell.flags(cmd)
	return cmd
}

// shownToken is a token as --json prints it.
type shownToken struct {
	Text    string  `json:"text"`
	Action  bool    `json:"action"`
	Student float32 `json:"student"`
	Teacher float32 `json:"teacher"`
	Delta   float32 `json:"delta"`
}

// shownStep is a step as --json prints it.
type shownStep struct {
	Step         int                 `json:"step"`
	Action       string              `json:"action"`
	Status       harness.ScoreStatus `json:"status"`
	PromptTokens int                 `json:"prompt_tokens"`
	LeftOut      any                 `json:"left_out,omitempty"`
	Tokens       []shownToken        `json:"tokens"`
}

func (c *scoreShow) run(ctx context.Context, db *store.Store, id int64) error {
	ep, err := db.Episode(ctx, id)
	if err != nil {
		return err
	}
	run, err := db.Run(ctx, ep.RunID)
	if err != nil {
		return err
	}
	pass, err := pickPass(ctx, db, run, c.pass)
	if err != nil {
		return err
	}
	spell, closeModel, err := c.spell.open(ctx, c.g, run.Policy)
	if err != nil {
		return err
	}
	defer closeModel() //nolint:errcheck // the model was only read
	steps, err := db.EpisodeSteps(ctx, id)
	if err != nil {
		return err
	}
	var out []shownStep
	page := htmlPage{
		Episode: id, Task: printable(ep.Task.Key()), Mode: pass.Mode, Teacher: printable(pass.Teacher), Pass: pass.ID,
		Outcome: outcomeOf(ep), Full: fmt.Sprint(fullColour),
	}
	for s, err := range db.Scores(ctx, pass.ID, store.ScoreFilter{Episode: id}) {
		if err != nil {
			return err
		}
		if s.Step >= len(steps) || c.step >= 0 && s.Step != c.step {
			continue
		}
		shown, err := showStep(ctx, spell, &steps[s.Step], &s)
		if err != nil {
			return err
		}
		out = append(out, shown)
		page.Steps = append(page.Steps, htmlOf(&steps[s.Step], &shown))
	}
	if c.step >= len(steps) {
		return noStep(id, c.step, len(steps))
	}
	if len(out) == 0 {
		return errext.WithHint(fmt.Errorf("pass %d (%s) holds nothing of episode %d", pass.ID, pass.Mode, id), "it may have ended after the pass: run harness score again")
	}
	return c.write(page, out)
}

// write puts out the page, JSON or text.
func (c *scoreShow) write(page htmlPage, out []shownStep) error {
	if c.html != "" {
		if err := writeScoreHTML(c.html, page); err != nil {
			return err
		}
		fmt.Fprintf(c.g.stderr, "page: %s\n", c.html)
		return nil
	}
	if c.asJSON {
		return writeJSON(c.g.stdout, out)
	}
	fmt.Fprintf(c.g.stdout, "episode %d   %s   pass %d, %s, teacher %s\n", page.Episode, page.Task, page.Pass, page.Mode, page.Teacher)
	for i := range out {
		c.print(&out[i])
	}
	return nil
}

// outcomeOf says in a line how an episode ended.
func outcomeOf(ep store.Episode) string {
	if ep.Outcome == nil {
		return string(ep.Status)
	}
	return fmt.Sprintf("%s after %s: reward %g, score %g", ep.Outcome.Stop, plural(ep.Outcome.Steps, "step"), ep.Outcome.Reward, ep.Outcome.Score)
}

// pickPass finds a run's pass by name; "" is the last one.
func pickPass(ctx context.Context, db *store.Store, run store.Run, name string) (harness.ScorePass, error) {
	if name != "" {
		if m, err := parseModeName(name); err == nil {
			name = m
		}
		return db.FindScorePass(ctx, run.ID, name)
	}
	all, err := db.ScorePasses(ctx, run.ID)
	if err != nil {
		return harness.ScorePass{}, err
	}
	if len(all) == 0 {
		return harness.ScorePass{}, noPasses(run.Name)
	}
	return all[len(all)-1], nil
}

func showStep(ctx context.Context, spell stepTexts, st *harness.Step, s *harness.StepScore) (shownStep, error) {
	out := shownStep{Step: s.Step, Action: st.Action, Status: s.Status, PromptTokens: s.PromptTokens, Tokens: []shownToken{}}
	if s.LeftOut != nil {
		out.LeftOut = s.LeftOut
	}
	if s.Status != harness.ScoreDone {
		return out, nil
	}
	texts, err := spell(ctx, st)
	if err != nil {
		return out, fmt.Errorf("step %d: %w", s.Step, err)
	}
	delta := s.Delta()
	if len(texts) != len(delta) {
		return out, fmt.Errorf("step %d: %d tokens are spelled, %d are scored", s.Step, len(texts), len(delta))
	}
	for i, text := range texts {
		out.Tokens = append(out.Tokens, shownToken{text, s.ActionMask[i], s.Student.Values[i], s.Teacher.Values[i], delta[i]})
	}
	return out, nil
}

func (c *scoreShow) print(s *shownStep) {
	w := c.g.stdout
	fmt.Fprintf(w, "\n── step %d   > %s\n", s.Step, printable(s.Action))
	if s.Status != harness.ScoreDone {
		fmt.Fprintf(w, "   not scored: %s\n", strings.ReplaceAll(string(s.Status), "_", " "))
		return
	}
	if c.g.colour {
		fmt.Fprintf(w, "   %s\n", heat(s.Tokens))
	}
	if s.LeftOut != nil {
		fmt.Fprintf(w, "   the context lacks: %s\n", s.LeftOut)
	}
	shown, sum := 0, 0.0
	fmt.Fprintf(w, "   %9s %9s %9s\n", "student", "teacher", "delta")
	for _, t := range s.Tokens {
		if !t.Action && !c.all {
			continue
		}
		shown++
		sum += float64(t.Delta)
		mark := " "
		if t.Action && c.all {
			mark = "*"
		}
		fmt.Fprintf(w, " %s %9.4f %9.4f %s  %s\n", mark, t.Student, t.Teacher, c.paint(fmt.Sprintf("%+9.4f", t.Delta), t.Delta), printable(fmt.Sprintf("%q", t.Text)))
	}
	if shown == 0 {
		fmt.Fprintln(w, "   no action tokens: the response has no action between its tags")
		return
	}
	fmt.Fprintf(w, "   %29s\n", fmt.Sprintf("sum %+.4f", sum))
}

// paint colours a text by a delta: from 0.02 nats on, brighter from 0.2 on.
func (c *scoreShow) paint(text string, delta float32) string {
	if !c.g.colour {
		return text
	}
	return deltaColour(delta) + text + "\x1b[0m"
}

func deltaColour(delta float32) string {
	size := math.Abs(float64(delta))
	switch {
	case size < 0.02:
		return "\x1b[2m"
	case delta > 0 && size < 0.2:
		return "\x1b[32m"
	case delta > 0:
		return "\x1b[1;92m"
	case size < 0.2:
		return "\x1b[31m"
	}
	return "\x1b[1;91m"
}

// heat is the response with each token in its delta's colour, action tokens underlined.
func heat(tokens []shownToken) string {
	var b strings.Builder
	for _, t := range tokens {
		b.WriteString(deltaColour(t.Delta))
		if t.Action {
			b.WriteString("\x1b[4m")
		}
		b.WriteString(strings.ReplaceAll(printable(t.Text), "\n", "\n   ") + "\x1b[0m")
	}
	return b.String()
}
