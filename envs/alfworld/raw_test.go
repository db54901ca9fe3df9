package alfworld_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"testing"

	"github.com/hindsightrl/harness"
	"github.com/hindsightrl/harness/envs/alfworld"
	"github.com/hindsightrl/harness/envs/alfworld/embedded"
)

// A game's file is handed out as it is, after the checks that playing it makes.
func TestGameFile(t *testing.T) {
	t.Parallel()
	s, err := embedded.Suite(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	tasks, err := s.Tasks(t.Context(), "train")
	if err != nil {
		t.Fatal(err)
	}
	data, err := s.GameFile(t.Context(), tasks[0])
	if err != nil || !json.Valid(data) {
		t.Fatalf("got %d bytes (%v)", len(data), err)
	}
	if sum := sha256.Sum256(data); hex.EncodeToString(sum[:]) != tasks[0].Hash {
		t.Error("the file is not the one of the task's hash")
	}
	other := tasks[0]
	other.Hash = tasks[1].Hash
	for name, task := range map[string]harness.Task{
		"another version": other, "no such game": {Env: alfworld.Name, ID: "train/no/such"}, "another environment": {Env: "webshop", ID: tasks[0].ID},
	} {
		if _, err := s.GameFile(t.Context(), task); harness.KindOf(err) != harness.FailEnv {
			t.Errorf("%s: got %v", name, err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.GameFile(ctx, tasks[0]); !errors.Is(err, context.Canceled) {
		t.Errorf("a cancelled context: %v", err)
	}
	if cfg := s.Config(); cfg.Reward != 10 || cfg.CacheGames == 0 {
		t.Errorf("the defaults are not filled in: %+v", cfg)
	}
}

func TestInstruction(t *testing.T) {
	t.Parallel()
	for intro, want := range map[string]string{
		"You are in a room.\n\nYour task is to: put a cup on a desk. \n": "put a cup on a desk.", "You are in a room.": "", "": "",
	} {
		if got := alfworld.Instruction(intro); got != want {
			t.Errorf("%q states %q, want %q", intro, got, want)
		}
	}
}
