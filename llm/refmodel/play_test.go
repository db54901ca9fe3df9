package refmodel

import (
	"context"
	"regexp"
	"testing"

	"github.com/hindsightrl/harness"
	"github.com/hindsightrl/harness/llm"
	"github.com/hindsightrl/harness/llm/refmodel/internal/household"
)

var format = regexp.MustCompile(`(?s)^<think>.*</think><action>(.*)</action>$`)

// As a policy the model keeps the response format and mostly takes commands that work. How well it
// plays the embedded panel is tested beside the recorder, which may import environments.
func TestModelKeepsTheFormat(t *testing.T) {
	t.Parallel()
	m := open1(t)
	steps, valid, worked := 0, 0, 0
	for seed := uint64(5000); seed < 5010; seed++ {
		g := household.New(seed)
		observation := g.Intro()
		var past []household.Turn
		for n := 0; n < 30 && !g.Won(); n++ {
			action := ""
			if f := format.FindStringSubmatch(respond(t, m, g.Prompt(past, observation), int64(seed)*100+int64(n))); f != nil {
				valid++
				action = f[1]
			}
			past = append(past, household.Turn{Observation: observation, Action: action})
			observation = g.Step(action)
			steps++
			if observation != "Nothing happens." {
				worked++
			}
		}
	}
	if valid < steps*9/10 || worked < steps*7/10 {
		t.Errorf("of %d responses %d kept the format and %d were commands that worked", steps, valid, worked)
	}
}

func respond(t *testing.T, m *Model, prompt string, seed int64) string {
	t.Helper()
	s := llm.DefaultSampling()
	s.Seed = &seed
	var text []byte
	_, err := m.Stream(context.Background(), llm.StreamRequest{Prompt: render(t, m, prompt), Sampling: s}, func(ev llm.TokenEvent) error {
		text = append(text, m.TokenBytes(ev.ID)...)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func render(t *testing.T, m *Model, prompt string) []int32 {
	t.Helper()
	ids, err := m.Render([]harness.Message{{Role: "user", Content: prompt}})
	if err != nil {
		t.Fatal(err)
	}
	return ids
}

// What a context says of a command moves the command's probability the right way.
func TestHindsightMovesActions(t *testing.T) {
	t.Parallel()
	m := open1(t)
	g := household.New(5001)
	past := []household.Turn{{Observation: g.Intro(), Action: "go to drawer 1"}}
	observation := g.Step("go to drawer 1")
	prompt := g.Prompt(past, observation)
	thought := "<think>I have to achieve: " + g.Task + " What I see: " + observation + "</think>"
	delta := func(action, hint string) float64 {
		t.Helper()
		return m.actionLogprob(t, prompt+"\n\n"+hint+"\n\nNow give the best response.\n", thought, action) - m.actionLogprob(t, prompt, thought, action)
	}
	const success, failure = "tried 2 times, success count: 2/2\n  best outcome: success", "tried 2 times, success count: 0/2\n  best outcome: failure"
	const solved, unsolved = ": 2 attempts, 2 of them solved the task\n  at best: solved", ": 2 attempts, 0 of them solved the task\n  at best: not solved"
	for _, c := range []struct {
		name, action, hint string
		sign               float64
	}{
		{"a success of this command", "go to shelf 1", "Candidate actions:\n- action go to shelf 1, " + success, 1},
		{"a failure of this command", "open drawer 1", "Candidate actions:\n- action open drawer 1, " + failure, -1},
		{"a success of another command", "go to desk 1", "Candidate actions:\n- action go to shelf 1, " + success, -1},
		{"a success in other words", "go to shelf 1", "What was tried:\n* go to shelf 1" + solved, 1},
		{"a failure in other words", "open drawer 1", "What was tried:\n* open drawer 1" + unsolved, -1},
		{"no effect of this command", "open drawer 1", "What was tried:\n* open drawer 1 -> Nothing happens.", -1},
		{"a demonstration of this command", "go to desk 2", "Successful trajectory:\nStep 0\nResponse:\n<action>go to desk 2</action>", 1},
		{"a demonstration of another command", "open drawer 1", "Successful trajectory:\nStep 0\nResponse:\n<action>go to desk 2</action>", -1},
		{"what came of the command", "go to shelf 1", "Immediate feedback:\nYou arrive at shelf 1. On the shelf 1, you see nothing.", 1},
		{"no effect of the likeliest command", "open drawer 1", "Immediate feedback:\nNothing happens.", -1},
	} {
		if d := delta(c.action, c.hint); d*c.sign < 0.1 {
			t.Errorf("%s: log-probability of %q changes by %+.3f, want sign %+.0f", c.name, c.action, d, c.sign)
		}
	}
}

// actionLogprob is the log-probability of the command's tokens after the thought.
func (m *Model) actionLogprob(t *testing.T, prompt, thought, action string) (sum float64) {
	t.Helper()
	response := m.vocab.Append(nil, thought+"<action>"+action+"</action>", false)
	inside := false
	for i, lp := range score(t, m, render(t, m, prompt), response) {
		inside = inside && response[i] != m.closeAction
		if inside {
			sum += float64(lp)
		}
		inside = inside || response[i] == m.openAction
	}
	return sum
}

// A context that is the same gives a delta of exactly zero, in whatever order and from however many
// goroutines it is asked.
func TestEqualContextsGiveEqualBits(t *testing.T) {
	t.Parallel()
	m := open1(t)
	ex := examples(m, 4400, 4404)
	want := make([][]float32, len(ex))
	for i, e := range ex {
		want[i] = score(t, m, e.prefix, e.response)
	}
	done := make(chan [2]int)
	const workers = 8
	for k := range workers {
		go func() {
			bad := [2]int{-1, -1}
			for i := range ex {
				at := (i*7 + k) % len(ex)
				got, err := m.Score(context.Background(), llm.ScoreRequest{Prefix: ex[at].prefix, Continuation: ex[at].response})
				for j := range want[at] {
					if err != nil || got.Logprobs[j] != want[at][j] {
						bad = [2]int{at, j}
					}
				}
			}
			done <- bad
		}()
	}
	for range workers {
		if bad := <-done; bad[0] >= 0 {
			t.Errorf("text %d, token %d differs between goroutines", bad[0], bad[1])
		}
	}
}
