package webshop

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/hindsightrl/harness/envs/webshop/catalog"
	"github.com/hindsightrl/harness/envs/webshop/internal/py"
	"github.com/hindsightrl/harness/envs/webshop/reward"
	"github.com/hindsightrl/harness/envs/webshop/search"
	"github.com/hindsightrl/harness/envs/webshop/shop"
	"github.com/hindsightrl/harness/internal/pyrand"
	"github.com/hindsightrl/harness/internal/pystr"
)

// goalRecord is a goal as records hold it.
type goalRecord struct {
	I           *int            `json:"i"`
	ASIN        string          `json:"asin"`
	Instruction string          `json:"instruction_text"`
	Attributes  []string        `json:"attributes"`
	PriceUpper  float64         `json:"price_upper"`
	Options     json.RawMessage `json:"goal_options"`
	Weight      *float64        `json:"weight"`
}

// human reports whether options are a list, as those of human goals.
func (r *goalRecord) human() bool { return len(r.Options) > 0 && r.Options[0] == '[' }

func (r *goalRecord) compare(g *catalog.Goal) error {
	if err := differ("asin", g.ASIN, r.ASIN); err != nil {
		return err
	}
	if err := differText("instruction_text", g.Instruction, r.Instruction); err != nil {
		return err
	}
	if err := differ("price_upper", g.PriceUpper, r.PriceUpper); err != nil {
		return err
	}
	if !slices.Equal(g.Attributes, r.Attributes) {
		return &MismatchError{Field: "attributes", Got: fmt.Sprint(g.Attributes), Want: fmt.Sprint(r.Attributes)}
	}
	if r.Weight != nil {
		if err := differ("weight", g.Weight, *r.Weight); err != nil {
			return err
		}
	}
	return differJSON("goal_options", json.RawMessage(py.JSON(g.OptionValue())), r.Options)
}

func (v *run) goals(ctx context.Context, values []json.RawMessage) error {
	// So many goals are compared to find the seed.
	const telling = 50
	var some []*goalRecord
	if err := decode(ctx, values[:min(telling, len(values))], func(_ int, r *goalRecord) error {
		some = append(some, r)
		return nil
	}); err != nil {
		return err
	}
	place := func(i int, r *goalRecord) int {
		if r.I != nil {
			return *r.I
		}
		return i
	}
	w, err := v.findWorld(ctx, v.name, []bool{some[0].human()}, func(w *catalog.World) bool {
		for i, r := range some {
			if i = place(i, r); i < 0 || i >= w.Len() {
				return false
			}
			if g := w.At(i); r.compare(&g) != nil {
				return false
			}
		}
		return true
	})
	if err != nil {
		return err
	}
	if err := decode(ctx, values, func(i int, r *goalRecord) error {
		i = place(i, r)
		name := fmt.Sprintf("goal %d", i)
		if i < 0 || i >= w.Len() {
			v.add(name, fmt.Errorf("there are %d goals", w.Len()))
			return nil
		}
		g := w.At(i)
		v.add(name, r.compare(&g))
		return nil
	}); err != nil {
		return err
	}
	return nil
}

func (v *run) prices(ctx context.Context, values []json.RawMessage) error {
	type record struct {
		Prices map[string]float64 `json:"prices"`
		Draws  [][2]any           `json:"next_reset_draws"`
		N      *int               `json:"n"`
	}
	return decode(ctx, values, func(_ int, r *record) error {
		s, err := v.main(ctx)
		if err != nil {
			return err
		}
		w, err := v.findWorld(ctx, v.name, []bool{false, true}, func(w *catalog.World) bool {
			for i := range s.Products {
				if p, ok := r.Prices[s.Products[i].ASIN]; ok && p != w.Prices[i] {
					return false
				}
			}
			return (r.N == nil || *r.N == w.Len()) && (len(r.Draws) == 0 || catalog.Session(w.Rand) == r.Draws[0][0])
		})
		if err != nil {
			return err
		}
		if r.N != nil {
			v.add("number of goals", differ("n", w.Len(), *r.N))
		}
		for _, asin := range slices.Sorted(maps.Keys(r.Prices)) {
			i := s.Catalog.Index(asin)
			if i < 0 {
				v.add("price of "+asin, fmt.Errorf("no product %q", asin))
				continue
			}
			v.add("price of "+asin, differ("price", w.Prices[i], r.Prices[asin]))
		}
		for k, d := range r.Draws {
			session := catalog.Session(w.Rand)
			goal := w.Draw(w.Rand)
			v.add(fmt.Sprintf("draw %d", k), differ("session and goal", fmt.Sprint(session, " ", goal), fmt.Sprint(d[0], " ", d[1])))
		}
		return nil
	})
}

func (v *run) search(ctx context.Context, values []json.RawMessage) error {
	type record struct {
		Query  string   `json:"query"`
		Tokens []string `json:"tokens"`
		Hits   [][2]any `json:"hits"`
	}
	s, err := v.main(ctx)
	if err != nil {
		return err
	}
	return decode(ctx, values, func(_ int, r *record) error {
		name := fmt.Sprintf("query %q", r.Query)
		if r.Tokens != nil {
			if got := search.Analyze(r.Query); !slices.Equal(got, r.Tokens) {
				v.add(name, &MismatchError{Field: "terms", Got: fmt.Sprintf("%q", got), Want: fmt.Sprintf("%q", r.Tokens)})
				return nil
			}
		}
		byID := compareHits(s, r.Query, r.Hits, search.ByID)
		note := ""
		if byID != nil && compareHits(s, r.Query, r.Hits, search.ByIndex) == nil {
			byID, note = nil, "products of equal score in the order of the index"
		}
		v.note(name, note, byID)
		return nil
	})
}

func compareHits(s *shop.Shop, query string, want [][2]any, ties search.Ties) error {
	hits := s.Index.Search(query, max(len(want), 50), ties)
	if len(hits) > len(want) && len(want) < 50 {
		return differ("number of hits", len(hits), len(want))
	}
	for i, w := range want {
		got := "(end of list)"
		if i < len(hits) {
			got = fmt.Sprintf("%s %v", s.Products[hits[i].Doc].ASIN, hits[i].Score)
		}
		score, ok := w[1].(float64)
		if !ok {
			return fmt.Errorf("hit %d has score %v, want a number", i, w[1])
		}
		if err := differ(fmt.Sprintf("hit %d", i), got, fmt.Sprintf("%v %v", w[0], float32(score))); err != nil {
			return err
		}
	}
	return nil
}

func (v *run) analyzer(ctx context.Context, values []json.RawMessage) error {
	type record struct {
		ID     string   `json:"id"`
		Tokens []string `json:"tokens"`
	}
	s, err := v.main(ctx)
	if err != nil {
		return err
	}
	return decode(ctx, values, func(_ int, r *record) error {
		i := s.Catalog.Index(r.ID)
		if i < 0 {
			v.add(r.ID, fmt.Errorf("no product %q", r.ID))
			return nil
		}
		d, err := s.Details(i)
		if err != nil {
			return err
		}
		got := search.Analyze(pystr.Lower(s.Products[i].Contents(d)))
		for k := range max(len(got), len(r.Tokens)) {
			if k >= len(got) || k >= len(r.Tokens) || got[k] != r.Tokens[k] {
				v.add(r.ID, &MismatchError{
					Field: fmt.Sprintf("term %d", k),
					Got:   fmt.Sprintf("%q", got[min(k, len(got)):min(k+3, len(got))]), Want: fmt.Sprintf("%q", r.Tokens[min(k, len(r.Tokens)):min(k+3, len(r.Tokens))]),
				})
				return nil
			}
		}
		v.add(r.ID, nil)
		return nil
	})
}

// phrase is a string, or a list that was a tuple.
type phrase struct{ py any }

// UnmarshalJSON implements json.Unmarshaler.
func (p *phrase) UnmarshalJSON(raw []byte) error {
	var list []string
	if json.Unmarshal(raw, &list) == nil && list != nil {
		p.py = py.Tuple(py.Strings(list))
		return nil
	}
	var s string
	err := json.Unmarshal(raw, &s)
	p.py = s
	return err
}

func (v *run) fuzz(ctx context.Context, values []json.RawMessage) error {
	type record struct {
		S1, S2    phrase
		Difflib   *int    `json:"difflib"`
		Purchased *string `json:"raw_purchased"`
	}
	return decode(ctx, values, func(_ int, r *record) error {
		a, b := py.Str(r.S1.py), py.Str(r.S2.py)
		name := fmt.Sprintf("%q, %q", a, b)
		if r.Difflib == nil {
			return fmt.Errorf("no ratio of difflib for %s", name)
		}
		err := differ("ratio", reward.TokenSetRatio(a, b), *r.Difflib)
		if err == nil && r.Purchased != nil {
			err = differ("colour", reward.NormalizeColor(*r.Purchased), a)
		}
		v.add(name, err)
		return nil
	})
}

func (v *run) colors(ctx context.Context, values []json.RawMessage) error {
	return decode(ctx, values, func(_ int, r *map[string]string) error {
		for _, in := range slices.Sorted(maps.Keys(*r)) {
			v.add(fmt.Sprintf("colour of %q", in), differ("colour", reward.NormalizeColor(in), (*r)[in]))
		}
		return nil
	})
}

func (v *run) actions(ctx context.Context, values []json.RawMessage) error {
	type record struct {
		Action string  `json:"action"`
		Name   string  `json:"name"`
		Arg    *string `json:"arg"`
	}
	return decode(ctx, values, func(_ int, r *record) error {
		name, arg, ok := shop.ParseAction(r.Action)
		got, want := fmt.Sprintf("%q without argument", name), fmt.Sprintf("%q without argument", r.Name)
		if ok {
			got = fmt.Sprintf("%q, %q", name, arg)
		}
		if r.Arg != nil {
			want = fmt.Sprintf("%q, %q", r.Name, *r.Arg)
		}
		v.add(fmt.Sprintf("action %q", r.Action), differ("parts", got, want))
		return nil
	})
}

// nounTable checks that a table has an entry for every product.
func (v *run) nounTable(ctx context.Context, values []json.RawMessage) error {
	var table map[string][]string
	if err := json.Unmarshal(values[0], &table); err != nil {
		return err
	}
	s, err := v.main(ctx)
	if err != nil {
		return err
	}
	for i := range s.Products {
		p := &s.Products[i]
		_, byTitle := table[p.Title]
		_, byID := table[p.ASIN]
		var err error
		if !byTitle && !byID && p.Title != "" {
			err = fmt.Errorf("no entry for product %q, %q", p.ASIN, p.Title)
		}
		v.add(p.ASIN, err)
	}
	return nil
}

// streams are recorded draws: of one stream for each seed, in the order of the fields.
type streams struct {
	MT []struct {
		Seed      int64       `json:"seed"`
		Random    []float64   `json:"random"`
		Bits      []uint64    `json:"getrandbits32"`
		Below     []int       `json:"randbelow"`
		Uniform   []float64   `json:"uniform"`
		Sample2   [][]float64 `json:"sample2of4"`
		Sample50  []int       `json:"sample50"`
		Choices   string      `json:"choices"`
		Shuffle20 []int       `json:"shuffle20"`
	} `json:"mt"`
	Numpy []struct {
		Seed   uint32 `json:"seed"`
		Choice []int  `json:"numpy_RandomState_choice"`
		Train  []int  `json:"train"`
	} `json:"numpy"`
}

// The ranges that recorded draws are from.
var (
	belowBounds   = []int{2, 3, 7, 12, 6910, 1 << 20}
	uniformBounds = [2]float64{9.99, 24.5}
)

const (
	sampledFrom = 1000 // of sample50
	valGoals    = 500
	allGoals    = 6910
)

func (v *run) random(ctx context.Context, values []json.RawMessage) error {
	return decode(ctx, values, func(_ int, r *streams) error {
		for i := range r.MT {
			m := &r.MT[i]
			d := pyrand.New(m.Seed)
			name := fmt.Sprintf("seed %d: ", m.Seed)
			v.list(name+"random", len(m.Random), func(k int) bool { return d.Float64() == m.Random[k] })
			v.list(name+"getrandbits", len(m.Bits), func(k int) bool { return d.Bits(32) == m.Bits[k] })
			if len(m.Below) > len(belowBounds) {
				return fmt.Errorf("%d draws of randbelow, the bounds of %d are known", len(m.Below), len(belowBounds))
			}
			v.list(name+"randbelow", len(m.Below), func(k int) bool { return d.IntN(belowBounds[k]) == m.Below[k] })
			v.list(name+"uniform", len(m.Uniform), func(k int) bool { return d.Uniform(uniformBounds[0], uniformBounds[1]) == m.Uniform[k] })
			v.list(name+"sample of 4", len(m.Sample2), func(k int) bool {
				s := d.Sample(4, 2)
				return slices.Equal(m.Sample2[k], []float64{float64(s[0]+1) * 10, float64(s[1]+1) * 10})
			})
			v.add(name+"sample", differ("indices", fmt.Sprint(d.Sample(sampledFrom, len(m.Sample50))), fmt.Sprint(m.Sample50)))
			word := make([]byte, 0, len(m.Choices))
			for _, k := range d.Choices(26, len(m.Choices)) {
				word = append(word, byte('a'+k))
			}
			v.add(name+"choices", differ("letters", string(word), m.Choices))
			order := make([]int, len(m.Shuffle20))
			for k := range order {
				order[k] = k
			}
			d.Shuffle(len(order), func(a, b int) { order[a], order[b] = order[b], order[a] })
			v.add(name+"shuffle", differ("order", fmt.Sprint(order), fmt.Sprint(m.Shuffle20)))
		}
		for _, m := range r.Numpy {
			name := fmt.Sprintf("numpy seed %d: ", m.Seed)
			v.add(name+"validation", differ("goals", fmt.Sprint(pyrand.NewRandomState(m.Seed).Choice(valGoals, len(m.Choice))), fmt.Sprint(m.Choice)))
			train := pyrand.NewRandomState(m.Seed).Choice(allGoals-valGoals, len(m.Train))
			for k := range train {
				train[k] += valGoals
			}
			v.add(name+"training", differ("goals", fmt.Sprint(train), fmt.Sprint(m.Train)))
		}
		return nil
	})
}

// list is one case: n draws that must all agree.
func (v *run) list(name string, n int, agrees func(k int) bool) {
	for k := range n {
		if !agrees(k) {
			v.add(name, fmt.Errorf("draw %d differs", k))
			return
		}
	}
	v.add(name, nil)
}
