package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/hindsightrl/harness"
	"github.com/hindsightrl/harness/internal/errext"
	"github.com/hindsightrl/harness/internal/paired"
	"github.com/hindsightrl/harness/store"
)

// compareCommand sets runs side by side on the tasks they share.
type compareCommand struct {
	g          *globals
	db         string
	baselineDB string
	top        int
	byType     bool
	asJSON     bool
}

func newCompare(g *globals) *cobra.Command {
	c := &compareCommand{g: g}
	cmd := &cobra.Command{
		Use:   "compare BASELINE RUN...",
		Short: "Compare runs on the tasks they share: solved, score, reward, length, with intervals",
		Long: `compare sets runs against a baseline, task by task. Each measure is averaged over a task's finished
episodes on either side, the difference is taken within the task, and the 95% interval (paired t) rests on
the spread of those differences over tasks: tasks differ far more from one another than policies do on one
task. Failed episodes count in nothing, and how many there are is printed. Settings that differ between
the runs are listed, so that it can be seen what the difference is due to.`,
		Example: `  harness compare base trained
  harness compare base seed1 seed2 --by-type
  harness compare nightly nightly --baseline-db last-week.db`,
		GroupID:           "look",
		Args:              cobra.MinimumNArgs(2),
		ValidArgsFunction: completeRun,
		RunE: func(cmd *cobra.Command, args []string) error {
			if c.top < 0 {
				return usageError(cmd, fmt.Errorf("--top %d: want 0 or more", c.top))
			}
			return c.run(cmd.Context(), args[0], args[1:])
		},
	}
	ledgerFlag(cmd, &c.db)
	f := cmd.Flags()
	f.StringVar(&c.baselineDB, "baseline-db", "", "the baseline's ledger, where it is another")
	f.IntVar(&c.top, "top", 5, "how many of the tasks that changed most to list")
	f.BoolVar(&c.byType, "by-type", false, "also compare within each environment and task type")
	f.BoolVar(&c.asJSON, "json", false, "print JSON")
	return cmd
}

// runOnTasks is one run, with its finished episodes by task.
type runOnTasks struct {
	store.Run
	Ledger   string `json:"ledger"`
	Episodes int    `json:"episodes"`
	Done     int    `json:"done"`
	Failed   int    `json:"failed"`
	Tasks    int    `json:"tasks"` // with a finished episode

	byTask map[string][]store.Episode
	hashes map[string]string // of the content of every task of the run, played or not
}

// comparedRuns is one run against the baseline; --json prints a list of them.
type comparedRuns struct {
	Baseline     *runOnTasks   `json:"baseline"`
	Run          *runOnTasks   `json:"run"`
	Settings     []setting     `json:"settings"` // that differ
	OnlyBaseline int           `json:"only_baseline"`
	OnlyRun      int           `json:"only_run"`
	OtherContent int           `json:"other_content"` // tasks of one name whose content differs
	Unfinished   int           `json:"unfinished"`    // shared tasks that one side has no finished episode of
	Sets         []taskSet     `json:"sets"`          // all shared tasks first, then the types
	Changed      []taskChanged `json:"changed"`
}

// setting is one that differs; the empty string stands for one that a run does not have.
type setting struct {
	Name     string `json:"name"`
	Baseline string `json:"baseline"`
	Run      string `json:"run"`
}

// taskSet is a comparison over some tasks. Env and Type are empty for all.
type taskSet struct {
	Env      string                       `json:"env,omitempty"`
	Type     string                       `json:"type,omitempty"`
	Measures map[string]paired.Difference `json:"measures"`
}

// taskChanged is how one task changed.
type taskChanged struct {
	Task     string             `json:"task"`
	Episodes [2]int64           `json:"episodes"` // one of either side, to look at
	Means    map[string]float64 `json:"mean"`     // of the run
	Change   map[string]float64 `json:"change"`   // run − baseline
}

// measures are what is compared, in the order of printing.
var measures = []struct {
	name  string
	share bool // printed as a percentage
	of    func(harness.Outcome) float64
}{
	{"solved", true, func(o harness.Outcome) float64 {
		if o.Won {
			return 1
		}
		return 0
	}},
	{"score", false, func(o harness.Outcome) float64 { return o.Score }},
	{"reward", false, func(o harness.Outcome) float64 { return o.Reward }},
	{"steps", false, func(o harness.Outcome) float64 { return float64(o.Steps) }},
	{"invalid", true, func(o harness.Outcome) float64 { return float64(o.Invalid) / float64(max(o.Steps, 1)) }},
}

func (c *compareCommand) run(ctx context.Context, baseline string, names []string) error {
	a, err := readOnTasks(ctx, cmp.Or(c.baselineDB, c.db), []string{baseline})
	if err != nil {
		return err
	}
	others, err := readOnTasks(ctx, c.db, names)
	if err != nil {
		return err
	}
	out := make([]comparedRuns, len(others))
	for i, b := range others {
		if out[i], err = c.compare(a[0], b); err != nil {
			return err
		}
	}
	if c.asJSON {
		return writeJSON(c.g.stdout, out)
	}
	return c.print(a[0], others, out)
}

// readOnTasks reads runs of one ledger.
func readOnTasks(ctx context.Context, ledger string, names []string) (runs []*runOnTasks, err error) {
	err = readLedger(ctx, ledger, func(db *store.Store) error {
		for _, name := range names {
			run, err := runNamed(ctx, db, name)
			if err != nil {
				return err
			}
			r := &runOnTasks{Run: run, Ledger: ledger, byTask: map[string][]store.Episode{}, hashes: map[string]string{}}
			for e, err := range db.Episodes(ctx, run.ID, store.Filter{}) {
				if err != nil {
					return err
				}
				r.add(e)
			}
			r.Tasks = len(r.byTask)
			runs = append(runs, r)
		}
		return nil
	})
	return runs, err
}

func (r *runOnTasks) add(e store.Episode) {
	key := e.Task.Key()
	r.hashes[key] = e.Task.Hash
	r.Episodes++
	switch {
	case e.Outcome != nil:
		r.Done++
		r.byTask[key] = append(r.byTask[key], e)
	case e.Status == harness.StatusFailed:
		r.Failed++
	}
}

// means are a task's measures, averaged over its finished episodes.
func (r *runOnTasks) means(task string) []float64 {
	out := make([]float64, len(measures))
	episodes := r.byTask[task]
	for i, m := range measures {
		for _, e := range episodes {
			out[i] += m.of(*e.Outcome)
		}
		out[i] /= float64(len(episodes))
	}
	return out
}

// count sorts the tasks of both runs by what can be compared, and returns those with finished episodes on both
// sides, in order.
func (r *comparedRuns) count() (shared []string) {
	a, b := r.Baseline, r.Run
	for _, task := range slices.Sorted(maps.Keys(a.hashes)) {
		hash, both := b.hashes[task]
		switch {
		case !both:
			r.OnlyBaseline++
		case hash != "" && a.hashes[task] != "" && hash != a.hashes[task]: // rollouts of elsewhere may have none
			r.OtherContent++
		case a.byTask[task] == nil || b.byTask[task] == nil:
			r.Unfinished++
		default:
			shared = append(shared, task)
		}
	}
	for task := range b.hashes {
		if _, both := a.hashes[task]; !both {
			r.OnlyRun++
		}
	}
	return shared
}

func (c *compareCommand) compare(a, b *runOnTasks) (comparedRuns, error) {
	res := comparedRuns{Baseline: a, Run: b, Settings: differing(a.Run, b.Run), Changed: []taskChanged{}}
	shared := res.count()
	if len(shared) == 0 {
		return res, nothingShared(&res)
	}
	valuesA, valuesB := map[string][]float64{}, map[string][]float64{}
	for _, task := range shared {
		valuesA[task], valuesB[task] = a.means(task), b.means(task)
		res.Changed = append(res.Changed, changeOf(a, b, task, valuesA[task], valuesB[task]))
	}
	res.Changed = mostChanged(res.Changed, c.top)
	set := func(env, kind string, tasks []string) error {
		s := taskSet{Env: env, Type: kind, Measures: map[string]paired.Difference{}}
		for i, m := range measures {
			left, right := make([]float64, len(tasks)), make([]float64, len(tasks))
			for j, task := range tasks {
				left[j], right[j] = valuesA[task][i], valuesB[task][i]
			}
			d := paired.Compare(left, right)
			if !d.Finite() {
				return errext.WithHint(fmt.Errorf("compare runs %q and %q: their %s lies too far apart to be averaged", a.Name, b.Name, m.name),
					fmt.Sprintf("look for what is out of scale: harness runs %s --db %s", shellWord(b.Name), shellWord(b.Ledger)))
			}
			s.Measures[m.name] = d
		}
		res.Sets = append(res.Sets, s)
		return nil
	}
	if err := set("", "", shared); err != nil {
		return res, err
	}
	if c.byType {
		types := map[[2]string][]string{}
		for _, task := range shared {
			t := a.byTask[task][0].Task
			key := [2]string{t.Env, t.Type}
			types[key] = append(types[key], task)
		}
		order := slices.SortedFunc(maps.Keys(types), func(x, y [2]string) int { return slices.Compare(x[:], y[:]) })
		for _, key := range order {
			if err := set(key[0], key[1], types[key]); err != nil {
				return res, err
			}
		}
	}
	return res, nil
}

// nothingShared is the error of two runs that cannot be compared.
func nothingShared(r *comparedRuns) error {
	if r.Unfinished > 0 {
		var look []string // at the run that nothing ended in, or at both
		for _, side := range []*runOnTasks{r.Baseline, r.Run} {
			if side.Done == 0 || r.Baseline.Done > 0 && r.Run.Done > 0 {
				look = append(look, fmt.Sprintf("harness runs %s --db %s", shellWord(side.Name), shellWord(side.Ledger)))
			}
		}
		return errext.WithHint(
			fmt.Errorf("runs %q and %q share %s, but none of them has a finished episode on both sides", r.Baseline.Name, r.Run.Name, plural(r.Unfinished, "task")),
			strings.Join(look, "; "))
	}
	if r.OtherContent > 0 {
		return errext.WithHint(
			fmt.Errorf("runs %q and %q share no task: %s of the same name, but of other content", r.Baseline.Name, r.Run.Name, plural(r.OtherContent, "task")),
			"play both on one panel and the same data: harness panel check PANEL")
	}
	return errext.WithHint(
		fmt.Errorf("runs %q and %q share no task: one played %s, the other %s", r.Baseline.Name, r.Run.Name, r.Baseline.PanelName, r.Run.PanelName),
		"play both on one panel: harness panel make --out panel.json; harness rollout --panel panel.json")
}

func changeOf(a, b *runOnTasks, task string, left, right []float64) taskChanged {
	t := taskChanged{
		Task: task, Episodes: [2]int64{a.byTask[task][0].ID, b.byTask[task][0].ID},
		Means: map[string]float64{}, Change: map[string]float64{},
	}
	for i, m := range measures {
		t.Means[m.name], t.Change[m.name] = right[i], paired.Change(left[i], right[i])
	}
	return t
}

// mostChanged are the n tasks whose score, then solved rate, then reward moved most; those that did not
// move are left out.
func mostChanged(all []taskChanged, n int) []taskChanged {
	order := []string{"score", "solved", "reward"}
	all = slices.DeleteFunc(all, func(t taskChanged) bool {
		return !slices.ContainsFunc(order, func(name string) bool { return t.Change[name] != 0 })
	})
	slices.SortStableFunc(all, func(x, y taskChanged) int {
		for _, name := range order {
			if by := cmp.Compare(math.Abs(y.Change[name]), math.Abs(x.Change[name])); by != 0 {
				return by
			}
		}
		return 0
	})
	return all[:min(n, len(all))]
}

// differing lists the settings in which two runs differ, and what else decides a run.
func differing(a, b store.Run) []setting {
	out := []setting{}
	add := func(name, left, right string) {
		if left != right {
			out = append(out, setting{name, left, right})
		}
	}
	add("policy", a.Policy, b.Policy)
	if a.PanelHash != b.PanelHash {
		add("panel", a.PanelName+" "+shortHash(a.PanelHash), b.PanelName+" "+shortHash(b.PanelHash))
	}
	add("code version", a.CodeVersion, b.CodeVersion)
	for _, part := range []struct {
		prefix string
		a, b   json.RawMessage
	}{{"", a.Config, b.Config}, {"about ", a.Info, b.Info}} {
		left, right := flat(part.a), flat(part.b)
		names := maps.Clone(left)
		maps.Copy(names, right)
		for _, name := range slices.Sorted(maps.Keys(names)) {
			if name == "policy" {
				continue // said above
			}
			add(part.prefix+name, left[name], right[name])
		}
	}
	return out
}

func shortHash(h string) string { return h[:min(8, len(h))] }

// flat reads the top level of a JSON object; strings lose their quotes, the rest stays JSON.
func flat(object json.RawMessage) map[string]string {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(object, &fields); err != nil {
		return map[string]string{"(unreadable)": string(object)}
	}
	out := make(map[string]string, len(fields))
	for name, v := range fields {
		var s string
		if json.Unmarshal(v, &s) != nil {
			s = string(v)
		}
		out[name] = s
	}
	return out
}
