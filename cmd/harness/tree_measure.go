package main

import (
	"context"
	"fmt"
	"io"
	"math"

	"github.com/hindsightrl/harness"
	"github.com/hindsightrl/harness/credit"
	"github.com/hindsightrl/harness/store"
)

// treeComparison is what `analyse trees` prints.
type treeComparison struct {
	Panel   string    `json:"panel"`
	Tasks   int       `json:"tasks"`
	Seeds   int       `json:"seeds"`
	Policy  string    `json:"policy"`
	Sampler string    `json:"sampler"`
	Leaves  int       `json:"leaves"`  // places of a group
	Returns string    `json:"returns"` // reward or score
	Ways    []treeWay `json:"ways"`
}

// treeWay is what the groups of one way to sample hold: means over tasks and seeds.
type treeWay struct {
	Name     string   `json:"name"`
	Episodes measured `json:"episodes"` // per group
	Tokens   measured `json:"tokens"`   // response tokens generated per group
	Actions  measured `json:"actions"`  // different (observation, action) pairs per group
	Words    measured `json:"words"`    // different actions per group
	Won      measured `json:"won"`      // share of the episodes that solved the task
	Found    measured `json:"found"`    // share of the groups with an episode that did
	Signal   measured `json:"signal"`   // share of the groups whose returns differ
	Variance measured `json:"variance"` // mean square of the episode advantage (Dr.GRPO over trajectories) of a token
	Local    measured `json:"local"`    // mean square of the forks' part (tree, fork_only) of a token
}

// measured is a mean over groups with its standard error.
type measured struct {
	Mean float64 `json:"mean"`
	SE   float64 `json:"se"`
}

// groupFigures are the figures of one group.
type groupFigures struct{ episodes, tokens, actions, words, won, found, signal, variance, local float64 }

func (f *groupFigures) all() []*float64 {
	return []*float64{&f.episodes, &f.tokens, &f.actions, &f.words, &f.won, &f.found, &f.signal, &f.variance, &f.local}
}

func (w *treeWay) all() []*measured {
	return []*measured{&w.Episodes, &w.Tokens, &w.Actions, &w.Words, &w.Won, &w.Found, &w.Signal, &w.Variance, &w.Local}
}

// What episodes are compared by.
const (
	returnsReward = "reward"
	returnsScore  = "score"
)

// treeMeasure gathers groups by way.
type treeMeasure struct {
	names  []string
	score  bool // in place of the reward
	groups map[string][]groupFigures
}

func newTreeMeasure(returns string) *treeMeasure {
	return &treeMeasure{score: returns == returnsScore, names: []string{"trees", "apart, equal tokens", "apart, equal leaves"}, groups: map[string][]groupFigures{}}
}

// group measures a task's trees and the episodes drawn apart.
func (m *treeMeasure) group(ctx context.Context, db *store.Store, grown, apart int64, g, leaves int) error {
	trees, err := db.GroupEpisodes(ctx, grown, g)
	if err != nil {
		return err
	}
	others, err := db.GroupEpisodes(ctx, apart, g)
	if err != nil {
		return err
	}
	if m.score {
		for _, all := range [][]harness.GroupEpisode{trees, others} {
			for i := range all {
				all[i].Outcome.Reward = all[i].Outcome.Score
			}
		}
	}
	figures, err := figuresOf(trees)
	if err != nil {
		return err
	}
	m.groups[m.names[0]] = append(m.groups[m.names[0]], figures)
	for i, k := range []int{nearest2(others, figures.tokens), min(leaves, len(others))} {
		figures, err := figuresOf(others[:k])
		if err != nil {
			return err
		}
		m.groups[m.names[i+1]] = append(m.groups[m.names[i+1]], figures)
	}
	return nil
}

// nearest2 is how many of the first episodes, at least two, come nearest to so many tokens.
func nearest2(all []harness.GroupEpisode, tokens float64) int {
	best, least, sum := min(2, len(all)), math.Inf(1), 0.0
	for i := range all {
		sum += float64(ownTokens(&all[i]))
		if d := math.Abs(sum - tokens); i > 0 && d < least {
			best, least = i+1, d
		}
	}
	return best
}

func ownTokens(e *harness.GroupEpisode) int {
	n := 0
	for i := range e.Steps {
		if t := e.Steps[i].Tokens; t != nil {
			n += len(t.IDs) - e.Steps[i].SharedTokens
		}
	}
	return n
}

// figuresOf measures one group. A token counts once, however many leaves share it.
func figuresOf(all []harness.GroupEpisode) (f groupFigures, err error) {
	f.episodes = float64(len(all))
	b := &credit.Batch{Step: []int{}, Tokens: []int{}, Fork: []credit.Fork{}}
	pairs, words := map[[2]string]bool{}, map[string]bool{}
	for i := range all {
		e := &all[i]
		f.tokens += float64(ownTokens(e))
		if e.Outcome.Won {
			f.won += 1 / f.episodes
			f.found = 1
		}
		if e.Outcome.Reward != all[0].Outcome.Reward {
			f.signal = 1
		}
		for k := range e.Steps {
			s := &e.Steps[k]
			pairs[[2]string{s.Anchor, s.Action}], words[s.Action] = true, true
			addRow(b, e, s)
		}
	}
	f.actions, f.words = float64(len(pairs)), float64(len(words))
	if f.variance, err = meanSquare(b, credit.DrGRPO); err == nil {
		f.local, err = meanSquare(b, credit.Tree)
	}
	return f, err
}

func addRow(b *credit.Batch, e *harness.GroupEpisode, s *harness.Step) {
	fork, tokens := credit.NoFork, 0
	if e.Fork != nil {
		fork = credit.Fork{Parent: int(e.Fork.Parent), Step: e.Fork.Step, Token: e.Fork.Token}
	}
	if s.Tokens != nil {
		tokens = len(s.Tokens.IDs)
	}
	b.Group, b.Trajectory, b.Step = append(b.Group, 0), append(b.Trajectory, int(e.ID)), append(b.Step, s.Index)
	b.Return, b.Tokens, b.Fork = append(b.Return, e.Outcome.Reward), append(b.Tokens, tokens), append(b.Fork, fork)
}

// meanSquare is the mean over the group's tokens of the squared advantage, a shared token counting once with
// the mean of what its rows hold: for the episode part that is V − mean R, for the forks' part its own value.
func meanSquare(b *credit.Batch, name credit.Estimator) (float64, error) {
	if len(b.Group) == 0 {
		return 0, nil
	}
	cfg := credit.DefaultEstimator(name)
	cfg.Scope, cfg.ForkOnly = credit.ScopeTrajectories, name == credit.Tree
	a, err := credit.Estimate(b, cfg)
	if err != nil {
		return 0, err
	}
	pieces, err := credit.Pieces(b)
	if err != nil {
		return 0, err
	}
	type token struct {
		owner, step, token int
	}
	type shared struct{ sum, n float64 }
	held := map[token]*shared{}
	forks := map[int]credit.Fork{}
	for i, t := range b.Trajectory {
		forks[t] = b.Fork[i]
	}
	total, count := 0.0, 0.0
	for i := range b.Group {
		for j, p := range pieces[i] {
			end := b.Tokens[i]
			if j+1 < len(pieces[i]) {
				end = min(end, pieces[i][j+1].From)
			}
			v := a.Values[i]
			if a.Pieces != nil {
				v = a.Pieces[i][j].Value
			}
			if p.Leaves == 1 {
				total, count = total+v*v*float64(end-p.From), count+float64(end-p.From)
				continue
			}
			for k := p.From; k < end; k++ {
				at := token{ownerIn(forks, b.Trajectory[i], b.Step[i], k), b.Step[i], k}
				if held[at] == nil {
					held[at] = &shared{}
				}
				held[at].sum, held[at].n = held[at].sum+v, held[at].n+1
			}
		}
	}
	for _, s := range held {
		total, count = total+(s.sum/s.n)*(s.sum/s.n), count+1
	}
	return total / max(count, 1), nil
}

// ownerIn is the trajectory that sampled a token of a path.
func ownerIn(forks map[int]credit.Fork, t, step, token int) int {
	for {
		f := forks[t]
		if f.Parent < 0 || step > f.Step || step == f.Step && token >= f.Token {
			return t
		}
		t = f.Parent
	}
}

// ways averages the groups.
func (m *treeMeasure) ways() []treeWay {
	out := make([]treeWay, len(m.names))
	for i, name := range m.names {
		groups := m.groups[name]
		out[i].Name = name
		for k, to := range out[i].all() {
			sum, n := 0.0, float64(len(groups))
			for g := range groups {
				sum += *groups[g].all()[k]
			}
			mean, ss := sum/n, 0.0
			for g := range groups {
				d := *groups[g].all()[k] - mean
				ss += d * d
			}
			*to = measured{Mean: mean}
			if n > 1 {
				to.SE = math.Sqrt(ss / (n - 1) / n)
			}
		}
	}
	return out
}

func (c treeComparison) write(w io.Writer) error {
	fmt.Fprintf(w, "%s, %s, %s; policy %s, --sampler %s with %s a group, returns: %s; means over tasks and seeds ± standard error\n",
		c.Panel, plural(c.Tasks, "task"), plural(c.Seeds, "seed"), c.Policy, c.Sampler, plural(c.Leaves, "place"), c.Returns)
	t := table{columns: []column{{title: "way"}}}
	for _, title := range []string{"episodes", "tokens", "acts in states", "acts", "won", "found", "signal", "A² episode", "A² forks"} {
		t.columns = append(t.columns, column{title: title, right: true})
	}
	for i := range c.Ways {
		way := &c.Ways[i]
		cells := []string{way.Name}
		for k, v := range way.all() {
			switch k {
			case 4, 5, 6:
				cells = append(cells, fmt.Sprintf("%.1f%% ± %.1f", 100*v.Mean, 100*v.SE))
			case 7, 8:
				cells = append(cells, fmt.Sprintf("%.3g ± %.2g", v.Mean, v.SE))
			default:
				cells = append(cells, fmt.Sprintf("%.1f ± %.1f", v.Mean, v.SE))
			}
		}
		t.add(cells...)
	}
	return t.write(w)
}
