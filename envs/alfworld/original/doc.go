// Package original plays ALFWorld games in the original Python package behind a bridge: in a container
// that the suite starts, or at an address. The tasks are those of a native suite, whose game files are
// sent to the original; observations, admissible actions, scores and ends are the original's answers.
package original
