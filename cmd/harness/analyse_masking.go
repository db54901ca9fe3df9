package main

import (
	"fmt"
	"strconv"

	"github.com/spf13/cobra"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"

	"github.com/hindsightrl/harness/credit"
	"github.com/hindsightrl/harness/creditrun"
)

type maskingCommand struct {
	g      *globals
	s      sampler
	aem    credit.AEMConfig
	eta    float64
	out    string
	asJSON bool
}

func newAnalyseMasking(g *globals) *cobra.Command {
	c := &maskingCommand{g: g, s: sampler{g: g}}
	cmd := &cobra.Command{
		Use:   "aem-masking",
		Short: "What masking by the sign of A(α−1) does to entropy in one exact natural-gradient step",
		Long: `aem-masking samples responses in many states, gives them rewards and advantages, and takes one
natural-gradient step on the distribution over whole responses, which has a closed form: once with all
responses, once with AEM's α, and once with those alone whose A(α−1) is above, or below, zero. It
measures the change of the response's entropy. Nothing is trained.`,
		Example: `  harness analyse aem-masking
  harness analyse aem-masking --model gguf:stories260K.gguf --reward coin`,
		RunE: func(cmd *cobra.Command, _ []string) error { return c.run(cmd) },
	}
	c.s.flags(cmd)
	aemFlags(cmd, &c.aem)
	f := cmd.Flags()
	f.Float64Var(&c.eta, "step", 0.1, "size η of the step")
	f.StringVar(&c.s.reward, "reward", "", "action: 1 where the response takes the action that was recorded in the state; coin: 1 or 0 at random (default: action where states have one)")
	outFlag(cmd, &c.out)
	f.BoolVar(&c.asJSON, "json", false, "print JSON")
	return cmd
}

func (c *maskingCommand) run(cmd *cobra.Command) error {
	if err := c.s.validate(); err != nil {
		return usageError(cmd, err)
	}
	if err := c.aem.Validate(); err != nil {
		return usageError(cmd, err)
	}
	if !(c.eta > 0 && c.eta <= 10) {
		return usageError(cmd, fmt.Errorf("--step %g: want a number above 0, at most 10", c.eta))
	}
	if r := c.s.reward; r != "" && r != rewardAction && r != rewardCoin {
		return usageError(cmd, fmt.Errorf("--reward %q: want action or coin", r))
	}
	if c.s.reward == rewardAction && c.s.model != "refmodel" && c.s.run == "" {
		return usageError(cmd, fmt.Errorf("--reward action needs states with a recorded action: name a --run"))
	}
	data, err := c.s.sample(cmd.Context())
	if err != nil {
		return err
	}
	effects, err := creditrun.MaskedSteps(data.states, c.aem, c.eta)
	if err != nil {
		return err
	}
	if err := c.plot(effects); err != nil {
		return err
	}
	if c.asJSON {
		return writeJSON(c.g.stdout, effects)
	}
	data.head(c.g)
	won, n := 0, 0
	for _, state := range data.states {
		for i := range state {
			n++
			won += int(state[i].Reward)
		}
	}
	fmt.Fprintf(c.g.stdout, "reward  %s of responses have reward 1; advantages are GRPO's within a state\n", percent(won, n))
	t := table{columns: []column{
		{title: "step on"},
		{title: "responses kept", right: true},
		{title: "dH/dη, nats", right: true},
		{title: "± s.e.", right: true},
		{title: fmt.Sprintf("ΔH at η = %g, nats", c.eta), right: true},
		{title: "± s.e.", right: true},
	}}
	for _, e := range effects {
		t.add(string(e.Mask), strconv.Itoa(e.Kept), number(e.Drift, 1), number(e.DriftE, 1), number(e.Step, 1), number(e.StepE, 1))
	}
	return t.write(c.g.stdout)
}

func (c *maskingCommand) plot(effects []creditrun.MaskEffect) error {
	if err := makeOut(c.out); err != nil {
		return err
	}
	p := newPlot(fmt.Sprintf("Entropy after one step of η = %g, mean ± s.e. over states", c.eta), "", "ΔH, nats")
	values := make(plotter.Values, len(effects))
	names := make([]string, len(effects))
	bars := errorBars{}
	for i, e := range effects {
		values[i], names[i] = e.Step, string(e.Mask)
		bars.XYs = append(bars.XYs, plotter.XY{X: float64(i), Y: e.Step})
		bars.YErrors = append(bars.YErrors, struct{ Low, High float64 }{e.StepE, e.StepE})
	}
	chart, err := plotter.NewBarChart(values, vg.Points(30))
	if err != nil {
		return fmt.Errorf("plot masks: %w", err)
	}
	chart.Color, chart.LineStyle.Width = plotBlue, 0
	whiskers, err := plotter.NewYErrorBars(bars)
	if err != nil {
		return fmt.Errorf("plot masks: %w", err)
	}
	p.Add(chart, whiskers)
	p.NominalX(names...)
	return savePlot(c.g, p, c.out, "aem-masking")
}

// errorBars are points with their errors.
type errorBars struct {
	plotter.XYs
	plotter.YErrors
}
