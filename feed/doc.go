// Package feed hands the finished groups of a run to trainers that live elsewhere: over WebSocket and
// plain HTTP as Arrow IPC or JSON, and as files in the formats that trainers read.
//
// It owns the row (what a trainer learns about one step), its encodings, the protocol (docs/feed.md) and
// the pacing of rollouts by policy version. Which consumer holds which groups is kept by a Book, and
// where rows come from is a Source's business: package store implements both on the ledger. Nothing is
// queued in memory: a batch exists only while it is being sent, one group at a time.
package feed
