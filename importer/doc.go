// Package importer reads rollouts that other programs recorded (verifiers' traces and results, trajectories
// in Harbor's ATIF) as episodes that the ledger can hold.
//
// It owns the formats, what maps to what, and the panel that the episodes make. It makes nothing up: what a
// file does not say stays empty, what has no place in the ledger is handed on as an artifact, and what cannot
// be read is an error that names its place. Writing episodes down is the caller's.
package importer
