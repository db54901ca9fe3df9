// Package pddl reads the subset of PDDL that ALFWorld-style games are written in: a STRIPS domain
// with types, disjunction, negation, existential conditions, equality and conditional effects, and a
// problem of objects, positive facts and a goal.
//
// It follows the lexical rules of the translator that the original environment runs on (everything is
// lower-cased, ';' starts a comment, a comma is an ordinary character) and turns everything outside
// the subset into an *Error that names the line and the construct. It knows nothing of wording,
// state or search.
package pddl
