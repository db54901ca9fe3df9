package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/hindsightrl/harness"
	"github.com/hindsightrl/harness/credit"
	"github.com/hindsightrl/harness/internal/errext"
	"github.com/hindsightrl/harness/store"
	"github.com/hindsightrl/harness/teacher"
)

// scoreTable sets all placements of a run side by side.
type scoreTable struct {
	g       *globals
	db      string
	runName string
	clip    float64
	every   bool
	plot    string
	asJSON  bool
	asCSV   bool
}

func newScoreTable(g *globals) *cobra.Command {
	c := &scoreTable{g: g}
	cmd := &cobra.Command{
		Use:   "table",
		Short: "Set all scored modes of a run side by side: sources by placement",
		Long: `table has a line for each mode that a run was scored in, a source's two placements (step, anchor) below each
other. Deltas are teacher − student log-probabilities in nats:

  covered    share of the steps that have a hindsight context, and hence a delta
  delta      mean delta of the tokens of actions
  won, lost  the same, over the steps of solved and of unsolved episodes
  |action|   mean |delta| of the tokens of actions
  |other|    mean |delta| of the other tokens of these responses
  clipped    share of action tokens whose SERL weight is at a bound, 1 ± clip

Of several passes of one mode the last one counts; --every shows all.`,
		Example: `  harness score table --run nightly
  harness score table --run nightly --plot placements.svg --csv > placements.csv`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			switch {
			case c.clip < 0 || c.clip >= 1:
				return usageError(cmd, fmt.Errorf("--clip %v: want 0 or more, and less than 1", c.clip))
			case c.asJSON && c.asCSV:
				return usageError(cmd, errors.New("--json and --csv exclude each other"))
			}
			return readLedger(cmd.Context(), c.db, func(db *store.Store) error { return c.run(cmd.Context(), db) })
		},
	}
	ledgerFlag(cmd, &c.db)
	f := cmd.Flags()
	f.StringVar(&c.runName, "run", "", "the run (default: the last one of the ledger)")
	f.Float64Var(&c.clip, "clip", credit.DefaultSERL().Clip, "weights stay in [1−c, 1+c]")
	f.BoolVar(&c.every, "every", false, "every pass, also older ones of the same mode (another teacher, another wording)")
	f.StringVar(&c.plot, "plot", "", "file to draw |action| of step and anchor into, as bars: .svg, .png or .pdf")
	f.BoolVar(&c.asJSON, "json", false, "print JSON")
	f.BoolVar(&c.asCSV, "csv", false, "print CSV")
	return cmd
}

// placed is a line of the table. Means over no tokens are 0; the numbers of tokens stand beside them.
type placed struct {
	Source    string       `json:"source"`
	Placement string       `json:"placement"` // step, anchor
	Pass      int64        `json:"pass"`
	Key       string       `json:"key"`
	Teacher   string       `json:"teacher"`
	Update    int32        `json:"policy_version"` // the trainer's update that the pass is for; −1: not said
	State     string       `json:"state"`          // running: not all steps are scored yet
	Steps     int          `json:"steps"`
	All       teacher.Side `json:"all"`
	WonSteps  int          `json:"won_steps"`
	Won       teacher.Side `json:"won"`
	Lost      teacher.Side `json:"lost"`
}

// placements is what --json prints.
type placements struct {
	Run  string   `json:"run"`
	Clip float64  `json:"clip"`
	Rows []placed `json:"rows"`
}

func (c *scoreTable) run(ctx context.Context, db *store.Store) error {
	run, err := runNamed(ctx, db, c.runName)
	if err != nil {
		return err
	}
	passes, err := db.ScorePasses(ctx, run.ID)
	if err != nil {
		return err
	}
	if len(passes) == 0 {
		return noPasses(run.Name)
	}
	won := map[int64]bool{}
	for e, err := range db.Episodes(ctx, run.ID, store.Filter{}) {
		if err != nil {
			return err
		}
		won[e.ID] = e.Outcome != nil && e.Outcome.Won
	}
	out := placements{Run: run.Name, Clip: c.clip}
	for _, p := range sortPasses(passes, c.every) {
		row, err := c.place(ctx, db, p, won)
		if err != nil {
			return err
		}
		out.Rows = append(out.Rows, row)
	}
	if c.plot != "" {
		if err := plotPlacements(c.plot, out); err != nil {
			return err
		}
		fmt.Fprintf(c.g.stderr, "plot: %s\n", c.plot)
	}
	switch {
	case c.asJSON:
		return writeJSON(c.g.stdout, out)
	case c.asCSV:
		return writePlacementsCSV(c.g.stdout, out)
	}
	return c.print(out)
}

// noPasses is the error of a run that no teacher has seen.
func noPasses(run string) error {
	return errext.WithHint(fmt.Errorf("run %s has no teacher pass", run), shellLine([]string{"harness", "score", "--run", run}))
}

// sortPasses orders passes by source, step before anchor, older before newer; unless every is set, only
// the last one of a mode stays.
func sortPasses(passes []harness.ScorePass, every bool) []harness.ScorePass {
	place := map[teacher.Mode]int{}
	for i, m := range teacher.Modes() {
		if _, known := place[m.Source()]; !known {
			place[m.Source()] = i
		}
	}
	order := func(p harness.ScorePass) int {
		m := teacher.Mode(p.Mode)
		n, known := place[m.Source()]
		if !known { // of a newer version of this program
			n = len(place) + 100
		}
		n *= 2
		if m.Anchor() {
			n++
		}
		return n
	}
	out := slices.Clone(passes) // in order of age
	slices.SortStableFunc(out, func(a, b harness.ScorePass) int { return order(a) - order(b) })
	if every {
		return out
	}
	var last []harness.ScorePass
	for i, p := range out {
		if i+1 == len(out) || out[i+1].Mode != p.Mode {
			last = append(last, p)
		}
	}
	return last
}

// place sums a pass up.
func (c *scoreTable) place(ctx context.Context, db *store.Store, p harness.ScorePass, won map[int64]bool) (placed, error) {
	mode := teacher.Mode(p.Mode)
	row := placed{
		Source: string(mode.Source()), Placement: "step", Pass: p.ID, Key: p.Key, Teacher: p.Teacher, Update: p.PolicyVersion, State: p.State,
	}
	if mode.Anchor() {
		row.Placement = "anchor"
	}
	all, solved, unsolved := teacher.SideSum{Clip: c.clip}, teacher.SideSum{Clip: c.clip}, teacher.SideSum{Clip: c.clip}
	for s, err := range db.Scores(ctx, p.ID, store.ScoreFilter{}) {
		if err != nil {
			return row, err
		}
		row.Steps++
		all.Add(&s)
		if won[s.Episode] {
			row.WonSteps++
			solved.Add(&s)
		} else {
			unsolved.Add(&s)
		}
	}
	row.All, row.Won, row.Lost = all.Side(), solved.Side(), unsolved.Side()
	return row, nil
}

func (c *scoreTable) print(r placements) error {
	t := table{columns: []column{
		{title: "source"},
		{title: "placement"},
		{title: "pass", right: true},
		{title: "steps", right: true},
		{title: "covered", right: true},
		{title: "delta", right: true},
		{title: "won", right: true},
		{title: "lost", right: true},
		{title: "|action|", right: true},
		{title: "|other|", right: true},
		{title: "clipped", right: true},
	}}
	teachers, mixed, running := r.Rows[0].Teacher, c.every, 0
	for _, p := range r.Rows {
		mixed = mixed || p.Teacher != teachers || p.Update != r.Rows[0].Update
	}
	if mixed {
		t.columns = append(t.columns, column{title: "teacher"}, column{title: "update", right: true})
	}
	for _, p := range r.Rows {
		clipped := "-"
		if p.All.ActionTok > 0 {
			clipped = fmt.Sprintf("%.1f%%", 100*p.All.Clipped)
		}
		pass := strconv.FormatInt(p.Pass, 10)
		if p.State != "done" {
			pass, running = pass+"*", running+1
		}
		cells := []string{
			p.Source, p.Placement, pass, strconv.Itoa(p.Steps), percent(p.All.Scored, p.Steps),
			signed(p.All.Action, p.All.ActionTok), signed(p.Won.Action, p.Won.ActionTok), signed(p.Lost.Action, p.Lost.ActionTok),
			meanOf(p.All.ActionAbs, p.All.ActionTok), meanOf(p.All.ReasonAbs, p.All.ReasonTok), clipped,
		}
		if mixed {
			cells = append(cells, p.Teacher, updateOf(p.Update))
		}
		t.add(cells...)
	}
	w := c.g.stdout
	fmt.Fprintf(w, "run %s", printable(r.Run))
	if !mixed {
		fmt.Fprintf(w, ", teacher %s", printable(teachers))
	}
	fmt.Fprint(w, "\n\n")
	if err := t.write(w); err != nil {
		return err
	}
	fmt.Fprintf(w, "\ndelta, won, lost: mean teacher − student of action tokens in nats; clipped: share of action weights at 1±%g\n", r.Clip)
	if running > 0 {
		fmt.Fprintln(w, "*: this pass is not complete; the same harness score command finishes it")
	}
	return nil
}

// signed prints a mean of n values with its sign.
func signed(v float64, n int) string {
	if n == 0 {
		return "-"
	}
	return fmt.Sprintf("%+.3f", v)
}

// updateOf prints the trainer's update that a pass is for.
func updateOf(version int32) string {
	if version < 0 {
		return "-"
	}
	return strconv.Itoa(int(version))
}
