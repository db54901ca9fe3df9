package credit

import "fmt"

// clusterIDs are the dense cluster numbers of rows.
type clusterIDs struct {
	of []int
	n  int
}

// anchorClusters numbers each row's anchor cluster within its group: equal observations at threshold
// 0, else greedily by similarity.
func (l *layout) anchorClusters(threshold float64) (clusterIDs, error) {
	if threshold == 0 {
		return l.exactAnchors(), nil
	}
	if l.Similar == nil {
		return clusterIDs{}, fmt.Errorf("anchor_similarity is %v, and the batch has no Similar function", threshold)
	}
	return l.similarAnchors(threshold), nil
}

// exactAnchors hashes each observation once and then works on integers.
func (l *layout) exactAnchors() clusterIDs {
	obs := IDs(l.Anchor)
	pairs := make(interner)
	out := make([]int, len(obs))
	for i, o := range obs {
		out[i] = pairs.id(l.group[i], o)
	}
	return clusterIDs{out, len(pairs)}
}

// similarAnchors joins each row, in batch order within its group, to the first cluster whose
// representative (its first observation) is similar, and opens a new cluster where none is. The
// result depends on the order of rows, as the original's does.
//
// Clusters only ever grow at the end of the list and representatives never change, so an observation
// seen before lands where it landed then: Similar runs for distinct observations only.
//
// Source: OliverLeeXZ/SERL@5a2a85b:recipe/gigpo/core_gigpo.py:build_step_group (observation first,
// representative second: the ratio is not symmetric).
func (l *layout) similarAnchors(threshold float64) clusterIDs {
	out, n := make([]int, len(l.Anchor)), 0
	for k := range l.groups.len() {
		placed := make(map[string]int)
		base, reps := n, []string(nil)
		for _, i := range l.groups.of(k) {
			obs := l.Anchor[i]
			c, ok := placed[obs]
			if !ok {
				for c = 0; c < len(reps) && !l.Similar(obs, reps[c], threshold); c++ {
				}
				if c == len(reps) {
					reps = append(reps, obs)
					n++
				}
				placed[obs] = c
			}
			out[i] = base + c
		}
	}
	return clusterIDs{out, n}
}

// AnchorGroups numbers each row's anchor cluster: rows of one group with equal observations, or, at
// a threshold in (0, 1), with observations that b.Similar joins. Numbers are dense, in no
// meaningful order.
func AnchorGroups(b *Batch, threshold float64) ([]int, error) {
	l, err := newLayout(b)
	if err != nil {
		return nil, err
	}
	if l.Anchor == nil {
		return nil, fmt.Errorf("anchor groups need anchor observations, and the batch has none")
	}
	if threshold != 0 && !(threshold > 0 && threshold < 1) {
		return nil, fmt.Errorf("anchor_similarity is %v, want 0 (exact) or a number in (0, 1): %w", threshold, ErrConfig)
	}
	ids, err := l.anchorClusters(threshold)
	return ids.of, err
}
