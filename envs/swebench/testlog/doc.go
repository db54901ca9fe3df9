// Package testlog reads what test runners print: one parser per name of SWE-bench's registry, each
// turning the text of a log into a map from test name to status.
//
// The parsers are the official ones' twins, oddities included, because a benchmark's verdict is
// defined by what its own parser sees: text is what Python's str methods and re see (Unicode white
// space, \d, \w), the last line about a test wins, and a status stays as the runner wrote it. Where the
// official code fails with an exception on a single odd line, the line is passed over; where it fails
// because the whole log has another form, Parse returns a *ParseError.
//
// The package knows nothing of instances, markers or verdicts: package grade does.
//
// Source: SWE-bench/SWE-bench@7a21e05 (5.0.2) swebench/harness/log_parsers, and its 4.1.0 release.
package testlog
