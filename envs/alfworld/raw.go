package alfworld

import (
	"context"
	"strings"

	"github.com/hindsightrl/harness"
	"github.com/hindsightrl/harness/envs/alfworld/grammar"
)

// Config is the suite's configuration, with its defaults filled in.
func (s *Suite) Config() Config { return s.cfg }

// GameFile is the text of a task's game file, after the checks that playing it makes: for backends that
// play it by other means.
func (s *Suite) GameFile(ctx context.Context, task harness.Task) ([]byte, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	g, err := s.open(task)
	if err != nil {
		return nil, failure("open game", err)
	}
	data, err := readGame(s.fsys, task.ID)
	if err == nil {
		err = s.sameHash(harness.Task{ID: task.ID, Hash: g.hash}, hashOf(data))
	}
	if err != nil {
		return nil, failure("open game", err)
	}
	return data, nil
}

// Instruction is the task that an introduction states, "" where it states none.
func Instruction(intro string) string {
	_, after, _ := strings.Cut(intro, taskMark)
	return strings.TrimFunc(after, grammar.IsSpace)
}
