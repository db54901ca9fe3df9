package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/hindsightrl/harness/creditrun"
	"github.com/hindsightrl/harness/internal/errext"
	"github.com/hindsightrl/harness/store"
)

// voteCommand holds the vote of a run's groups and says what came of it. It writes nothing: `harness
// credit` holds the same vote where its configuration says so, and keeps it with the pass.
type voteCommand struct {
	g         *globals
	db        string
	run       string
	cfg       creditrun.RewardConfig
	questions bool
	asJSON    bool
}

func newVote(g *globals) *cobra.Command {
	c := &voteCommand{g: g, cfg: creditrun.DefaultReward()}
	c.cfg.Source = creditrun.RewardVote
	cmd := &cobra.Command{
		Use:   "vote",
		Short: "Vote on the answers of a run of questions: majority, accuracy, and what the sampling cost",
		Long: `vote sorts the answers of each question's group into classes of the same, and counts. It shows how
often the groups agree, how often the majority is right where the answer is known (maj@N), how often a
single answer is (mean@N), and how many of the vote's rewards are those that a known answer would
have given. Of several answers with as many votes, the one seen first wins; such ties are counted.

It also says what the answers cost: the tokens that were sampled, beside those of all leaves, which is
what sampling every answer by itself would have cost.

Nothing is written. To train on the vote, name it in a credit configuration: reward: vote.`,
		Example: `  harness rollout --env qa --group 16 --name parallel
  harness vote --run parallel
  harness vote --run parallel --questions
  harness credit --run parallel --config ttrl.yaml`,
		GroupID: "look",
		RunE:    func(cmd *cobra.Command, _ []string) error { return c.main(cmd) },
	}
	ledgerFlag(cmd, &c.db)
	f := cmd.Flags()
	f.StringVar(&c.run, "run", "", "the run (default: the last one of the ledger)")
	f.BoolVar(&c.cfg.Exact, "exact", false, "answers are the same where their texts are; by default 1/2 is 0.5")
	f.Float64Var(&c.cfg.Tolerance, "tolerance", c.cfg.Tolerance, "how far numbers that may have been rounded may differ, relative to the larger one")
	f.BoolVar(&c.questions, "questions", false, "a row for each question")
	f.BoolVar(&c.asJSON, "json", false, "print JSON")
	return cmd
}

// groupReport is a question with its vote and its cost.
type groupReport struct {
	Task string `json:"task"`
	creditrun.GroupVote
	Cost treeCost `json:"cost"`
}

// voteReport is what --json prints.
type voteReport struct {
	Run       string                 `json:"run"`
	Config    creditrun.RewardConfig `json:"config"`
	Total     creditrun.VoteStats    `json:"total"`
	Versions  []versionVotes         `json:"versions"` // by policy version
	Cost      treeCost               `json:"cost"`
	Formula   float64                `json:"formula,omitempty"` // token ratio that the tree's shape promises; absent without trees
	Questions []groupReport          `json:"questions"`
}

// versionVotes are the votes of one policy version.
type versionVotes struct {
	Version int32 `json:"version"`
	creditrun.VoteStats
}

func (c *voteCommand) main(cmd *cobra.Command) error {
	if err := c.cfg.Validate(); err != nil {
		return usageError(cmd, err)
	}
	return readLedger(cmd.Context(), c.db, func(db *store.Store) error {
		r, err := c.report(cmd.Context(), db)
		if err != nil {
			return err
		}
		if c.asJSON {
			return writeJSON(c.g.stdout, r)
		}
		return c.print(r)
	})
}

func (c *voteCommand) report(ctx context.Context, db *store.Store) (*voteReport, error) {
	run, err := runNamed(ctx, db, c.run)
	if err != nil {
		return nil, err
	}
	answers, err := db.Answers(ctx, run.ID)
	if err != nil {
		return nil, err
	}
	if len(answers) == 0 {
		return nil, errext.WithHint(fmt.Errorf("run %s has no finished episodes", run.Name), "harness runs "+run.Name+" --db "+db.Path())
	}
	steps := make([]creditrun.Step, len(answers))
	costs := map[int]*treeCost{}
	tasks := map[int]string{}
	for i, a := range answers {
		steps[i] = creditrun.Step{Episode: a.Episode, Group: a.Group, Sample: a.Sample, Return: a.Reward, Version: a.Version, Answer: answerOf(a)}
		tasks[a.Group] = a.Task.ID
		if costs[a.Group] == nil {
			costs[a.Group] = &treeCost{}
		}
		costs[a.Group].add(a)
	}
	votes, err := creditrun.Votes(steps, c.cfg)
	if errors.Is(err, creditrun.ErrNoAnswers) {
		return nil, errext.WithHint(fmt.Errorf("run %s: %w", run.Name, err), "collect answers with: harness rollout --env qa")
	}
	if err != nil {
		return nil, err
	}
	r := &voteReport{Run: run.Name, Config: c.cfg, Total: creditrun.SumVotes(votes), Versions: byVersion(votes), Formula: promisedRatio(run)}
	for _, v := range votes {
		r.Questions = append(r.Questions, groupReport{tasks[v.Group], v, costs[v.Group].finished()})
		r.Cost.join(*costs[v.Group])
	}
	r.Cost = r.Cost.finished()
	return r, nil
}

// byVersion sums votes up by policy version, the oldest first.
func byVersion(votes []creditrun.GroupVote) []versionVotes {
	by := map[int32][]creditrun.GroupVote{}
	for _, v := range votes {
		by[v.Version] = append(by[v.Version], v)
	}
	var out []versionVotes
	for _, version := range sortedKeys(by) {
		out = append(out, versionVotes{version, creditrun.SumVotes(by[version])})
	}
	return out
}

func (c *voteCommand) print(r *voteReport) error {
	w := c.g.stdout
	if c.questions {
		if err := c.printQuestions(r); err != nil {
			return err
		}
		fmt.Fprintln(w)
	}
	t := table{columns: []column{
		{title: "policy version"},
		{title: "questions", right: true},
		{title: "answers", right: true},
		{title: "none", right: true},
		{title: "distinct", right: true},
		{title: "majority", right: true},
		{title: "ties", right: true},
		{title: "maj@N", right: true},
		{title: "mean@N", right: true},
		{title: "rewards right", right: true},
	}}
	for _, v := range r.Versions {
		addVotes(&t, versionName(v.Version), v.VoteStats)
	}
	if len(r.Versions) > 1 {
		addVotes(&t, "all", r.Total)
	}
	if err := t.write(w); err != nil {
		return err
	}
	if n := r.Total.Groups - r.Total.Known; n > 0 {
		fmt.Fprintf(w, "%s without a known answer: not in maj@N, mean@N and the rewards that are right\n", plural(n, "question"))
	}
	if n := r.Total.Undecided; n > 0 {
		fmt.Fprintf(w, "%s in which no response has an answer: nobody is rewarded there\n", plural(n, "question"))
	}
	for _, line := range r.Cost.lines(r.Formula) {
		fmt.Fprintln(w, line)
	}
	return nil
}

func addVotes(t *table, name string, v creditrun.VoteStats) {
	distinct := "-"
	if v.Groups > 0 {
		distinct = fmt.Sprintf("%.1f", float64(v.Classes)/float64(v.Groups))
	}
	t.add(name, strconv.Itoa(v.Groups), strconv.Itoa(v.Responses), percent(v.Abstained, v.Responses), distinct, fmt.Sprintf("%.3f", v.Ratio),
		strconv.Itoa(v.Tied), percent(v.Right, v.Known), percent(v.Solved, v.Asked), percent(v.RewardsFit, v.Asked))
}

func (c *voteCommand) printQuestions(r *voteReport) error {
	t := table{columns: []column{
		{title: "question"},
		{title: "answers", right: true},
		{title: "none", right: true},
		{title: "distinct", right: true},
		{title: "votes", right: true},
		{title: "tied", right: true},
		{title: "majority's answer"},
		{title: "right"},
		{title: "tokens sampled", right: true},
		{title: "of the leaves", right: true},
		{title: "time", right: true},
	}}
	for i := range r.Questions {
		q := &r.Questions[i]
		right := "?"
		if q.Known {
			right = map[bool]string{true: "yes", false: "no"}[q.Right]
		}
		t.add(q.Task, strconv.Itoa(q.Responses), strconv.Itoa(q.Abstained), strconv.Itoa(q.Classes), strconv.Itoa(q.Votes), strconv.Itoa(q.Tied),
			firstLine(q.Label), right, strconv.Itoa(q.Cost.Sampled), percent(q.Cost.Sampled, q.Cost.Leaves), short(q.Cost.Wall))
	}
	return t.write(c.g.stdout)
}
