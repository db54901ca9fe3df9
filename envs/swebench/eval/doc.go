// Package eval evaluates patches: in a fresh container of the instance's image it applies the patch,
// runs the tests by the instance's script, and grades what they print.
//
// An Outcome says what became of a patch. Its kinds keep apart what the patch did (it was graded, it is
// empty, it does not apply, its tests ran out of time, …) from what the machine did: an infrastructure
// failure is retried, and never counted as unresolved. Run evaluates many, some at a time, writes the
// official layout of files and the official run report, and on a second call evaluates only what is not
// there yet: another patch, script, image or grader is another evaluation.
//
// Source: SWE-bench/SWE-bench@7a21e05 (5.0.2) swebench/harness/run_evaluation.py.
package eval
