package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/hindsightrl/harness"
	"github.com/hindsightrl/harness/importer"
	"github.com/hindsightrl/harness/internal/errext"
	"github.com/hindsightrl/harness/store"
)

// importKey is where a run's information has the hash of what it was imported from.
const importKey = "import_sha256"

// write reads the files again and writes each episode down. One that a stopped import has written already is
// passed over.
func (c *importCommand) write(ctx context.Context, db *store.Store, sum *imported) error {
	run, err := c.open(ctx, db, sum)
	if err != nil {
		return err
	}
	sum.Run = run.Name
	if err := db.SetRunState(ctx, run.ID, store.RunRunning, ""); err != nil {
		return err
	}
	err = c.episodes(ctx, db, run, sum)
	state, message := store.RunDone, ""
	if err != nil {
		state, message = store.RunInterrupted, err.Error()
	}
	err = errors.Join(err, db.SetRunState(context.WithoutCancel(ctx), run.ID, state, message))
	if err != nil {
		return errext.WithHint(err, hintOr(err, "the same command goes on where it stopped"))
	}
	return nil
}

// open makes the run, or finds the one that an import of the same files was stopped in.
func (c *importCommand) open(ctx context.Context, db *store.Store, sum *imported) (store.Run, error) {
	if c.name == "" {
		name, err := freeName(ctx, db, c.format+"-"+c.g.now().UTC().Format("20060102-150405"))
		if err != nil {
			return store.Run{}, err
		}
		c.name = name
	}
	old, err := db.RunByName(ctx, c.name)
	switch {
	case err == nil:
		return old, c.same(old, sum)
	case !errors.Is(err, store.ErrNotFound):
		return store.Run{}, err
	}
	config, err := json.Marshal(map[string]string{"import": c.format, "won-at": fmt.Sprint(c.wonAt)})
	if err != nil {
		return store.Run{}, err
	}
	info, err := json.Marshal(map[string]any{"imported_from": c.format, "files": c.files, importKey: sum.hash, "notes": sum.Notes, "left_out": sum.Skipped})
	if err != nil {
		return store.Run{}, err
	}
	return db.CreateRun(ctx, store.RunSpec{
		Name: c.name, Panel: harness.Panel{Name: c.format + "-" + sum.hash[:12], Tasks: sum.panel.Tasks()}, GroupSize: sum.panel.Largest(),
		Policy: c.actor(sum), Config: config, Info: info, CodeVersion: codeVersion(),
	})
}

// same reports a run that is not this import, or is complete.
func (c *importCommand) same(old store.Run, sum *imported) error {
	var info map[string]any
	if err := json.Unmarshal(old.Info, &info); err != nil {
		return fmt.Errorf("run %q: read its information: %w", old.Name, err)
	}
	if info[importKey] != sum.hash {
		return errext.WithHint(fmt.Errorf("run %q: %w", old.Name, store.ErrRunExists), "choose another --name")
	}
	if old.State == store.RunDone {
		return errext.WithHint(fmt.Errorf("run %q holds these files already", old.Name), "harness runs --db "+c.db)
	}
	return nil
}

func (c *importCommand) episodes(ctx context.Context, db *store.Store, run store.Run, sum *imported) error {
	open, err := places(ctx, db, run.ID)
	if err != nil {
		return err
	}
	rec := db.Recorder(run.ID)
	var panel importer.Panel
	_, err = c.read(ctx, func(ep *importer.Episode) error {
		group, sample, err := panel.Add(ep)
		if err != nil {
			return err
		}
		if group >= sum.Groups || sample >= sum.panel.Size(group) {
			return fmt.Errorf("%s: the files have changed since they were looked at", ep.Source)
		}
		ref, ok := open[refKey{group, sample}]
		if !ok {
			return nil // written by an import that was stopped
		}
		if err := writeEpisode(ctx, rec, ref, ep); err != nil {
			return fmt.Errorf("%s: %w", ep.Source, err)
		}
		return nil
	}, io.Discard, func(string) {})
	if err != nil {
		return err
	}
	for group := range sum.Groups {
		var empty []harness.EpisodeRef
		for sample := sum.panel.Size(group); sample < sum.panel.Largest(); sample++ {
			if ref, ok := open[refKey{group, sample}]; ok {
				empty = append(empty, ref)
			}
		}
		if err := rec.Unused(ctx, empty, "the files hold no more rollouts of this task"); err != nil {
			return err
		}
	}
	return nil
}

// writeEpisode records an episode, or what an attempt at it lacks.
func writeEpisode(ctx context.Context, rec *store.Recorder, ref harness.EpisodeRef, ep *importer.Episode) error {
	attempt, recorded, err := rec.Begin(ctx, ref)
	if err != nil {
		return err
	}
	for i := len(recorded); i < len(ep.Steps); i++ {
		if err := rec.Step(ctx, attempt, ep.Steps[i]); err != nil {
			return err
		}
	}
	for _, a := range ep.Rest {
		if err := rec.Artifact(ctx, attempt, a); err != nil {
			return err
		}
	}
	if ep.Failure != nil {
		return rec.Fail(ctx, attempt, ep.Failure, true)
	}
	return rec.Finish(ctx, attempt, ep.Outcome)
}
