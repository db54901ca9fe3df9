package pddl

import "fmt"

// Error is what a text outside the supported subset gives. Construct names what was met.
type Error struct {
	Line      int    // 1-based line in the text
	Construct string // the word or form at fault, as written after lower-casing
	Reason    string
}

// Error prints "line N: construct: reason".
func (e *Error) Error() string {
	if e.Construct == "" {
		return fmt.Sprintf("line %d: %s", e.Line, e.Reason)
	}
	return fmt.Sprintf("line %d: %s: %s", e.Line, e.Construct, e.Reason)
}

func errAt(n *Node, reason string, args ...any) error {
	return &Error{Line: n.Line, Construct: n.head(), Reason: fmt.Sprintf(reason, args...)}
}
