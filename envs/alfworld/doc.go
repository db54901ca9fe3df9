// Package alfworld is the household environment ALFWorld, native: it finds games in a download, an
// archive or a file system, plays them in process, explains what went wrong, advises from any state,
// and checks itself against transcripts of the original.
//
// Games are compiled by package engine and shared; an Env owns only the state of one episode.
package alfworld
