package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strconv"

	"github.com/hindsightrl/harness"
	"github.com/hindsightrl/harness/internal/errext"
	"github.com/hindsightrl/harness/store"
)

// treeDrawing is the tree that an episode belongs to, as `show --tree` prints it.
type treeDrawing struct {
	Group     int          `json:"group"`
	Task      harness.Task `json:"task"`
	Episodes  int          `json:"episodes"`
	Generated int          `json:"generated"` // response tokens that the tree cost
	Held      int          `json:"held"`      // response tokens of its episodes, shared ones counted in each
	Root      *treeNode    `json:"root"`
}

// treeNode is an episode of a tree with what grew out of it.
type treeNode struct {
	Episode int64            `json:"episode"`
	Sample  int              `json:"sample"`
	Status  harness.Status   `json:"status"`
	Outcome *harness.Outcome `json:"outcome,omitempty"`
	Action  string           `json:"action,omitempty"` // what it did where it left its parent
	Own     int              `json:"own_tokens"`       // response tokens that are its own
	Total   int              `json:"tokens"`
	Forks   []treeFork       `json:"forks,omitempty"` // where others left it, in order
}

// treeFork is a place where episodes leave another one.
type treeFork struct {
	Step     int         `json:"step"`
	Token    int         `json:"token"`
	Entropy  *float64    `json:"entropy,omitempty"` // of that token, nats
	Mean     *float64    `json:"mean_entropy,omitempty"`
	Text     string      `json:"text,omitempty"` // what the siblings share of the response, its end
	Action   string      `json:"action"`         // the parent's own way on
	Branches []*treeNode `json:"branches"`
}

// drawTree reads the tree of an episode.
func drawTree(ctx context.Context, db *store.Store, id int64) (*treeDrawing, error) {
	ep, err := db.Episode(ctx, id)
	if err != nil {
		return nil, err
	}
	all := map[int64]store.Episode{}
	for e, err := range db.Episodes(ctx, ep.RunID, store.Filter{Group: &ep.Group}) {
		if err != nil {
			return nil, err
		}
		all[e.ID] = e
	}
	root := ep
	for root.Fork != nil {
		parent, ok := all[root.Fork.Parent]
		if !ok {
			return nil, errext.WithHint(fmt.Errorf("episode %d grew out of episode %d, which is not in its group", root.ID, root.Fork.Parent), "harness db check")
		}
		root = parent
	}
	d := &treeDrawing{Group: ep.Group, Task: ep.Task}
	d.Root, err = d.node(ctx, db, all, root)
	return d, err
}

// node reads an episode and, below it, what grew out of it.
func (d *treeDrawing) node(ctx context.Context, db *store.Store, all map[int64]store.Episode, e store.Episode) (*treeNode, error) {
	steps, err := db.EpisodeSteps(ctx, e.ID)
	if err != nil {
		return nil, err
	}
	n := &treeNode{Episode: e.ID, Sample: e.Sample, Status: e.Status, Outcome: e.Outcome}
	for i := range steps {
		if t := steps[i].Tokens; t != nil {
			n.Total += len(t.IDs)
			n.Own += len(t.IDs) - steps[i].SharedTokens
		}
	}
	if e.Fork != nil && e.Fork.Step < len(steps) {
		n.Action = steps[e.Fork.Step].Action
	}
	d.Episodes, d.Generated, d.Held = d.Episodes+1, d.Generated+n.Own, d.Held+n.Total
	var children []store.Episode
	for _, c := range all {
		if c.Fork != nil && c.Fork.Parent == e.ID {
			children = append(children, c)
		}
	}
	slices.SortFunc(children, func(a, b store.Episode) int {
		if *a.Fork != *b.Fork {
			if a.Fork.After(*b.Fork) {
				return 1
			}
			return -1
		}
		return a.Sample - b.Sample
	})
	for _, c := range children {
		if k := len(n.Forks); k == 0 || n.Forks[k-1].Step != c.Fork.Step || n.Forks[k-1].Token != c.Fork.Token {
			n.Forks = append(n.Forks, forkAt(steps, *c.Fork))
		}
		below, err := d.node(ctx, db, all, c)
		if err != nil {
			return nil, err
		}
		f := &n.Forks[len(n.Forks)-1]
		f.Branches = append(f.Branches, below)
	}
	return n, nil
}

// forkAt describes a place of the parent.
func forkAt(steps []harness.Step, at harness.Fork) treeFork {
	f := treeFork{Step: at.Step, Token: at.Token}
	if at.Step >= len(steps) {
		return f
	}
	s := &steps[at.Step]
	f.Action = s.Action
	t := s.Tokens
	if t == nil || at.Token >= len(t.Entropies) {
		return f
	}
	h, sum := float64(t.Entropies[at.Token]), 0.0
	for _, v := range t.Entropies {
		sum += float64(v)
	}
	mean := sum / float64(len(t.Entropies))
	f.Entropy, f.Mean = &h, &mean
	if spans, err := t.Spans(s.Response); err == nil && spans != nil && at.Token > 0 {
		f.Text = s.Response[:spans[at.Token].Start]
	}
	return f
}

// write prints the tree.
func (d *treeDrawing) write(w io.Writer) error {
	saved := 0
	if d.Held > 0 {
		saved = 100 - 100*d.Generated/d.Held
	}
	fmt.Fprintf(w, "tree of group %d   %s\n%s, %d tokens generated; apart they would have been %d (%d%% shared)\n\n",
		d.Group, d.Task.Key(), plural(d.Episodes, "episode"), d.Generated, d.Held, saved)
	fmt.Fprintln(w, d.Root.line())
	d.Root.below(w, "")
	return nil
}

// line is what the drawing says of an episode.
func (n *treeNode) line() string {
	s := fmt.Sprintf("episode %d", n.Episode)
	if n.Action != "" {
		s += " > " + strconv.Quote(headOf(printable(n.Action), actionWidth))
	}
	if n.Outcome == nil {
		return s + "   " + string(n.Status)
	}
	return s + fmt.Sprintf("   %s after %s, reward %g (%d tokens of its own)", n.Outcome.Stop, plural(n.Outcome.Steps, "step"), n.Outcome.Reward, n.Own)
}

func (n *treeNode) below(w io.Writer, indent string) {
	for i := range n.Forks {
		f := &n.Forks[i]
		last := i == len(n.Forks)-1
		fmt.Fprintf(w, "%s%s %s\n", indent, branchMark(last), f.line())
		under := indent + branchGap(last)
		for j, b := range f.Branches {
			end := j == len(f.Branches)-1
			fmt.Fprintf(w, "%s%s %s\n", under, branchMark(end), b.line())
			b.below(w, under+branchGap(end))
		}
	}
}

func (f *treeFork) line() string {
	s := fmt.Sprintf("step %d, token %d", f.Step, f.Token)
	if f.Entropy != nil {
		s += fmt.Sprintf(": entropy %.2f nats, %.2f in the mean of the response", *f.Entropy, *f.Mean)
	}
	if f.Text != "" {
		s += fmt.Sprintf(", after %q", printable(tailOf(f.Text, 24)))
	}
	return s + fmt.Sprintf("; it went on with %q", headOf(printable(f.Action), actionWidth))
}

func branchMark(last bool) string {
	if last {
		return "└─"
	}
	return "├─"
}

func branchGap(last bool) string {
	if last {
		return "   "
	}
	return "│  "
}

// actionWidth bounds how much of an action a drawing quotes, in characters.
const actionWidth = 60

// headOf is the beginning of a text, at most n characters.
func headOf(s string, n int) string {
	r := []rune(s)
	if len(r) <= n {
		return s
	}
	return string(r[:n]) + "…"
}

// tailOf is the end of a text, at most n characters.
func tailOf(s string, n int) string {
	r := []rune(s)
	if len(r) <= n {
		return s
	}
	return "…" + string(r[len(r)-n:])
}
