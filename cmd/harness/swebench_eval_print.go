package main

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hindsightrl/harness/envs/swebench/eval"
)

// kindTitles are the table's columns of what is neither resolved nor unresolved; they are shown where
// there is one.
var kindTitles = map[eval.Kind]string{
	eval.EmptyPatch: "empty", eval.UnsafePatch: "refused", eval.LargePatch: "too large", eval.NotApplied: "not applied",
	eval.TimedOut: "timed out", eval.LogTooLarge: "log too large", eval.DiskFull: "disk full", eval.Infrastructure: "machine failed",
}

// progress prints a line for each evaluation that was made.
func (c *evalCommand) progress() func(done, total int, o eval.Outcome) {
	if c.quiet {
		return nil
	}
	return func(done, total int, o eval.Outcome) {
		if !o.Cached {
			fmt.Fprintf(c.g.stderr, "%d/%d %s%s: %s\n", done, total, printable(o.InstanceID), repeatText(o), printable(outcomeText(o)))
		}
	}
}

func repeatText(o eval.Outcome) string {
	if o.Repeat > 1 {
		return fmt.Sprintf(" (run %d)", o.Repeat)
	}
	return ""
}

// outcomeText says an outcome in a line.
func outcomeText(o eval.Outcome) string {
	text := kindTitles[o.Kind]
	if o.Kind == eval.Graded {
		text = "not resolved"
		if o.Resolved {
			text = "resolved"
		}
	}
	if o.ApplyFailure != "" {
		text += " (" + string(o.ApplyFailure) + ")"
	}
	if detail := strings.TrimPrefix(o.Detail, string(o.Status)+": "); detail != "" {
		text += ": " + firstLine(detail)
	}
	if o.Seconds > 0 {
		text += ", " + short(time.Duration(o.Seconds*float64(time.Second)))
	}
	return text
}

// print writes the summary to stdout, and to stderr where the files are.
func (c *evalCommand) print(s *eval.Summary) error {
	if c.asJSON {
		return writeJSON(c.g.stdout, s)
	}
	columns := []column{{title: "model"}, {title: "patches", right: true}, {title: "resolved", right: true}, {title: "of all", right: true}, {title: "not resolved", right: true}}
	var shown []eval.Kind
	for _, k := range eval.Kinds {
		if k != eval.Graded && s.Count(k) > 0 {
			shown = append(shown, k)
			columns = append(columns, column{title: kindTitles[k], right: true})
		}
	}
	t := table{columns: columns}
	for _, m := range s.Models {
		row := []string{
			m.Name, strconv.Itoa(len(m.Outcomes)), strconv.Itoa(m.Resolved), percent(m.Resolved, len(m.Outcomes)),
			strconv.Itoa(m.Counts[eval.Graded] - m.Resolved),
		}
		for _, k := range shown {
			row = append(row, strconv.Itoa(m.Counts[k]))
		}
		t.add(row...)
	}
	if err := t.write(c.g.stdout); err != nil {
		return err
	}
	for _, m := range s.Models {
		c.remarks(m)
		if m.Report != "" {
			fmt.Fprintf(c.g.stderr, "run report: %s\n", m.Report)
		}
	}
	if s.Cached > 0 {
		fmt.Fprintf(c.g.stderr, "%s reused from an earlier run\n", plural(s.Cached, "evaluation"))
	}
	if s.Open > 0 {
		fmt.Fprintf(c.g.stderr, "%s not made\n", plural(s.Open, "evaluation"))
	}
	fmt.Fprintf(c.g.stderr, "logs and reports: %s\n", s.Dir)
	return nil
}

// remarks prints what makes one look twice at a model's outcomes.
func (c *evalCommand) remarks(m eval.Model) {
	ways := map[string]int{}
	for _, o := range m.Outcomes {
		if o.ApplyFailure != "" {
			ways[string(o.ApplyFailure)]++
		}
		for _, r := range o.Remarks {
			fmt.Fprintf(c.g.stdout, "%s: %s\n", printable(o.InstanceID), printable(r))
		}
		if o.Kind == eval.Graded && !o.Resolved && o.Infra != nil {
			fmt.Fprintf(c.g.stdout, "%s: its log hints at a broken environment: %s\n", printable(o.InstanceID), o.Infra.Reason)
		}
	}
	if len(ways) > 0 {
		var parts []string
		for _, way := range slices.Sorted(maps.Keys(ways)) {
			parts = append(parts, fmt.Sprintf("%d %s", ways[way], way))
		}
		fmt.Fprintf(c.g.stdout, "patches of %s that do not apply: %s\n", printable(m.Name), strings.Join(parts, ", "))
	}
	for _, f := range m.Flaky {
		fmt.Fprintf(c.g.stdout, "%s is flaky: resolved in %d of %d runs\n", printable(f.InstanceID), f.Resolved, f.Runs)
		for _, t := range f.Tests {
			fmt.Fprintf(c.g.stdout, "  %s passed in %d of %d\n", printable(t.Name), t.Passed, t.Runs)
		}
	}
}
