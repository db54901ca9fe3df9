package catalog

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"sort"

	"github.com/hindsightrl/harness/internal/errext"
	"github.com/hindsightrl/harness/internal/pyrand"
)

// Variant is a program whose draws are reproduced.
type Variant string

// The variants.
const (
	// Princeton is the original: the caller's seed decides prices and limits, the order of the goals is
	// always that of seed 233.
	Princeton Variant = "princeton"
	// SERL is the copy in SERL and its kin: one seed decides everything.
	SERL Variant = "serl"
)

// princetonShuffle is the seed of the original's goal order.
const princetonShuffle = 233

// ParseVariant reads a variant's name.
func ParseVariant(s string) (Variant, error) {
	if v := Variant(s); v == Princeton || v == SERL {
		return v, nil
	}
	return "", errext.WithHint(fmt.Errorf("no WebShop variant %q", s), "there are serl and princeton")
}

// WorldConfig says how goals are drawn.
type WorldConfig struct {
	Variant Variant
	Seed    int64
	Human   bool // goals that people wrote, instead of synthetic ones
	// Filter keeps the goals for which it returns true; nil keeps all.
	Filter func(i int, g Goal) bool
	// Limit draws so many goals by weight; 0 keeps all.
	Limit int
}

// World is what one start of the original holds: prices, ordered goals, and the random stream that
// later draws continue.
type World struct {
	*Goals
	Rand *pyrand.Rand
}

// NewWorld draws prices and goals as a fresh process with that seed does.
func NewWorld(c *Catalog, cfg WorldConfig) (*World, error) {
	r := pyrand.New(cfg.Seed)
	g := &Goals{catalog: c, human: cfg.Human, Prices: drawPrices(c, r)}
	var err error
	if cfg.Human {
		err = g.drawHuman(r)
	} else {
		err = g.drawSynthetic(r)
	}
	if err != nil {
		return nil, err
	}
	if len(g.refs) == 0 {
		return nil, errext.WithHint(errors.New("the data holds no goals: no product has an instruction"),
			"the attribute file (items_ins_v2…) holds synthetic instructions, items_human_ins.json those by people; they must belong to the product file")
	}
	shuffle := cfg.Seed
	if cfg.Variant == Princeton {
		shuffle = princetonShuffle
	}
	r = pyrand.New(shuffle)
	r.Shuffle(len(g.refs), func(i, j int) { g.refs[i], g.refs[j] = g.refs[j], g.refs[i] })
	if err := g.choose(cfg, r); err != nil {
		return nil, err
	}
	g.accumulate()
	return &World{Goals: g, Rand: r}, nil
}

// drawLimit draws a price limit in tens of dollars: the larger of two of the first four above the
// price. It is 0, and nothing is drawn, where fewer than two are left below 1,000.
func drawLimit(price float64, r *pyrand.Rand) int16 {
	const last = 99
	first := 1
	if price >= 10 {
		// The smallest multiple of ten above the price.
		first = int(math.Min(math.Floor(price/10), last)) + 1
	}
	n := min(4, last-first+1)
	if n < 2 {
		return 0
	}
	pair := r.Sample(n, 2)
	return int16(first + max(pair[0], pair[1]))
}

func (g *Goals) drawHuman(r *pyrand.Rand) error {
	for i := range g.catalog.Products {
		for k, in := range g.catalog.Products[i].Human {
			if len(in.Attributes) > 0 {
				g.refs = append(g.refs, goalRef{int32(i), int32(k), drawLimit(g.Prices[i], r)})
			}
		}
	}
	return nil
}

// maxCombinations bounds one product's goals.
const maxCombinations = math.MaxInt32

func (g *Goals) drawSynthetic(r *pyrand.Rand) error {
	counts := map[string]int{}
	for i := range g.catalog.Products {
		p := &g.catalog.Products[i]
		if p.Instruction == nil {
			continue
		}
		if len(p.Instruction.Attributes) == 0 {
			return fmt.Errorf("product %q has an instruction without attributes", p.ASIN)
		}
		tens, n := drawLimit(g.Prices[i], r), 1
		for _, o := range p.Options {
			if n *= len(o.Values); n > maxCombinations {
				return fmt.Errorf("product %q has more than %d combinations of options", p.ASIN, maxCombinations)
			}
		}
		for k := range n {
			g.refs = append(g.refs, goalRef{int32(i), int32(k), tens})
		}
		if n == 0 {
			continue
		}
		for _, a := range p.Instruction.Attributes {
			counts[a] += n
		}
	}
	g.weights = map[int32]float64{}
	for _, ref := range g.refs {
		if _, ok := g.weights[ref.product]; ok {
			continue
		}
		attributes, sum := g.catalog.Products[ref.product].Instruction.Attributes, 0.0
		for _, a := range attributes {
			sum += 1 / float64(counts[a])
		}
		g.weights[ref.product] = sum / float64(len(attributes))
	}
	return nil
}

// choose applies filter and limit.
func (g *Goals) choose(cfg WorldConfig, r *pyrand.Rand) error {
	if cfg.Filter != nil {
		kept := g.refs[:0:0]
		for i := range g.refs {
			if cfg.Filter(i, g.At(i)) {
				kept = append(kept, g.refs[i])
			}
		}
		if g.refs = kept; len(kept) == 0 {
			return errors.New("the filter keeps no goal")
		}
	}
	if cfg.Limit <= 0 || cfg.Limit >= len(g.refs) {
		return nil
	}
	g.accumulate()
	seen, kept := map[int]bool{}, []goalRef{}
	for len(kept) < cfg.Limit {
		if i := g.Draw(r); !seen[i] {
			seen[i] = true
			kept = append(kept, g.refs[i])
		}
	}
	g.refs = kept
	return nil
}

func (g *Goals) accumulate() {
	g.cum = make([]float64, len(g.refs)+1)
	sum := 0.0
	for i, ref := range g.refs {
		sum += g.weight(ref)
		g.cum[i+1] = sum
	}
}

// Draw draws a goal's index as random_idx does: the place of a uniform number among the running sums,
// which is one beyond the goal whose share it falls into, except for the last.
func (g *Goals) Draw(r *pyrand.Rand) int {
	pos := r.Uniform(0, g.cum[len(g.cum)-1])
	i := sort.Search(len(g.cum), func(i int) bool { return g.cum[i] > pos })
	return min(i, len(g.cum)-2)
}

// Session draws the name of a session: ten small letters.
func Session(r *pyrand.Rand) string { return letters(r, 10) }

// SiteSession draws the name of a session of the site's environment: five small letters.
func SiteSession(r *pyrand.Rand) string { return letters(r, 5) }

func letters(r *pyrand.Rand, n int) string {
	b := make([]byte, n)
	for i, k := range r.Choices(26, n) {
		b[i] = byte('a' + k)
	}
	return string(b)
}

// sortedOptions are p's options by name.
func sortedOptions(p *Product) []Option {
	out := slices.Clone(p.Options)
	slices.SortFunc(out, func(a, b Option) int { return cmp.Compare(a.Name, b.Name) })
	return out
}

// Stream is the world's random stream.
func (w *World) Stream() *pyrand.Rand { return w.Rand }
