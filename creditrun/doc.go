// Package creditrun takes the steps of a run through package credit: it lays them out as batches, runs
// the estimator and the fusion that a configuration names, and says what came of it, in numbers and as
// arithmetic that a person can follow. It reads no store and no file; what it is given and what it
// returns are values. The formulas are package credit's, with one exception: Explain computes every
// number a second time, by the plain formula, so that the two check each other.
package creditrun
