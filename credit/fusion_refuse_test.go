package credit

import (
	"errors"
	"math"
	"strings"
	"testing"
)

func TestFuseRefuses(t *testing.T) {
	t.Parallel()
	good := func() Row[float64] {
		return Row[float64]{
			Advantage: 1, Context: true, Out: make([]float64, 3), Student: make([]float64, 3), Teacher: make([]float64, 3),
			Action: []Span{{0, 1}, {2, 3}},
		}
	}
	inf := math.Inf(1)
	for _, c := range []struct {
		name   string
		change func(*Row[float64], *FusionConfig)
		kind   error
		want   string
	}{
		{"advantage", func(r *Row[float64], _ *FusionConfig) { r.Advantage = math.NaN() }, ErrNotFinite, "row 1: advantage is NaN"},
		{"student", func(r *Row[float64], _ *FusionConfig) { r.Student[2] = -inf }, ErrNotFinite, "row 1: token 2: student logp is -Inf"},
		{"teacher", func(r *Row[float64], _ *FusionConfig) { r.Teacher[0] = math.NaN() }, ErrNotFinite, "row 1: token 0: student logp is 0, teacher logp is NaN"},
		{"both infinite", func(r *Row[float64], _ *FusionConfig) { r.Teacher[0], r.Student[0] = -inf, -inf }, ErrNotFinite, "row 1: token 0"},
		{"masked", func(r *Row[float64], _ *FusionConfig) {
			r.ActionMask, r.Teacher[1] = []bool{false, true, false}, inf
		}, ErrNotFinite, "row 1: token 1"},
		{"rlsd", func(r *Row[float64], c *FusionConfig) { r.Teacher[1], c.Token = inf, TokenRLSD }, ErrNotFinite, "row 1: token 1"},
		{"plain way", func(r *Row[float64], _ *FusionConfig) { r.Response, r.Teacher[0] = []bool{true, true, true}, inf }, ErrNotFinite, "row 1: token 0"},
		{"per token", func(r *Row[float64], _ *FusionConfig) { r.PerToken = []float64{1, inf, 1} }, ErrNotFinite, "row 1: token 1: advantage is +Inf"},
		{"sum", func(r *Row[float64], _ *FusionConfig) {
			r.Teacher = []float64{math.MaxFloat64, 0, math.MaxFloat64}
		}, ErrNotFinite, "row 1: log-probabilities are finite and the sum"},
		{"student length", func(r *Row[float64], _ *FusionConfig) { r.Student = r.Student[:2] }, ErrLength, "row 1: student logp has 2 tokens, out has 3"},
		{"teacher length", func(r *Row[float64], _ *FusionConfig) { r.Teacher = nil }, ErrLength, "row 1: teacher logp has 0 tokens, out has 3"},
		{"mask length", func(r *Row[float64], _ *FusionConfig) { r.ActionMask = make([]bool, 4) }, ErrLength, "row 1: action mask has 4 tokens, out has 3"},
		{"response length", func(r *Row[float64], _ *FusionConfig) { r.Response = []bool{true} }, ErrLength, "row 1: response mask has 1 tokens, out has 3"},
		{"per-token length", func(r *Row[float64], _ *FusionConfig) { r.PerToken = make([]float64, 1) }, ErrLength, "row 1: per-token advantages have 1 tokens, out has 3"},
		{"span past the end", func(r *Row[float64], _ *FusionConfig) { r.Action = []Span{{1, 4}} }, ErrLength, "row 1: action span [1, 4)"},
		{"spans overlap", func(r *Row[float64], _ *FusionConfig) { r.Action = []Span{{0, 2}, {1, 3}} }, ErrLength, "action span [1, 3) after 2"},
		{"entropy", func(r *Row[float64], c *FusionConfig) { r.Entropy, c.Response = Exact(inf), ResponseAEM }, ErrNotFinite, "row 1: entropy is +Inf"},
		{"response stage", func(_ *Row[float64], c *FusionConfig) { c.Response = "x" }, ErrConfig, `response stage "x"`},
		{"token stage", func(_ *Row[float64], c *FusionConfig) { c.Token = "sdpo" }, ErrConfig, `token stage "sdpo"`},
		{"update", func(_ *Row[float64], c *FusionConfig) { c.Update = -1 }, ErrConfig, "update is -1"},
		{"adv clip", func(_ *Row[float64], c *FusionConfig) { c.AdvClip = inf }, ErrConfig, "adv_clip is +Inf"},
		{"aem", func(_ *Row[float64], c *FusionConfig) { c.Response, c.AEM.Lambda = ResponseAEM, -1 }, ErrConfig, "aem.lambda"},
		{"ear", func(_ *Row[float64], c *FusionConfig) { c.Response, c.EAR.Clip = ResponseEAR, 1 }, ErrConfig, "ear.clip"},
		{"lambda", func(_ *Row[float64], c *FusionConfig) { c.SERL.Lambda = 1.5 }, ErrConfig, "serl.lambda is 1.5"},
		{"clip", func(_ *Row[float64], c *FusionConfig) { c.SERL.Clip = -0.1 }, ErrConfig, "serl.clip is -0.1"},
		{"decay", func(_ *Row[float64], c *FusionConfig) { c.SERL.DecaySteps = -1 }, ErrConfig, "serl.decay_steps"},
		{"sync", func(_ *Row[float64], c *FusionConfig) { c.SERL.SyncEvery = -1 }, ErrConfig, "serl.sync_every"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			rows, cfg := []Row[float64]{good(), good()}, DefaultFusion()
			c.change(&rows[1], &cfg)
			_, err := Fuse(rows, cfg)
			if !errors.Is(err, c.kind) || !strings.HasPrefix(err.Error(), "fuse: ") || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want %q in it", err, c.want)
			}
		})
	}
	// What is not weighed is not read.
	row := good()
	row.Student[1], row.Teacher[1] = math.NaN(), inf
	if _, err := Fuse([]Row[float64]{row}, DefaultFusion()); err != nil {
		t.Errorf("a token outside the spans was read: %v", err)
	}
}
