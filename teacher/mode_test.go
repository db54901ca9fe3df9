package teacher

import (
	"slices"
	"strings"
	"testing"

	"github.com/hindsightrl/harness/internal/errext"
)

func TestModesAndTheirNumbers(t *testing.T) {
	t.Parallel()
	if n := len(Unjudged()); n != 18 {
		t.Errorf("%d unjudged modes, want 18", n)
	}
	if n := len(Modes()); n != 22 {
		t.Errorf("%d modes, want 20 of the reference and 2 privileged", n)
	}
	for _, m := range Modes() {
		if got, err := ParseMode(" " + strings.ToUpper(string(m)) + "\n"); err != nil || got != m {
			t.Errorf("%s: parsed as %q, %v", m, got, err)
		}
		if m.Anchor() != strings.HasPrefix(string(m), "anchor_") || m.Judged() != strings.HasPrefix(string(m), "judge_") ||
			m.Privileged() != strings.HasSuffix(string(m), "privileged") {
			t.Errorf("%s: anchor %v, judged %v, privileged %v", m, m.Anchor(), m.Judged(), m.Privileged())
		}
		if want := m.Anchor() || strings.Contains(string(m), "successful"); m.WholeGroup() != want {
			t.Errorf("%s: whole group %v", m, m.WholeGroup())
		}
	}
}

// Spellings taken from configurations of the reference.
func TestAliases(t *testing.T) {
	t.Parallel()
	for alias, want := range map[string]Mode{
		"env_feedback":                                                      ImmediateFeedback,
		"environment_feedback":                                              ImmediateFeedback,
		"Success_Or_Env_Feedback":                                           SuccessOrFeedback,
		"successful_sample_or_feedback":                                     SuccessOrFeedback,
		"successful_trajectory_or_env_feedback":                             SuccessOrFeedback,
		"successful_trajectory_future_trajectory_env_feedback":              SuccessFutureFeedback,
		"successful_trajectory_next_observation":                            SuccessNextObservation,
		"anchor_new_env_feedback":                                           AnchorImmediateFeedback,
		"anchor_envfeedback":                                                AnchorImmediateFeedback,
		"anchor_anchor_success_or_env_feedback":                             anchorPrefix + SuccessOrFeedback,
		"anchor_success_or_immediate_feedback":                              anchorPrefix + SuccessOrFeedback,
		"anchor_successful_trajectory_future_trajectory_immediate_feedback": anchorPrefix + SuccessFutureFeedback,
	} {
		if got, err := ParseMode(alias); err != nil || got != want {
			t.Errorf("%s: %q, %v", alias, got, err)
		}
	}
	for alias, m := range Aliases() {
		if _, clash := modeTable[Mode(alias)]; clash {
			t.Errorf("%s is a mode and an alias of %s", alias, m)
		}
	}
}

func TestParseModes(t *testing.T) {
	t.Parallel()
	for list, want := range map[string]int{"all": 18, "step": 9, "anchor": 9, "judged": 2, "step,anchor,all": 18, " env_feedback , immediate_feedback,": 1, "privileged,step": 10} {
		if got, err := ParseModes(list); err != nil || len(got) != want {
			t.Errorf("%s: %d modes, %v, want %d", list, len(got), err, want)
		}
	}
	if got, err := ParseModes("next_observation,all"); err != nil || !slices.Equal(got[:2], []Mode{NextObservation, ImmediateFeedback}) {
		t.Errorf("order: %v, %v", got, err)
	}
	for list, hint := range map[string]string{
		"": "name modes separated by commas, or all", "imediate_feedback": `did you mean "immediate_feedback"?`,
		"legacy": "the reference's legacy mode shows one step's response as if it were a trajectory; use successful_sample_or_immediate_feedback",
	} {
		if _, err := ParseModes(list); err == nil || errext.Hint(err) != hint {
			t.Errorf("%q: %v (hint %q)", list, err, errext.Hint(err))
		}
	}
}

func TestConfigIsChecked(t *testing.T) {
	t.Parallel()
	if err := DefaultConfig(ImmediateFeedback).Validate(); err != nil {
		t.Error(err)
	}
	for want, change := range map[string]func(*Config){
		`unknown teacher mode "x"`:                                func(c *Config) { c.Mode = "x" },
		`teacher mode "env_feedback" is an alias: parse it first`: func(c *Config) { c.Mode = "env_feedback" },
		`unknown trajectory format ""`:                            func(c *Config) { c.Format = "" },
		`trajectory format "actions" is an alias: parse it first`: func(c *Config) { c.Format = "actions" },
		"limits of -1 trajectory and 0 future steps: negative":    func(c *Config) { c.MaxTrajectorySteps = -1 },
		"similarity threshold 1 is outside (0, 1)":                func(c *Config) { c.Similarity, c.SimilarityThreshold = true, 1 },
		"success threshold NaN is not a number":                   func(c *Config) { c.SuccessThreshold = nan },
	} {
		c := DefaultConfig(ImmediateFeedback)
		change(&c)
		if _, err := Build(nil, c, DefaultTemplates()); err == nil || err.Error() != "build contexts: "+want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
	for name, want := range map[string]Format{" Action_Series ": FormatResponse, "observation-action": FormatObservationAction} {
		if got, err := ParseFormat(name); err != nil || got != want {
			t.Errorf("%q: %q, %v", name, got, err)
		}
	}
}
