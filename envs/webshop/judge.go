package webshop

import (
	"cmp"
	"fmt"

	"github.com/hindsightrl/harness"
	"github.com/hindsightrl/harness/envs/webshop/catalog"
	"github.com/hindsightrl/harness/envs/webshop/internal/py"
	"github.com/hindsightrl/harness/envs/webshop/reward"
	"github.com/hindsightrl/harness/envs/webshop/shop"
)

// Locate finds a task's world, the seed that it was drawn with, and the index of the task's goal there,
// for backends that show the shop by other means.
func (s *Suite) Locate(task harness.Task) (w *catalog.World, seed int64, index int, err error) {
	w, index, err = s.find(task)
	return w, cmp.Or(task.Seed, s.cfg.Seed), index, err
}

// Mode is how pages are observed.
func (s *Suite) Mode() shop.Mode { return s.cfg.Mode }

// Judge is the end of a task with a purchase, without the observation: reward, score and their parts
// are those of Env.
func (s *Suite) Judge(task harness.Task, asin string, options py.Dict) (harness.Transition, error) {
	w, index, err := s.find(task)
	if err != nil {
		return harness.Transition{}, err
	}
	i := s.shop.Catalog.Index(asin)
	if i < 0 {
		return harness.Transition{}, fmt.Errorf("judge a purchase in %s: no product %q", task.Key(), asin)
	}
	details, err := s.shop.Details(i)
	if err != nil {
		return harness.Transition{}, err
	}
	goal, bought := w.At(index), &s.shop.Products[i]
	buy := reward.Purchase{Product: bought, Details: details, Price: w.Prices[i], Options: shop.Values(options)}
	r, err := reward.Score(s.shop.Nouns, buy, &goal, &s.shop.Products[goal.Product])
	if err != nil {
		return harness.Transition{}, err
	}
	return harness.Transition{
		Reward: s.pay(r.Total), Score: r.Total, Won: r.Total == 1, Done: true,
		Privileged: explainPurchase(&goal, bought, options, buy.Price, &r),
	}, nil
}

// explainPurchase prints the reward's parts as JSON: what was bought, what was asked for, and how each
// part was judged.
func explainPurchase(g *catalog.Goal, bought *catalog.Product, options py.Dict, price float64, r *reward.Result) string {
	d := py.Dict{
		{Key: "score", Value: r.Total},
		{Key: "bought", Value: bought.ASIN},
		{Key: "bought_options", Value: options},
		{Key: "price", Value: price},
		{Key: "target", Value: g.ASIN},
		{Key: "target_options", Value: g.OptionValue()},
		{Key: "target_attributes", Value: py.Strings(g.Attributes)},
		{Key: "price_upper", Value: g.Limit()},
	}
	return py.JSON(append(d, r.Info()...))
}
