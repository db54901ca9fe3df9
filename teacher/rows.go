package teacher

import (
	"strconv"
	"strings"

	"github.com/hindsightrl/harness"
)

// judgeSource begins the names of sources that judges write under: "judge/<mode>/<judge>/<prompt>".
const judgeSource = "judge/"

// rowsOf turns a group's episodes into rows, in order of sample and step.
func rowsOf(group int, episodes []harness.GroupEpisode, judge string) []Row {
	var rows []Row
	for i := range episodes {
		e := &episodes[i]
		judged := judgedText(e, JudgeTrajectory, judge)
		onSuccess := judgedText(e, JudgeTrajectoryOnSuccess, judge)
		for k := range e.Steps {
			s := &e.Steps[k]
			rows = append(rows, Row{
				Group: strconv.Itoa(group), Episode: episodeID(e), Step: s.Index, Prompt: s.Prompt, Anchor: &s.Anchor,
				Response: s.Response, Feedback: s.Feedback, Next: promptText(s.NextPrompt), Privileged: s.Privileged,
				Reward: s.Reward, Return: &e.Outcome.Reward, Success: &e.Outcome.Won, Valid: s.Valid,
				Judged: judged, JudgedOnSuccess: onSuccess, JudgeHadSuccess: hasSuccess(episodes),
			})
		}
	}
	return rows
}

func episodeID(e *harness.GroupEpisode) string { return strconv.FormatInt(e.ID, 10) }

// judgedText is the latest text that a judge wrote about an episode in a mode; without a source, that
// any judge wrote. "" where there is none.
func judgedText(e *harness.GroupEpisode, mode Mode, source string) string {
	text, prefix := "", judgeSource+string(mode)+"/"
	if source != "" {
		prefix += source + "/"
	}
	for _, t := range e.Texts {
		if strings.HasPrefix(t.Source, prefix) {
			text = t.Text
		}
	}
	return text
}

// hasSuccess reports whether a judge of these episodes had a successful one to compare with: another
// one, or the judged one itself.
func hasSuccess(episodes []harness.GroupEpisode) bool {
	for i := range episodes {
		if episodes[i].Outcome.Won {
			return true
		}
	}
	return false
}
