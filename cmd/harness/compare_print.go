package main

import (
	"cmp"
	"fmt"
	"io"
	"strconv"

	"github.com/hindsightrl/harness/internal/paired"
)

func (c *compareCommand) print(a *runOnTasks, others []*runOnTasks, all []comparedRuns) error {
	t := table{columns: []column{
		{title: "run"},
		{title: "tasks", right: true},
		{title: "episodes", right: true},
		{title: "done", right: true},
		{title: "failed", right: true},
	}}
	for _, r := range append([]*runOnTasks{a}, others...) {
		t.add(r.Name, strconv.Itoa(r.Tasks), strconv.Itoa(r.Episodes), strconv.Itoa(r.Done), strconv.Itoa(r.Failed))
	}
	if err := t.write(c.g.stdout); err != nil {
		return err
	}
	for i := range all {
		if err := c.printOne(&all[i]); err != nil {
			return err
		}
	}
	return nil
}

func (c *compareCommand) printOne(r *comparedRuns) error {
	w := c.g.stdout
	fmt.Fprintf(w, "\n%s against %s, %s that both finished\n", printable(r.Run.Name), printable(r.Baseline.Name), plural(r.Sets[0].Measures["solved"].Tasks, "task"))
	if r.OnlyBaseline+r.OnlyRun+r.OtherContent+r.Unfinished > 0 {
		fmt.Fprintf(w, "left out: %s only in the baseline, %d only in the run, %d whose content differs, %d without a finished episode on both sides\n",
			plural(r.OnlyBaseline, "task"), r.OnlyRun, r.OtherContent, r.Unfinished)
	}
	if err := printSets(w, r.Sets, c.byType); err != nil {
		return err
	}
	if err := printChanged(w, r); err != nil {
		return err
	}
	if len(r.Settings) == 0 {
		fmt.Fprintln(w, "\nno setting differs")
		return nil
	}
	fmt.Fprintln(w, "\nwhat differs:")
	t := table{columns: []column{{title: "setting"}, {title: "baseline"}, {title: "run"}}}
	for _, s := range r.Settings {
		t.add(s.Name, cmp.Or(firstLine(s.Baseline), "-"), cmp.Or(firstLine(s.Run), "-"))
	}
	return t.write(w)
}

func printSets(w io.Writer, sets []taskSet, byType bool) error {
	t := table{}
	if byType {
		t.columns = []column{{title: "environment"}, {title: "task type"}, {title: "tasks", right: true}}
	}
	t.columns = append(
		t.columns, column{title: ""}, column{title: "baseline", right: true}, column{title: "run", right: true},
		column{title: "difference", right: true}, column{title: "95% interval"},
		column{title: "higher", right: true}, column{title: "lower", right: true}, column{title: "equal", right: true},
	)
	for _, s := range sets {
		for _, m := range measures {
			d := s.Measures[m.name]
			var cells []string
			if byType {
				env := s.Env
				if env == "" {
					env = "all"
				}
				cells = []string{env, s.Type, strconv.Itoa(d.Tasks)}
			}
			t.add(append(
				cells, m.name, amount(d.A, m.share), amount(d.B, m.share), change(d.Mean, m.share), interval(d, m.share),
				strconv.Itoa(d.Higher), strconv.Itoa(d.Lower), strconv.Itoa(d.Equal),
			)...)
		}
	}
	return t.write(w)
}

func printChanged(w io.Writer, r *comparedRuns) error {
	if len(r.Changed) == 0 {
		return nil
	}
	fmt.Fprintln(w, "\nchanged most:")
	t := table{columns: []column{
		{title: "task"},
		{title: "solved", right: true},
		{title: "by", right: true},
		{title: "score", right: true},
		{title: "by", right: true},
		{title: "one episode of each", right: true},
	}}
	for _, ch := range r.Changed {
		t.add(ch.Task, amount(ch.Means["solved"], true), change(ch.Change["solved"], true),
			amount(ch.Means["score"], false), change(ch.Change["score"], false), fmt.Sprintf("%d, %d", ch.Episodes[0], ch.Episodes[1]))
	}
	return t.write(w)
}

// amount prints a mean: a share in percent, anything else with three decimals.
func amount(v float64, share bool) string {
	if share {
		return fmt.Sprintf("%.1f%%", 100*v)
	}
	return strconv.FormatFloat(v, 'f', 3, 64)
}

// change is amount with its sign; what rounds to nothing has none.
func change(v float64, share bool) string {
	s := amount(v, share)
	switch {
	case s == amount(0, share) || s == "-"+amount(0, share):
		return amount(0, share)
	case v > 0:
		return "+" + s
	}
	return s
}

func interval(d paired.Difference, share bool) string {
	if d.Range == nil {
		return "-" // one task has no spread
	}
	return fmt.Sprintf("[%s, %s]", change(d.Range[0], share), change(d.Range[1], share))
}
