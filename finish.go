package harness

import "context"

// Artifact is something that an attempt leaves besides the texts of its steps: a patch, a log, a report.
type Artifact struct {
	Name    string `json:"name"`    // like a file's: "patch.diff"
	Content string `json:"content"` // byte for byte; it need not be UTF-8
}

// Ending is what an environment adds once an episode is over. All but the artifacts joins the last step.
type Ending struct {
	Reward     float64 // beside what the steps gave
	Score      float64 // of the episode, in [0, 1]
	Won        bool    // the task is solved, whatever ended the episode
	Feedback   string
	Privileged string
	Artifacts  []Artifact
}

// Finisher is an Env that has something to do when an episode is over, also when a limit ended it and not
// the environment: to take what the agent has made so far, and to judge it.
type Finisher interface {
	Env
	// Finish is called once, after the last Step and before Close or another Reset. No Step follows. An
	// error means that the environment broke, as one of Step does.
	Finish(ctx context.Context) (Ending, error)
}

// Join adds what the end brings to the last step's transition: rewards add up, the ending's score and Won
// hold, and its texts come below the step's own. Artifacts stay in the ending.
func (e Ending) Join(tr Transition) Transition {
	tr.Reward += e.Reward
	tr.Score, tr.Won = e.Score, e.Won
	tr.Feedback, tr.Privileged = below(tr.Feedback, e.Feedback), below(tr.Privileged, e.Privileged)
	return tr
}

// below puts the second text below the first.
func below(a, b string) string {
	switch {
	case a == "":
		return b
	case b == "":
		return a
	}
	return a + "\n\n" + b
}
