package main

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	"github.com/spf13/cobra"
	"gonum.org/v1/plot/plotter"

	"github.com/hindsightrl/harness/credit"
	"github.com/hindsightrl/harness/internal/errext"
	"github.com/hindsightrl/harness/store"
)

type entropyCommand struct {
	g      *globals
	db     string
	run    string
	by     string
	bins   int
	out    string
	asJSON bool
}

// What entropies are followed along.
const (
	byTurn    = "turn"
	byEpisode = "episode"
)

func newAnalyseEntropy(g *globals) *cobra.Command {
	c := &entropyCommand{g: g}
	cmd := &cobra.Command{
		Use:   "entropy",
		Short: "Follow the mean token entropy of responses over a run, apart for rewarded and other episodes",
		Example: `  harness analyse entropy --run nightly
  harness analyse entropy --run nightly --by episode`,
		RunE: func(cmd *cobra.Command, _ []string) error { return c.main(cmd) },
	}
	ledgerFlag(cmd, &c.db)
	f := cmd.Flags()
	f.StringVar(&c.run, "run", "", "the run (default: the last one of the ledger)")
	f.StringVar(&c.by, "by", byTurn, "turn: along the turns of episodes; episode: along the run's episodes, in panel order")
	f.IntVar(&c.bins, "bins", 20, "at most so many rows: neighbouring turns or episodes share one")
	outFlag(cmd, &c.out)
	f.BoolVar(&c.asJSON, "json", false, "print JSON")
	return cmd
}

// entropyRow is a bin of turns or episodes.
type entropyRow struct {
	From      int     `json:"from"`
	To        int     `json:"to"` // inclusive
	Responses int     `json:"responses"`
	Mean      float64 `json:"mean"` // of H̄, nats
	Low       float64 `json:"low"`  // means of the bounds; equal to Mean where entropies are exact
	High      float64 `json:"high"`
	P10       float64 `json:"p10"`
	P90       float64 `json:"p90"`
	Rewarded  int     `json:"rewarded"` // responses of episodes with a reward above 0
	MeanYes   float64 `json:"mean_rewarded"`
	MeanNo    float64 `json:"mean_others"`
}

func (c *entropyCommand) main(cmd *cobra.Command) error {
	if c.bins < 1 {
		return usageError(cmd, fmt.Errorf("--bins %d: want at least 1", c.bins))
	}
	if c.by != byTurn && c.by != byEpisode {
		return usageError(cmd, fmt.Errorf("--by %q: want turn or episode", c.by))
	}
	return readLedger(cmd.Context(), c.db, func(db *store.Store) error {
		run, err := runNamed(cmd.Context(), db, c.run)
		if err != nil {
			return err
		}
		return c.analyse(cmd.Context(), db, run)
	})
}

// response is one response on its way into a bin.
type response struct {
	at       int
	h        credit.Interval
	rewarded bool
}

func (c *entropyCommand) analyse(ctx context.Context, db *store.Store, run store.Run) error {
	src, err := db.CreditSources(ctx, run.ID)
	if err != nil {
		return err
	}
	var all []response
	without, last, episode := 0, int64(0), -1
	for i := range src {
		s := &src[i]
		if s.Episode != last {
			last, episode = s.Episode, episode+1
		}
		if s.Entropies == nil {
			without++
			continue
		}
		h, err := credit.MeanEntropy(s.Entropies, s.EntropyLow, s.EntropyHigh, nil)
		if err != nil {
			return fmt.Errorf("episode %d, step %d: %w", s.Episode, s.Index, err)
		}
		at := s.Index
		if c.by == byEpisode {
			at = episode
		}
		all = append(all, response{at, h, s.Return > 0})
	}
	if len(all) == 0 {
		return errext.WithHint(fmt.Errorf("run %s has no token entropies in its finished episodes", run.Name), "collect with a policy that gives them: refmodel, gguf:FILE, or a server with log-probabilities")
	}
	rows := binEntropies(all, c.bins)
	if err := c.plot(run, rows); err != nil {
		return err
	}
	if c.asJSON {
		return writeJSON(c.g.stdout, rows)
	}
	return c.print(run, rows, len(all), without)
}

func binEntropies(all []response, bins int) []entropyRow {
	top := 0
	for _, r := range all {
		top = max(top, r.at)
	}
	width := (top + bins) / bins // so that no more than bins are needed
	out := make([]entropyRow, top/width+1)
	values := make([][]float64, len(out))
	for _, r := range all {
		k := r.at / width
		e := &out[k]
		e.Responses++
		e.Mean, e.Low, e.High = e.Mean+r.h.Mean, e.Low+r.h.Low, e.High+r.h.High
		values[k] = append(values[k], r.h.Mean)
		if r.rewarded {
			e.Rewarded++
			e.MeanYes += r.h.Mean
		} else {
			e.MeanNo += r.h.Mean
		}
	}
	for k := range out {
		e, n := &out[k], float64(max(out[k].Responses, 1))
		e.From, e.To = k*width, min(k*width+width-1, top)
		e.Mean, e.Low, e.High = e.Mean/n, e.Low/n, e.High/n
		e.MeanYes /= float64(max(e.Rewarded, 1))
		e.MeanNo /= float64(max(e.Responses-e.Rewarded, 1))
		if slices.Sort(values[k]); len(values[k]) > 0 {
			e.P10, e.P90 = values[k][len(values[k])/10], values[k][len(values[k])*9/10]
		}
	}
	return out
}

func (c *entropyCommand) print(run store.Run, rows []entropyRow, n, without int) error {
	w := c.g.stdout
	fmt.Fprintf(w, "run %s, policy %s: mean token entropy H̄ of %s, nats\n", run.Name, run.Policy, plural(n, "response"))
	if without > 0 {
		fmt.Fprintf(w, "left out: %s without entropies\n", plural(without, "response"))
	}
	t := table{columns: []column{
		{title: c.by},
		{title: "responses", right: true},
		{title: "mean", right: true},
		{title: "between", right: true},
		{title: "10%", right: true},
		{title: "90%", right: true},
		{title: "rewarded episodes", right: true},
		{title: "mean", right: true},
		{title: "others' mean", right: true},
	}}
	for _, r := range rows {
		if r.Responses == 0 {
			continue
		}
		name := strconv.Itoa(r.From)
		if r.To > r.From {
			name += "–" + strconv.Itoa(r.To)
		}
		between := "exact"
		if r.Low < r.High {
			between = number(r.Low, 1) + "–" + number(r.High, 1)
		}
		t.add(name, strconv.Itoa(r.Responses), number(r.Mean, 1), between, number(r.P10, 1), number(r.P90, 1), strconv.Itoa(r.Rewarded),
			number(r.MeanYes, r.Rewarded), number(r.MeanNo, r.Responses-r.Rewarded))
	}
	return t.write(w)
}

func (c *entropyCommand) plot(run store.Run, rows []entropyRow) error {
	if err := makeOut(c.out); err != nil {
		return err
	}
	p := newPlot("Mean token entropy over run "+run.Name, c.by, "H̄, nats")
	line := func(f func(r *entropyRow) (float64, int)) plotter.XYs {
		var out plotter.XYs
		for i := range rows {
			if v, n := f(&rows[i]); n > 0 {
				out = append(out, plotter.XY{X: float64(rows[i].From+rows[i].To) / 2, Y: v})
			}
		}
		return out
	}
	for _, l := range []struct {
		name   string
		points plotter.XYs
		dashed bool
		colour int
	}{
		{"all", line(func(r *entropyRow) (float64, int) { return r.Mean, r.Responses }), false, 0},
		{"rewarded episodes", line(func(r *entropyRow) (float64, int) { return r.MeanYes, r.Rewarded }), false, 1},
		{"others", line(func(r *entropyRow) (float64, int) { return r.MeanNo, r.Responses - r.Rewarded }), false, 2},
		{"10% and 90%", line(func(r *entropyRow) (float64, int) { return r.P10, r.Responses }), true, 0},
		{"", line(func(r *entropyRow) (float64, int) { return r.P90, r.Responses }), true, 0},
	} {
		if len(l.points) == 0 {
			continue
		}
		if err := addLine(p, l.points, l.name, plotColours[l.colour], l.dashed); err != nil {
			return err
		}
	}
	return savePlot(c.g, p, c.out, "entropy")
}
