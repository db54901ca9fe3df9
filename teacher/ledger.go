package teacher

import (
	"context"
	"encoding/json"

	"github.com/hindsightrl/harness"
)

// Rollouts is where a pass reads what was collected. Its methods are safe for concurrent use.
type Rollouts interface {
	// ScoreGroups lists the groups of a run, in panel order, also those without a done episode.
	ScoreGroups(ctx context.Context, run int64) ([]harness.ScoreGroup, error)
	// GroupEpisodes reads a group's done episodes, by sample.
	GroupEpisodes(ctx context.Context, run int64, group int) ([]harness.GroupEpisode, error)
}

// Scores is where a pass keeps what it finds. Its methods are safe for concurrent use; those that write
// return when the rows are durable.
type Scores interface {
	// OpenScorePass finds the pass with p's run and key, or adds it.
	OpenScorePass(ctx context.Context, p harness.ScorePass) (harness.ScorePass, error)
	// ScoredGroups maps the groups that a pass holds to the fingerprints that they had.
	ScoredGroups(ctx context.Context, pass int64) (map[int]string, error)
	// SaveScores replaces what a pass holds about a group.
	SaveScores(ctx context.Context, pass int64, group int, fingerprint string, scores []harness.StepScore) error
	// ScoreCounts sums up what a pass holds.
	ScoreCounts(ctx context.Context, pass int64) (harness.ScoreCounts, error)
	// NoteScorePass keeps a pass's report and leaves it running.
	NoteScorePass(ctx context.Context, pass int64, report json.RawMessage) error
	// CloseScorePass marks a pass as done and keeps its report.
	CloseScorePass(ctx context.Context, pass int64, report json.RawMessage) error
}

// Cache keeps log-probabilities by what they depend on. Its methods are safe for concurrent use.
type Cache interface {
	// Logprobs returns the columns that are there, by key.
	Logprobs(ctx context.Context, keys []harness.ContentKey) (map[harness.ContentKey][]float32, error)
	// AddLogprobs keeps columns; it returns when they are durable.
	AddLogprobs(ctx context.Context, cols []harness.LogprobColumn) error
}

// Ledger is all of it: store.Store is one.
type Ledger interface {
	Rollouts
	Scores
	Cache
}
