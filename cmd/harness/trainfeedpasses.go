package main

import (
	"bytes"
	"context"
	"encoding/json"

	"github.com/hindsightrl/harness"
	"github.com/hindsightrl/harness/teacher"
)

// endPasses marks the teacher's passes that this loop has filled as done, but for the one in use. A pass is in
// use until a version brings the teacher other weights, or the loop ends in order; the passes of a process that
// was killed are ended by the one that goes on.
func (t *trainFeed) endPasses(ctx context.Context, inUse int64) error {
	if t.plan.score == nil {
		return nil
	}
	opt := t.askFor([]int{})
	opt.DryRun = true
	r, err := teacher.Score(ctx, t.db, t.teacher.engine, opt)
	if err != nil {
		return err
	}
	mine, err := lineage(r.Passes[0].Pass)
	if err != nil {
		return err
	}
	passes, err := t.db.ScorePasses(ctx, t.of.ID)
	if err != nil {
		return err
	}
	var over []harness.ScorePass
	for _, p := range passes {
		theirs, err := lineage(p)
		if err != nil {
			return err
		}
		if p.ID != inUse && p.State != scorePassDone && bytes.Equal(mine, theirs) {
			over = append(over, p)
		}
	}
	return teacher.Finish(ctx, t.db, over...)
}

// scorePassDone is the state of a pass that nobody adds to.
const scorePassDone = "done"

// lineage is a pass's configuration without the weights of its teacher: equal where passes differ by these
// alone.
func lineage(p harness.ScorePass) ([]byte, error) {
	var c map[string]any
	if err := json.Unmarshal(p.Config, &c); err != nil {
		return nil, err
	}
	if who, ok := c["teacher"].(map[string]any); ok {
		delete(who, "weights")
	}
	return json.Marshal(c)
}
