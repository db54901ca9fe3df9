// Package harness is the vocabulary that every other package speaks: tasks, observations, steps,
// tokens, episodes, groups, stop reasons, failures, and the environment interface.
//
// It owns names and invariants and nothing else: no I/O, no SQL, no HTTP, no clock. Technologies live
// in the packages beside it (envs/…, agent, llm, store) and meet through the types declared here.
package harness
