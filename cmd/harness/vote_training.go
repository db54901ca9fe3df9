package main

import (
	"context"
	"fmt"
	"strconv"

	"github.com/hindsightrl/harness/credit"
	"github.com/hindsightrl/harness/creditrun"
	"github.com/hindsightrl/harness/envs/qa"
	"github.com/hindsightrl/harness/store"
)

// creditAnswers reads how a run's episodes answered, by episode, where the configuration asks for it: for
// a vote, or to follow groups by policy version.
func creditAnswers(ctx context.Context, db *store.Store, run store.Run, cfg creditrun.Config) (map[int64]store.Answer, error) {
	if cfg.Reward.Source != creditrun.RewardVote && cfg.Response == credit.ResponseNone {
		return nil, nil
	}
	all, err := db.Answers(ctx, run.ID)
	if err != nil {
		return nil, err
	}
	out := make(map[int64]store.Answer, len(all))
	for _, a := range all {
		out[a.Episode] = a
	}
	return out, nil
}

// answerOf is what an episode says to a vote; nil where it was no question.
func answerOf(a store.Answer) *creditrun.Answer {
	if a.Task.Env != qa.Name {
		return nil
	}
	_, known := qa.Reference(a.Privileged)
	return &creditrun.Answer{Text: a.Action, Known: known}
}

// writeTraining prints what each policy version's groups looked like to the trainer.
func writeTraining(g *globals, p savedPass) error {
	rows := p.report.Training
	if len(rows) == 0 {
		return nil
	}
	votes, factors := rows[0].Votes != nil, rows[0].Factor != nil
	t := table{columns: []column{{title: "policy version"}, {title: "groups", right: true}}}
	add := func(titles ...string) {
		for _, title := range titles {
			t.columns = append(t.columns, column{title: title, right: true})
		}
	}
	if votes {
		add("majority", "maj@N", "mean@N", "rewards right")
	}
	add("A > 0", "mean A > 0", "A < 0")
	if factors {
		add("factor mean", "5%", "50%", "95%", "at the bounds")
	}
	for _, r := range rows {
		cells := []string{versionName(r.Version), strconv.Itoa(r.Groups)}
		if v := r.Votes; votes && v != nil {
			cells = append(cells, fmt.Sprintf("%.3f", v.Ratio), percent(v.Right, v.Known), percent(v.Solved, v.Asked), percent(v.RewardsFit, v.Asked))
		}
		cells = append(cells, percent(r.Positive.N, r.Responses), number(r.Positive.Mean, r.Positive.N), percent(r.Negative.N, r.Responses))
		if f := r.Factor; factors && f != nil {
			q := f.Quantiles // at creditrun.Quantiles: 5, 25, 50, 75 and 95 %
			cells = append(cells, number(f.Mean, f.N), number(q[0], f.N), number(q[2], f.N), number(q[4], f.N), percent(f.Low+f.High, f.N))
		}
		t.add(cells...)
	}
	fmt.Fprintln(g.stdout)
	return t.write(g.stdout)
}

// versionName prints a policy version.
func versionName(v int32) string {
	if v < 0 {
		return "not said"
	}
	return strconv.Itoa(int(v))
}
