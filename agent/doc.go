// Package agent runs episodes: it renders prompts, asks a policy, parses actions, steps environments,
// and hands every step to a Recorder. It owns the episode loop, the scheduler, prompt templates,
// action parsing and action spans; environments, inference clients and the ledger are interfaces to it.
package agent
