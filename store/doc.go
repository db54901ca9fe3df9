// Package store is the ledger: one SQLite file that holds runs, episodes, attempts, steps, tokens,
// feedback and events. It owns all SQL of the tree, the stored formats (docs/formats.md) and what a
// crash may cost: at most the step in flight of each episode.
//
// One process writes a file at a time, through one connection and one goroutine that groups the
// calls of all episodes into shared commits; any number of processes read it meanwhile. What an
// episode is, and when it ends, is decided elsewhere (package agent); what its steps are worth, in
// package credit.
package store
