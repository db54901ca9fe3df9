package alfworld

import (
	"context"
	"encoding/json"
	"fmt"
	"runtime"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/hindsightrl/harness"
	"github.com/hindsightrl/harness/internal/errext"
)

func (s *Suite) lists(ctx context.Context, split string) ([]*listing, error) {
	splits, err := s.Splits()
	if err != nil {
		return nil, fmt.Errorf("list splits of %s: %w", s.name, err)
	}
	if split != "" {
		if !slices.Contains(splits, split) {
			return nil, errext.WithHint(fmt.Errorf("no split %q in %s", split, s.name), "it has: "+strings.Join(splits, ", "))
		}
		splits = []string{split}
	}
	var out []*listing
	for _, sp := range splits {
		l, err := s.list(ctx, sp)
		if err != nil {
			return nil, err
		}
		out = append(out, l)
	}
	return out, nil
}

// list reads a split once. Reading every game file is needed for the hash and the solvable key.
func (s *Suite) list(ctx context.Context, split string) (*listing, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if l, ok := s.splits[split]; ok {
		return l, nil
	}
	ids, err := trials(s.fsys, split)
	if err != nil {
		return nil, fmt.Errorf("list split %q of %s: %w", split, s.name, err)
	}
	tasks := make([]harness.Task, len(ids))
	reasons := make([]error, len(ids))
	eg, ctx := errgroup.WithContext(ctx)
	eg.SetLimit(runtime.GOMAXPROCS(0))
	for i, id := range ids {
		eg.Go(func() error {
			tasks[i], reasons[i] = s.describe(id)
			return ctx.Err()
		})
	}
	if err := eg.Wait(); err != nil {
		return nil, err
	}
	l := &listing{}
	for i, id := range ids {
		if reasons[i] != nil {
			l.skips = append(l.skips, Skip{ID: id, Reason: reasons[i]})
		} else {
			l.tasks = append(l.tasks, tasks[i])
		}
	}
	s.splits[split] = l
	return l, nil
}

// describe makes a trial's task, or says why it is none.
func (s *Suite) describe(id string) (harness.Task, error) {
	typ, err := taskType(s.fsys, id)
	if err != nil {
		return harness.Task{}, err
	}
	data, err := readGame(s.fsys, id)
	if err != nil {
		return harness.Task{}, err
	}
	var c struct {
		Solvable *bool `json:"solvable"`
	}
	if err := json.Unmarshal(data, &c); err != nil {
		return harness.Task{}, fmt.Errorf("game.tw-pddl is not valid: %w", err)
	}
	if err := checkSolvable(c.Solvable); err != nil {
		return harness.Task{}, err
	}
	split, _, _ := strings.Cut(id, "/")
	return harness.Task{Env: Name, ID: id, Split: split, Type: typ, Hash: hashOf(data)}, nil
}
