package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/hindsightrl/harness"
	"github.com/hindsightrl/harness/credit"
	"github.com/hindsightrl/harness/creditrun"
	"github.com/hindsightrl/harness/store"
)

// Counts gives up, before it counts, the groups that the credit pass in use has left out
// (filter_groups): no trainer gets them by it, and a feed that waited for them would never be drained.
func (s *ledgerSource) Counts(ctx context.Context) (harness.FeedCounts, error) {
	if err := s.dropFiltered(ctx); err != nil {
		return harness.FeedCounts{}, err
	}
	return s.Feed.Counts(ctx)
}

// filteredGroups are those that a credit pass has left out, each with the reason.
type filteredGroups struct {
	pass   int64
	groups map[int]filteredGroup
}

type filteredGroup struct {
	episodes int // that were judged
	reason   string
}

func (s *ledgerSource) dropFiltered(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.findFiltered(ctx); err != nil || len(s.filtered.groups) == 0 {
		return err
	}
	// A group that somebody holds is given up when it comes back.
	free, err := s.Free(ctx, 0)
	if err != nil {
		return err
	}
	for _, g := range free {
		judged, out := s.filtered.groups[g]
		if !out {
			continue
		}
		// A group that was judged while it was played may carry a signal since: it waits for the next pass.
		if done, err := s.Done(ctx, g); err != nil {
			return err
		} else if done != judged.episodes {
			continue
		}
		if _, err := s.Drop(ctx, g, judged.reason); err != nil {
			return err
		}
	}
	return nil
}

// findFiltered reads what the credit pass that leases get now has left out, once for each pass.
func (s *ledgerSource) findFiltered(ctx context.Context) (err error) {
	id := s.plan.spec.Credit
	if id == harness.PassNone || id != harness.PassNewest && id == s.filtered.pass {
		return nil
	}
	var pass store.CreditPass
	if id == harness.PassNewest {
		pass, err = s.db.NewestCreditPass(ctx, s.plan.run.ID)
	} else {
		pass, err = s.db.FindCreditPass(ctx, strconv.FormatInt(id, 10))
	}
	if errors.Is(err, store.ErrNotFound) || err == nil && pass.ID == s.filtered.pass {
		return nil
	}
	if err != nil {
		return err
	}
	saved, err := decodePass(pass)
	if err != nil {
		return err
	}
	s.filtered = filteredGroups{pass: pass.ID, groups: map[int]filteredGroup{}}
	for _, v := range saved.report.Filtered {
		s.filtered.groups[v.Group] = filteredGroup{v.Trajectories, fmt.Sprintf("credit pass %d: %s", pass.ID, creditrun.DropReason(v, saved.cfg))}
	}
	return nil
}

// filteredReason says why a pass left a group out; "" where it did not.
func (p savedPass) filteredReason(group int) string {
	i := slices.IndexFunc(p.report.Filtered, func(v credit.Verdict) bool { return v.Group == group })
	if i < 0 {
		return ""
	}
	return creditrun.DropReason(p.report.Filtered[i], p.cfg)
}
