package teacher

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"runtime"

	"github.com/hindsightrl/harness"
)

// Student says where the log-probabilities without the context come from.
type Student string

// The sources of student log-probabilities.
const (
	StudentScored   = Student("scored")   // the teacher's server, in the same pass: same weights, same arithmetic
	StudentRecorded = Student("recorded") // the behaviour policy's own, as the ledger holds them
)

// Mask says how action tokens are found.
type Mask string

// The masks.
const (
	MaskExact  = Mask("exact")       // tokens that overlap the bytes of the executable action
	MaskCompat = Mask("serl-compat") // the reference's: spans of the re-tokenised text, laid over the ids by index
)

// Truncation says what becomes of a prompt that is too long.
type Truncation string

// The truncations.
const (
	TruncateParts  = Truncation("parts")       // the context loses its least useful parts
	TruncateCompat = Truncation("serl-compat") // the prompt loses its end, hint and assistant header first, as in the reference
)

// compatMaxPrompt is the reference's limit on prompts for ALFWorld.
const compatMaxPrompt = 2048

// Options says what a pass asks, and how.
type Options struct {
	RunID         int64
	Modes         []Config
	Templates     *Templates // nil: the default wording
	Teacher       Identity
	PolicyVersion int32 // the trainer's update that the pass is for; −1: not said

	Student    Student    // "" = scored
	Mask       Mask       // "" = exact
	Truncation Truncation // "" = parts
	MaxPrompt  int        // tokens of the teacher's prompt; 0 = what the server takes, and 2048 under serl-compat truncation
	Judge      string     // source of judged texts, as Judge.Source names it; "" = the latest of the mode

	Concurrency int     // calls in flight; 0 = one per processor
	Tolerance   float64 // nats, of the self-check; negative = DefaultTolerance

	WholeGroups bool // leave groups alone that have open episodes
	// Groups are the only ones to score, by index; the passes then stay open until Finish. nil: all.
	Groups []int

	DryRun   bool           // count only: nothing is asked of the teacher's model, nothing is kept
	Contexts func(Shown)    // called with every context of a dry run, from one goroutine at a time; may be nil
	Progress func(Progress) // called from one goroutine at a time; may be nil
	Log      *slog.Logger   // nil: none
}

// Shown is a context with its step, as a dry run shows it.
type Shown struct {
	Mode    Mode
	Episode harness.EpisodeRef
	Step    int
	Context Context
	Student int // tokens of the student's prompt
	Tokens  int // tokens of the teacher's prompt
	Answer  int // tokens of the response
}

// Progress says how far a pass is. Units are groups times modes.
type Progress struct {
	Done, Total int
	Calls       int // asked of the teacher so far
	Cached      int // answers that were there already
	Tokens      int // response tokens scored so far
}

func (o Options) withDefaults() (Options, error) {
	if len(o.Modes) == 0 {
		return o, errors.New("score: no mode")
	}
	seen := make(map[Mode]bool)
	for _, m := range o.Modes {
		if err := m.Validate(); err != nil {
			return o, fmt.Errorf("score: %w", err)
		}
		if seen[m.Mode] {
			return o, fmt.Errorf("score: mode %s twice", m.Mode)
		}
		seen[m.Mode] = true
	}
	if o.Templates == nil {
		o.Templates = DefaultTemplates()
	}
	o.Student, o.Mask, o.Truncation = orDefault(o.Student, StudentScored), orDefault(o.Mask, MaskExact), orDefault(o.Truncation, TruncateParts)
	switch {
	case o.Student != StudentScored && o.Student != StudentRecorded:
		return o, fmt.Errorf("score: unknown student %q: want %s or %s", o.Student, StudentScored, StudentRecorded)
	case o.Mask != MaskExact && o.Mask != MaskCompat:
		return o, fmt.Errorf("score: unknown action mask %q: want %s or %s", o.Mask, MaskExact, MaskCompat)
	case o.Truncation != TruncateParts && o.Truncation != TruncateCompat:
		return o, fmt.Errorf("score: unknown truncation %q: want %s or %s", o.Truncation, TruncateParts, TruncateCompat)
	case o.MaxPrompt < 0 || o.Concurrency < 0:
		return o, fmt.Errorf("score: %d prompt tokens, %d calls: negative", o.MaxPrompt, o.Concurrency)
	case math.IsNaN(o.Tolerance):
		return o, errors.New("score: the tolerance is not a number")
	}
	if o.MaxPrompt == 0 && o.Truncation == TruncateCompat {
		o.MaxPrompt = compatMaxPrompt
	}
	if o.Concurrency == 0 {
		o.Concurrency = runtime.GOMAXPROCS(0)
	}
	if o.Tolerance < 0 {
		o.Tolerance = DefaultTolerance(o.Teacher.Engine)
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return o, nil
}

func orDefault[T comparable](v, fallback T) T {
	var zero T
	if v == zero {
		return fallback
	}
	return v
}

// passConfig is everything that the rows of a pass depend on beside the rollouts.
type passConfig struct {
	Version       int        `json:"version"` // of this package's arithmetic
	Teacher       Identity   `json:"teacher"`
	Mode          Config     `json:"mode"`
	Templates     string     `json:"templates"` // hash
	Student       Student    `json:"student"`
	Mask          Mask       `json:"action_mask"`
	Truncation    Truncation `json:"truncation"`
	MaxPrompt     int        `json:"max_prompt"`
	Judge         string     `json:"judge,omitempty"`
	PolicyVersion int32      `json:"policy_version"`
}

// passVersion goes up when rows would come out otherwise from the same inputs.
const passVersion = 1

// pass describes the pass of one mode.
func (o Options) pass(mode Config) harness.ScorePass {
	c := passConfig{
		Version: passVersion, Teacher: o.Teacher, Mode: mode, Templates: o.Templates.Hash(), Student: o.Student, Mask: o.Mask,
		Truncation: o.Truncation, MaxPrompt: o.MaxPrompt, PolicyVersion: o.PolicyVersion,
	}
	if mode.Mode.Judged() {
		c.Judge = o.Judge
	}
	raw, err := json.Marshal(c)
	if err != nil { // numbers were checked for NaN
		panic(err)
	}
	sum := sha256.Sum256(raw)
	return harness.ScorePass{
		RunID: o.RunID, Key: hex.EncodeToString(sum[:16]), Mode: string(mode.Mode), Teacher: o.Teacher.String(),
		PolicyVersion: o.PolicyVersion, Config: raw,
	}
}

// fingerprint is what a group must still have for its scores to be up to date.
func fingerprint(g harness.ScoreGroup, mode Mode) string {
	if mode.Judged() {
		return g.Fingerprint + "/" + g.Judged
	}
	return g.Fingerprint
}
