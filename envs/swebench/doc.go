// Package swebench knows SWE-bench: dataset rows, predictions, patches, images, evaluation scripts,
// verdicts and reports. Agents repair real repositories inside containers; what a container does not
// have to do is here, as functions of values.
//
// Subpackage testlog reads what test runners print, grade decides what a log says. This package holds
// the rest: rows from Parquet, JSON lines or JSON (LoadRows, OpenDataset), image names and fallbacks
// (Images), the evaluation script (EvalScript, RebuildEvalScript), the chain of commands that applies a
// patch and what their failing means (ApplyChain, ClassifyApply), the removal of future history
// (ScrubScript), predictions (LoadPredictions), patches kept exact (NormalizePatch, BoundPatch), the
// run's report (RunReport), and Verify, which grades recorded logs and compares with what the official
// code said of them.
//
// Source: SWE-bench/SWE-bench@7a21e05 (5.0.2) and its 4.1.0 release.
package swebench
