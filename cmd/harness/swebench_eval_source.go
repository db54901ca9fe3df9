package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/hindsightrl/harness"
	"github.com/hindsightrl/harness/envs/swebench"
	"github.com/hindsightrl/harness/envs/swebench/embedded"
	"github.com/hindsightrl/harness/envs/swebench/eval"
	"github.com/hindsightrl/harness/internal/errext"
	"github.com/hindsightrl/harness/store"
)

// evalSource is where patches and rows come from.
type evalSource struct {
	file      string // predictions, or gold
	db        string
	runName   string
	data      string
	instances []string

	name string // of what was read, when open has returned
}

func (s *evalSource) flags(cmd *cobra.Command) {
	ledgerFlag(cmd, &s.db)
	f := cmd.Flags()
	f.StringVar(&s.runName, "run", "", "evaluate the patches that this run's episodes left, in place of a predictions file")
	f.StringVar(&s.data, "data", "", "dataset rows: a .parquet, .jsonl or .json file, or a folder of them (default: the embedded instances)")
	f.StringSliceVarP(&s.instances, "instance", "i", nil, "only these instances")
}

func (s *evalSource) validate() error {
	switch {
	case s.file != "" && s.runName != "":
		return errors.New("a predictions file and --run exclude each other")
	case s.file == "" && s.runName == "":
		return errors.New("nothing to evaluate: name a predictions file, gold, or --run RUN")
	}
	return nil
}

// open reads the rows and the patches.
func (s *evalSource) open(ctx context.Context, g *globals, cmd *cobra.Command) (eval.Batch, error) {
	data, err := s.rows()
	if err != nil {
		return eval.Batch{}, err
	}
	b := eval.Batch{Data: data, DatasetName: "embedded", Split: swebench.Split}
	if s.data != "" {
		b.DatasetName = s.data
	}
	if s.runName == "" {
		s.name = evalRunID(s.file)
		b.Predictions, err = swebench.LoadPredictions(s.file, data)
	} else {
		err = readLedger(ctx, s.db, func(db *store.Store) error {
			b.Predictions, err = s.patches(ctx, g, db)
			return err
		})
	}
	if errors.Is(err, swebench.ErrUnknownInstance) {
		err = errext.WithHint(err, "name the rows of those instances with --data")
	}
	if err == nil {
		err = s.choose(cmd, &b)
	}
	return b, err
}

func (s *evalSource) rows() (*swebench.Dataset, error) {
	if s.data == "" {
		return embedded.Dataset()
	}
	return swebench.OpenDataset(s.data)
}

// choose keeps the instances that were asked for.
func (s *evalSource) choose(cmd *cobra.Command, b *eval.Batch) error {
	if len(s.instances) == 0 {
		return nil
	}
	var rows []*swebench.Instance
	for _, id := range s.instances {
		in := b.Data.Get(id)
		if in == nil {
			return usageError(cmd, fmt.Errorf("--instance %s: %w", id, swebench.ErrUnknownInstance))
		}
		rows = append(rows, in)
	}
	data, err := swebench.NewDataset(rows)
	if err != nil {
		return err
	}
	b.Data = data
	b.Predictions = slices.DeleteFunc(b.Predictions, func(p swebench.Prediction) bool { return data.Get(p.InstanceID) == nil })
	return nil
}

// patches reads what the episodes of a run left. Several episodes of one instance are several models:
// RUN.s1, RUN.s2, … in the order of the run.
func (s *evalSource) patches(ctx context.Context, g *globals, db *store.Store) ([]swebench.Prediction, error) {
	run, err := runNamed(ctx, db, s.runName)
	if err != nil {
		return nil, err
	}
	s.name = run.Name
	var all []swebench.Prediction
	nth := map[string]int{}
	most, open, others := 0, 0, 0
	for e, err := range db.Episodes(ctx, run.ID, store.Filter{}) {
		switch {
		case err != nil:
			return nil, err
		case e.Task.Env != swebench.Name:
			others++
			continue
		case e.Status != harness.StatusDone:
			open++
			continue
		}
		p := swebench.Prediction{InstanceID: e.Task.ID}
		left, err := db.Artifact(ctx, e.Attempt, swebench.FilePatch)
		switch {
		case errors.Is(err, store.ErrNotFound):
			p.None = true
		case err != nil:
			return nil, err
		}
		p.Patch = left.Content
		nth[p.InstanceID]++
		most = max(most, nth[p.InstanceID])
		p.Model = fmt.Sprintf("%s.s%d", run.Name, nth[p.InstanceID])
		all = append(all, p)
	}
	if len(all) == 0 {
		return nil, errext.WithHint(fmt.Errorf("run %q has no finished episode of %s", run.Name, swebench.Name), "harness rollout --env swebench")
	}
	if open+others > 0 {
		fmt.Fprintf(g.stderr, "of run %s, %s not finished and %d of other environments are left out\n", run.Name, plural(open, "episode"), others)
	}
	for i := range all {
		if most == 1 {
			all[i].Model = run.Name
		}
		if !filepath.IsLocal(all[i].ModelDir()) {
			all[i].Model = strings.NewReplacer("/", "-", `\`, "-").Replace(all[i].Model)
		}
	}
	return all, nil
}
