package eval

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/hindsightrl/harness/envs/swebench"
	"github.com/hindsightrl/harness/envs/swebench/testlog"
)

// Summary is what a batch came to.
type Summary struct {
	RunID   string  `json:"run_id"`
	Dir     string  `json:"dir"`  // with the files of each instance
	Open    int     `json:"open"` // evaluations that have not been made
	Cached  int     `json:"cached"`
	Models  []Model `json:"models"`
	Repeats int     `json:"repeats"`
	verdict map[string]map[string]swebench.Verdict
}

// Model is what one model's patches came to, in the dataset's and the predictions' order.
type Model struct {
	Name     string       `json:"model_name_or_path"`
	Report   string       `json:"report"` // the run report's file
	Counts   map[Kind]int `json:"counts"`
	Resolved int          `json:"resolved"`
	Outcomes []Outcome    `json:"outcomes"` // one for each patch: of its first run that no machine spoilt
	Flaky    []Flaky      `json:"flaky"`    // patches whose runs did not agree
}

// Flaky is a patch whose runs did not agree.
type Flaky struct {
	InstanceID string      `json:"instance_id"`
	Runs       int         `json:"runs"` // that no machine spoilt
	Resolved   int         `json:"resolved"`
	Tests      []FlakyTest `json:"tests"` // expected tests that came out in more than one way, sorted
}

// FlakyTest is a test that came out in more than one way.
type FlakyTest struct {
	Name   string `json:"name"`
	Runs   int    `json:"runs"` // whose report names it
	Passed int    `json:"passed"`
}

// summary gathers the outcomes by model and patch.
func (r *batchRun) summary(dir string) (*Summary, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := &Summary{RunID: r.b.RunID, Dir: dir, Repeats: r.b.Repeats, Models: []Model{}, verdict: map[string]map[string]swebench.Verdict{}}
	place := map[string]int{}
	runs := map[*swebench.Prediction][]int{} // of each patch, its jobs
	at := map[[2]string]*swebench.Prediction{}
	for i := range r.b.Predictions {
		p := &r.b.Predictions[i]
		at[[2]string{p.Model, p.InstanceID}] = p
		if _, ok := place[p.Model]; !ok {
			place[p.Model] = len(s.Models)
			s.Models = append(s.Models, Model{Name: p.Model, Counts: map[Kind]int{}, Outcomes: []Outcome{}, Flaky: []Flaky{}})
			s.verdict[p.Model] = map[string]swebench.Verdict{}
		}
	}
	for i, j := range r.jobs {
		switch o := r.outcomes[i]; {
		case o == nil:
			s.Open++
			continue
		case o.Cached:
			s.Cached++
		}
		p := at[[2]string{j.pred.Model, j.pred.InstanceID}]
		runs[p] = append(runs[p], i)
	}
	for i := range r.b.Predictions {
		p := &r.b.Predictions[i]
		if len(runs[p]) == 0 {
			continue
		}
		m := &s.Models[place[p.Model]]
		o := r.first(runs[p])
		m.Outcomes = append(m.Outcomes, o)
		m.Counts[o.Kind]++
		if o.Resolved {
			m.Resolved++
		}
		s.verdict[p.Model][p.InstanceID] = o.Verdict()
		f, err := r.flaky(runs[p])
		if err != nil {
			return nil, err
		}
		if f != nil {
			m.Flaky = append(m.Flaky, *f)
		}
	}
	return s, nil
}

// first is the outcome that counts of a patch's runs.
func (r *batchRun) first(runs []int) Outcome {
	for _, i := range runs {
		if r.outcomes[i].Kind != Infrastructure {
			return *r.outcomes[i]
		}
	}
	return *r.outcomes[runs[0]]
}

// flaky compares a patch's runs; nil where they agree.
func (r *batchRun) flaky(runs []int) (*Flaky, error) {
	var f Flaky
	kinds := map[Kind]bool{}
	tests := map[string]*FlakyTest{}
	for _, i := range runs {
		o, j := r.outcomes[i], r.jobs[i]
		if o.Kind == Infrastructure {
			continue
		}
		f.InstanceID = o.InstanceID
		f.Runs++
		kinds[o.Kind] = true
		if o.Resolved {
			f.Resolved++
		}
		if r.b.Repeats == 1 {
			continue
		}
		passed, err := expected(j.dir(r.b.Root, r.b.RunID), o.InstanceID)
		if err != nil {
			return nil, err
		}
		for name, ok := range passed {
			if tests[name] == nil {
				tests[name] = &FlakyTest{Name: name}
			}
			tests[name].Runs++
			if ok {
				tests[name].Passed++
			}
		}
	}
	f.Tests = []FlakyTest{}
	for _, t := range tests {
		if t.Passed > 0 && t.Passed < t.Runs {
			f.Tests = append(f.Tests, *t)
		}
	}
	slices.SortFunc(f.Tests, func(a, b FlakyTest) int { return strings.Compare(a.Name, b.Name) })
	if len(f.Tests) == 0 && len(kinds) <= 1 && (f.Resolved == 0 || f.Resolved == f.Runs) {
		return nil, nil
	}
	return &f, nil
}

// writeReports writes each model's run report, for the patches that were evaluated.
func (s *Summary) writeReports(release testlog.Release, b Batch, left swebench.Leftovers) error {
	remains := &left
	if release == testlog.V410 {
		remains = nil // it wrote them only where it had no daemon
	}
	for i := range s.Models {
		m := &s.Models[i]
		var mine []swebench.Prediction
		for _, p := range b.Predictions {
			if p.Model == m.Name {
				mine = append(mine, p)
			}
		}
		report := swebench.NewRunReport(b.Data, mine, s.verdict[m.Name], s.RunID, release, remains)
		m.Report = filepath.Join(b.Root, report.FileName())
		if err := writeFile(m.Report, report.JSON()); err != nil {
			return err
		}
	}
	return nil
}

// Count adds a kind up over the models.
func (s *Summary) Count(k Kind) (n int) {
	for _, m := range s.Models {
		n += m.Counts[k]
	}
	return n
}

// Resolved adds the resolved patches up over the models.
func (s *Summary) Resolved() (n int) {
	for _, m := range s.Models {
		n += m.Resolved
	}
	return n
}
