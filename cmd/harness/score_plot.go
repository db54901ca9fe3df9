package main

import (
	"fmt"
	"image/color"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/hindsightrl/harness"
	"github.com/hindsightrl/harness/teacher"
)

// plotPoints bounds the tokens in a plot: more than these only make the file large.
const plotPoints = 2000

// plotDeltas draws the action tokens' deltas of one pass against the other's, by outcome.
func plotDeltas(path, a, b string, pairs []teacher.Paired) error {
	won, lost := deltaPoints(pairs, true), deltaPoints(pairs, false)
	p := plot.New()
	p.Title.Text = "What hindsight changes on action tokens"
	p.X.Label.Text, p.Y.Label.Text = a+": delta, nats", b+": delta, nats"
	p.Add(plotter.NewGrid())
	for _, set := range []struct {
		name   string
		points plotter.XYs
		colour color.Color
	}{
		{"unsolved", lost, color.RGBA{R: 0xc0, G: 0x39, B: 0x2b, A: 0x90}},
		{"solved", won, color.RGBA{R: 0x1e, G: 0x84, B: 0x49, A: 0x90}},
	} {
		if len(set.points) == 0 {
			continue
		}
		s, err := plotter.NewScatter(set.points)
		if err != nil {
			return fmt.Errorf("plot deltas: %w", err)
		}
		s.GlyphStyle = draw.GlyphStyle{Color: set.colour, Radius: vg.Points(1.6), Shape: draw.CircleGlyph{}}
		p.Add(s)
		p.Legend.Add(fmt.Sprintf("%s (%d tokens)", set.name, len(set.points)), s)
	}
	same := plotter.NewFunction(func(x float64) float64 { return x })
	same.Dashes = []vg.Length{vg.Points(4), vg.Points(3)}
	same.Color = color.Gray{Y: 0x80}
	p.Add(same)
	p.Legend.Top = true
	if err := p.Save(6*vg.Inch, 6*vg.Inch, path); err != nil {
		return fmt.Errorf("write plot %q: %w", path, err)
	}
	return nil
}

// deltaPoints are the action tokens that both passes scored, thinned evenly.
func deltaPoints(pairs []teacher.Paired, won bool) plotter.XYs {
	var all plotter.XYs
	for _, p := range pairs {
		if p.Won != won || p.A == nil || p.B == nil || p.A.Status != harness.ScoreDone || p.B.Status != harness.ScoreDone {
			continue
		}
		da, db := p.A.Delta(), p.B.Delta()
		for i, action := range p.A.ActionMask {
			if action && i < len(db) {
				all = append(all, plotter.XY{X: float64(da[i]), Y: float64(db[i])})
			}
		}
	}
	if len(all) <= plotPoints {
		return all
	}
	out := make(plotter.XYs, plotPoints)
	for i := range out {
		out[i] = all[i*len(all)/plotPoints]
	}
	return out
}
