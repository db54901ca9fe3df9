package store

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/hindsightrl/harness"
)

// EventUnused says that a place of a group stays empty.
const EventUnused EventKind = "unused"

// Unused gives planned episodes up that no attempt was made at: their tree ended with fewer leaves than the
// group has places. They leave the group, and the reason stays. It returns once that is durable. Episodes
// that are gone already are fine; one that was attempted is an error, and nothing changes then.
func (r *Recorder) Unused(ctx context.Context, refs []harness.EpisodeRef, reason string) error {
	if len(refs) == 0 {
		return nil
	}
	op := fmt.Sprintf("give %d places of group %d up", len(refs), refs[0].Group)
	if err := plain("reason", reason); err != nil || reason == "" {
		return failure(op, errors.Join(errors.New("no reason that can be stored"), err))
	}
	now := r.s.now()
	return failure(op, r.s.write(ctx, func(c *conn) error {
		for _, ref := range refs {
			if err := giveUp(c, r.runID, ref.ID, reason); err != nil {
				return err
			}
		}
		return insertEvent(c, r.runID, nil, now, EventUnused, fmt.Sprintf("%d places of group %d: %s", len(refs), refs[0].Group, reason))
	}))
}

func giveUp(c *conn, run, episode int64, reason string) error {
	e, err := c.row("SELECT run_id, status, EXISTS (SELECT 1 FROM attempts a WHERE a.episode_id = e.id) FROM episodes e WHERE id = ?", episode)
	switch {
	case err != nil:
		return err
	case e == nil:
		return nil
	case e[0] != run:
		return fmt.Errorf("episode %d belongs to run %v, the recorder to run %d", episode, e[0], run)
	case e[1] != string(harness.StatusPending) || e[2] != int64(0):
		return fmt.Errorf("episode %d is %v and was attempted", episode, e[1])
	}
	if _, err := c.exec("INSERT INTO unused (group_id, sample, reason) SELECT group_id, sample, ? FROM episodes WHERE id = ?", reason, episode); err != nil {
		return err
	}
	_, err = c.exec("DELETE FROM episodes WHERE id = ?", episode)
	return err
}

// UnusedPlace is a place of a group that no episode took.
type UnusedPlace struct {
	Group  int    `json:"group"`
	Sample int    `json:"sample"`
	Reason string `json:"reason"`
}

// UnusedPlaces lists the places of a run's groups that no episode took.
func (s *Store) UnusedPlaces(ctx context.Context, runID int64) ([]UnusedPlace, error) {
	return unusedPlaces(ctx, s.db, runID)
}

func unusedPlaces(ctx context.Context, q querier, runID int64) ([]UnusedPlace, error) {
	text := "SELECT g.idx, u.sample, u.reason FROM unused u JOIN groups g ON g.id = u.group_id WHERE g.run_id = ? ORDER BY g.idx, u.sample"
	return collect(query(ctx, q, fmt.Sprintf("read unused places of run %d", runID), text, []any{runID}, func(scan func(...any) error) (u UnusedPlace, err error) {
		err = scan(&u.Group, &u.Sample, &u.Reason)
		return u, err
	}))
}

func (d *dumper) unused(ctx context.Context, q querier, runID int64) error {
	places, err := unusedPlaces(ctx, q, runID)
	for _, u := range places {
		d.line("unused", "group", u.Group, "sample", u.Sample, "reason", u.Reason)
	}
	return err
}

// sampleOf is the place of an episode in its group.
func sampleOf(ctx context.Context, q querier, episode int64) (sample int, err error) {
	err = q.QueryRowContext(ctx, "SELECT sample FROM episodes WHERE id = ?", episode).Scan(&sample)
	return sample, classify(err)
}

// Tree lists the episodes of a group, by sample, with what a tree needs to go on from there. Places that
// were given up are not among them.
func (r *Recorder) Tree(ctx context.Context, group int) ([]harness.TreeEpisode, error) {
	var out []harness.TreeEpisode
	text := selectEpisode + "WHERE e.run_id = ? AND g.idx = ? ORDER BY e.sample"
	op := fmt.Sprintf("read the trees of group %d", group)
	attempted, err := collect(query(ctx, r.s.db, op, `SELECT DISTINCT e.id FROM episodes e JOIN groups g ON g.id = e.group_id JOIN attempts a ON a.episode_id = e.id
		WHERE e.run_id = ? AND g.idx = ?`, []any{r.runID, group}, scanOne[int64]))
	if err != nil {
		return nil, failure(op, err)
	}
	for e, err := range query(ctx, r.s.db, op, text, []any{r.runID, group}, scanEpisode) {
		if err != nil {
			return nil, failure(op, err)
		}
		t := harness.TreeEpisode{EpisodeRef: e.EpisodeRef, Status: e.Status, Fork: e.Fork, Attempted: slices.Contains(attempted, e.ID)}
		if e.Failure != nil {
			t.Failed = e.Failure.Kind
		}
		out = append(out, t)
	}
	return out, nil
}

// Steps reads the steps of an episode's deciding attempt. See Store.EpisodeSteps.
func (r *Recorder) Steps(ctx context.Context, episode int64) ([]harness.Step, error) {
	all, err := r.s.EpisodeSteps(ctx, episode)
	return all, failure("read an episode", err)
}
