package credit_test

import (
	"fmt"

	"github.com/hindsightrl/harness/credit"
)

// Two attempts at one task, one step each. The first succeeded. The teacher, who has seen the
// outcome, finds the first attempt's action a little more likely than the student did, and the second
// attempt's much less.
func Example() {
	batch := &credit.Batch{
		Group:      []int{0, 0},
		Trajectory: []int{0, 1},
		Return:     []float64{1, 0},
	}
	cfg := credit.DefaultEstimator(credit.DrGRPO)
	base, err := credit.Estimate(batch, cfg)
	if err != nil {
		fmt.Println(err)
		return
	}
	rows := []credit.Row[float32]{
		{
			Advantage: base.Values[0], Entropy: credit.Exact(0.4), Context: true, Action: []credit.Span{{Start: 1, End: 3}},
			Student: []float32{-1, -1, -1, -1}, Teacher: []float32{-1, -0.9, -1, -1}, Out: make([]float32, 4),
		},
		{
			Advantage: base.Values[1], Entropy: credit.Exact(0.9), Context: true, Action: []credit.Span{{Start: 0, End: 2}},
			Student: []float32{-1, -1, -1}, Teacher: []float32{-4, -1, -1}, Out: make([]float32, 3),
		},
	}
	fusion := credit.DefaultFusion()
	fusion.Response = credit.ResponseAEM
	res, err := credit.Fuse(rows, fusion)
	if err != nil {
		fmt.Println(err)
		return
	}
	for i := range rows {
		fmt.Printf("base %+.3f, α %.3f, tokens %+.3f\n", rows[i].Advantage, res.Factor[i], rows[i].Out)
	}
	for _, s := range res.Stages {
		fmt.Printf("%s: %d rows, mean %.3f\n", s.Name, s.Rows, s.Stats.Mean)
	}
	fmt.Println("signs broken:", res.SignBroken)
	// Output:
	// base +0.500, α 1.462, tokens [+0.731 +0.770 +0.731 +0.731]
	// base -0.500, α 0.538, tokens [-0.296 -0.269 -0.269]
	// advantage: 2 rows, mean 0.000
	// aem: 2 rows, mean 1.000
	// serl: 2 rows, mean 1.076
	// tokens: 2 rows, mean 0.304
	// signs broken: 0
}

func ExampleDynamicSampling() {
	batch := &credit.Batch{
		Group:      []int{0, 0, 1, 1},
		Trajectory: []int{0, 1, 2, 3},
		Return:     []float64{10, 10, 10, 0},
	}
	verdicts, err := credit.DynamicSampling(batch, true)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, v := range verdicts {
		fmt.Println(v)
	}
	// Output:
	// group 0 dropped: all 2 trajectories returned 10
	// group 1 kept: 2 trajectories returned 0 to 10
}
