package teacher_test

import (
	"testing"

	"github.com/hindsightrl/harness/teacher"
)

// BenchmarkRerun runs a finished pass of all unjudged modes again: nothing is left to do.
func BenchmarkRerun(b *testing.B) {
	db, run := makeRun(b, plan{tasks: 8, group: 4, steps: 4})
	e := &engine{}
	opt := options(run, e, teacher.Unjudged()...)
	if _, err := teacher.Score(b.Context(), db, e, opt); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if r, err := teacher.Score(b.Context(), db, e, opt); err != nil || !r.UpToDate {
			b.Fatal(err)
		}
	}
}

// BenchmarkDryRun builds, renders and hashes every question of a finished pass under one mode, and asks
// nothing: what a pass costs beside the teacher.
func BenchmarkDryRun(b *testing.B) {
	db, run := makeRun(b, plan{tasks: 8, group: 4, steps: 4})
	e := &engine{}
	opt := options(run, e, teacher.AnchorImmediateFeedback)
	opt.DryRun = true
	rows := 0
	for b.Loop() {
		r, err := teacher.Score(b.Context(), db, e, opt)
		if err != nil {
			b.Fatal(err)
		}
		rows += r.Missing
	}
	b.ReportMetric(float64(rows)/b.Elapsed().Seconds(), "questions/s")
}
