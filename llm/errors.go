package llm

import "errors"

// ErrContextLength is in the chain of a Generator's error where the prompt, with the response asked for,
// does not fit the model's context. It is a limit and no malfunction: an episode ends there.
var ErrContextLength = errors.New("the prompt does not fit the model's context")
