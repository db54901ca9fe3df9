package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/hindsightrl/harness"
	"github.com/hindsightrl/harness/feed"
	"github.com/hindsightrl/harness/internal/errext"
	"github.com/hindsightrl/harness/store"
)

// exportSuffix is what a file of a format is called by default.
var exportSuffix = map[string]string{"parquet": ".parquet", "arrow": ".arrow", "jsonl": ".jsonl", "rllm": ".rllm.jsonl", "prime-rl": ""}

type exportCommand struct {
	st     stops
	g      *globals
	rows   feedFlags
	format string
	out    string
	prime  feed.PrimeRLConfig
}

func newExport(st stops, g *globals) *cobra.Command {
	c := &exportCommand{st: st, g: g}
	cmd := &cobra.Command{
		Use:   "export",
		Short: "Write the rows of a run to files that trainers and notebooks read",
		Long: `export writes one row per step of every finished group, with its tokens, log-probabilities, masks and
advantages: what serve hands over, as a file. It changes nothing in the ledger.`,
		Example: `  harness export --run nightly --format parquet
  harness export --run nightly --format prime-rl --out outputs --ranks 8 --seq-len 16384 --step-groups 64`,
		GroupID: "feed",
		RunE:    func(cmd *cobra.Command, _ []string) error { return c.run(cmd) },
	}
	c.rows.flags(cmd)
	f := cmd.Flags()
	f.StringVar(&c.format, "format", "parquet", "parquet, arrow, jsonl, prime-rl or rllm")
	f.StringVar(&c.out, "out", "", "file to write, - for standard output, or prime-rl's output folder (default: the run's name and the format's suffix)")
	f.IntVar(&c.prime.Ranks, "ranks", 1, "prime-rl: data-parallel trainers")
	f.IntVar(&c.prime.SeqLen, "seq-len", 32768, "prime-rl: tokens of a micro-batch")
	f.IntVar(&c.prime.Step, "first-step", 0, "prime-rl: number of the first step")
	f.IntVar(&c.prime.StepGroups, "step-groups", 0, "prime-rl: groups per step; 0 = all in one")
	configurable(g, cmd)
	return cmd
}

func (c *exportCommand) run(cmd *cobra.Command) error {
	if _, known := exportSuffix[c.format]; !known {
		return usageError(cmd, fmt.Errorf("--format %q: want parquet, arrow, jsonl, prime-rl or rllm", c.format))
	}
	return readLedger(c.st.soft, c.rows.db, func(db *store.Store) error {
		plan, err := c.rows.plan(c.st.soft, cmd, db, "export")
		if err != nil {
			return err
		}
		lease, err := db.FinishedGroups(c.st.soft, plan.spec)
		if err != nil {
			return err
		}
		if len(lease.Groups) == 0 {
			hint := fmt.Sprintf("harness credit --db %s --run %s, or export with --credit none", shellWord(c.rows.db), shellWord(plan.run.Name))
			return errext.WithHint(fmt.Errorf("run %s has no finished groups with credit", plan.run.Name), hint)
		}
		src := newLedgerSource(db, nil, plan)
		pass, err := src.Pass(c.st.soft, lease)
		if err != nil {
			return err
		}
		version, err := db.PolicyVersion(c.st.soft, plan.run.ID)
		if err != nil {
			return err
		}
		h := feed.NewHeader(lease, pass, version)
		if c.out == "" {
			c.out = fileName(plan.run.Name) + exportSuffix[c.format]
		}
		if err := c.write(src, lease, h); err != nil {
			return err
		}
		fmt.Fprintf(c.g.stderr, "%s: %s, %s, %s, %s of prompts\n", c.out,
			plural(len(h.Groups), "group"), plural(h.Rows, "row"), plural(h.Tokens, "response token"), plural(h.PromptTokens, "token"))
		return nil
	})
}

// write exports to a file beside the target and renames it: what is under the name is always whole.
func (c *exportCommand) write(src *ledgerSource, lease harness.Lease, h *feed.Header) error {
	if c.format == "prime-rl" {
		c.prime.Dir = c.out
		x, err := feed.NewPrimeRL(c.prime)
		if err != nil {
			return errext.WithCode(err, exitUsage)
		}
		return copyRows(c.st.soft, src, lease, h, x)
	}
	if c.out == "-" {
		x, err := c.exporter(nopCloser{c.g.stdout}, h)
		if err != nil {
			return err
		}
		return copyRows(c.st.soft, src, lease, h, x)
	}
	err := writeWhole(c.out, func(f *os.File) error {
		x, err := c.exporter(nopCloser{f}, h)
		if err != nil {
			return err
		}
		return copyRows(c.st.soft, src, lease, h, x)
	})
	if err != nil {
		return fmt.Errorf("write %s: %w", c.out, err)
	}
	return nil
}

// nopCloser hides that a file can be closed: the Parquet writer would, and the rename comes after.
type nopCloser struct {
	w interface{ Write([]byte) (int, error) }
}

func (n nopCloser) Write(b []byte) (int, error) { return n.w.Write(b) }

func (c *exportCommand) exporter(w nopCloser, h *feed.Header) (feed.Exporter, error) {
	switch c.format {
	case "jsonl":
		return feed.NewJSONL(w, h), nil
	case "rllm":
		return feed.NewRLLM(w, h), nil
	case "arrow":
		return feed.NewArrowFile(w, h)
	}
	return feed.NewParquet(w, h)
}

func copyRows(ctx context.Context, src *ledgerSource, lease harness.Lease, h *feed.Header, x feed.Exporter) error {
	for _, g := range lease.Groups {
		steps, err := src.Steps(ctx, lease, g.Index)
		if err != nil {
			return err
		}
		rows, err := h.RowsOf(steps)
		if err != nil {
			return err
		}
		if err := x.Write(rows); err != nil {
			if errors.Is(err, feed.ErrColumn) {
				return errext.WithHint(err, "collect with a policy that gives token ids and log-probabilities, and run harness credit")
			}
			return err
		}
	}
	return x.Close()
}
