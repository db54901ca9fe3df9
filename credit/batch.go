package credit

import (
	"fmt"
	"slices"
)

// Batch is B step rows as columns. Group, Trajectory and Return are always needed, the others by the
// estimators that say so; a nil column is absent. Row order is free.
type Batch struct {
	Group      []int     // B group numbers, any integers; rows of one task under one policy share one
	Trajectory []int     // B trajectory numbers, any integers; unique over the batch, not only within a group
	Step       []int     // B turn numbers; nil: rows of a trajectory are in order
	Return     []float64 // B episode returns: the trajectory's summed reward, the same on each of its rows
	Reward     []float64 // B step rewards (GiGPO, HGPO)
	Anchor     []string  // B anchor observations (GiGPO, HGPO)
	Tokens     []int     // B response lengths (REINFORCE++ baseline)
	Valid      []bool    // B flags: the response kept the format's rules; nil: all did
	Fork       []Fork    // B forks, the same on each row of a trajectory; nil: nobody knows of any

	// Similar decides whether observation a joins the cluster that b represents, at a threshold in
	// (0, 1). GiGPO's similarity anchors need it; the original is Python's difflib ratio >= threshold.
	Similar func(a, b string, threshold float64) bool
}

// Validate reports columns of different lengths (ErrLength), values that are not finite
// (ErrNotFinite), and a trajectory that two groups claim.
func (b *Batch) Validate() error {
	n := len(b.Group)
	for _, c := range []struct {
		name     string
		got      int
		optional bool
	}{
		{"trajectory", len(b.Trajectory), false},
		{"return", len(b.Return), false},
		{"step", len(b.Step), b.Step == nil},
		{"reward", len(b.Reward), b.Reward == nil},
		{"anchor", len(b.Anchor), b.Anchor == nil},
		{"tokens", len(b.Tokens), b.Tokens == nil},
		{"valid", len(b.Valid), b.Valid == nil},
		{"fork", len(b.Fork), b.Fork == nil},
	} {
		if c.optional {
			continue
		}
		if err := checkLength(c.name, c.got, n); err != nil {
			return err
		}
	}
	if err := checkFinite("return", b.Return); err != nil {
		return err
	}
	if err := checkFinite("reward", b.Reward); err != nil {
		return err
	}
	for i, t := range b.Tokens {
		if t < 0 {
			return fmt.Errorf("row %d: %d tokens: %w", i, t, ErrConfig)
		}
	}
	return nil
}

// layout is a validated batch with its rows sorted out.
type layout struct {
	*Batch
	group  []int   // dense
	traj   []int   // dense
	groups buckets // rows of each group
	trajs  buckets // rows of each trajectory, in step order
}

func newLayout(b *Batch) (*layout, error) {
	if err := b.Validate(); err != nil {
		return nil, err
	}
	group, ng := dense(b.Group)
	traj, nt := dense(b.Trajectory)
	l := &layout{Batch: b, group: group, traj: traj, groups: bucketize(group, ng), trajs: bucketize(traj, nt)}
	for k := range nt {
		rows := l.trajs.of(k)
		for _, i := range rows {
			if j := rows[0]; group[i] != group[j] {
				return nil, fmt.Errorf("trajectory %d is in group %d (row %d) and in group %d (row %d): %w",
					b.Trajectory[i], b.Group[j], j, b.Group[i], i, ErrConfig)
			}
		}
		if b.Step != nil {
			l.sortSteps(rows)
		}
	}
	return l, nil
}

// sortSteps puts a trajectory's rows into step order; rows that are in order already (the usual case)
// cost one pass.
func (l *layout) sortSteps(rows []int) {
	byStep := func(i, j int) int { return l.Step[i] - l.Step[j] }
	if !slices.IsSortedFunc(rows, byStep) {
		slices.SortStableFunc(rows, byStep)
	}
}

// sample lists the rows that a group's statistics run over: all of them, or the first row of each of
// its trajectories.
func (l *layout) sample(scope Scope) buckets {
	if scope != ScopeTrajectories {
		return l.groups
	}
	ids := make([]int, l.trajs.len())
	for k := range ids {
		ids[k] = l.group[l.trajs.first(k)]
	}
	b := bucketize(ids, l.groups.len())
	for j, k := range b.rows {
		b.rows[j] = l.trajs.first(k)
	}
	return b
}

// penalized copies xs and takes the penalty off the rows whose response broke the format's rules.
// Source: OliverLeeXZ/SERL@5a2a85b:verl/trainer/ppo/ray_trainer.py (apply_invalid_action_penalty),
// which takes it off the row's return and off its discounted step return, after discounting.
func (l *layout) penalized(xs []float64, penalty float64) []float64 {
	out := slices.Clone(xs)
	for i, ok := range l.Valid {
		if !ok {
			out[i] -= penalty
		}
	}
	return out
}
