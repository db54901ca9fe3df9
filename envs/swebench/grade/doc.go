// Package grade decides what a log of an evaluation says of a patch: which of the expected tests
// passed, whether the issue is resolved, and, where the log describes no run at all, why not. It also
// writes the verdict in the official report's form.
//
// Text in, values out: no files, no containers. Package testlog reads the runners' output.
//
// Source: SWE-bench/SWE-bench@7a21e05 (5.0.2) swebench/harness/grading.py and infra_failure.py, and
// their 4.1.0 release; for the first generation's logs, release 2.1.7.
package grade
