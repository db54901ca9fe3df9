package credit

import (
	"flag"
	"fmt"
	"math"
	"os"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "rewrite the worked example of docs/credit.md")

// workedBatch is the example of docs/credit.md: one group of three trajectories in one room. A and C
// solve the task, B does not.
func workedBatch() *Batch {
	return &Batch{
		Group:      []int{0, 0, 0, 0, 0, 0, 0},
		Trajectory: []int{0, 0, 0, 1, 1, 2, 2},
		Step:       []int{0, 1, 2, 0, 1, 0, 1},
		Anchor:     []string{"hall", "desk", "lamp", "hall", "desk", "hall", "desk"},
		Reward:     []float64{0, 0, 10, 0, 0, 0, 10},
		Return:     []float64{10, 10, 10, 0, 0, 10, 10},
		Tokens:     []int{40, 60, 50, 30, 20, 40, 60},
		Valid:      []bool{true, true, true, true, false, true, true},
	}
}

func workedResponses() ResponseRows {
	r := ResponseRows{Group: make([]int, 7), Trajectory: workedBatch().Trajectory}
	for _, h := range []float64{0.8, 0.6, 0.2, 1.2, 1.0, 0.7, 0.5} {
		r.Entropy = append(r.Entropy, Exact(h))
	}
	return r
}

// workedRows are two responses of five tokens; the middle three are the action.
func workedRows() []Row[float32] {
	row := func(advantage, entropy float64, teacher ...float32) Row[float32] {
		return Row[float32]{
			Advantage: advantage, Entropy: Exact(entropy), Context: true, Action: []Span{{1, 4}},
			Student: []float32{-1, -1, -1, -1, -1}, Teacher: teacher, Out: make([]float32, 5),
		}
	}
	return []Row[float32]{row(0.5, 0.5, -1, -0.9, -1.1, -0.2, -0.95), row(-0.5, 1, -1, -0.9, -1.1, -0.2, -0.95)}
}

func cells(name string, xs []float64) string {
	var b strings.Builder
	fmt.Fprintf(&b, "| %s |", name)
	for _, x := range xs {
		if math.Abs(x) < 5e-5 {
			x = 0 // no "-0.0000"
		}
		fmt.Fprintf(&b, " %.4f |", x)
	}
	return b.String()
}

// workedExample renders the tables of docs/credit.md from the package's own results.
func workedExample(t *testing.T) string {
	t.Helper()
	lines := []string{"| row | 0 | 1 | 2 | 3 | 4 | 5 | 6 |", "|---|---|---|---|---|---|---|---|"}
	add := func(name string, c EstimatorConfig) {
		lines = append(lines, cells(name, mustEstimate(t, workedBatch(), c).Values))
	}
	for _, name := range Estimators() {
		add(string(name), DefaultEstimator(name))
	}
	c := DefaultEstimator(GRPO)
	c.Scope = ScopeTrajectories
	add("grpo over trajectories", c)
	c = DefaultEstimator(GRPO)
	c.InvalidPenalty = 0.1
	add("grpo, penalty 0.1", c)
	c = DefaultEstimator(GiGPO)
	c.Norm = NormMeanStd
	add("gigpo, mean_std", c)
	c.Norm, c.AdvClip = NormMean, 2
	add("gigpo, Adv-Clip 2", c)
	c = DefaultEstimator(HGPO)
	c.BaseGroup = true
	add("hgpo, base group", c)
	lines = append(lines, cells("AEM α", mustAEM(t, workedResponses(), DefaultAEM()).Factor))
	reverse := DefaultAEM()
	reverse.Reverse = true
	lines = append(lines, cells("AEM α, reverse", mustAEM(t, workedResponses(), reverse).Factor))
	ear, err := EAR(workedResponses(), DefaultEAR())
	if err != nil {
		t.Fatal(err)
	}
	lines = append(lines, cells("EAR γ", ear.Factor), "", "| token | 0 | 1 | 2 | 3 | 4 |", "|---|---|---|---|---|---|")
	return strings.Join(append(lines, workedTokens(t)...), "\n") + "\n"
}

func workedTokens(t *testing.T) []string {
	t.Helper()
	var lines []string
	for _, c := range []struct {
		name     string
		response ResponseStage
		token    TokenStage
		update   int
	}{
		{"serl, update 0", ResponseNone, TokenSERL, 0},
		{"serl, update 40", ResponseNone, TokenSERL, 40},
		{"rlsd, update 0", ResponseNone, TokenRLSD, 0},
		{"aem + serl, update 0", ResponseAEM, TokenSERL, 0},
	} {
		rows, cfg := workedRows(), DefaultFusion()
		cfg.Response, cfg.Token, cfg.Update = c.response, c.token, c.update
		if _, err := Fuse(rows, cfg); err != nil {
			t.Fatal(err)
		}
		for _, r := range rows {
			xs := make([]float64, len(r.Out))
			for j, x := range r.Out {
				xs[j] = float64(x)
			}
			lines = append(lines, cells(fmt.Sprintf("%s, A = %v", c.name, r.Advantage), xs))
		}
	}
	return lines
}

const (
	workedFile  = "../docs/credit.md"
	workedBegin = "<!-- worked example: computed by credit/worked_test.go -->\n"
	workedEnd   = "<!-- end of the worked example -->\n"
)

// TestWorkedExample: the numbers in the documentation are the numbers that the code computes.
func TestWorkedExample(t *testing.T) {
	data, err := os.ReadFile(workedFile)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(data), workedBegin)
	got, after, ok2 := strings.Cut(rest, workedEnd)
	if !ok || !ok2 {
		t.Fatalf("%s has no worked example", workedFile)
	}
	want := workedExample(t)
	if *update {
		if err := os.WriteFile(workedFile, []byte(before+workedBegin+want+workedEnd+after), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if got != want {
		t.Errorf("docs/credit.md says\n%s\nthe code says\n%s\n(go test ./credit -run WorkedExample -update rewrites it)", got, want)
	}
}

// TestWorkedExampleByHand computes a few of those numbers on paper.
func TestWorkedExampleByHand(t *testing.T) {
	t.Parallel()
	b := workedBatch()
	// Returns 10 ×5 and 0 ×2: mean 50/7; over trajectories 10, 0, 10: mean 20/3.
	sameFloats(t, "dr_grpo", mustEstimate(t, b, DefaultEstimator(DrGRPO)).Values[2:4], []float64{20.0 / 7, -50.0 / 7}, 1e-12)
	c := DefaultEstimator(DrGRPO)
	c.Scope = ScopeTrajectories
	sameFloats(t, "over trajectories", mustEstimate(t, b, c).Values[2:4], []float64{10.0 / 3, -20.0 / 3}, 1e-12)
	// At the desk: discounted returns 9.5 (A), 0 (B), 10 (C), mean 6.5.
	g := mustEstimate(t, b, DefaultEstimator(GiGPO)).Values
	sameFloats(t, "gigpo", []float64{g[1], g[4], g[6]}, []float64{20.0/7 + 3, -50.0/7 - 6.5, 20.0/7 + 3.5}, 1e-12)
	if g[2] != mustEstimate(t, b, DefaultEstimator(DrGRPO)).Values[2] {
		t.Errorf("the lamp was seen once: its anchor part must be 0, got %v", g[2])
	}
}
