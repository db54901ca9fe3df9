// Package engine plays ALFWorld-style games: a PDDL domain and problem with a text grammar. Compile
// turns a game into one read-only structure that any number of episodes share; an Episode owns little
// more than a few bit sets.
//
// Everything is interpreted: no action, predicate, wording or quirk of a particular domain is written
// down here. What the original environment does by accident (lists in the order of mangled ids, a
// query state apart from the planner's state, operators without effect that do not exist) follows
// from reproducing its rules.
//
// How a game is laid out:
//
//	entities   objects of domain and problem, numbered in the order of their ids
//	facts      dynamic facts first, then static ones; each part sorted by predicate and arguments
//	operators  every operator that a relaxed search can reach, grounded, in one flat array
//	commands   every command text, sorted, so that a bit set of commands is a sorted list
package engine
