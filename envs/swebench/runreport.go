package swebench

import (
	"maps"
	"slices"

	"github.com/hindsightrl/harness/envs/swebench/grade"
	"github.com/hindsightrl/harness/envs/swebench/testlog"
	"github.com/hindsightrl/harness/internal/pyjson"
)

// Verdict is what a run knows of one prediction when its report is written.
type Verdict struct {
	Completed bool         // a report.json was written: the log was graded, whatever it says
	Resolved  bool         // only where completed
	Infra     *grade.Infra // a hint at a broken environment in the logs; nil for resolved ones
}

// Leftovers is what a run could not remove.
type Leftovers struct {
	Containers []string
	Images     []string
}

// RunReport is the run's summary in the official form (schema_version 2), before it is written.
type RunReport struct {
	Model   string // of the file's name
	RunID   string
	Release testlog.Release

	total                                    int
	completed, incomplete, empty, submitted  []string
	resolved, unresolved, failed, infra, amb []string
	reasons                                  map[string]string
	left                                     *Leftovers
}

// NewRunReport sorts the instances of a dataset by what became of their predictions: without one
// (incomplete), with an empty patch, completed (resolved or not), or in error. Every hint at a broken
// environment is listed beside, and moves nobody. left is nil where no daemon was asked.
func NewRunReport(data *Dataset, all []Prediction, verdicts map[string]Verdict, runID string, release testlog.Release, left *Leftovers) *RunReport {
	r := &RunReport{RunID: runID, Release: release, total: len(data.Instances), reasons: map[string]string{}, left: left}
	byID := make(map[string]Prediction, len(all))
	for i, p := range all {
		if i == 0 {
			r.Model = p.ModelDir()
		}
		byID[p.InstanceID] = p
		r.submitted = append(r.submitted, p.InstanceID)
	}
	for _, in := range data.Instances {
		p, ok := byID[in.ID]
		switch {
		case !ok:
			r.incomplete = append(r.incomplete, in.ID)
		case p.Empty():
			r.empty = append(r.empty, in.ID)
		default:
			r.take(in.ID, verdicts[in.ID])
		}
	}
	for _, list := range []*[]string{&r.completed, &r.incomplete, &r.empty, &r.submitted, &r.resolved, &r.unresolved, &r.failed, &r.infra, &r.amb} {
		slices.Sort(*list)
	}
	return r
}

func (r *RunReport) take(id string, v Verdict) {
	switch {
	case !v.Completed:
		r.failed = append(r.failed, id)
	case v.Resolved:
		r.completed, r.resolved = append(r.completed, id), append(r.resolved, id)
		return
	default:
		r.completed, r.unresolved = append(r.completed, id), append(r.unresolved, id)
	}
	if v.Infra == nil {
		return
	}
	r.reasons[id] = v.Infra.Reason
	if v.Infra.Environment {
		r.infra = append(r.infra, id)
	} else {
		r.amb = append(r.amb, id)
	}
}

// FileName is the report's name: <model>.<run>.json.
func (r *RunReport) FileName() string { return r.Model + "." + r.RunID + ".json" }

// JSON is the file's content, byte for byte as the release prints it, with a final newline. Members come
// in the release's order.
func (r *RunReport) JSON() []byte {
	v5 := r.Release != testlog.V410
	counts := func(name string, n int) pyjson.Member { return pyjson.Member{Key: name + "_instances", Value: n} }
	ids := func(name string, list []string) pyjson.Member { return pyjson.Member{Key: name + "_ids", Value: list} }
	o := pyjson.Object{
		counts("total", r.total), counts("submitted", len(r.submitted)), counts("completed", len(r.completed)),
		counts("resolved", len(r.resolved)), counts("unresolved", len(r.unresolved)),
	}
	if v5 {
		o = append(o, counts("infra_failure", len(r.infra)), counts("ambiguous_failure", len(r.amb)))
	}
	o = append(o, counts("empty_patch", len(r.empty)), counts("error", len(r.failed)))
	o = append(o, ids("completed", r.completed), ids("incomplete", r.incomplete), ids("empty_patch", r.empty),
		ids("submitted", r.submitted), ids("resolved", r.resolved), ids("unresolved", r.unresolved))
	if v5 {
		reasons := pyjson.Object{}
		for _, id := range slices.Sorted(maps.Keys(r.reasons)) {
			reasons = append(reasons, pyjson.Member{Key: id, Value: r.reasons[id]})
		}
		o = append(o, ids("infra_failure", r.infra), ids("ambiguous_failure", r.amb), pyjson.Member{Key: "failure_reasons", Value: reasons})
	}
	o = append(o, ids("error", r.failed), pyjson.Member{Key: "schema_version", Value: 2})
	o = append(o, r.leftovers()...)
	return append(pyjson.Indent(o, 4), '\n')
}

func (r *RunReport) leftovers() pyjson.Object {
	if r.left == nil {
		return nil
	}
	containers, images := slices.Sorted(slices.Values(r.left.Containers)), slices.Sorted(slices.Values(r.left.Images))
	return pyjson.Object{
		{Key: "unstopped_instances", Value: len(containers)},
		{Key: "unstopped_containers", Value: containers},
		{Key: "unremoved_images", Value: images},
	}
}
