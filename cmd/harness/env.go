package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/hindsightrl/harness"
)

func newEnv(st stops, g *globals) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "env",
		Short:   "List environments, play one yourself, or serve the shop",
		GroupID: "run",
	}
	cmd.AddCommand(newEnvList(g), newEnvPlay(g), newEnvGenerate(g), newEnvServe(st, g), newEnvDiff(g))
	return cmd
}

func newEnvList(g *globals) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:     "list",
		Short:   "List the environments",
		Example: "  harness env list",
		RunE: func(*cobra.Command, []string) error {
			if asJSON {
				out := make([]map[string]string, len(environments))
				for i, e := range environments {
					out[i] = map[string]string{"name": e[0], "about": e[1]}
				}
				return writeJSON(g.stdout, out)
			}
			t := table{columns: []column{{title: "environment"}, {title: "about"}}}
			for _, e := range environments {
				t.add(e[0], e[1])
			}
			return t.write(g.stdout)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

type playCommand struct {
	g      *globals
	source envSource
	task   string
}

func newEnvPlay(g *globals) *cobra.Command {
	c := &playCommand{g: g}
	cmd := &cobra.Command{
		Use:   "play [ENV]",
		Short: "Play a task at the prompt",
		Long: `play puts you in the agent's place: it prints observations and reads actions, one a line.

Lines that begin with a colon are for the tool: :actions lists what is admissible, :hint asks the
expert, :undo takes the last action back, :finish ends the episode as a limit on steps would, :quit leaves
it as it is. Where the environment judges what was made (a repair's hidden tests), it does so at the end.`,
		Example: `  harness env play
  harness env play alfworld --data $ALFWORLD_DATA --task valid_seen/…/trial_…`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 1 {
				c.source.env = args[0]
			}
			return c.run(cmd.Context())
		},
	}
	c.source.flags(cmd)
	cmd.Flags().StringVar(&c.task, "task", "", "task id (default: the first of the split)")
	return cmd
}

func (c *playCommand) run(ctx context.Context) (err error) {
	suite, err := c.source.open(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closeSuite(suite)) }()
	task, err := c.pick(ctx, suite)
	if err != nil {
		return err
	}
	env, err := suite.NewEnv(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, env.Close()) }()
	first, err := env.Reset(ctx, task)
	if err != nil {
		return err
	}
	fmt.Fprintf(c.g.stdout, "task %s (:actions, :hint, :undo, :finish, :quit)\n\n%s\n", task.Key(), printable(first.Text))
	p := &player{env: env, w: c.g.stdout, now: first}
	return p.loop(ctx, c.g.stdin)
}

// pick finds the task by its id, or takes the first of the split.
func (c *playCommand) pick(ctx context.Context, suite harness.Suite) (harness.Task, error) {
	if c.task != "" {
		return harness.Task{Env: suite.Name(), ID: c.task}, nil
	}
	panel, err := c.source.panel(ctx, suite)
	if err != nil {
		return harness.Task{}, err
	}
	if err := panel.Validate(); err != nil {
		return harness.Task{}, err
	}
	return panel.Tasks[0], nil
}

// player is a game at the prompt.
type player struct {
	env   harness.Env
	w     io.Writer
	now   harness.Observation
	past  []played
	steps int
	score float64 // after the last step
}

// played is what :undo goes back to.
type played struct {
	state harness.Snapshot
	seen  harness.Observation
	score float64
}

func (p *player) loop(ctx context.Context, in io.Reader) error {
	lines, failed := readLines(ctx, in)
	for {
		fmt.Fprint(p.w, "\n> ")
		var line string
		var more bool
		select {
		case line, more = <-lines:
		case <-ctx.Done():
		}
		if !more {
			fmt.Fprintln(p.w)
			if err := ctx.Err(); err != nil {
				return err
			}
			return *failed
		}
		if command, ok := strings.CutPrefix(strings.TrimSpace(line), ":"); ok {
			if command == "quit" || command == "q" {
				return nil
			}
			if command == "finish" {
				return p.finish(ctx)
			}
			if err := p.command(ctx, command); err != nil {
				fmt.Fprintln(p.w, err)
			}
			continue
		}
		done, err := p.act(ctx, line)
		if err != nil || done {
			return err
		}
	}
}

// readLines reads in the background, so that Ctrl-C ends a game that waits for its player. The error
// may be read once the channel is closed.
func readLines(ctx context.Context, in io.Reader) (lines <-chan string, failed *error) {
	out := make(chan string)
	failed = new(error)
	go func() {
		defer close(out)
		sc := bufio.NewScanner(in)
		for sc.Scan() {
			select {
			case out <- sc.Text():
			case <-ctx.Done():
				return
			}
		}
		*failed = sc.Err()
	}()
	return out, failed
}

func (p *player) act(ctx context.Context, action string) (done bool, err error) {
	before := played{seen: p.now, score: p.score}
	if s, ok := p.env.(harness.Snapshotter); ok {
		if before.state, err = s.Snapshot(); err != nil {
			return false, err
		}
	}
	tr, err := p.env.Step(ctx, action)
	if err != nil {
		return false, err
	}
	p.past, p.now = append(p.past, before), tr.Observation
	p.score = tr.Score
	p.steps++
	fmt.Fprintln(p.w, printable(tr.Observation.Text))
	if tr.Privileged != "" {
		fmt.Fprintf(p.w, "(%s)\n", printable(tr.Privileged))
	}
	if tr.Done {
		return true, p.finish(ctx)
	}
	return false, nil
}

// finish ends the episode, and prints what the environment makes of it.
func (p *player) finish(ctx context.Context) error {
	if f, ok := p.env.(harness.Finisher); ok {
		end, err := f.Finish(ctx)
		if err != nil {
			return err
		}
		p.score = end.Score
		for _, text := range []string{end.Feedback, end.Privileged} {
			if text != "" {
				fmt.Fprintf(p.w, "\n%s\n", printable(text))
			}
		}
		for _, a := range end.Artifacts {
			fmt.Fprintf(p.w, "\n── %s\n%s\n", printable(a.Name), printable(strings.TrimSuffix(a.Content, "\n")))
		}
	}
	fmt.Fprintf(p.w, "\ndone after %s: score %g\n", plural(p.steps, "step"), p.score)
	return nil
}

func (p *player) command(ctx context.Context, name string) error {
	switch name {
	case "actions":
		fmt.Fprintln(p.w, strings.Join(p.now.Admissible, "\n"))
	case "hint":
		expert, ok := p.env.(harness.Advisor)
		if !ok {
			return errors.New("this environment has no expert")
		}
		action, err := expert.Advise(ctx)
		if err != nil {
			return err
		}
		fmt.Fprintln(p.w, action)
	case "undo":
		s, ok := p.env.(harness.Snapshotter)
		if !ok || len(p.past) == 0 {
			return errors.New("there is nothing to take back")
		}
		last := p.past[len(p.past)-1]
		if err := s.Restore(last.state); err != nil {
			return err
		}
		p.past, p.now = p.past[:len(p.past)-1], last.seen
		p.score = last.score
		p.steps--
		fmt.Fprintln(p.w, printable(p.now.Text))
	default:
		return fmt.Errorf("no command :%s; there are :actions, :hint, :undo, :finish and :quit", name)
	}
	return nil
}
