package creditverify

import (
	"fmt"
	"math"

	"github.com/hindsightrl/harness/credit"
)

// anchorCase is one case of gigpo_hgpo.json: one value per row, float32.
type anchorCase struct {
	Group      []string  `json:"group"`
	Trajectory []string  `json:"trajectory"`
	Step       []int     `json:"step"`
	Anchor     []string  `json:"anchor"`
	StepReward []float64 `json:"step_reward"`
	Return     []float64 `json:"episode_reward"`
	Gamma      float64   `json:"gamma"`
	Returns    []float64 `json:"discounted_returns"`
	Mean       []float64 `json:"gigpo_mean_norm"`
	MeanStd    []float64 `json:"gigpo_mean_std_norm"`
	HGPO1      []float64 `json:"hgpo_default_K1"`
	HGPO2      []float64 `json:"hgpo_default_K2"`
}

func checkAnchors(raw []byte, c *comparer) error {
	var v anchorCase
	if err := decode(raw, &v); err != nil {
		return err
	}
	if err := sameLength(len(v.Group), map[string]int{
		"step": len(v.Step), "discounted_returns": len(v.Returns), "gigpo_mean_norm": len(v.Mean), "gigpo_mean_std_norm": len(v.MeanStd),
		"hgpo_default_K1": len(v.HGPO1), "hgpo_default_K2": len(v.HGPO2),
	}); err != nil {
		return err
	}
	b := &credit.Batch{
		Group: credit.IDs(v.Group), Trajectory: credit.IDs(v.Trajectory), Step: v.Step, Anchor: v.Anchor,
		Reward: v.StepReward, Return: v.Return,
	}
	returns, err := credit.StepReturns(b, v.Gamma)
	if err != nil {
		return err
	}
	sizes, err := sizesOf(b, v.Gamma)
	if err != nil {
		return err
	}
	for i, want := range v.Returns {
		c.close32("discounted return", i, returns[i], want, sizes[i])
	}
	for _, norm := range []credit.Norm{credit.NormMean, credit.NormMeanStd} {
		if err := v.checkGiGPO(b, returns, sizes, norm, c); err != nil {
			return err
		}
	}
	for history, want := range map[int][]float64{1: v.HGPO1, 2: v.HGPO2} {
		if err := v.checkHGPO(b, returns, sizes, history, want, c); err != nil {
			return err
		}
	}
	return nil
}

// sizesOf are the discounted sums of what rewards are in size: a return near zero may be the sum of large
// rewards of both signs, whose rounding it carries.
func sizesOf(b *credit.Batch, gamma float64) ([]float64, error) {
	c := *b
	c.Reward = make([]float64, len(b.Reward))
	for i, r := range b.Reward {
		c.Reward[i] = math.Abs(r)
	}
	return credit.StepReturns(&c, gamma)
}

func (v *anchorCase) checkGiGPO(b *credit.Batch, returns, sizes []float64, norm credit.Norm, c *comparer) error {
	cfg := credit.DefaultEstimator(credit.GiGPO)
	cfg.Gamma, cfg.Norm = v.Gamma, norm
	got, err := credit.Estimate(b, cfg)
	if err != nil {
		return err
	}
	anchors, err := credit.AnchorGroups(b, 0)
	if err != nil {
		return err
	}
	std := norm == credit.NormMeanStd
	episode, step := operands(b.Return, b.Return, b.Group, everyRow, std, false), operands(returns, sizes, anchors, everyRow, std, false)
	want := v.Mean
	if std {
		want = v.MeanStd
	}
	for i := range want {
		c.close32("GiGPO "+string(norm), i, got.Values[i], want[i], episode[i]+step[i])
	}
	return nil
}

// checkHGPO sizes the operands by the anchor groups and by the two longer contexts: a row's advantage
// is a mean over all of them.
func (v *anchorCase) checkHGPO(b *credit.Batch, returns, sizes []float64, history int, want []float64, c *comparer) error {
	cfg := credit.DefaultEstimator(credit.HGPO)
	cfg.Gamma, cfg.History = v.Gamma, history
	got, err := credit.Estimate(b, cfg)
	if err != nil {
		return err
	}
	floor := make([]float64, len(want))
	for k := 0; k <= history; k++ {
		for i, x := range operands(returns, sizes, contexts(b, k), everyRow, true, true) {
			floor[i] = math.Max(floor[i], x)
		}
	}
	for i := range want {
		c.close32(fmt.Sprintf("HGPO K=%d", history), i, got.Values[i], want[i], floor[i])
	}
	return nil
}

// contexts numbers rows by group and their last k+1 observations; a row with less history stands alone.
func contexts(b *credit.Batch, k int) []int {
	at := make(map[[2]int]int)
	for i := range b.Group {
		at[[2]int{b.Trajectory[i], b.Step[i]}] = i
	}
	names := make([]string, len(b.Group))
	for i := range names {
		names[i] = fmt.Sprintf("group %d", b.Group[i])
		for s := 0; s <= k; s++ {
			j, ok := at[[2]int{b.Trajectory[i], b.Step[i] - s}]
			if !ok {
				names[i] = fmt.Sprintf("row %d", i)
				break
			}
			names[i] += fmt.Sprintf("\x00%q", b.Anchor[j])
		}
	}
	return credit.IDs(names)
}
