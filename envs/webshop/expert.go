package webshop

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/hindsightrl/harness/envs/webshop/catalog"
	"github.com/hindsightrl/harness/envs/webshop/internal/py"
	"github.com/hindsightrl/harness/envs/webshop/page"
	"github.com/hindsightrl/harness/envs/webshop/reward"
	"github.com/hindsightrl/harness/envs/webshop/shop"
	"github.com/hindsightrl/harness/internal/errext"
	"github.com/hindsightrl/harness/internal/pystr"
)

// plan is what the expert means to buy, and how to find it.
type plan struct {
	product int
	options py.Dict // values to choose, by option name
	score   float64 // what that pays
	query   string  // finds the product
}

// Advise returns the scripted shopper's next action: it knows the goal, searches for the product that
// scores best, chooses its options and buys. It does not change the state. Where the catalogue allows
// a score of 1, following it from any state reaches it.
func (e *Env) Advise(ctx context.Context) (string, error) {
	if err := ctx.Err(); err != nil {
		return "", err
	}
	if e.session == nil {
		return "", errNoEpisode
	}
	if e.last.Done {
		return "", errext.WithHint(fmt.Errorf("advise in %s: the episode is over", e.key), "reset the episode")
	}
	if e.plan == nil {
		p, err := e.suite.plan(ctx, e.session)
		if err != nil {
			return "", errext.WithHint(fmt.Errorf("advise in %s: %w", e.key, err), "no expert can shop for this goal: leave the task out")
		}
		e.plan = p
	}
	return e.plan.next(e.session), nil
}

// next is the action on the current page.
func (p *plan) next(s *shop.Session) string {
	search := "search[" + p.query + "]"
	switch s.Kind() {
	case page.Results:
		return p.fromResults(s)
	case page.Item:
		if s.Product() != p.product {
			return "click[back to search]"
		}
		for _, want := range p.options {
			if has, ok := s.Options().Get(want.Key); !ok || has != want.Value {
				return "click[" + py.Str(want.Value) + "]"
			}
		}
		for _, has := range s.Options() {
			if _, ok := p.options.Get(has.Key); !ok {
				return "click[back to search]" // a choice that cannot be taken back otherwise
			}
		}
		return "click[buy now]"
	case page.Sub:
		if s.Product() == p.product {
			return "click[< prev]"
		}
		return "click[back to search]"
	}
	return search
}

func (p *plan) fromResults(s *shop.Session) string {
	if slices.Contains(s.Shown(), int32(p.product)) {
		return "click[" + pystr.Lower(s.ASIN(p.product)) + "]"
	}
	at := slices.Index(s.Found(), int32(p.product))
	switch {
	case at < 0:
		return "click[back to search]"
	case at/page.PerPage+1 > s.Number():
		return "click[next >]"
	case s.Number() > 1:
		return "click[< prev]"
	}
	return "click[back to search]"
}

// maxAlternatives bounds how many other products are tried where the goal's own does not score 1.
const maxAlternatives = 400

// plan looks for the best purchase: the goal's product, and, if that falls short, others that are
// found by the same searches.
func (s *Suite) plan(ctx context.Context, session *shop.Session) (*plan, error) {
	goal := session.Goal()
	target := &s.shop.Products[goal.Product]
	candidates := []int32{int32(goal.Product)}
	var best *plan
	for n := 0; n < len(candidates) && n < maxAlternatives; n++ {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		p, err := s.purchase(session, int(candidates[n]))
		if err != nil {
			return nil, err
		}
		if p != nil && (best == nil || p.score > best.score) {
			best = p
		}
		if best != nil && best.score == 1 {
			break
		}
		if n == 0 {
			candidates = append(candidates, s.shop.Find(goal.Instruction)...)
			candidates = append(candidates, s.shop.Where(func(p *catalog.Product) bool { return p.Query == target.Query })...)
		}
	}
	if best == nil {
		return nil, errors.New("no search finds a product that scores")
	}
	return best, nil
}

// purchase plans to buy one product; nil if no search finds it.
func (s *Suite) purchase(session *shop.Session, product int) (*plan, error) {
	goal := session.Goal()
	p := &s.shop.Products[product]
	details, err := s.shop.Details(product)
	if err != nil {
		return nil, err
	}
	pl := &plan{product: product, options: chooseOptions(p, goal)}
	buy := reward.Purchase{Product: p, Details: details, Price: session.PriceOf(product), Options: shop.Values(pl.options)}
	r, err := reward.Score(s.shop.Nouns, buy, goal, &s.shop.Products[goal.Product])
	if err != nil {
		return nil, err
	}
	pl.score = r.Total
	if pl.query = s.query(p, product, goal); pl.query == "" {
		return nil, nil
	}
	return pl, nil
}

// chooseOptions picks a value for each of the goal's options that can be met, the wanted value itself
// before one that is like it.
func chooseOptions(p *catalog.Product, goal *catalog.Goal) py.Dict {
	chosen := py.Dict{}
	for pass := range 2 {
		for i, want := range goal.Options {
			if met(chosen, goal, i) {
				continue
			}
			if name, value, ok := findValue(p, goal, i, chosen, pass == 0, want); ok {
				chosen = append(chosen, py.Item{Key: name, Value: value})
			}
		}
	}
	return chosen
}

func met(chosen py.Dict, goal *catalog.Goal, i int) bool {
	return slices.ContainsFunc(shop.Values(chosen), func(v string) bool { return reward.Meets(v, goal, i) })
}

// findValue looks for a value of an option that is not chosen yet.
func findValue(p *catalog.Product, goal *catalog.Goal, i int, chosen py.Dict, exact bool, want string) (name, value string, ok bool) {
	view := page.Page{Kind: page.Item, Product: p}
	for _, o := range p.Options {
		if _, taken := chosen.Get(pystr.Lower(o.Name)); taken {
			continue
		}
		for _, v := range o.Values {
			if exact && v != want || !reward.Meets(v, goal, i) {
				continue
			}
			// A click on the value must choose it, and for this option.
			if t, ok := view.Find(v); ok && t.Radio && t.Option == o.Name && clickable(v) {
				return pystr.Lower(o.Name), v, true
			}
		}
	}
	return "", "", false
}

// clickable reports whether a click on an option's value chooses it and does nothing else.
func clickable(value string) bool {
	for _, b := range append([]string{page.Search, page.BackToSearch, page.Prev, page.BuyNow}, page.SubPages...) {
		if value == strings.ToLower(b) {
			return false
		}
	}
	name, arg, ok := shop.ParseAction("click[" + value + "]")
	return ok && name == "click" && arg == value
}

// query finds words that bring the product up, on a page as early as possible.
func (s *Suite) query(p *catalog.Product, product int, goal *catalog.Goal) string {
	best, rank := "", -1
	for _, text := range []string{p.Title, p.Title + " " + strings.Join(goal.Options, " "), goal.Instruction, p.Query + " " + p.Title, p.Query} {
		q := words(text)
		if q == "" || strings.HasPrefix(q, "<") {
			continue
		}
		at := slices.Index(s.shop.Find(q), int32(product))
		if at >= 0 && (rank < 0 || at < rank) {
			best, rank = q, at
		}
		if rank == 0 {
			break
		}
	}
	return best
}

// words makes a text fit for a search: in one line, lower-case, without brackets, and without the names
// of pages, which would mislead the original's browser.
func words(text string) string {
	text = strings.NewReplacer("[", " ", "]", " ", "search_results", " ", "item_page", " ", "item_sub_page", " ").Replace(pystr.Lower(text))
	return strings.Join(strings.Fields(text), " ")
}
