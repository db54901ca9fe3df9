package serlverify

import (
	"fmt"
	"slices"

	"github.com/hindsightrl/harness"
	"github.com/hindsightrl/harness/agent"
	"github.com/hindsightrl/harness/teacher"
)

// spanCase is one case of action_spans.json: half-open spans in code points.
type spanCase struct {
	Text  string   `json:"text"`
	Spans [][2]int `json:"spans_codepoints"`
}

func checkSpans(raw []byte, _ *teacher.Templates) (string, error) {
	var v spanCase
	if err := decode(raw, &v); err != nil {
		return "", err
	}
	want := make([]harness.Span, len(v.Spans))
	for i, s := range v.Spans {
		want[i] = harness.Span{Start: s[0], End: s[1]}
	}
	if got := agent.CompatSpans(v.Text); !slices.Equal(got, want) {
		return fmt.Sprintf("spans of %q: got %v, want %v", clip(v.Text), got, want), nil
	}
	return "", nil
}

// projection is what the original takes from a response.
type projection struct {
	Action string `json:"action"`
	Valid  truth  `json:"valid"`
}

// projectionCase is one case of projections.json.
type projectionCase struct {
	Text     string     `json:"text"`
	ALFWorld projection `json:"alfworld"`
	WebShop  projection `json:"webshop"`
}

func checkProjections(raw []byte, _ *teacher.Templates) (string, error) {
	var v projectionCase
	if err := decode(raw, &v); err != nil {
		return "", err
	}
	for _, c := range []struct {
		env     string
		project agent.Projection
		want    projection
	}{{"alfworld", agent.ProjectALFWorld, v.ALFWorld}, {"webshop", agent.ProjectWebShop, v.WebShop}} {
		action, valid := c.project(v.Text)
		if action != c.want.Action || valid != bool(c.want.Valid) {
			return fmt.Sprintf("%s: %q gives action %q, valid %v, want %q, %v", c.env, clip(v.Text), action, valid, c.want.Action, bool(c.want.Valid)), nil
		}
	}
	return "", nil
}
