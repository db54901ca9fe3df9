package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/hindsightrl/harness"
	"github.com/hindsightrl/harness/internal/errext"
)

// panelFile is a panel on disk; the hash guards against edits by hand and against other data.
type panelFile struct {
	harness.Panel
	Hash string `json:"hash"`
}

func newPanel(g *globals) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "panel",
		Short: "Make and check panels: named lists of tasks that are equal on every machine",
		Example: `  harness panel make --data $ALFWORLD_DATA --split valid_seen --per-type 10 --out panel.json
  harness panel check panel.json --data $ALFWORLD_DATA
  harness rollout --panel panel.json --data $ALFWORLD_DATA`,
		GroupID: "run",
	}
	cmd.AddCommand(newPanelMake(g), newPanelShow(g), newPanelCheck(g))
	return cmd
}

type panelMake struct {
	g       *globals
	source  envSource
	perType int
	tasks   int
	name    string
	out     string
}

func newPanelMake(g *globals) *cobra.Command {
	c := &panelMake{g: g}
	cmd := &cobra.Command{
		Use:     "make",
		Short:   "Write a panel file from the tasks of a split",
		Example: "  harness panel make --data $ALFWORLD_DATA --split valid_unseen --per-type 5 --out small.json",
		RunE:    func(cmd *cobra.Command, _ []string) error { return c.run(cmd) },
	}
	c.source.flags(cmd)
	cmd.Flags().IntVar(&c.perType, "per-type", 0, "at most so many tasks of each type, the first in order; 0 = all")
	cmd.Flags().IntVar(&c.tasks, "tasks", 0, "at most so many tasks, the first in order; 0 = all")
	cmd.Flags().StringVar(&c.name, "name", "", "the panel's name (default: environment and split)")
	cmd.Flags().StringVar(&c.out, "out", "", "file to write (default: standard output)")
	return cmd
}

func (c *panelMake) run(cmd *cobra.Command) (err error) {
	if c.perType < 0 || c.tasks < 0 {
		return usageError(cmd, errors.New("a panel cannot have a negative number of tasks"))
	}
	c.source.repair.listOnly = true
	suite, err := c.source.open(cmd.Context())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closeSuite(suite)) }()
	panel, err := c.source.panel(cmd.Context(), suite)
	if err != nil {
		return err
	}
	panel.Tasks = firstTasks(firstPerType(panel.Tasks, c.perType), c.tasks)
	if c.name != "" {
		panel.Name = c.name
	}
	if err := panel.Validate(); err != nil {
		return err
	}
	var buf bytes.Buffer
	if err := writeJSON(&buf, panelFile{Panel: panel, Hash: panel.Hash()}); err != nil {
		return err
	}
	if c.out == "" {
		_, err := c.g.stdout.Write(buf.Bytes())
		return err
	}
	if err := os.WriteFile(c.out, buf.Bytes(), 0o644); err != nil {
		return fmt.Errorf("write panel: %w", err)
	}
	fmt.Fprintf(c.g.stderr, "%s: %s, hash %.12s\n", c.out, plural(len(panel.Tasks), "task"), panel.Hash())
	return nil
}

// firstPerType keeps the first n tasks of each type; 0 keeps all.
func firstPerType(tasks []harness.Task, n int) []harness.Task {
	if n == 0 {
		return tasks
	}
	seen := map[string]int{}
	return slices.DeleteFunc(slices.Clone(tasks), func(t harness.Task) bool {
		seen[t.Type]++
		return seen[t.Type] > n
	})
}

// firstTasks keeps the first n tasks; 0 keeps all.
func firstTasks(tasks []harness.Task, n int) []harness.Task {
	if n == 0 || n >= len(tasks) {
		return tasks
	}
	return tasks[:n]
}

func newPanelShow(g *globals) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:     "show FILE",
		Short:   "Print a panel: its hash and its tasks by type",
		Example: "  harness panel show panel.json",
		Args:    cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			panel, err := readPanel(args[0])
			if err != nil {
				return err
			}
			if asJSON {
				return writeJSON(g.stdout, panelFile{Panel: panel, Hash: panel.Hash()})
			}
			fmt.Fprintf(g.stdout, "panel  %s\nhash   %s\ntasks  %d\n\n", panel.Name, panel.Hash(), len(panel.Tasks))
			t := table{columns: []column{{title: "environment"}, {title: "split"}, {title: "type"}, {title: "task"}}}
			for _, task := range panel.Tasks {
				t.add(task.Env, task.Split, task.Type, task.ID)
			}
			return t.write(g.stdout)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

// panelCheck is what `panel check --json` prints.
type panelCheck struct {
	Tasks  int               `json:"tasks"`
	Differ map[string]string `json:"differ"` // by task, why
}

func newPanelCheck(g *globals) *cobra.Command {
	var source envSource
	var asJSON bool
	cmd := &cobra.Command{
		Use:     "check FILE",
		Short:   "Compare a panel with the data on this machine: every task there, every content hash equal",
		Example: "  harness panel check panel.json --data $ALFWORLD_DATA",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			panel, err := readPanel(args[0])
			if err != nil {
				return err
			}
			source.follow(cmd, panel)
			suite, err := source.open(cmd.Context())
			if err != nil {
				return err
			}
			defer func() { err = errors.Join(err, closeSuite(suite)) }()
			res := panelCheck{Tasks: len(panel.Tasks), Differ: map[string]string{}}
			for _, task := range panel.Tasks {
				err := tryTask(cmd.Context(), suite, task)
				if stopped := cmd.Context().Err(); stopped != nil {
					return stopped
				}
				if err != nil {
					res.Differ[task.Key()] = err.Error()
					if !asJSON {
						fmt.Fprintf(g.stdout, "%s: %s\n", task.Key(), printable(err.Error()))
					}
				}
			}
			bad := len(res.Differ)
			if asJSON {
				err = writeJSON(g.stdout, res)
			} else {
				_, err = fmt.Fprintf(g.stdout, "%s, %d differ\n", plural(len(panel.Tasks), "task"), bad)
			}
			if err != nil {
				return err
			}
			if bad > 0 {
				return errext.WithCode(fmt.Errorf("%d of %d tasks differ from the panel", bad, len(panel.Tasks)), exitBelow)
			}
			return nil
		},
	}
	source.flags(cmd)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

// tryTask opens a task as a run would, which checks its content hash.
func tryTask(ctx context.Context, suite harness.Suite, task harness.Task) (err error) {
	env, err := suite.NewEnv(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, env.Close()) }()
	_, err = env.Reset(ctx, task)
	return err
}

// readPanel reads a panel file and refuses one whose hash does not fit its tasks.
func readPanel(path string) (harness.Panel, error) {
	raw, err := os.ReadFile(path)
	if err != nil {
		return harness.Panel{}, errext.WithHint(fmt.Errorf("read panel: %w", err), "harness panel make --out "+path)
	}
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.DisallowUnknownFields()
	var f panelFile
	if err := dec.Decode(&f); err != nil {
		return harness.Panel{}, fmt.Errorf("read panel %q: %w", path, err)
	}
	if f.Name == "" {
		f.Name = strings.TrimSuffix(filepath.Base(path), filepath.Ext(path))
	}
	if err := f.Validate(); err != nil {
		return harness.Panel{}, fmt.Errorf("read panel %q: %w", path, err)
	}
	if f.Hash != "" && f.Hash != f.Panel.Hash() {
		return harness.Panel{}, errext.WithHint(fmt.Errorf("read panel %q: its hash says %.12s, its tasks have %.12s: the file was edited", path, f.Hash, f.Panel.Hash()),
			"make the panel anew, or delete its \"hash\" to accept the edit")
	}
	return f.Panel, nil
}
