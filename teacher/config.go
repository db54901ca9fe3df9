package teacher

import (
	"fmt"
	"math"

	"github.com/hindsightrl/harness/internal/errext"
	"github.com/hindsightrl/harness/internal/pystr"
)

// Format is how a trajectory is written into a context.
type Format string

// The formats.
const (
	FormatResponse          = Format("response")           // responses only
	FormatObservationAction = Format("observation_action") // each step's prompt and response
)

// ParseFormat reads a format's name or alias.
func ParseFormat(name string) (Format, error) {
	switch pystr.Lower(pystr.Strip(name)) {
	case "response", "action", "action_series", "actions":
		return FormatResponse, nil
	case "observation_action", "obs_action", "observation-action":
		return FormatObservationAction, nil
	}
	return "", errext.WithHint(fmt.Errorf("unknown trajectory format %q", name), "response or observation_action")
}

// Config says which contexts to build. DefaultConfig has the values of the reference's runs.
type Config struct {
	Mode                Mode    `json:"mode"`
	SuccessThreshold    float64 `json:"success_threshold"`    // return from which an episode without a success flag is one
	Format              Format  `json:"trajectory_format"`    // of future and successful trajectories
	MaxTrajectorySteps  int     `json:"max_trajectory_steps"` // first steps of a successful trajectory to show; 0 = all
	MaxFutureSteps      int     `json:"max_future_steps"`     // first steps of a future to show; 0 = all
	ExcludeOwn          bool    `json:"exclude_own"`          // the own trajectory is never the successful one
	StripThinking       bool    `json:"strip_thinking"`       // <think>…</think> is cut from other responses
	Similarity          bool    `json:"similarity"`           // anchors need not be equal
	SimilarityThreshold float64 `json:"similarity_threshold"` // difflib ratio from which they are the same, in (0, 1)
}

// DefaultConfig returns the reference's settings for a mode: threshold 1, responses only, no limits,
// the own trajectory excluded, thoughts stripped, anchors equal.
// Source: OliverLeeXZ/SERL@5a2a85b recipe/serl/config/serl_trainer.yaml.
func DefaultConfig(mode Mode) Config {
	return Config{
		Mode: mode, SuccessThreshold: 1, Format: FormatResponse, ExcludeOwn: true, StripThinking: true, SimilarityThreshold: 0.95,
	}
}

// Validate reports the first setting that has no meaning.
func (c Config) Validate() error {
	if _, known := modeTable[c.Mode]; !known {
		_, err := ParseMode(string(c.Mode))
		if err == nil {
			err = fmt.Errorf("teacher mode %q is an alias: parse it first", c.Mode)
		}
		return err
	}
	switch {
	case c.Format != FormatResponse && c.Format != FormatObservationAction:
		_, err := ParseFormat(string(c.Format))
		if err == nil {
			err = fmt.Errorf("trajectory format %q is an alias: parse it first", c.Format)
		}
		return err
	case c.MaxTrajectorySteps < 0 || c.MaxFutureSteps < 0:
		return fmt.Errorf("limits of %d trajectory and %d future steps: negative", c.MaxTrajectorySteps, c.MaxFutureSteps)
	case c.Similarity && !(c.SimilarityThreshold > 0 && c.SimilarityThreshold < 1):
		return fmt.Errorf("similarity threshold %v is outside (0, 1)", c.SimilarityThreshold)
	case math.IsNaN(c.SuccessThreshold) || math.IsInf(c.SuccessThreshold, 0):
		return fmt.Errorf("success threshold %v is not a number", c.SuccessThreshold)
	}
	return nil
}
