package importer

import (
	"fmt"

	"github.com/hindsightrl/harness"
)

// Panel sorts episodes into groups, one for each task, in the order in which the tasks come. The zero value
// works.
type Panel struct {
	tasks []harness.Task
	index map[string]int
	sizes []int
}

// Add gives an episode its place: sample number sample of group number group.
func (p *Panel) Add(ep *Episode) (group, sample int, err error) {
	if err := ep.Task.Validate(); err != nil {
		return 0, 0, fmt.Errorf("%s: %w", ep.Source, err)
	}
	if p.index == nil {
		p.index = map[string]int{}
	}
	key := ep.Task.Key()
	group, known := p.index[key]
	if !known {
		group = len(p.tasks)
		p.index[key] = group
		p.tasks, p.sizes = append(p.tasks, ep.Task), append(p.sizes, 0)
	}
	if a, b := p.tasks[group].Hash, ep.Task.Hash; a != b {
		return 0, 0, fmt.Errorf("%s: task %s has the hash %q here and %q before: they are two tasks of one name", ep.Source, key, b, a)
	}
	sample = p.sizes[group]
	p.sizes[group]++
	return group, sample, nil
}

// Tasks are the tasks so far.
func (p *Panel) Tasks() []harness.Task { return p.tasks }

// Size is how many episodes a group has.
func (p *Panel) Size(group int) int { return p.sizes[group] }

// Largest is the size of the largest group, and Smallest of the smallest; 0 without groups.
func (p *Panel) Largest() int {
	n := 0
	for _, s := range p.sizes {
		n = max(n, s)
	}
	return n
}

// Smallest is the size of the smallest group; 0 without groups.
func (p *Panel) Smallest() int {
	n := p.Largest()
	for _, s := range p.sizes {
		n = min(n, s)
	}
	return n
}
