// Package envdiff plays the same actions in two environments of the same tasks, a native one and the
// original, and reports the first thing in which their answers differ. It knows no environment: what it
// plays is drawn from what the first of the two lists and from its expert, and from variants of that
// which are no actions at all.
package envdiff
