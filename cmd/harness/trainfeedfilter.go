package main

import (
	"context"
	"fmt"

	"github.com/hindsightrl/harness"
	"github.com/hindsightrl/harness/creditrun"
	"github.com/hindsightrl/harness/internal/errext"
)

// informed remembers which groups credit.filter_groups keeps, and how far the batch is that they fill. It
// forgets rather than grows: a group that is judged again is judged alike.
type informed struct {
	kept    map[int]bool
	batch   int // groups kept for the batch that fills now
	dropped int // groups left out since the last batch was full
}

// keep notes a group that carries a signal. per groups are a batch; 0 = there are none.
func (s *informed) keep(group, per int) {
	if s.kept == nil || len(s.kept) >= maxAges {
		s.kept = map[int]bool{}
	}
	s.kept[group] = true
	if s.batch++; s.batch >= per {
		s.batch, s.dropped = 0, 0
	}
}

// drop notes a group that was left out. It is an error where limit batches of per groups were played and
// have not filled one; a limit of 0 is none. Source: verl, recipe/dapo: max_num_gen_batches.
func (s *informed) drop(per, limit int) error {
	s.dropped++
	if limit == 0 || s.batch+s.dropped < limit*per {
		return nil
	}
	err := fmt.Errorf("%d groups were played and %d of them carry a signal: pace.max_num_gen_batches is %d, and %d fill a batch",
		s.batch+s.dropped, s.batch, limit, per)
	return errext.WithHint(err, "the tasks are too hard or too easy for the policy: choose others, or set pace.max_num_gen_batches: 0 to go on without end")
}

// dropFlat gives up the groups that credit.filter_groups leaves out, where that is on, and returns the
// rest. It comes before the teacher, who is asked nothing about them; others are played in their place.
func (t *trainFeed) dropFlat(ctx context.Context, groups []int) ([]int, error) {
	cfg := t.plan.credit
	if !cfg.Filter.Enable {
		return groups, nil
	}
	kept := groups[:0:0]
	for _, g := range groups {
		if t.flat.kept[g] {
			kept = append(kept, g)
			continue
		}
		src, err := t.db.FeedSteps(ctx, t.of.ID, g, 0, 0)
		if err != nil {
			return nil, err
		}
		verdicts, err := creditrun.Judge(rewardSteps(src), cfg)
		if err != nil {
			return nil, fmt.Errorf("judge group %d: %w", g, err)
		}
		v := verdicts[0] // the steps are of one group, and a free group has some
		if v.Keep() {
			t.flat.keep(g, t.plan.Pace.PerUpdate)
			kept = append(kept, g)
			continue
		}
		dropped, err := t.book.Drop(ctx, g, creditrun.DropReason(v, cfg))
		if err != nil {
			return nil, err
		}
		if !dropped {
			continue
		}
		t.lost.Add(1)
		t.obs.dropped(g)
		t.g.log.Info("group dropped", "group", g, "metric", cfg.Filter.Metric, "reason", v.Reason, "value", v.Returns.Mean)
		if err := t.flat.drop(t.plan.Pace.PerUpdate, t.plan.Pace.MaxBatches); err != nil {
			return nil, err
		}
	}
	return kept, nil
}

// rewardSteps are a group's steps as far as a filter looks at them.
func rewardSteps(src []harness.FeedStep) []creditrun.Step {
	steps := make([]creditrun.Step, len(src))
	for i := range src {
		s := &src[i]
		steps[i] = creditrun.Step{
			ID: s.StepID, Episode: s.Episode, Group: s.Group, Sample: s.Sample, Index: s.Index, Valid: s.Valid, Tokens: -1,
			Return: s.Outcome.Reward, Reward: s.Reward, Task: s.Outcome.Score, Won: s.Outcome.Won, Version: -1,
		}
	}
	return steps
}
