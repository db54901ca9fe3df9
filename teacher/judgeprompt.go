package teacher

import (
	"github.com/hindsightrl/harness"
)

// judgePrompts writes, for each episode of a group, what a judge is asked about it; an episode without
// steps has none.
func judgePrompts(episodes []harness.GroupEpisode, cfg Config, t *Templates, withFeedback bool) [][]harness.Message {
	w := newWording(t)
	x := newIndex(rowsOf(0, episodes, ""), cfg, w)
	byID := make(map[string]*trajectory)
	for _, trajectories := range x.groups {
		for _, t := range trajectories {
			byID[t.id] = t
		}
	}
	about := make([]*aboutTrajectory, len(episodes))
	for i := range episodes {
		if t := byID[episodeID(&episodes[i])]; t != nil {
			about[i] = x.about(t, &episodes[i], withFeedback)
		}
	}
	out := make([][]harness.Message, len(episodes))
	for i, a := range about {
		if a == nil {
			continue
		}
		var reference *aboutTrajectory
		if cfg.Mode == JudgeTrajectoryOnSuccess {
			reference = successFor(about, episodes, i)
		}
		out[i] = []harness.Message{{Role: "system", Content: w.plain("judge_system")}, {Role: "user", Content: w.judgePrompt(a, reference)}}
	}
	return out
}

// aboutTrajectory is what a judge reads of one trajectory.
type aboutTrajectory struct{ task, text, outcome string }

func (x *index) about(t *trajectory, e *harness.GroupEpisode, withFeedback bool) *aboutTrajectory {
	text, _ := x.demonstration(t, cut{})
	a := &aboutTrajectory{task: t.rows[0].prompt, text: strip(text)}
	solved := "judge_not_solved"
	if e.Outcome.Won {
		solved = "judge_solved"
	}
	a.outcome = x.words.fill("judge_outcome", field{"solved", x.words.plain(solved)}, field{"reward", e.Outcome.Reward}, field{"steps", e.Outcome.Steps})
	if s := lastText(t, func(r *record) string { return r.next }); s != "" {
		a.outcome += "\n" + x.words.fill("judge_outcome_observation", field{"observation", s})
	}
	if s := lastText(t, func(r *record) string { return r.feedback }); withFeedback && s != "" {
		a.outcome += "\n" + x.words.fill("judge_outcome_feedback", field{"feedback", s})
	}
	return a
}

// lastText is the last text of a trajectory that says something.
func lastText(t *trajectory, of func(*record) string) string {
	for i := len(t.rows) - 1; i >= 0; i-- {
		if s := of(t.rows[i]); s != "" {
			return s
		}
	}
	return ""
}

// successFor is the successful attempt that a judge compares attempt i with: the first other one, or
// itself, or nil.
func successFor(about []*aboutTrajectory, episodes []harness.GroupEpisode, i int) *aboutTrajectory {
	for k, a := range about {
		if k != i && a != nil && episodes[k].Outcome.Won {
			return a
		}
	}
	if episodes[i].Outcome.Won {
		return about[i]
	}
	return nil
}

func (w *wording) judgePrompt(a, reference *aboutTrajectory) string {
	fields := []field{{"task", a.task}, {"trajectory", a.text}, {"outcome", a.outcome}}
	if reference == nil {
		return w.fill("judge_prompt", fields...)
	}
	block := w.fill("judge_reference", field{"trajectory", reference.text}, field{"outcome", reference.outcome})
	return w.fill("judge_prompt_on_success", append(fields, field{"reference", block})...)
}
