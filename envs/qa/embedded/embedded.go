// Package embedded holds 200 questions of our own in sixteen kinds, each with its answer, so that the
// question environment works without any data. Its test proves every answer from the question's text.
package embedded

import (
	"context"
	"embed"

	"github.com/hindsightrl/harness/envs/qa"
)

//go:embed questions.jsonl
var files embed.FS

// Suite opens the embedded questions; they are all of split "questions".
func Suite(ctx context.Context, cfg qa.Config) (*qa.Suite, error) {
	return qa.NewFS(ctx, files, cfg)
}
