package testlog

import "iter"

// The statuses that grading knows. A runner may print others; they are kept as they are.
const (
	Passed  = "PASSED"
	Failed  = "FAILED"
	Skipped = "SKIPPED"
	Errored = "ERROR"
	XFailed = "XFAIL"
)

// pytestStatuses is the order in which the official enum lists them.
var pytestStatuses = [...]string{Failed, Passed, Skipped, Errored, XFailed}

// Statuses maps test names to statuses and remembers the order in which the names first appeared, as a
// Python dict does: the meaning of a truncated test id depends on it. The zero value is empty and ready.
type Statuses struct {
	entries []entry
	index   map[string]int32
}

type entry struct{ name, status string }

// Set records a status; a later one replaces an earlier one and keeps its place.
func (s *Statuses) Set(name, status string) {
	if i, ok := s.index[name]; ok {
		s.entries[i].status = status
		return
	}
	if s.index == nil {
		s.index = make(map[string]int32, 64)
	}
	s.index[name] = int32(len(s.entries))
	s.entries = append(s.entries, entry{name, status})
}

// Get returns the status of a test and whether there is one.
func (s *Statuses) Get(name string) (string, bool) {
	if s == nil {
		return "", false
	}
	i, ok := s.index[name]
	if !ok {
		return "", false
	}
	return s.entries[i].status, true
}

// Len is the number of tests. A nil map is empty.
func (s *Statuses) Len() int {
	if s == nil {
		return 0
	}
	return len(s.entries)
}

// All yields name and status in the order of first appearance.
func (s *Statuses) All() iter.Seq2[string, string] {
	return func(yield func(string, string) bool) {
		if s == nil {
			return
		}
		for _, e := range s.entries {
			if !yield(e.name, e.status) {
				return
			}
		}
	}
}

// Map returns the statuses as an ordinary map.
func (s *Statuses) Map() map[string]string {
	m := make(map[string]string, s.Len())
	for name, status := range s.All() {
		m[name] = status
	}
	return m
}
