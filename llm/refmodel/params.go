package refmodel

import "github.com/hindsightrl/harness/llm/refmodel/internal/ngram"

// The copying part's constants that are set by hand. They are part of the model: changing one changes
// answers, so algorithm goes up with them.
const (
	algorithm = "2" // names this arithmetic in Info().Version

	maxWalk    = 256  // earlier occurrences that one prediction looks at, the latest first
	maxMatch   = 8    // tokens of context that a match is compared over
	matchSlack = 2    // occurrences that agree by this much less than the best one still vote
	lookahead  = 8    // tokens after an occurrence that are searched for what the text is about
	hintBack   = 64   // tokens before the response that say, with it, what the text is about
	cueReach   = 40   // tokens after an occurrence in which a report of success or failure concerns it
	maxCues    = 4    // reports that are read there
	offerReach = 1024 // tokens before the response in which an offer tells the setting

	goodFactor  = 3    // an occurrence that was followed by success counts so many times
	badFactor   = 2    // an occurrence that was followed by failure takes off so many times its weight
	floorShare  = 0.05 // but never more than leaves this share
	doubtFactor = 3    // how much less habit counts after a report of failure right before the response
	maxDoubt    = 2    // reports of failure there that count
	doubtLevel  = 8    // and by how much more followers are then equally plausible
)

// peakSteps are the bounds between the columns of params.Habit.
var peakSteps = [...]float64{0.25, 0.5, 0.8, 0.97}

// params are the constants of fitted.json: inside an open <action> (1) and elsewhere (0). They maximise
// the likelihood of an expert's responses in household games that are not in the corpus, within bounds
// that keep the model searching and its contexts heard (fit_test.go).
type params struct {
	Self      [2]float64                                      // what an occurrence in the response itself counts for
	Match     [2][maxMatch + 1]float64                        // weight of an occurrence by the number of tokens that agree
	Habit     [2][ngram.Order + 1][len(peakSteps) + 1]float64 // weight of the static part by the length of the context that it knows and its peak
	Plausible [2]float64                                      // static probability below which followers are equally implausible
	Extra     [2]float64                                      // what each further occurrence of the same follower adds to the best one
	Recency   [2]float64                                      // tokens after which an occurrence weighs half
	Topic     [2]float64                                      // factor for each word in common with what the text is about
}

// modeParams are one row of params, laid out for reading.
type modeParams struct {
	match                           [maxMatch + 1]float64
	topic                           [maxTopic + 1]float64 // by quarters in common
	habit                           [ngram.Order + 1][len(peakSteps) + 1]float64
	plausible, extra, recency, self float64
}

// Quarters that a word in common counts: said in the text itself, or tied to such a word by the
// priming transcripts (hot food and microwaves).
const (
	topicSaid = 4
	topicTied = 2
	maxTopic  = 12
)
