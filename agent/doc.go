// Package agent runs episodes: it renders prompts, asks a policy, parses actions, steps environments,
// and hands every step to a Recorder. It owns the episode loop, the scheduler, prompt templates,
// action parsing and action spans; environments, inference clients and the ledger are interfaces to it.
//
// Run takes a list of episodes, and each goes its own way in a goroutine of its own:
//
//	Begin ─► Reset ─► [prompt ─► policy ─► response ─► action ─► Env.Step ─► Recorder.Step]… ─► Finish
//	                     Format      Policy         Format.Project
//
// What differs between environments is in a Format (prompts, projection, step limit), what a prompt
// says in Templates, and who answers in a Policy. A new environment brings a Format or is served by the
// generic one.
//
// # Reproducible
//
// An episode depends on the run seed, its task and its sample, and on nothing that the schedule decides:
// each turn draws from a stream of its own, and a repeated call or attempt draws the same numbers
// again. A resumed attempt repeats its recorded actions in a fresh environment and compares every byte
// before it goes on.
//
// # Failures
//
// A mistake of the policy is an ordinary step with Valid false. The end of an episode is a StopReason.
// What breaks is a *harness.Failure, and an episode that fails has no outcome and no reward:
//
//	environment   a fresh environment and a new attempt, up to Retries' bound
//	model_server  the same call again, then a new attempt; refusals that no retry mends are final
//	agent, budget, harness   final
//
// An error of the Recorder is none of these: it ends the run.
package agent
