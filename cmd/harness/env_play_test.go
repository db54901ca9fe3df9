package main

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/hindsightrl/harness"
	"github.com/hindsightrl/harness/envs/envtest"
)

// TestPlayFinishes: an environment that judges is asked at the end, whoever ended the episode, and what it
// says and leaves is printed; who quits gets no judgement.
func TestPlayFinishes(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		keys     string
		fails    bool
		finishes int
		want     []string
	}{
		"the environment ends it": {"add one\nadd one\n", false, 1, []string{"The judge nods.", "── patch.diff\n+1\n", "done after 2 steps: score 0.25\n"}},
		"the player ends it":      {"look\n:finish\n", false, 1, []string{"The judge nods.", "done after 1 step: score 0.25\n"}},
		"the player leaves":       {"look\n:quit\n", false, 0, nil},
		"input ends":              {"look\n", false, 0, nil},
		"the judge fails":         {":finish\n", true, 1, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			finishes := 0
			suite := envtest.NewFakeSuite(envtest.FakeConfig{OnFinish: func(context.Context) (harness.Ending, error) {
				if finishes++; tt.fails {
					return harness.Ending{}, errors.New("the judge is away")
				}
				return harness.Ending{Score: 0.25, Feedback: "The judge nods.", Artifacts: []harness.Artifact{{Name: "patch.diff", Content: "+1\n"}}}, nil
			}}, 2)
			env, err := suite.NewEnv(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			first, err := env.Reset(t.Context(), envtest.FakeTask(2))
			if err != nil {
				t.Fatal(err)
			}
			var out strings.Builder
			err = (&player{env: env, w: &out, now: first}).loop(t.Context(), strings.NewReader(tt.keys))
			if (err != nil) != tt.fails || finishes != tt.finishes {
				t.Errorf("%v, finished %d times", err, finishes)
			}
			for _, want := range tt.want {
				if !strings.Contains(out.String(), want) {
					t.Errorf("%q is not in %s", want, &out)
				}
			}
			if tt.finishes == 0 && strings.Contains(out.String(), "done after") {
				t.Errorf("nobody finished, and it says %s", &out)
			}
		})
	}
	// An environment without a Finish is played as before, and :undo takes the score back.
	env := envtest.NewFake(envtest.FakeConfig{})
	first, err := env.Reset(t.Context(), envtest.FakeTask(2))
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	if err := (&player{env: env, w: &out, now: first}).loop(t.Context(), strings.NewReader("add one\n:undo\n:finish\n")); err != nil {
		t.Fatal(err)
	}
	if !strings.HasSuffix(out.String(), "done after 0 steps: score 0\n") {
		t.Errorf("%s", &out)
	}
}
