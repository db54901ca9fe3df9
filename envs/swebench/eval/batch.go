package eval

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/hindsightrl/harness/envs/internal/container"
	"github.com/hindsightrl/harness/envs/swebench"
	"github.com/hindsightrl/harness/internal/errext"
)

// Batch is many patches to be evaluated into one folder.
type Batch struct {
	Data        *swebench.Dataset
	Predictions []swebench.Prediction // at most one for each model and instance
	Root        string                // the folder that gets logs/run_evaluation/… and the run reports
	RunID       string
	DatasetName string // for run.json
	Split       string
	Workers     int // evaluations at a time; 0 is 4
	Repeats     int // runs of each patch's tests; 0 is 1
	// Forget removes images that had to be pulled when their last patch is evaluated: hundreds of them
	// take terabytes.
	Forget bool
	// Progress is called after each evaluation, one call at a time. nil is nobody.
	Progress func(done, total int, o Outcome)
}

// ErrRunInUse is returned where another process evaluates into the same run's folder.
var ErrRunInUse = errors.New("another evaluation writes into this run's folder")

// ErrStopped is returned, with what there is, for a batch that was asked to end before its end.
var ErrStopped = errors.New("the evaluation was stopped")

func (b *Batch) validate() error {
	switch {
	case b.Data == nil || b.Root == "" || b.RunID == "":
		return errors.New("evaluate: a dataset, a folder and a run id are needed")
	case !filepath.IsLocal(b.RunID) || filepath.Base(b.RunID) != b.RunID:
		return fmt.Errorf("evaluate: the run id %q cannot be a folder's name", b.RunID)
	case b.Workers < 0 || b.Repeats < 0:
		return fmt.Errorf("evaluate: %d workers and %d repeats: neither can be below 0", b.Workers, b.Repeats)
	}
	seen, folders := map[[2]string]bool{}, map[string]string{}
	for _, p := range b.Predictions {
		if other, ok := folders[p.ModelDir()]; ok && other != p.Model {
			return fmt.Errorf("evaluate: the models %q and %q would share a folder", other, p.Model)
		}
		folders[p.ModelDir()] = p.Model
		key := [2]string{p.ModelDir(), p.InstanceID}
		if seen[key] {
			return fmt.Errorf("evaluate: %s has two patches of %s", p.Model, p.InstanceID)
		}
		seen[key] = true
		if b.Data.Get(p.InstanceID) == nil {
			return fmt.Errorf("evaluate: %w: %s", swebench.ErrUnknownInstance, p.InstanceID)
		}
	}
	return nil
}

// Run evaluates a batch. At the end of soft nothing new begins and what runs goes on; at the end of hard
// everything ends. Either way the summary says what there is, beside ErrStopped.
func (e *Evaluator) Run(soft, hard context.Context, b Batch) (*Summary, error) {
	if err := b.validate(); err != nil {
		return nil, err
	}
	b.Workers, b.Repeats = max(b.Workers, 1), max(b.Repeats, 1)
	dir := swebench.RunDir(b.Root, b.RunID)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("evaluate: %w", err)
	}
	lock, err := container.Hold(filepath.Join(dir, ".lock"))
	if errors.Is(err, container.ErrHeld) {
		return nil, errext.WithHint(fmt.Errorf("%w: %s", ErrRunInUse, dir), "wait for it, or choose another run id")
	}
	if err != nil {
		return nil, fmt.Errorf("evaluate: %w", err)
	}
	defer lock.Close()
	if err := e.writeMetadata(dir, b); err != nil {
		return nil, fmt.Errorf("evaluate: %w", err)
	}
	jobs, err := e.jobs(b)
	if err != nil {
		return nil, err
	}
	r := &batchRun{e: e, b: b, jobs: jobs, outcomes: make([]*Outcome, len(jobs)), users: map[string]int{}}
	for _, j := range jobs {
		r.users[j.in.ID]++
	}
	runErr := r.work(soft, hard)
	sum, err := r.summary(dir)
	if err == nil && sum.Open == 0 { // officially what was not evaluated is an error, and this is none
		err = sum.writeReports(e.config.Release, b, r.left)
	}
	switch {
	case runErr == nil && soft.Err() != nil && sum != nil && sum.Open > 0, runErr != nil && hard.Err() != nil:
		runErr = ErrStopped
	}
	return sum, errors.Join(runErr, err)
}

func (e *Evaluator) writeMetadata(dir string, b Batch) error {
	name := filepath.Join(dir, swebench.FileRun)
	if _, err := os.Stat(name); !errors.Is(err, os.ErrNotExist) {
		return err // it stays as it was made
	}
	return writeFile(name, swebench.RunMetadata(b.DatasetName, b.Split, "", e.config.Now()))
}

// jobs lists what is to be evaluated: all patches once, then all again for each repeat. A script that
// cannot be made is known before anything runs.
func (e *Evaluator) jobs(b Batch) ([]*job, error) {
	var jobs []*job
	for repeat := 1; repeat <= b.Repeats; repeat++ {
		for _, p := range b.Predictions {
			if repeat > 1 && p.Empty() {
				continue
			}
			j, err := e.prepare(b.Data.Get(p.InstanceID), p, repeat)
			if err != nil {
				return nil, err
			}
			jobs = append(jobs, j)
		}
	}
	return jobs, nil
}

// batchRun is a batch that is under way.
type batchRun struct {
	e    *Evaluator
	b    Batch
	jobs []*job

	mu       sync.Mutex
	outcomes []*Outcome // by job; nil has not been evaluated
	done     int
	known    []*Outcome     // by job; nil: to be evaluated
	users    map[string]int // evaluations that are still to come, by instance
	left     swebench.Leftovers
}

// work evaluates every job. An error, a full disk for one, ends it: what is evaluated then cannot be kept.
func (r *batchRun) work(soft, hard context.Context) error {
	soft, cancel := context.WithCancel(soft)
	defer cancel()
	r.look(hard)
	var g errgroup.Group
	g.SetLimit(r.b.Workers)
	for i := range r.jobs {
		if soft.Err() != nil || hard.Err() != nil {
			break
		}
		g.Go(func() error {
			if soft.Err() != nil {
				return nil
			}
			if next := i + r.b.Workers; next < len(r.jobs) && r.e.config.Warm > 0 {
				if r.known[next] == nil {
					r.e.warm(hard, r.jobs[next])
				}
			}
			err := r.one(hard, i)
			if err != nil {
				cancel()
			}
			return err
		})
	}
	return g.Wait()
}

// look finds the outcomes that earlier runs left, before anything is evaluated: what an evaluation brings, a
// fresh image for one, must not decide about the others.
func (r *batchRun) look(ctx context.Context) {
	r.known = make([]*Outcome, len(r.jobs))
	var g errgroup.Group
	g.SetLimit(max(r.b.Workers, 1))
	for i, j := range r.jobs {
		g.Go(func() error {
			o, there, err := r.e.recorded(ctx, j, j.dir(r.b.Root, r.b.RunID))
			if err != nil && ctx.Err() == nil {
				r.e.config.Log.Warn("an earlier outcome cannot be used", "instance", j.in.ID, "error", err)
			}
			if there {
				r.known[i] = &o
			}
			return nil
		})
	}
	_ = g.Wait() // every goroutine returns nil
}

func (r *batchRun) one(ctx context.Context, i int) error {
	j := r.jobs[i]
	dir := j.dir(r.b.Root, r.b.RunID)
	o := r.known[i]
	if o == nil {
		t, err := r.e.run(ctx, j)
		if t != nil && t.left != "" {
			r.mu.Lock()
			r.left.Containers = append(r.left.Containers, t.left)
			r.mu.Unlock()
		}
		if err != nil {
			return fmt.Errorf("evaluate %s: %w", j.in.ID, err)
		}
		if o = &t.Outcome; o.Kind != EmptyPatch { // officially it leaves no files
			if err := r.e.write(j, t, dir); err != nil {
				return fmt.Errorf("write results of %s: %w", j.in.ID, err)
			}
		}
	}
	r.mu.Lock()
	r.users[j.in.ID]--
	last := r.users[j.in.ID] == 0
	r.mu.Unlock()
	var kept []string
	if last && r.b.Forget {
		kept = r.e.forget(ctx, j)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.left.Images = append(r.left.Images, kept...)
	r.outcomes[i] = o
	r.done++
	if r.b.Progress != nil {
		r.b.Progress(r.done, len(r.jobs), *o)
	}
	return nil
}
