package main

import (
	"fmt"
	"strconv"

	"github.com/spf13/cobra"
	"gonum.org/v1/plot/plotter"

	"github.com/hindsightrl/harness/credit"
	"github.com/hindsightrl/harness/creditrun"
)

type correlationCommand struct {
	g      *globals
	s      sampler
	aem    credit.AEMConfig
	out    string
	asJSON bool
}

func newAnalyseCorrelation(g *globals) *cobra.Command {
	c := &correlationCommand{g: g, s: sampler{g: g}}
	cmd := &cobra.Command{
		Use:   "aem-correlation",
		Short: "How well α−1 stands in for −(S − H_resp): correlation and agreement of signs",
		Long: `aem-correlation samples responses in many states, computes AEM's α over the responses of each state, and
compares α − 1 with −(S − H_resp): S is a response's surprisal, H_resp its Monte-Carlo mean over the
state's responses. The comparison is made for whole responses and per token.`,
		Example: `  harness analyse aem-correlation
  harness analyse aem-correlation --model gguf:stories260K.gguf`,
		RunE: func(cmd *cobra.Command, _ []string) error { return c.run(cmd) },
	}
	c.s.flags(cmd)
	aemFlags(cmd, &c.aem)
	outFlag(cmd, &c.out)
	cmd.Flags().BoolVar(&c.asJSON, "json", false, "print JSON")
	return cmd
}

func (c *correlationCommand) run(cmd *cobra.Command) error {
	if err := c.s.validate(); err != nil {
		return usageError(cmd, err)
	}
	if err := c.aem.Validate(); err != nil {
		return usageError(cmd, err)
	}
	data, err := c.s.sample(cmd.Context())
	if err != nil {
		return err
	}
	var results []*creditrun.Correlation
	for _, m := range []creditrun.Measure{creditrun.PerResponse, creditrun.PerToken} {
		r, err := creditrun.Correlate(data.states, c.aem, m)
		if err != nil {
			return err
		}
		results = append(results, r)
	}
	if err := c.plot(results[0]); err != nil {
		return err
	}
	if c.asJSON {
		return writeJSON(c.g.stdout, results)
	}
	data.head(c.g)
	t := table{columns: []column{
		{title: "S and H_resp"},
		{title: "responses", right: true},
		{title: "with α ≠ 1", right: true},
		{title: "pearson", right: true},
		{title: "mean within states", right: true},
		{title: "of states", right: true},
		{title: "signs agree", right: true},
		{title: "of pairs", right: true},
	}}
	for _, r := range results {
		t.add("per "+string(r.Measure), strconv.Itoa(r.Responses), strconv.Itoa(r.Modulated), number(r.Pearson, r.Responses),
			number(r.Within, r.WithinOf), strconv.Itoa(r.WithinOf), percent(r.Agree, r.Decided), strconv.Itoa(r.Decided))
	}
	return t.write(c.g.stdout)
}

func (c *correlationCommand) plot(r *creditrun.Correlation) error {
	if err := makeOut(c.out); err != nil {
		return err
	}
	p := newPlot(fmt.Sprintf("α − 1 and the relative surprisal of a response (r = %.3f)", r.Pearson), "−(S − H_resp), nats", "α − 1")
	points := make(plotter.XYs, len(r.X))
	for i := range points {
		points[i] = plotter.XY{X: r.Y[i], Y: r.X[i]}
	}
	if err := addCloud(p, points, plotBlue); err != nil {
		return err
	}
	return savePlot(c.g, p, c.out, "aem-correlation")
}
