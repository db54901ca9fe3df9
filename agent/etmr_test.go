package agent_test

import (
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hindsightrl/harness"
	"github.com/hindsightrl/harness/agent"
	"github.com/hindsightrl/harness/credit"
	"github.com/hindsightrl/harness/envs/qa"
	questions "github.com/hindsightrl/harness/envs/qa/embedded"
	"github.com/hindsightrl/harness/internal/errext"
	"github.com/hindsightrl/harness/llm"
	"github.com/hindsightrl/harness/llm/refmodel"
	"github.com/hindsightrl/harness/store"
)

// quiz is a run of entropy-fork trees on embedded questions.
type quiz struct {
	tasks    int
	trees    int
	forks    int
	branches int
	choose   agent.ETMR
	sampling llm.Sampling
	guard    float64
	workers  int

	generator counted
	plot      plot
}

func (q *quiz) tree() agent.TreeConfig {
	return agent.TreeConfig{Trees: q.trees, Forks: q.forks, Branches: q.branches, Choose: q.choose}
}

// run grows the trees in a fresh ledger.
func (q *quiz) run(tb testing.TB) (*store.Store, store.Run, agent.Stats) {
	tb.Helper()
	suite, err := questions.Suite(tb.Context(), qa.DefaultConfig())
	if err != nil {
		tb.Fatal(err)
	}
	m, err := refmodel.New(refmodel.Config{})
	if err != nil {
		tb.Fatal(err)
	}
	q.generator.Local = llm.NewLocal(m, llm.Config{})
	policy, err := agent.Model(&q.generator, q.sampling, 0)
	if err == nil {
		policy, err = agent.ETMRPolicy(policy, q.guard)
	}
	if err != nil {
		tb.Fatal(err)
	}
	q.plot = plot{suite: suite, tasks: q.tasks, tree: q.tree()}
	s, run := q.plot.open(tb, filepath.Join(tb.TempDir(), "ledger.db"))
	refs, err := s.Pending(tb.Context(), run.ID)
	if err != nil {
		tb.Fatal(err)
	}
	stats, err := agent.RunTrees(tb.Context(), tb.Context(), refs, agent.Config{
		RunSeed: 3, Suites: map[string]harness.Suite{qa.Name: suite}, Policy: policy, Recorder: s.Recorder(run.ID), Workers: q.workers,
		Retry: agent.Retries{harness.FailServer: {Attempts: 1, Calls: 1, Wait: time.Nanosecond, MaxWait: time.Nanosecond}},
	}, q.plot.tree)
	if err != nil {
		tb.Fatal(err)
	}
	return s, run, stats
}

// TestETMRTrees: a question has M·(1 + B·N) leaves; what they share is the same bits; no shared token is
// generated twice, so the measured ratio of tokens is the one that the forks' places imply; and the number
// of workers does not show.
func TestETMRTrees(t *testing.T) {
	t.Parallel()
	for _, shape := range [][4]int{{12, 2, 2, 0}, {2, 1, 1, 0}, {1, 3, 2, 5}, {3, 4, 1, 2}, {2, 2, 3, 500}} {
		t.Run(fmt.Sprint(shape), func(t *testing.T) {
			t.Parallel()
			var dumps []string
			for _, workers := range []int{1, 16} {
				q := &quiz{
					tasks: 2, trees: shape[0], forks: shape[1], branches: shape[2], choose: agent.ETMR{Distance: shape[3]},
					sampling: llm.DefaultSampling(), workers: workers,
				}
				s, run, stats := q.run(t)
				leaves := shape[0] * (1 + shape[1]*shape[2])
				if stats.Done != 2*leaves || stats.Episodes != 2*leaves || stats.Unused != 0 {
					t.Fatalf("%+v, want %d leaves a question", stats, leaves)
				}
				own := sharing(t, s, run, 2)
				if int64(own+probed(q.tree())) != q.generator.generated.Load() {
					t.Errorf("the leaves hold %d tokens of their own, %d were generated", own, q.generator.generated.Load())
				}
				ratio(t, s, run, shape, own)
				dumps = append(dumps, q.plot.dump(t, s, run))
			}
			if dumps[0] != dumps[1] {
				t.Error("1 worker and 16 grow different trees")
			}
		})
	}
}

// ratio compares the tokens that were generated with what the forks' places imply.
func ratio(t *testing.T, s *store.Store, run store.Run, shape [4]int, own int) {
	t.Helper()
	answers, err := s.Answers(t.Context(), run.ID)
	if err != nil {
		t.Fatal(err)
	}
	all, shared := 0, 0
	points := map[int64]map[int]int{} // branches by root and fork token
	for _, a := range answers {
		all += a.Tokens
		if a.Fork == nil {
			continue
		}
		shared += a.Fork.Token
		if points[a.Fork.Parent] == nil {
			points[a.Fork.Parent] = map[int]int{}
		}
		points[a.Fork.Parent][a.Fork.Token]++
	}
	implied, measured := 1-float64(shared)/float64(all), float64(own)/float64(all)
	if math.Abs(measured-implied) > 0.05*implied {
		t.Errorf("the measured ratio is %.4f, the forks imply %.4f", measured, implied)
	}
	for root, at := range points {
		if len(at) != shape[1] {
			t.Errorf("the tree of episode %d forks at %v, want %d places", root, at, shape[1])
		}
		for token, n := range at {
			if n != shape[2] {
				t.Errorf("%d branches leave token %d of episode %d, want %d", n, token, root, shape[2])
			}
			for other := range at {
				if d := other - token; shape[3] < 100 && d > 0 && d < shape[3] {
					t.Errorf("episode %d forks at tokens %d and %d, nearer than %d", root, token, other, shape[3])
				}
			}
		}
	}
}

// step is a response with the given entropies; each token prints one byte unless lengths say otherwise.
func step(entropies []float32, response string, lengths ...int32) harness.Step {
	n := len(entropies)
	t := &harness.Tokens{IDs: make([]int32, n), Entropies: entropies, Lengths: lengths}
	if lengths == nil {
		t.Lengths = slices.Repeat([]int32{1}, n)
		response = strings.Repeat("x", n)
	}
	return harness.Step{Response: response, Tokens: t}
}

func TestETMRPlaces(t *testing.T) {
	t.Parallel()
	nan := float32(math.NaN())
	for name, c := range map[string]struct {
		step     harness.Step
		distance int
		taken    []int
		want     []int
	}{
		"by entropy":            {step([]float32{0.1, 3, 2, 0.5}, ""), 0, nil, []int{1, 2, 3, 0}},
		"equals, earlier first": {step([]float32{1, 2, 2, 1}, ""), 0, nil, []int{1, 2, 0, 3}},
		"first and last":        {step([]float32{5, 0, 4}, ""), 0, nil, []int{0, 2, 1}},
		"taken ones last":       {step([]float32{5, 0, 4}, ""), 0, []int{0}, []int{2, 1, 0}},
		"near ones later":       {step([]float32{1, 9, 8, 2}, ""), 2, []int{1}, []int{3, 2, 0, 1}},
		"too short":             {step([]float32{7}, ""), 0, []int{0}, []int{0}},
		"taken twice":           {step([]float32{7, 1}, ""), 0, []int{0, 1, 1}, []int{0, 1}},
		"distance yields":       {step([]float32{1, 2}, ""), 100, []int{1}, []int{0, 1}},
		"not a number":          {step([]float32{nan, 1}, ""), 0, nil, []int{1, 0}},
		"no entropies":          {harness.Step{Response: "xy", Tokens: &harness.Tokens{IDs: []int32{1, 2}}}, 0, nil, []int{0, 1}},
		"no tokens":             {harness.Step{}, 0, nil, []int{0}},
		"inside a character":    {step([]float32{1, 9, 2}, "é!", 1, 1, 1), 0, nil, []int{2, 0}},
		"end token":             {step([]float32{1, 9}, "é", 2, 0), 0, nil, []int{1, 0}},
	} {
		g := []agent.Grown{{Ref: harness.EpisodeRef{ID: 7}, Steps: []harness.Step{c.step}}}
		taken := []harness.Fork{{Parent: 8, Token: 1}, {Parent: 7, Step: 1, Token: 0}} // of other places
		for _, k := range c.taken {
			taken = append(taken, harness.Fork{Parent: 7, Token: k})
		}
		var got []int
		for _, p := range (agent.ETMR{Distance: c.distance}).Places(g, taken) {
			if p.Episode != 0 || p.Step != 0 {
				t.Errorf("%s: %+v", name, p)
			}
			got = append(got, p.Token)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: tokens %v, want %v", name, got, c.want)
		}
	}
	if got := (agent.ETMR{}).Places([]agent.Grown{{}}, nil); got != nil {
		t.Errorf("an episode without steps forks at %v", got)
	}
	if err := (agent.ETMR{Distance: -1}).Validate(); err == nil {
		t.Error("a negative distance is fine")
	}
	if !(agent.ETMR{}).Token() {
		t.Error("it forks inside responses")
	}
}

// TestETMRShortResponses: responses of one token have fewer places than forks, and the trees have all of
// their leaves.
func TestETMRShortResponses(t *testing.T) {
	t.Parallel()
	sampling := llm.DefaultSampling()
	sampling.MaxTokens = 1
	q := &quiz{tasks: 2, trees: 2, forks: 3, branches: 2, sampling: sampling, workers: 4}
	s, run, stats := q.run(t)
	if stats.Done != 2*2*7 {
		t.Fatalf("%+v", stats)
	}
	answers, err := s.Answers(t.Context(), run.ID)
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range answers {
		if a.Tokens != 1 || a.Fork != nil && a.Fork.Token != 0 {
			t.Errorf("%+v", a)
		}
	}
	q.plot.dump(t, s, run) // and the ledger is in order
}

// TestETMRGuard: what follows a fork is sampled no hotter than the guard allows, the rest as ever.
func TestETMRGuard(t *testing.T) {
	t.Parallel()
	q := &quiz{tasks: 2, trees: 2, forks: 2, branches: 2, sampling: llm.DefaultSampling(), guard: 0.5, workers: 4}
	s, run, _ := q.run(t)
	cooled := 0
	for g := range 2 {
		all, err := s.GroupEpisodes(t.Context(), run.ID, g)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range all {
			want := 1.0
			if e.Fork != nil && e.Fork.Token > 0 {
				want = 0.5
				cooled++
			}
			if got := e.Steps[0].Tokens.Meta.Temperature; got != want {
				t.Errorf("episode %v, fork %v: temperature %v, want %v", e.EpisodeRef, e.Fork, got, want)
			}
		}
	}
	if cooled == 0 {
		t.Error("no branch goes on inside a response")
	}
}

func TestETMRPolicy(t *testing.T) {
	t.Parallel()
	m, err := refmodel.New(refmodel.Config{})
	if err != nil {
		t.Fatal(err)
	}
	greedy := llm.DefaultSampling()
	greedy.Temperature = 0
	cold, errCold := agent.Model(llm.NewLocal(m, llm.Config{}), greedy, 0)
	warm, errWarm := agent.Model(llm.NewLocal(m, llm.Config{}), llm.DefaultSampling(), 0)
	if err := errors.Join(errCold, errWarm); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		policy     agent.Policy
		guard      float64
		want, hint string
	}{
		{agent.Random(), 0, "no model", "--policy refmodel"},
		{cold, 0, "would be the same", "--temperature above 0"},
		{warm, -1, "guard of -1", ""},
		{warm, math.NaN(), "guard of NaN", ""},
	} {
		if _, err := agent.ETMRPolicy(c.policy, c.guard); err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(errext.Hint(err), c.hint) {
			t.Errorf("got %v (%s), want %s (%s)", err, errext.Hint(err), c.want, c.hint)
		}
	}
	for _, guard := range []float64{0, 1, 2} {
		if p, err := agent.ETMRPolicy(warm, guard); err != nil || fmt.Sprintf("%T", p) != fmt.Sprintf("%T", warm) {
			t.Errorf("a guard of %v changes something: %T, %v", guard, p, err)
		}
	}
}

// TestETMRCutOff: a server that fails for good in the middle leaves what is finished, and no failure
// becomes a wrong answer.
func TestETMRCutOff(t *testing.T) {
	t.Parallel()
	q := &quiz{tasks: 2, trees: 3, forks: 2, branches: 2, sampling: llm.DefaultSampling(), workers: 1}
	q.generator.onCall = func(n int64) error {
		if n > 12 {
			return harness.FailFinal(harness.FailServer, "generate", errors.New("gone"))
		}
		return nil
	}
	s, run, stats := q.run(t)
	if stats.Done != 10 || stats.Done+stats.Failed != stats.Episodes { // two of the calls ask what the server can
		t.Fatalf("%+v", stats)
	}
	answers, err := s.Answers(t.Context(), run.ID)
	if err != nil || len(answers) != stats.Done {
		t.Fatalf("%d answers, %v", len(answers), err)
	}
	class := make([]int, len(answers))
	if b, err := credit.Vote(class); err != nil || b.Votes != 10 {
		t.Errorf("the finished leaves vote: %+v, %v", b, err)
	}
	q.plot.dump(t, s, run)
}

// BenchmarkETMR grows the trees of one question: 60 leaves on the reference model.
func BenchmarkETMR(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		q := &quiz{tasks: 1, trees: 12, forks: 2, branches: 2, sampling: llm.DefaultSampling(), workers: 8}
		if _, _, stats := q.run(b); stats.Done != 60 {
			b.Fatalf("%+v", stats)
		}
	}
}
