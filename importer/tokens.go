package importer

import (
	"fmt"

	"github.com/hindsightrl/harness"
)

// checkTokens reports ids that no tokenizer has, and a column of another length than the ids'.
func checkTokens(ids []int32, column string, values []float32) error {
	for i, id := range ids {
		if id < 0 {
			return at(fmt.Sprintf("token_ids[%d]", i), fmt.Errorf("%d is no token id", id))
		}
	}
	if len(values) != 0 && len(values) != len(ids) {
		return at(column, fmt.Errorf("%d values for %d sampled tokens", len(values), len(ids)))
	}
	return nil
}

// stopReason is a stop condition in the ledger's words. The condition itself stays with the episode's rest.
func stopReason(condition string, timeout, truncated bool) harness.StopReason {
	switch condition {
	case "max_turns", "max_turns_reached", "max_steps":
		return harness.StopMaxSteps
	case "prompt_too_long", "max_input_tokens", "compaction_failed", "context_length_exceeded":
		return harness.StopContext
	case "max_output_tokens", "max_total_tokens", "max_tokens", "timeout", "timeout_reached":
		return harness.StopBudget
	}
	if timeout || truncated {
		return harness.StopBudget
	}
	return harness.StopFinished
}
