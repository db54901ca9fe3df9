package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/hindsightrl/harness"
	"github.com/hindsightrl/harness/importer"
	"github.com/hindsightrl/harness/internal/errext"
	"github.com/hindsightrl/harness/store"
)

// importCommand brings other programs' rollouts into the ledger.
type importCommand struct {
	st stops
	g  *globals

	db      string
	format  string
	name    string
	env     string
	policy  string
	rewards string
	wonAt   float64
	skipBad bool
	asJSON  bool

	files []string
	given importer.Rewards
}

func newImport(st stops, g *globals) *cobra.Command {
	c := &importCommand{st: st, g: g}
	cmd := &cobra.Command{
		Use:   "import FILE…",
		Short: "Bring rollouts that other programs recorded into the ledger",
		Long: `import makes a run of rollouts that are in files: --format verifiers reads traces.jsonl (verifiers 0.2 and
later) and results.jsonl (before), --format atif reads trajectories in Harbor's Agent Trajectory
Interchange Format. A FILE may be a folder: of a verifiers run, or of a Harbor job or trial.

Rollouts of one task become a group. Token ids and log-probabilities are taken as they are; where a file
has none, the ledger has none. The reward comes with the last step. What has no place in the ledger is
kept as an artifact of the episode, and listed. Nothing is written unless every record can be read.

ATIF has no rewards: they come from Harbor's result.json beside the trajectory, or from --rewards, a JSON
object of rewards by trajectory_id, session_id or file.

An import that was stopped goes on when it is started again.`,
		Example: `  harness import --format verifiers outputs/evals/gsm8k/traces.jsonl --name theirs
  harness import --format atif jobs/2026-11-30 --name harbor
  harness import --format atif trajectory.json --rewards rewards.json --name one
  harness credit --run theirs`,
		GroupID: "feed",
		Args:    cobra.ArbitraryArgs,
		RunE:    func(cmd *cobra.Command, args []string) error { return c.run(cmd, args) },
	}
	f := cmd.Flags()
	f.StringVar(&c.db, "db", defaultDB, "ledger file")
	f.StringVar(&c.format, "format", "", "verifiers or atif")
	f.StringVar(&c.name, "name", "", "name of the run (default: the format and the time)")
	f.StringVar(&c.env, "env", "", "environment name of the tasks (default: what the file says, else the format)")
	f.StringVar(&c.policy, "policy", "", "who acted, for people to read (default: the models that the files name)")
	f.StringVar(&c.rewards, "rewards", "", "atif: JSON file with rewards by trajectory_id, session_id or file")
	f.Float64Var(&c.wonAt, "won-at", 1, "reward from which on an episode counts as won")
	f.BoolVar(&c.skipBad, "skip-bad", false, "leave out records that cannot be read, and say which")
	f.BoolVar(&c.asJSON, "json", false, "print JSON")
	configurable(g, cmd)
	return cmd
}

// imported is what was done.
type imported struct {
	Run      string   `json:"run"`
	Groups   int      `json:"groups"`
	Episodes int      `json:"episodes"`
	Failed   int      `json:"failed"`
	Steps    int      `json:"steps"`
	Tokens   int      `json:"tokens"` // of responses
	Notes    []string `json:"notes"`
	Skipped  []string `json:"skipped"` // records that could not be read

	panel  importer.Panel
	models map[string]bool
	hash   string // over the files and what decides how they are read
}

func (c *importCommand) run(cmd *cobra.Command, args []string) error {
	if c.format == "" || len(args) == 0 {
		return usageError(cmd, errext.WithHint(errors.New("--format and at least one FILE are needed"), "harness import --format verifiers traces.jsonl"))
	}
	if c.rewards != "" && c.format != importer.FormatATIF {
		return usageError(cmd, errors.New("--rewards is for --format atif: files of verifiers have their rewards"))
	}
	if _, err := importer.NewReader(c.format, importer.Options{}); err != nil {
		return usageError(cmd, err)
	}
	ctx := c.st.soft
	var err error
	if c.files, err = importFiles(c.format, args); err != nil {
		return err
	}
	if c.rewards != "" {
		raw, err := os.ReadFile(c.rewards)
		if err == nil {
			c.given, err = importer.ParseRewards(raw)
		}
		if err != nil {
			return fmt.Errorf("--rewards %s: %w", c.rewards, err)
		}
	}
	sum, err := c.look(ctx)
	if err != nil {
		return err
	}
	db, err := store.Open(ctx, c.db, store.Config{Now: c.g.now})
	if err != nil {
		return err
	}
	err = errors.Join(c.write(ctx, db, sum), db.Close())
	if err != nil {
		return err
	}
	return c.print(sum)
}

// importFiles are the files of the arguments, folders searched, in a stable order.
func importFiles(format string, args []string) ([]string, error) {
	var out []string
	for _, arg := range args {
		info, err := os.Stat(arg)
		if err != nil {
			return nil, fmt.Errorf("import %s: %w", arg, err)
		}
		if !info.IsDir() {
			out = append(out, arg)
			continue
		}
		n := len(out)
		err = filepath.WalkDir(arg, func(path string, d fs.DirEntry, err error) error {
			name := d.Name()
			if err == nil && !d.IsDir() && (format == importer.FormatVerifiers && (name == "traces.jsonl" || name == "results.jsonl") || format == importer.FormatATIF && name == "trajectory.json") {
				out = append(out, path)
			}
			return err
		})
		if err != nil {
			return nil, fmt.Errorf("import %s: %w", arg, err)
		}
		if len(out) == n {
			return nil, errext.WithHint(fmt.Errorf("import %s: nothing in this folder is called as %s calls its files", arg, format), "name the files themselves")
		}
	}
	return out, nil
}

// read hands every episode of every file to each. note hears of each record that is left out.
func (c *importCommand) read(ctx context.Context, each func(*importer.Episode) error, h io.Writer, note func(string)) (importer.Notes, error) {
	r, err := importer.NewReader(c.format, importer.Options{Env: c.env, WonAt: c.wonAt, Result: c.result})
	if err != nil {
		return nil, err
	}
	bad := func(b *importer.BadRecordError) error {
		if !c.skipBad {
			return errext.WithHint(fmt.Errorf("import: %w", b), hintOr(b, "--skip-bad leaves such records out"))
		}
		note(b.Error())
		return nil
	}
	for _, name := range c.files {
		f, err := os.Open(name)
		if err != nil {
			return nil, fmt.Errorf("import: %w", err)
		}
		err = r.Read(ctx, name, io.TeeReader(f, h), each, bad)
		if err = errors.Join(err, f.Close()); err != nil {
			return nil, err
		}
	}
	return r.Notes(), nil
}

// result is what is known about a trajectory outside of it: from --rewards, else from Harbor's result.json in
// its folder or the one above.
func (c *importCommand) result(file string, t importer.Trajectory) (importer.Result, error) {
	for _, name := range []string{t.Trajectory, t.Session, file} {
		if res, ok := c.given[name]; ok && name != "" {
			return res, nil
		}
	}
	dir := filepath.Dir(file)
	for _, path := range []string{filepath.Join(dir, "result.json"), filepath.Join(filepath.Dir(dir), "result.json")} {
		raw, err := os.ReadFile(path)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return importer.Result{}, err
		}
		res, err := importer.HarborResult(raw)
		if err != nil {
			return res, fmt.Errorf("%s: %w", path, err)
		}
		return res, nil
	}
	return importer.Result{}, nil
}

// look reads everything once without writing: what there is, and whether all of it can be read.
func (c *importCommand) look(ctx context.Context) (*imported, error) {
	sum := &imported{models: map[string]bool{}}
	h := sha256.New()
	fmt.Fprintf(h, "hindsight/import/1 %s %q %v %v ", c.format, c.env, c.wonAt, c.skipBad)
	if err := json.NewEncoder(h).Encode(c.given); err != nil {
		return nil, err
	}
	notes, err := c.read(ctx, func(ep *importer.Episode) error {
		if _, _, err := sum.panel.Add(ep); err != nil {
			return err
		}
		sum.Episodes++
		sum.Steps += len(ep.Steps)
		if ep.Failure != nil {
			sum.Failed++
		}
		for i := range ep.Steps {
			if t := ep.Steps[i].Tokens; t != nil {
				sum.Tokens += len(t.IDs)
			}
		}
		if ep.Model != "" {
			sum.models[ep.Model] = true
		}
		// Results beside a file decide what is written, too.
		fmt.Fprintf(h, "%v %v %v ", ep.Task.Key(), ep.Outcome.Reward, ep.Failure != nil)
		return nil
	}, h, func(what string) { sum.Skipped = append(sum.Skipped, what) })
	if err != nil {
		return nil, err
	}
	if sum.Episodes == 0 {
		return nil, errext.WithHint(errors.New("import: the files hold no rollout that can be imported"), strings.Join(append(sum.Skipped, notes.Lines()...), "; "))
	}
	sum.hash = hex.EncodeToString(h.Sum(nil))
	sum.Groups = len(sum.panel.Tasks())
	sum.Notes = notes.Lines()
	if n := sum.panel.Largest() - sum.panel.Smallest(); n > 0 {
		sum.Notes = append(sum.Notes, fmt.Sprintf("groups have %d to %d episodes", sum.panel.Smallest(), sum.panel.Largest()))
	}
	return sum, nil
}

// actor is who acted.
func (c *importCommand) actor(sum *imported) string {
	if c.policy != "" {
		return c.policy
	}
	names := make([]string, 0, len(sum.models))
	for m := range sum.models {
		names = append(names, m)
	}
	slices.Sort(names)
	if len(names) == 0 {
		return c.format
	}
	return strings.Join(names, ", ")
}

func (c *importCommand) print(sum *imported) error {
	if c.asJSON {
		if sum.Notes == nil {
			sum.Notes = []string{}
		}
		if sum.Skipped == nil {
			sum.Skipped = []string{}
		}
		return writeJSON(c.g.stdout, sum)
	}
	fmt.Fprintf(c.g.stdout, "run %s: %s in %s, %d of them failed, %s, %s\n", sum.Run,
		plural(sum.Episodes, "episode"), plural(sum.Groups, "group"), sum.Failed, plural(sum.Steps, "step"), plural(sum.Tokens, "response token"))
	for _, n := range sum.Notes {
		fmt.Fprintf(c.g.stdout, "  %s\n", printable(n))
	}
	for _, s := range sum.Skipped {
		fmt.Fprintf(c.g.stdout, "  left out: %s\n", printable(s))
	}
	return nil
}

// refKey is a place in a run.
type refKey struct{ group, sample int }

// places are the episodes of a run that are not closed.
func places(ctx context.Context, db *store.Store, run int64) (map[refKey]harness.EpisodeRef, error) {
	refs, err := db.Pending(ctx, run)
	if err != nil {
		return nil, err
	}
	out := make(map[refKey]harness.EpisodeRef, len(refs))
	for _, ref := range refs {
		out[refKey{ref.Group, ref.Sample}] = ref
	}
	return out, nil
}
