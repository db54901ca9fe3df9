package store

import (
	"context"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hindsightrl/harness"
)

// testClock is a clock that moves a second per look.
func testClock() func() time.Time {
	t := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	ticks := make(chan time.Time, 1)
	ticks <- t
	return func() time.Time {
		t := <-ticks
		ticks <- t.Add(time.Second)
		return t
	}
}

func openTest(tb testing.TB, path string) *Store {
	tb.Helper()
	s, err := Open(context.Background(), path, Config{Now: testClock()})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := s.Close(); err != nil {
			tb.Error(err)
		}
	})
	return s
}

func newTest(tb testing.TB) *Store {
	tb.Helper()
	return openTest(tb, filepath.Join(tb.TempDir(), "ledger.db"))
}

func testPanel(n int) harness.Panel {
	p := harness.Panel{Name: "panel"}
	for i := range n {
		p.Tasks = append(p.Tasks, harness.Task{Env: "alfworld", ID: fmt.Sprintf("game-%d", i), Split: "train", Type: []string{"pick", "heat"}[i%2], Seed: int64(i), Hash: "abc"})
	}
	return p
}

func testRun(tb testing.TB, s *Store, tasks, group int) Run {
	tb.Helper()
	run, err := s.CreateRun(tb.Context(), RunSpec{Name: "run", Panel: testPanel(tasks), GroupSize: group, Seed: 7, Policy: "policy", CodeVersion: "v1"})
	if err != nil {
		tb.Fatal(err)
	}
	return run
}

func pending(tb testing.TB, s *Store, run int64) []harness.EpisodeRef {
	tb.Helper()
	refs, err := s.Pending(tb.Context(), run)
	if err != nil {
		tb.Fatal(err)
	}
	return refs
}

// game makes the steps of an episode as the agent loop does: what a step ends with is what the next
// one begins with. Sizes are those of ALFWorld.
type game struct {
	r          *rand.Rand
	next       harness.Observation
	prompt     []harness.Message
	history    []string
	index      int
	tokens     int
	promptIDs  []int32
	admissible []string
}

func newGame(seed uint64, tokens int) *game {
	g := &game{r: rand.New(rand.NewPCG(seed, 1)), tokens: tokens}
	for i := range 34 {
		g.admissible = append(g.admissible, fmt.Sprintf("go to %s %d", []string{"cabinet", "countertop", "drawer", "shelf"}[i%4], i/4+1))
	}
	g.observe("You are in the middle of a room. Looking quickly around you, you see a cabinet 6, a cabinet 5, a cabinet 4, a cabinet 3, a countertop 2, a countertop 1 and a sinkbasin 1.")
	return g
}

func (g *game) observe(text string) {
	list := append([]string{}, g.admissible...)
	for i := range 6 {
		list = append(list, fmt.Sprintf("examine %s %d", []string{"apple", "bread", "knife", "mug"}[g.r.IntN(4)], i+1))
	}
	g.next = harness.Observation{Text: text, Task: "put a hot apple in fridge.", Admissible: list}
	head := "You are an expert agent operating in the ALFRED Embodied Environment. Your task is to: put a hot apple in fridge.\n"
	hist := g.history[max(0, len(g.history)-2):]
	g.prompt = []harness.Message{{Role: "user", Content: head + fmt.Sprintf("Prior to this step, you have already taken %d step(s). Below are the most recent observations and the corresponding actions you took: ", g.index) +
		strings.Join(hist, "\n") + "\nYou are now at step " + fmt.Sprint(g.index+1) + " and your current observation is: " + text +
		"\nYour admissible actions of the current situation are: ['" + strings.Join(list, "',\n '") + "'].\n\n" +
		"Now it's your turn to take an action.\nYou should first reason step-by-step about the current situation. This reasoning process MUST be enclosed within <think> </think> tags. \n" +
		"Once you've finished your reasoning, you should choose an admissible action for current step and present it within <action> </action> tags.\n"}}
}

func (g *game) step() harness.Step {
	s := harness.Step{Index: g.index, Prompt: g.prompt, Anchor: g.next.AnchorText(), Admissible: g.next.Admissible, Valid: true}
	s.Action = g.next.Admissible[g.r.IntN(len(g.next.Admissible))]
	s.Response = fmt.Sprintf("<think>I have to find the apple first, so I look at place %d of the room before anything else; then I heat it.</think><action>%s</action>", g.r.IntN(1000), s.Action)
	at := strings.Index(s.Response, "<action>") + len("<action>")
	s.Spans = []harness.Span{{Start: at, End: at + len(s.Action)}}
	g.index++
	text := fmt.Sprintf("You arrive at %s. On the %s, you see a bread %d, a knife %d, a mug %d, and a tomato %d. Nothing else is there that you could take with you at the moment.", s.Action, s.Action, g.r.IntN(9), g.r.IntN(9), g.r.IntN(9), g.r.IntN(9))
	g.history = append(g.history, fmt.Sprintf("[Observation %d: '%s', Action %d: '%s']", g.index, s.Anchor, g.index, s.Action))
	g.observe(text)
	s.Next, s.NextPrompt, s.Feedback = g.next, g.prompt, text
	s.PolicyTime, s.EnvTime = time.Duration(g.r.IntN(1e9)), time.Duration(g.r.IntN(1e5))
	if g.tokens > 0 {
		s.Tokens = g.sample(len(s.Prompt[0].Content) / 4)
		s.Tokens.Lengths = make([]int32, g.tokens)
		for range len(s.Response) {
			s.Tokens.Lengths[g.r.IntN(g.tokens)]++
		}
	}
	return s
}

func (g *game) sample(prompt int) *harness.Tokens {
	t := &harness.Tokens{TopK: 20, Meta: &harness.TokenMeta{Engine: "vllm", Version: "0.9", Model: "m", Mode: "raw", Temperature: 1, TopP: 1, Finish: "stop", Drift: "clean"}}
	for len(g.promptIDs) < prompt {
		g.promptIDs = append(g.promptIDs, g.r.Int32N(150000))
	}
	for range 30 { // the lines of the prompt that changed
		g.promptIDs[g.r.IntN(len(g.promptIDs))] = g.r.Int32N(150000)
	}
	t.PromptIDs = append([]int32{}, g.promptIDs[:min(prompt, len(g.promptIDs))]...)
	for range g.tokens {
		t.IDs = append(t.IDs, g.r.Int32N(150000))
		t.Logprobs = append(t.Logprobs, -float32(g.r.ExpFloat64()))
		t.Entropies = append(t.Entropies, float32(g.r.ExpFloat64()))
		t.Versions = append(t.Versions, 3)
	}
	return t
}

// outcome is the outcome that agrees with steps.
func outcome(steps []harness.Step) harness.Outcome {
	o := harness.Outcome{Stop: harness.StopMaxSteps, Steps: len(steps)}
	for _, s := range steps {
		o.Reward += s.Reward
		o.Score, o.Won = s.Score, s.Won
		if !s.Valid {
			o.Invalid++
		}
	}
	if o.Won {
		o.Stop = harness.StopWon
	}
	return o
}
