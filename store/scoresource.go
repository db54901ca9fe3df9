package store

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/hindsightrl/harness"
	"github.com/hindsightrl/harness/internal/errext"
)

// GroupEpisodes reads the done episodes of a group, by sample, with their steps and the texts that were
// written about them later. Failed and open episodes are not among them.
func (s *Store) GroupEpisodes(ctx context.Context, runID int64, group int) ([]harness.GroupEpisode, error) {
	var out []harness.GroupEpisode
	filter := Filter{Group: &group, Status: []harness.Status{harness.StatusDone}}
	done, err := collect(s.Episodes(ctx, runID, filter))
	if err != nil {
		return nil, err
	}
	for _, e := range done {
		g := harness.GroupEpisode{EpisodeRef: e.EpisodeRef, Attempt: e.Attempt, Outcome: *e.Outcome, Fork: e.Fork}
		if g.Steps, err = collect(s.Steps(ctx, e.Attempt)); err != nil {
			if errors.Is(err, errBlob) {
				err = errext.WithHint(err, "run `harness db check` to see what is damaged")
			}
			return nil, fmt.Errorf("read steps of episode %d: %w", e.ID, err)
		}
		texts, err := collect(s.Feedback(ctx, e.Attempt))
		if err != nil {
			return nil, err
		}
		slices.SortStableFunc(texts, func(a, b Feedback) int { return cmp.Compare(a.At.UnixMilli(), b.At.UnixMilli()) })
		for _, f := range texts {
			g.Texts = append(g.Texts, harness.StepText{Step: f.Step, Source: f.Source, Text: f.Text})
		}
		out = append(out, g)
	}
	slices.SortFunc(out, func(a, b harness.GroupEpisode) int { return cmp.Compare(a.Sample, b.Sample) })
	return out, nil
}

// AddStepText writes a text about a recorded step, in place of one from the same source.
func (s *Store) AddStepText(ctx context.Context, attempt int64, t harness.StepText) error {
	return s.AddFeedback(ctx, Feedback{Attempt: attempt, Step: t.Step, Source: t.Source, Text: t.Text})
}
