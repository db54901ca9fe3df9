package teacher

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hindsightrl/harness/internal/errext"
	"github.com/hindsightrl/harness/internal/pystr"
	"github.com/hindsightrl/harness/internal/templatefile"
)

// Mode names a combination of feedback sources and their placement.
type Mode string

// The modes. Those of a combination need all of their sources; ...Or... takes the first that is there.
// Anchor modes show the feedback of all steps of the group that share the anchor observation, and need
// no successful trajectory even where they name one.
const (
	ImmediateFeedback            = Mode("immediate_feedback")
	NextObservation              = Mode("next_observation")
	FutureTrajectory             = Mode("future_trajectory")
	SuccessOrFeedback            = Mode("successful_sample_or_immediate_feedback")
	SuccessFeedback              = Mode("successful_sample_immediate_feedback")
	SuccessNextObservation       = Mode("successful_sample_next_observation")
	SuccessFuture                = Mode("successful_sample_future_trajectory")
	SuccessFutureFeedback        = Mode("successful_sample_future_trajectory_immediate_feedback")
	SuccessFutureNextObservation = Mode("successful_sample_future_trajectory_next_observation")
	JudgeTrajectory              = Mode("judge_current_traj")
	JudgeTrajectoryOnSuccess     = Mode("judge_current_traj_on_successful_sample")
	Privileged                   = Mode("privileged")
	AnchorImmediateFeedback      = anchorPrefix + ImmediateFeedback
	AnchorPrivileged             = anchorPrefix + Privileged
)

// The parts of names that aliases replace.
const (
	anchorPrefix                = "anchor_"
	wordSuccess, otherSuccess   = "successful_sample", "successful_trajectory"
	wordFeedback, otherFeedback = "immediate_feedback", "env_feedback"
)

// sources says what a mode is made of.
type sources struct {
	anchor                                             bool
	feedback, next, future, success, privileged, judge bool
	either                                             bool // the successful trajectory, or else the feedback
	onSuccess                                          bool // the judge saw a successful trajectory
}

// stepModes are the modes that exist in both placements, in the reference's order.
var stepModes = []struct {
	mode Mode
	sources
}{
	{ImmediateFeedback, sources{feedback: true}},
	{NextObservation, sources{next: true}},
	{FutureTrajectory, sources{future: true}},
	{SuccessOrFeedback, sources{success: true, feedback: true, either: true}},
	{SuccessFeedback, sources{success: true, feedback: true}},
	{SuccessNextObservation, sources{success: true, next: true}},
	{SuccessFuture, sources{success: true, future: true}},
	{SuccessFutureFeedback, sources{success: true, future: true, feedback: true}},
	{SuccessFutureNextObservation, sources{success: true, future: true, next: true}},
	{Privileged, sources{privileged: true}},
}

var modeTable = func() map[Mode]sources {
	t := map[Mode]sources{
		JudgeTrajectory:          {judge: true},
		JudgeTrajectoryOnSuccess: {judge: true, onSuccess: true},
	}
	for _, m := range stepModes {
		t[m.mode] = m.sources
		at := m.sources
		at.anchor = true
		t[anchorPrefix+m.mode] = at
	}
	return t
}()

// Judged reports whether the mode's context is a judge's text.
func (m Mode) Judged() bool { return modeTable[m].judge }

// Privileged reports whether the mode shows what an agent could never learn from its observations: such a
// teacher is an oracle, and results with it are not comparable with the others'.
func (m Mode) Privileged() bool { return modeTable[m].privileged }

// Anchor reports whether the mode's placement is the anchor group.
func (m Mode) Anchor() bool { return modeTable[m].anchor }

// Source is the mode's name without its placement: what the teacher is shown, wherever it is shown.
func (m Mode) Source() Mode { return Mode(strings.TrimPrefix(string(m), anchorPrefix)) }

// NeedsSuccess reports whether the mode's contexts at the step need another, successful episode of the group.
func (m Mode) NeedsSuccess() bool { s := modeTable[m]; return s.success && !s.either && !s.anchor }

// WholeGroup reports whether a row's context depends on other episodes of its group.
func (m Mode) WholeGroup() bool { s := modeTable[m]; return s.anchor || s.success || s.onSuccess }

// Unjudged lists the reference's eighteen modes that need no judge: nine step modes, then nine anchor modes.
func Unjudged() []Mode {
	var out []Mode
	for _, prefix := range []Mode{"", anchorPrefix} {
		for _, m := range stepModes {
			if !m.privileged {
				out = append(out, prefix+m.mode)
			}
		}
	}
	return out
}

// Modes lists every mode: the unjudged ones, the judged ones, and the privileged ones.
func Modes() []Mode {
	return append(Unjudged(), JudgeTrajectory, JudgeTrajectoryOnSuccess, Privileged, AnchorPrivileged)
}

// Aliases lists the other names that ParseMode takes, with the mode that each stands for. They are the
// reference's: env for immediate, successful_trajectory for successful_sample, and some spellings of old
// configurations.
func Aliases() map[string]Mode {
	out := map[string]Mode{
		"environment_feedback":    ImmediateFeedback,
		"success_or_env_feedback": SuccessOrFeedback, "success_or_immediate_feedback": SuccessOrFeedback,
		"successful_sample_or_feedback": SuccessOrFeedback,
		"anchor_envfeedback":            AnchorImmediateFeedback, "anchor_new_envfeedback": AnchorImmediateFeedback,
		"anchor_new_env_feedback": AnchorImmediateFeedback,
	}
	for _, feedback := range []string{otherFeedback, wordFeedback} {
		out["anchor_success_or_"+feedback] = anchorPrefix + SuccessOrFeedback
		out["anchor_anchor_success_or_"+feedback] = anchorPrefix + SuccessOrFeedback
	}
	for _, m := range Unjudged() {
		name := string(m)
		long := strings.Replace(name, wordSuccess, otherSuccess, 1)
		for _, alias := range []string{
			long, strings.Replace(name, wordFeedback, otherFeedback, 1), strings.Replace(long, wordFeedback, otherFeedback, 1),
		} {
			if alias != name {
				out[alias] = m
			}
		}
	}
	return out
}

var aliases = Aliases()

// ParseMode reads a mode's name or alias, whatever its case.
func ParseMode(name string) (Mode, error) {
	m := Mode(pystr.Lower(pystr.Strip(name)))
	if full, ok := aliases[string(m)]; ok {
		return full, nil
	}
	if _, known := modeTable[m]; known {
		return m, nil
	}
	if m == "legacy" {
		return "", errext.WithHint(fmt.Errorf("unknown teacher mode %q", name),
			"the reference's legacy mode shows one step's response as if it were a trajectory; use "+string(SuccessOrFeedback))
	}
	var names []string
	for _, known := range Modes() {
		names = append(names, string(known))
	}
	return "", errext.WithHint(fmt.Errorf("unknown teacher mode %q", name), fmt.Sprintf("did you mean %q?", templatefile.Nearest(string(m), names)))
}

// The names of several modes at once that ParseModes takes.
var modeSets = map[string]func() []Mode{
	"all": Unjudged,
	"step": func() []Mode {
		return slices.DeleteFunc(Unjudged(), Mode.Anchor)
	},
	"anchor": func() []Mode {
		return slices.DeleteFunc(Unjudged(), func(m Mode) bool { return !m.Anchor() })
	},
	"judged": func() []Mode { return []Mode{JudgeTrajectory, JudgeTrajectoryOnSuccess} },
}

// ParseModes reads a list of modes separated by commas. "all" stands for the eighteen unjudged modes,
// "step" and "anchor" for their halves, "judged" for the two judged ones. Each mode comes once, in order of
// first mention.
func ParseModes(list string) ([]Mode, error) {
	var out []Mode
	for _, name := range strings.Split(list, ",") {
		if name = strings.TrimSpace(name); name == "" {
			continue
		}
		var add []Mode
		if set, ok := modeSets[strings.ToLower(name)]; ok {
			add = set()
		} else {
			m, err := ParseMode(name)
			if err != nil {
				return nil, err
			}
			add = []Mode{m}
		}
		for _, m := range add {
			if !slices.Contains(out, m) {
				out = append(out, m)
			}
		}
	}
	if len(out) == 0 {
		return nil, errext.WithHint(fmt.Errorf("no teacher mode named"), "name modes separated by commas, or all")
	}
	return out, nil
}
