package agent_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hindsightrl/harness"
	"github.com/hindsightrl/harness/agent"
	"github.com/hindsightrl/harness/envs/alfworld/embedded"
	"github.com/hindsightrl/harness/envs/envtest"
	shop "github.com/hindsightrl/harness/envs/webshop/embedded"
	"github.com/hindsightrl/harness/internal/errext"
	"github.com/hindsightrl/harness/llm"
	"github.com/hindsightrl/harness/llm/refmodel"
	"github.com/hindsightrl/harness/store"
)

// counted counts what a generator was asked to generate.
type counted struct {
	*llm.Local
	calls, generated, sent atomic.Int64
	onCall                 func(n int64) error
}

func (c *counted) Generate(ctx context.Context, req llm.Request) (llm.Generation, error) {
	n := c.calls.Add(1)
	if c.onCall != nil {
		if err := c.onCall(n); err != nil {
			return llm.Generation{}, err
		}
	}
	g, err := c.Local.Generate(ctx, req)
	if g.Tokens != nil {
		c.generated.Add(int64(len(g.Tokens.IDs)))
		c.sent.Add(int64(len(g.Tokens.PromptIDs)))
	}
	return g, err
}

// plot is a run of trees on one environment's embedded panel.
type plot struct {
	suite     harness.Suite
	tasks     int
	tree      agent.TreeConfig
	workers   int
	maxSteps  int
	generator *counted
}

func (p *plot) policy(t testing.TB) agent.Policy {
	t.Helper()
	m, err := openModel()
	if err != nil {
		t.Fatal(err)
	}
	if p.generator == nil {
		p.generator = &counted{}
	}
	p.generator.Local = llm.NewLocal(m, llm.Config{})
	policy, err := agent.Model(p.generator, llm.DefaultSampling(), 0)
	if err != nil {
		t.Fatal(err)
	}
	return policy
}

func (p *plot) open(t testing.TB, path string) (*store.Store, store.Run) {
	t.Helper()
	var mu sync.Mutex
	now := time.Unix(0, 0)
	s, err := store.Open(t.Context(), path, store.Config{Now: func() time.Time {
		mu.Lock()
		defer mu.Unlock()
		now = now.Add(time.Second)
		return now
	}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	if run, err := s.RunByName(t.Context(), "trees"); err == nil {
		return s, run
	}
	tasks, err := p.suite.Tasks(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	run, err := s.CreateRun(t.Context(), store.RunSpec{Name: "trees", Panel: harness.Panel{Name: "p", Tasks: tasks[:p.tasks]}, GroupSize: p.tree.GroupSize(), Seed: 3})
	if err != nil {
		t.Fatal(err)
	}
	return s, run
}

func (p *plot) grow(ctx context.Context, t testing.TB, s *store.Store, run store.Run, events func(agent.Event)) (agent.Stats, error) {
	t.Helper()
	refs, err := s.Pending(t.Context(), run.ID)
	if err != nil {
		t.Fatal(err)
	}
	return agent.RunTrees(ctx, ctx, refs, agent.Config{
		RunSeed: 3, Suites: map[string]harness.Suite{p.suite.Name(): p.suite}, Policy: p.policy(t), Recorder: s.Recorder(run.ID),
		Workers: p.workers, MaxSteps: p.maxSteps, OnEvent: events, Sleep: func(ctx context.Context, _ time.Duration) error { return ctx.Err() },
	}, p.tree)
}

func (p *plot) dump(t testing.TB, s *store.Store, run store.Run) string {
	t.Helper()
	found, err := s.Check(t.Context())
	if err != nil || len(found) > 0 {
		t.Fatalf("%v, %v", found, err)
	}
	var out bytes.Buffer
	if err := s.DumpCanonical(t.Context(), run.ID, &out); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// short keeps the first of the cases where tests are to be quick.
func short[T any](t *testing.T, cases []T) []T {
	t.Helper()
	if testing.Short() {
		return cases[:1]
	}
	return cases
}

// Opened once: they are shared and read-only.
var (
	openGames = sync.OnceValues(func() (harness.Suite, error) { return embedded.Suite(context.Background()) })
	openShop  = sync.OnceValues(func() (harness.Suite, error) { return shop.Suite(context.Background()) })
	openModel = sync.OnceValues(func() (*refmodel.Model, error) { return refmodel.New(refmodel.Config{}) })
)

func suites(t testing.TB) map[string]harness.Suite {
	t.Helper()
	games, err := openGames()
	if err != nil {
		t.Fatal(err)
	}
	s, err := openShop()
	if err != nil {
		t.Fatal(err)
	}
	return map[string]harness.Suite{"alfworld": games, "webshop": s}
}

// Trees are the same whatever the number of workers; their siblings share what is before the fork bit for
// bit; and no shared token is generated twice.
func TestTreesShareTheirPastExactly(t *testing.T) {
	t.Parallel()
	configs := short(t, []agent.TreeConfig{
		{Trees: 2},
		{From: agent.ForkFromAny, Forks: 3, Branches: 1, Choose: agent.Uncertain{Region: agent.RegionResponse}},
		{From: agent.ForkFromAny, Forks: 3},
		{Choose: agent.Uncertain{At: agent.ForkAtResponse, Measure: agent.MeasureMean, Region: agent.RegionResponse, Distance: 2}},
	})
	for name, suite := range suites(t) {
		for _, tree := range configs {
			t.Run(fmt.Sprintf("%s %+v", name, tree), func(t *testing.T) {
				t.Parallel()
				var dumps []string
				for _, workers := range []int{1, 16} {
					p := &plot{suite: suite, tasks: 2, tree: tree, workers: workers, maxSteps: 8}
					s, run := p.open(t, filepath.Join(t.TempDir(), "ledger.db"))
					stats, err := p.grow(t.Context(), t, s, run, nil)
					if err != nil || stats.Done+stats.Unused != stats.Episodes || stats.Done < 2*p.tasks {
						t.Fatalf("%+v, %v", stats, err)
					}
					dumps = append(dumps, p.dump(t, s, run))
					if own := sharing(t, s, run, p.tasks); int64(own+probed(tree)) != p.generator.generated.Load() || own != stats.Tokens {
						t.Errorf("the episodes hold %d tokens of their own, %d were generated, %d counted", own, p.generator.generated.Load(), stats.Tokens)
					}
				}
				if dumps[0] != dumps[1] {
					t.Error("1 worker and 16 grow different trees")
				}
			})
		}
	}
}

// probed is how many tokens finding out about the policy takes.
func probed(tree agent.TreeConfig) int {
	if u, ok := tree.Choose.(agent.Uncertain); ok && !u.Token() {
		return 2
	}
	return 4
}

// sharing compares every leaf with its parent and counts the tokens that are the episodes' own.
func sharing(t *testing.T, s *store.Store, run store.Run, groups int) (own int) {
	t.Helper()
	leaves := 0
	for g := range groups {
		all, err := s.GroupEpisodes(t.Context(), run.ID, g)
		if err != nil {
			t.Fatal(err)
		}
		byID := map[int64]*harness.GroupEpisode{}
		for i := range all {
			byID[all[i].ID] = &all[i]
		}
		for _, e := range all {
			for i := range e.Steps {
				own += len(e.Steps[i].Tokens.IDs) - e.Steps[i].SharedTokens
			}
			if e.Fork == nil {
				continue
			}
			leaves++
			parent, f := byID[e.Fork.Parent], e.Fork
			a, b := e.Steps[f.Step], parent.Steps[f.Step]
			if !slices.Equal(a.Tokens.IDs[:f.Token], b.Tokens.IDs[:f.Token]) || !slices.Equal(a.Tokens.Logprobs[:f.Token], b.Tokens.Logprobs[:f.Token]) ||
				!slices.Equal(a.Tokens.PromptIDs, b.Tokens.PromptIDs) || a.Anchor != b.Anchor {
				t.Errorf("episode %v: step %d does not begin as its parent's", e.EpisodeRef, f.Step)
			}
			for i := range f.Step {
				if !e.Steps[i].Shared || e.Steps[i].Response != parent.Steps[i].Response || e.Steps[i].Next.Text != parent.Steps[i].Next.Text {
					t.Errorf("episode %v: step %d is not its parent's", e.EpisodeRef, i)
				}
			}
		}
	}
	if leaves == 0 {
		t.Error("no tree has a leaf")
	}
	return own
}

// What follows a prefix has the probabilities that it has in a response of one piece, and a whole replay of
// a leaf in a fresh environment gives what is recorded.
func TestLeavesReplayAndScoreAsRecorded(t *testing.T) {
	t.Parallel()
	for name, suite := range suites(t) {
		p := &plot{suite: suite, tasks: 2, tree: agent.TreeConfig{Forks: 3}, workers: 4, maxSteps: 10}
		s, run := p.open(t, filepath.Join(t.TempDir(), "ledger.db"))
		if _, err := p.grow(t.Context(), t, s, run, nil); err != nil {
			t.Fatal(err)
		}
		for g := range p.tasks {
			all, err := s.GroupEpisodes(t.Context(), run.ID, g)
			if err != nil {
				t.Fatal(err)
			}
			for _, e := range all {
				env, err := suite.NewEnv(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				if d, err := agent.Replay(t.Context(), env, e.Task, e.Steps); err != nil || !d.Equal() {
					t.Errorf("%s %v: %v, %v", name, e.EpisodeRef, d, err)
				}
				if e.Fork == nil {
					continue
				}
				tok := e.Steps[e.Fork.Step].Tokens
				score, err := p.generator.Score(t.Context(), llm.ScoreRequest{Prefix: tok.PromptIDs, Continuation: tok.IDs})
				if err != nil || !slices.Equal(score.Logprobs, tok.Logprobs) {
					t.Errorf("%s %v: the tokens of the fork's step score otherwise than they were sampled (%v)", name, e.EpisodeRef, err)
				}
			}
		}
	}
}

// A run that is stopped again and again ends with the trees of an undisturbed one.
func TestInterruptedTreesGoOn(t *testing.T) {
	t.Parallel()
	for _, tree := range short(t, []agent.TreeConfig{{From: agent.ForkFromAny, Forks: 3, Branches: 1}, {Trees: 2}, {Tokens: 900, Forks: 4}}) {
		suite := suites(t)["alfworld"]
		quiet := &plot{suite: suite, tasks: 2, tree: tree, workers: 3, maxSteps: 10}
		s, run := quiet.open(t, filepath.Join(t.TempDir(), "ledger.db"))
		if _, err := quiet.grow(t.Context(), t, s, run, nil); err != nil {
			t.Fatal(err)
		}
		want := quiet.dump(t, s, run)
		path := filepath.Join(t.TempDir(), "again.db")
		stops := 0
		for n := 1; ; n++ {
			p := &plot{suite: suite, tasks: 2, tree: tree, workers: 3, maxSteps: 10}
			s, run := p.open(t, path)
			ctx, cancel := context.WithCancel(t.Context())
			var steps atomic.Int64
			_, err := p.grow(ctx, t, s, run, func(e agent.Event) {
				if e.Kind == agent.EventStep && steps.Add(1) == int64(9+4*n) {
					cancel()
				}
			})
			cancel()
			if err != nil && !errors.Is(err, agent.ErrStopped) && !errors.Is(err, context.Canceled) {
				t.Fatal(err)
			}
			left, err2 := s.Pending(t.Context(), run.ID)
			if err2 != nil {
				t.Fatal(err2)
			}
			if len(left) == 0 {
				if got := p.dump(t, s, run); got != want {
					t.Errorf("%+v: after %d stops the trees are others", tree, stops)
				}
				break
			}
			if stops++; stops > 100 {
				t.Fatal("the run does not come to its end")
			}
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
		}
		if stops == 0 {
			t.Errorf("%+v: nothing was interrupted", tree)
		}
	}
}

// The budget of tokens ends a tree early; the places that are left say why they are.
func TestTreesKeepTheirBudget(t *testing.T) {
	t.Parallel()
	suite := suites(t)["alfworld"]
	for _, budget := range []int{1, 1500, 3000} {
		p := &plot{suite: suite, tasks: 3, tree: agent.TreeConfig{Forks: 6, Tokens: budget}, workers: 4, maxSteps: 10}
		s, run := p.open(t, filepath.Join(t.TempDir(), "ledger.db"))
		stats, err := p.grow(t.Context(), t, s, run, nil)
		if err != nil || stats.Unused == 0 || stats.Done+stats.Unused != stats.Episodes {
			t.Fatalf("budget %d: %+v, %v", budget, stats, err)
		}
		places, err := s.UnusedPlaces(t.Context(), run.ID)
		if err != nil || len(places) != stats.Unused || !slices.ContainsFunc(places, func(u store.UnusedPlace) bool { return strings.Contains(u.Reason, "budget") }) {
			t.Errorf("budget %d: %v, %v", budget, places, err)
		}
		if budget == 1 && stats.Done != p.tasks {
			t.Errorf("%d episodes on a budget of a token, want the %d roots", stats.Done, p.tasks)
		}
	}
}

// A leaf that fails leaves the others standing; a root that fails takes its tree with it, and brings it
// back when it is queued again.
func TestTreesCutOffByAFailure(t *testing.T) {
	t.Parallel()
	suite := suites(t)["alfworld"]
	broken := errors.New("gone")
	for name, from := range map[string]int64{"root": 4, "leaf": 40} {
		gen := &counted{}
		gen.onCall = func(n int64) error {
			if n >= from && n < from+8 { // both attempts, and all calls of either
				return harness.FailFinal(harness.FailServer, "generate", broken)
			}
			return nil
		}
		p := &plot{suite: suite, tasks: 1, tree: agent.TreeConfig{Forks: 3}, workers: 1, maxSteps: 30, generator: gen}
		if from == 4 {
			gen.onCall = func(n int64) error {
				if n == 4 {
					return harness.FailFinal(harness.FailServer, "generate", broken)
				}
				return nil
			}
		}
		s, run := p.open(t, filepath.Join(t.TempDir(), "ledger.db"))
		stats, err := p.grow(t.Context(), t, s, run, nil)
		if err != nil {
			t.Fatal(err)
		}
		p.dump(t, s, run) // sound
		if name == "root" && (stats.Failed != 7 || stats.Done != 0) || name == "leaf" && (stats.Failed == 0 || stats.Done == 0) {
			t.Errorf("%s: %+v", name, stats)
		}
		n, err := s.RequeueFailed(t.Context(), run.ID)
		if err != nil || n != stats.Failed {
			t.Fatal(n, err)
		}
		p.generator = nil
		again, err := p.grow(t.Context(), t, s, run, nil)
		if err != nil || again.Done != n {
			t.Errorf("%s, again: %+v, %v", name, again, err)
		}
		p.dump(t, s, run)
	}
}

// bare is an environment without snapshots.
type bare struct{ harness.Suite }

func (b bare) NewEnv(ctx context.Context) (harness.Env, error) {
	env, err := b.Suite.NewEnv(ctx)
	return struct{ harness.Env }{env}, err
}

// mute is a generator that gives less than trees need.
type mute struct {
	*llm.Local
	without string
}

func (m mute) Generate(ctx context.Context, req llm.Request) (llm.Generation, error) {
	if m.without == "token input" && req.TokenIDs != nil {
		return llm.Generation{}, harness.FailFinal(harness.FailServer, "generate", errors.New("400 bad request"))
	}
	g, err := m.Local.Generate(ctx, req)
	switch m.without {
	case "tokens":
		g.Tokens = nil
	case "entropies":
		g.Tokens.Entropies = nil
	case "prompt ids":
		g.Tokens.PromptIDs = nil
	}
	return g, err
}

func TestWhatTreesCannotGrowWith(t *testing.T) {
	t.Parallel()
	suite := suites(t)["alfworld"]
	tasks, err := suite.Tasks(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	m, err := openModel()
	if err != nil {
		t.Fatal(err)
	}
	model := func(without string) agent.Policy {
		p, err := agent.Model(mute{llm.NewLocal(m, llm.Config{}), without}, llm.DefaultSampling(), 0)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	for _, c := range []struct {
		policy     agent.Policy
		suite      harness.Suite
		response   bool // fork where responses begin
		want, hint string
	}{
		{model(""), suite, false, "", ""},
		{model("token input"), suite, true, "", ""},
		{model("prompt ids"), suite, true, "", ""},
		{agent.Random(), suite, true, "this one gives no tokens", "--policy refmodel"},
		{model("tokens"), suite, true, "no token ids", "refmodel"},
		{model("entropies"), suite, true, "no token entropies", "--top-logprobs"},
		{model("token input"), suite, false, "takes no token ids for a prompt", "--fork-at response"},
		{model("prompt ids"), suite, false, "does not say the prompt's token ids", "--fork-at response"},
		{model(""), bare{suite}, false, "keep", ""},
	} {
		err := agent.CheckTrees(t.Context(), c.policy, map[string]harness.Suite{"alfworld": c.suite}, tasks[:1], !c.response)
		if c.want == "" {
			if err != nil {
				t.Errorf("refused: %v", err)
			}
			continue
		}
		if c.want == "keep" {
			if !errors.Is(err, agent.ErrNoTrees) {
				t.Errorf("got %v", err)
			}
			continue
		}
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(errext.Hint(err), c.hint) {
			t.Errorf("got %v (%s), want %s (%s)", err, errext.Hint(err), c.want, c.hint)
		}
	}
	// A policy that claims more than it does fails its episodes, and says why.
	p := &plot{suite: suite, tasks: 1, tree: agent.TreeConfig{}, workers: 2, maxSteps: 6}
	s, run := p.open(t, filepath.Join(t.TempDir(), "ledger.db"))
	refs, err := s.Pending(t.Context(), run.ID)
	if err != nil {
		t.Fatal(err)
	}
	stats, err := agent.RunTrees(t.Context(), t.Context(), refs, agent.Config{
		RunSeed: 3, Suites: map[string]harness.Suite{"alfworld": suite}, Policy: deaf{p.policy(t)}, Recorder: s.Recorder(run.ID), MaxSteps: 6,
	}, p.tree)
	if err != nil || stats.Done == 0 || stats.Failures[harness.FailAgent] == 0 {
		t.Errorf("%+v, %v", stats, err)
	}
	fake := envtest.NewFakeSuite(envtest.FakeConfig{}, 3)
	if _, err := agent.RunTrees(t.Context(), t.Context(), nil, agent.Config{Suites: map[string]harness.Suite{"fake": fake}, Policy: agent.Random(), Recorder: nothing{}}, agent.TreeConfig{}); err == nil {
		t.Error("a recorder without trees was taken")
	}
}

// deaf begins every response anew.
type deaf struct{ agent.Policy }

func (d deaf) CanBranch(context.Context, bool) error { return nil }

func (d deaf) Act(ctx context.Context, t agent.Turn) (agent.Answer, error) {
	t.Prefix = nil
	return d.Policy.Act(ctx, t)
}

func TestTreeConfigNamesWhatCannotWork(t *testing.T) {
	t.Parallel()
	for want, c := range map[string]agent.TreeConfig{
		"none can be negative":    {Trees: -1},
		`forks from "leaf"`:       {From: "leaf"},
		`fork at "end"`:           {Choose: agent.Uncertain{At: "end"}},
		`measure "min"`:           {Choose: agent.Uncertain{Measure: "min"}},
		`region "thought"`:        {Choose: agent.Uncertain{Region: "thought"}},
		"neither can be negative": {Choose: agent.Uncertain{Distance: -1}},
	} {
		if err := c.Validate(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
	if n := (agent.TreeConfig{Trees: 3, Forks: 4, Branches: 2}).GroupSize(); n != 27 {
		t.Errorf("a group of %d, want 3·(1+4·2)", n)
	}
	if n := (agent.TreeConfig{}).GroupSize(); n != 5 {
		t.Errorf("a group of %d by default, want 5", n)
	}
}
