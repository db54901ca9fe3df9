package main

import (
	"encoding/csv"
	"fmt"
	"io"
	"math"
	"strconv"

	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// writePlacementsCSV prints the table for programs: shares from 0 to 1, and nothing in place of a mean over no tokens.
func writePlacementsCSV(w io.Writer, r placements) error {
	out := csv.NewWriter(w)
	head := []string{
		"run", "source", "placement", "pass", "teacher", "policy_version", "state", "steps", "won_steps", "scored_steps", "action_tokens", "other_tokens",
		"delta_action", "delta_action_won", "delta_action_lost", "abs_delta_action", "abs_delta_other", "clip", "clipped",
	}
	if err := out.Write(head); err != nil {
		return fmt.Errorf("print CSV: %w", err)
	}
	mean := func(v float64, n int) string {
		if n == 0 {
			return ""
		}
		return strconv.FormatFloat(v, 'g', -1, 64)
	}
	for _, p := range r.Rows {
		cells := []string{
			r.Run, p.Source, p.Placement, strconv.FormatInt(p.Pass, 10), p.Teacher, strconv.Itoa(int(p.Update)), p.State, strconv.Itoa(p.Steps),
			strconv.Itoa(p.WonSteps), strconv.Itoa(p.All.Scored), strconv.Itoa(p.All.ActionTok), strconv.Itoa(p.All.ReasonTok),
			mean(p.All.Action, p.All.ActionTok), mean(p.Won.Action, p.Won.ActionTok), mean(p.Lost.Action, p.Lost.ActionTok),
			mean(p.All.ActionAbs, p.All.ActionTok), mean(p.All.ReasonAbs, p.All.ReasonTok), strconv.FormatFloat(r.Clip, 'g', -1, 64),
			mean(p.All.Clipped, p.All.ActionTok),
		}
		if err := out.Write(cells); err != nil {
			return fmt.Errorf("print CSV: %w", err)
		}
	}
	out.Flush()
	if err := out.Error(); err != nil {
		return fmt.Errorf("print CSV: %w", err)
	}
	return nil
}

// plotPlacements draws the mean |delta| of action tokens, a source's two placements side by side. Of several
// passes of a mode the last one is drawn.
func plotPlacements(path string, r placements) error {
	var sources []string
	values := map[string]map[string]float64{"step": {}, "anchor": {}}
	for _, p := range r.Rows {
		if len(sources) == 0 || sources[len(sources)-1] != p.Source {
			sources = append(sources, p.Source)
		}
		values[p.Placement][p.Source] = p.All.ActionAbs
	}
	p := newPlot("What hindsight changes on action tokens", "", "mean |delta|, nats")
	width := vg.Points(9)
	for i, placement := range []string{"step", "anchor"} {
		bars := make(plotter.Values, len(sources))
		for k, s := range sources {
			bars[k] = values[placement][s]
		}
		chart, err := plotter.NewBarChart(bars, width)
		if err != nil {
			return fmt.Errorf("plot placements: %w", err)
		}
		chart.Color, chart.LineStyle.Width = plotColours[i], 0
		chart.Offset = width * vg.Length(float64(i)-0.5)
		p.Add(chart)
		p.Legend.Add(placement, chart)
	}
	p.NominalX(sources...)
	p.X.Min, p.X.Max, p.Y.Max = -0.6, float64(len(sources))-0.4, 1.2*p.Y.Max // room for the outer bars and the legend
	p.X.Tick.Label.Rotation = math.Pi / 5
	p.X.Tick.Label.XAlign, p.X.Tick.Label.YAlign = draw.XRight, draw.YCenter
	wide := max(16*vg.Centimeter, vg.Length(len(sources))*2*vg.Centimeter)
	if err := p.Save(wide, 13*vg.Centimeter, path); err != nil {
		return fmt.Errorf("write plot %q: %w", path, err)
	}
	return nil
}
