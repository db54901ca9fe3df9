// Package teacher looks at rollouts in hindsight: it builds, for each step, the context that only a
// teacher sees, and asks how likely the agent's own tokens are behind it.
//
// It owns the feedback sources and their placements (Mode), the wording (Templates), contexts and how an
// over-long one is shortened (Build, Batch.Fit), the scoring pass (Pass), and the judge (Judge). Rollouts come
// from, and results go to, interfaces declared here; what a log-probability difference is worth belongs
// to package credit.
//
// # Contexts
//
// Build takes the step rows of whole task groups, because a context may show other steps of the same
// group: a successful trajectory of the task, or every action that was tried from the same anchor
// observation. It is pure and costs about a microsecond per row:
//
//	rows ─► records ─► trajectories, anchor groups ─► sections ─► messages
//
// A row without what its mode needs has no context; that is data (Context.Available), and such a row
// is never scored as if it had one.
//
// # Reference
//
// The modes, their selection rules and the order of their sections are those of OliverLeeXZ/SERL@5a2a85b
// recipe/serl/privileged_context.py, and package teacher/serlverify compares them with its answers. The
// default wording is this project's own; Templates read from a file replace any string.
package teacher
