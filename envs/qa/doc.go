// Package qa is an environment of single-turn questions: mathematics from JSONL files in the forms of
// AIME, AMC, MATH and their kin, or anything else with a short answer. An episode is one step: the action
// is an answer, and the environment says whether it is right.
//
// A question may come without its answer. Its episodes get no reward then, and say so: the reward comes
// from a vote of the group afterwards (package credit, `harness vote`), which is what test-time
// reinforcement learning is. What an answer is, and when two are the same, is internal/answer's business.
package qa
