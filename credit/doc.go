// Package credit turns rewards, entropies and log-probabilities into per-token advantages.
//
// It owns the arithmetic of the group estimators (GRPO, Dr.GRPO, RLOO, REINFORCE++ baseline, GiGPO,
// HGPO, GAE), the entropy modulations (AEM, EAR), the token weights (SERL and its relatives RLSD and
// SDPO), their fusion in one pass, and the pieces that a trainer needs beside them (dynamic sampling,
// overlong shaping, loss weights, clip hints). Values come in, values go out: no clock, no I/O, no
// goroutine, no state. Reading rows and storing results is left to other packages.
//
// Shapes. A batch has B step rows; row i has T_i response tokens. One row is one policy call: the
// response of one step of one trajectory of one group. Rows carry their token arrays as slices of
// either float type; all arithmetic is float64, whatever the arrays hold. Log-probabilities and
// entropies are in nats.
//
// Every function refuses NaN and infinities with the row named, and lengths that disagree with both
// lengths named; only values that count are read (a token outside the action spans may hold anything).
// The order of rows never matters beyond rounding, except where a function's comment says that the
// original's own result depends on it.
package credit
