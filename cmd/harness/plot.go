package main

import (
	"fmt"
	"image/color"
	"path/filepath"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/hindsightrl/harness/creditrun"
)

// Colours that people with any colour vision tell apart.
var (
	plotBlue    = color.RGBA{R: 0, G: 114, B: 178, A: 255}
	plotOrange  = color.RGBA{R: 213, G: 94, B: 0, A: 255}
	plotGrey    = color.RGBA{R: 120, G: 120, B: 120, A: 255}
	plotColours = []color.Color{plotBlue, plotOrange, plotGrey}
)

func newPlot(title, x, y string) *plot.Plot {
	p := plot.New()
	p.Title.Text, p.X.Label.Text, p.Y.Label.Text = title, x, y
	p.Legend.Top = true
	p.Add(plotter.NewGrid())
	return p
}

// savePlot writes an SVG and says where.
func savePlot(g *globals, p *plot.Plot, dir, name string) error {
	path := filepath.Join(dir, name+".svg")
	if err := p.Save(16*vg.Centimeter, 11*vg.Centimeter, path); err != nil {
		return fmt.Errorf("write plot: %w", err)
	}
	fmt.Fprintf(g.stderr, "plot: %s\n", path)
	return nil
}

// addLine draws a line with an entry in the legend, if it has a name.
func addLine(p *plot.Plot, points plotter.XYs, name string, c color.Color, dashed bool) error {
	l, err := plotter.NewLine(points)
	if err != nil {
		return fmt.Errorf("plot %s: %w", name, err)
	}
	l.Color, l.Width = c, vg.Points(1.5)
	if dashed {
		l.Dashes = []vg.Length{vg.Points(4), vg.Points(3)}
	}
	p.Add(l)
	if name != "" {
		p.Legend.Add(name, l)
	}
	return nil
}

// maxPoints is how many points of a cloud are drawn; more would only make the file large.
const maxPoints = 4000

// addCloud draws points, evenly thinned out where they are many.
func addCloud(p *plot.Plot, points plotter.XYs, c color.Color) error {
	if n := len(points); n > maxPoints {
		thin := make(plotter.XYs, maxPoints)
		for i := range thin {
			thin[i] = points[i*n/maxPoints]
		}
		points = thin
	}
	s, err := plotter.NewScatter(points)
	if err != nil {
		return fmt.Errorf("plot points: %w", err)
	}
	s.GlyphStyle = draw.GlyphStyle{Color: c, Radius: vg.Points(1.2), Shape: draw.CircleGlyph{}}
	p.Add(s)
	return nil
}

// outline turns a histogram into the outline of its bars, as shares of the whole.
func outline(counts []int, lo, hi float64) plotter.XYs {
	total := 0
	for _, n := range counts {
		total += n
	}
	var out plotter.XYs
	width := (hi - lo) / float64(len(counts))
	for i, n := range counts {
		share := float64(n) / float64(max(total, 1))
		x := lo + float64(i)*width
		out = append(out, plotter.XY{X: x, Y: share}, plotter.XY{X: x + width, Y: share})
	}
	return out
}

// plotComparison draws the distribution of weights, the mass on action tokens, and the rows' advantages
// against each other.
func plotComparison(g *globals, dir string, pairs []creditrun.Pair, r *compared) error {
	nameA, nameB := fmt.Sprintf("A: pass %d", r.A.ID), fmt.Sprintf("B: pass %d", r.B.ID)
	if err := plotWeights(g, dir, pairs, r, nameA, nameB); err != nil {
		return err
	}
	if r.Comparison.A.ActionShare > 0 {
		if err := plotMass(g, dir, r, nameA, nameB); err != nil {
			return err
		}
	}
	p := newPlot(fmt.Sprintf("Mean advantage of a row (rank correlation %.4f)", r.RankRows), nameA, nameB)
	points := make(plotter.XYs, len(r.Changed))
	for i, ch := range r.Changed {
		points[i] = plotter.XY{X: ch.A, Y: ch.B}
	}
	if err := addCloud(p, points, plotBlue); err != nil {
		return err
	}
	return savePlot(g, p, dir, "advantages")
}

func plotWeights(g *globals, dir string, pairs []creditrun.Pair, r *compared, nameA, nameB string) error {
	const bins = 60
	a, b := r.Comparison.A.Weights, r.Comparison.B.Weights
	if a.N == 0 && b.N == 0 {
		return nil // no tokens, or no signal: no weights
	}
	lo, hi := min(a.Min, b.Min), max(a.Max, b.Max)
	if hi-lo < 1e-6 {
		lo, hi = lo-0.5, hi+0.5
	}
	var ofA, ofB []float64
	for i := range pairs {
		ofA, ofB = creditrun.AppendWeights(ofA, &pairs[i].A), creditrun.AppendWeights(ofB, &pairs[i].B)
	}
	p := newPlot("Weight of a token: its advantage over its row's", "weight", "share of tokens")
	if err := addLine(p, outline(creditrun.Histogram(ofA, lo, hi, bins), lo, hi), nameA, plotBlue, false); err != nil {
		return err
	}
	if err := addLine(p, outline(creditrun.Histogram(ofB, lo, hi, bins), lo, hi), nameB, plotOrange, true); err != nil {
		return err
	}
	return savePlot(g, p, dir, "weights")
}

func plotMass(g *globals, dir string, r *compared, nameA, nameB string) error {
	p := newPlot("Share of Σ|advantage| on action tokens", "", "share")
	values := plotter.Values{r.Comparison.A.ActionShare, r.Comparison.A.ActionMass, r.Comparison.B.ActionMass}
	bars, err := plotter.NewBarChart(values, vg.Points(40))
	if err != nil {
		return fmt.Errorf("plot mass: %w", err)
	}
	bars.Color, bars.LineStyle.Width = plotBlue, 0
	p.Add(bars)
	p.NominalX("their share of tokens", nameA, nameB)
	return savePlot(g, p, dir, "action-mass")
}
