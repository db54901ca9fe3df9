package openenv

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/hindsightrl/harness"
)

// book finds tasks. Lists of splits are read once; a suite's tasks do not change.
type book struct {
	suite harness.Suite
	panel []harness.Task
	next  atomic.Uint64 // of the panel, over all sessions

	mu    sync.Mutex
	lists map[string]*list
}

type list struct {
	tasks []harness.Task
	names map[string]int // by id and by key
}

// list is the tasks of a split; "" means all.
func (b *book) list(ctx context.Context, split string) (*list, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if l, ok := b.lists[split]; ok {
		return l, nil
	}
	tasks, err := b.suite.Tasks(ctx, split)
	if err != nil {
		return nil, err
	}
	l := &list{tasks: tasks, names: make(map[string]int, 2*len(tasks))}
	for i, t := range tasks {
		for _, name := range []string{t.ID, t.Key()} {
			if _, dup := l.names[name]; !dup {
				l.names[name] = i
			}
		}
	}
	if len(tasks) > 0 { // wrong names must not fill the memory
		b.lists[split] = l
	}
	return l, nil
}

// pick is the task of a reset: the one that is named, else the split's or the panel's task number index,
// else number seed modulo their number; else the panel's next.
func (b *book) pick(ctx context.Context, d resetData) (harness.Task, error) {
	if d.TaskID != "" {
		l, err := b.list(ctx, d.Split)
		if err != nil {
			return harness.Task{}, err
		}
		i, ok := l.names[d.TaskID]
		if !ok {
			return harness.Task{}, invalidf("value_error", []string{"data", "task_id"}, "no task %q%s", clip(d.TaskID), inSplit(d.Split))
		}
		return l.tasks[i], nil
	}
	tasks := b.panel
	if d.Split != "" {
		l, err := b.list(ctx, d.Split)
		if err != nil {
			return harness.Task{}, err
		}
		if tasks = l.tasks; len(tasks) == 0 {
			return harness.Task{}, invalidf("value_error", []string{"data", "split"}, "no tasks%s", inSplit(d.Split))
		}
	}
	n := uint64(len(tasks))
	switch {
	case d.Index != nil && uint64(*d.Index) >= n:
		return harness.Task{}, invalidf("value_error", []string{"data", "index"}, "no task %d: there are %d%s", *d.Index, n, inSplit(d.Split))
	case d.Index != nil:
		return tasks[*d.Index], nil
	case d.Seed != nil:
		return tasks[uint64(*d.Seed)%n], nil
	}
	return tasks[(b.next.Add(1)-1)%n], nil
}

func inSplit(split string) string {
	if split == "" {
		return ""
	}
	return fmt.Sprintf(" in split %q", clip(split))
}

// splits are the names that the tasks carry, in their order.
func (b *book) splits(ctx context.Context) ([]string, error) {
	l, err := b.list(ctx, "")
	if err != nil {
		return nil, err
	}
	var out []string
	for _, t := range l.tasks {
		if t.Split != "" && !slices.Contains(out, t.Split) {
			out = append(out, t.Split)
		}
	}
	return out, nil
}
