package serve

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/hindsightrl/harness/llm"
)

// Config tunes a server. The zero value is usable.
type Config struct {
	// APIKey is asked for as a bearer token on every path but /health; "" = none.
	APIKey string
	// MaxBody limits a request's body in bytes; 0 = 32 MiB.
	MaxBody int64
	// MaxLogprobs limits how many alternatives per token may be asked for; 0 = 20 as in vLLM, -1 = no
	// limit: "logprobs": -1 then gives the whole vocabulary.
	MaxLogprobs int
	// MaxSequences limits prompts times choices of one request; 0 = 256.
	MaxSequences int
	// WeightVersion is the label of the weights at the start; "" = "0". Trainers change it.
	WeightVersion string
	// Reload opens the weights of a path that a trainer names in /update_weights; nil = the server
	// refuses. The model that is replaced is closed if it has a Close method.
	Reload func(ctx context.Context, path string) (llm.Model, error)
	// Now dates replies; nil = they carry the date 0.
	Now func() time.Time
	// NewID makes the varying part of a reply's id; nil = a counter.
	NewID func() string
	// Log takes what goes wrong inside the server; nil = nothing is logged.
	Log *slog.Logger
}

// Validate reports a setting that cannot be meant.
func (c Config) Validate() error {
	switch {
	case c.MaxBody < 0:
		return fmt.Errorf("body limit %d is negative", c.MaxBody)
	case c.MaxLogprobs < -1:
		return fmt.Errorf("limit of log-probabilities %d is below -1", c.MaxLogprobs)
	case c.MaxSequences < 0:
		return errors.New("limit of sequences is negative")
	}
	return nil
}

func (c Config) withDefaults() Config {
	if c.MaxBody == 0 {
		c.MaxBody = 32 << 20
	}
	if c.MaxLogprobs == 0 {
		c.MaxLogprobs = 20
	}
	if c.MaxSequences == 0 {
		c.MaxSequences = 256
	}
	if c.WeightVersion == "" {
		c.WeightVersion = "0"
	}
	if c.Now == nil {
		c.Now = func() time.Time { return time.Unix(0, 0) }
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	return c
}
