package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/hindsightrl/harness"
	"github.com/hindsightrl/harness/envs/webshop"
	"github.com/hindsightrl/harness/envs/webshop/catalog"
	shopembedded "github.com/hindsightrl/harness/envs/webshop/embedded"
	"github.com/hindsightrl/harness/envs/webshop/search"
	"github.com/hindsightrl/harness/envs/webshop/shop"
	"github.com/hindsightrl/harness/internal/errext"
)

// shopFlags are what WebShop has to choose.
type shopFlags struct {
	nouns       string
	variant     string
	goals       string
	observation string
	ties        string
	seed        int64
	cache       string
	note        func(string) // tells the user
}

// noCache is the --shop-cache that keeps nothing.
const noCache = "none"

func (f *shopFlags) flags(cmd *cobra.Command) {
	fl := cmd.Flags()
	fl.StringVar(&f.nouns, "nouns", "", "WebShop: file of titles' nouns as spaCy finds them, made by scripts/webshop_nouns.py (default: a tagger of this program's own)")
	fl.StringVar(&f.variant, "variant", string(catalog.SERL), "WebShop: serl (reward 10 for a perfect purchase, splits val and train) or princeton (the score is the reward, splits test, eval and train)")
	fl.StringVar(&f.goals, "goals", "synthetic", "WebShop: synthetic goals, or human ones")
	fl.StringVar(&f.observation, "observation", string(shop.Text), "WebShop: how pages are observed: text, text_rich, html or url")
	fl.StringVar(&f.ties, "ties", string(search.ByID), "WebShop: order of products that a search scores alike: docid or index")
	fl.StringVar(&f.cache, "shop-cache", "", "WebShop: folder that keeps what is made of a product file above 64 MiB, so that the next start takes seconds; none keeps nothing (default: hindsight/webshop in the user's cache folder, where there is one)")
	f.note = func(text string) { fmt.Fprintln(cmd.ErrOrStderr(), "harness: "+text) }
	fl.Int64Var(&f.seed, "shop-seed", webshop.DefaultSeed, "WebShop: seed of prices, goals and their order")
}

// config checks the flags.
func (f *shopFlags) config() (cfg webshop.Config, err error) {
	if cfg.Variant, err = catalog.ParseVariant(f.variant); err != nil {
		return cfg, err
	}
	if cfg.Mode, err = shop.ParseMode(f.observation); err != nil {
		return cfg, err
	}
	if cfg.Shop.Ties, err = search.ParseTies(f.ties); err != nil {
		return cfg, err
	}
	switch f.goals {
	case "synthetic", "human":
		cfg.Human = f.goals == "human"
	default:
		return cfg, errext.WithHint(fmt.Errorf("no kind of goals %q", f.goals), "there are synthetic and human")
	}
	if f.nouns != "" {
		if cfg.Shop.Nouns, err = webshop.OpenNouns(f.nouns); err != nil {
			return cfg, err
		}
	}
	cfg.Seed = f.seed
	cfg.Shop.Note, cfg.Shop.Cache = f.note, f.cacheFolder()
	return cfg, nil
}

// cacheFolder is where large shops are kept; "" for nowhere.
func (f *shopFlags) cacheFolder() string {
	switch f.cache {
	case noCache:
		return ""
	case "":
		if dir, err := os.UserCacheDir(); err == nil {
			return filepath.Join(dir, "hindsight", "webshop")
		}
		return "" // a user without such a folder has named none either
	}
	return f.cache
}

// open opens the shop on its data, or the embedded one.
func (f *shopFlags) open(ctx context.Context, data string) (*webshop.Suite, error) {
	cfg, err := f.config()
	if err != nil {
		return nil, err
	}
	return f.openWith(ctx, data, cfg)
}

func (f *shopFlags) openWith(ctx context.Context, data string, cfg webshop.Config) (*webshop.Suite, error) {
	if data == "" {
		return shopembedded.SuiteWith(ctx, cfg)
	}
	return webshop.New(ctx, data, cfg)
}

// defaultSplit is the one that runs report: the variant's first.
func (f *shopFlags) defaultSplit() string {
	v, err := catalog.ParseVariant(f.variant)
	if err != nil {
		return ""
	}
	return webshop.Splits(v)[0]
}

// perCategory is how many tasks of each category the embedded shop's panel has without --split.
const perCategory = 3

// panel is the tasks of a split; of the embedded shop's default split a few of each category.
func (f *shopFlags) panel(ctx context.Context, suite harness.Suite, data, split string) (harness.Panel, error) {
	small := split == "" && data == ""
	if split == "" {
		split = f.defaultSplit()
	}
	tasks, err := suite.Tasks(ctx, split)
	if err != nil {
		return harness.Panel{}, err
	}
	name := webshop.Name + "-" + split
	if data == "" {
		name = "embedded-" + name
	}
	if small {
		tasks = firstPerType(tasks, perCategory)
		name += fmt.Sprintf("-%d-per-category", perCategory)
	}
	return harness.Panel{Name: name, Tasks: tasks}, nil
}

func newVerifyWebShop(g *globals) *cobra.Command {
	var data, nouns string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "webshop FILE…",
		Short: "Compare the native shop with everything recorded from the original one",
		Long: `Each FILE is JSON or JSON lines, plain or gzipped, or a folder of such files. What it holds is told
by its content: episodes, goals, prices and draws, searches, terms, fuzzy ratios, colours, actions,
random streams, requests to the site, its logs, episodes that others recorded, or a noun table.

Rewards depend on which words of a title are nouns. Records that were made with a noun table need it:
name it with --nouns, or among the files.`,
		Example: "  harness verify webshop episodes.jsonl goals.jsonl.gz --data $WEBSHOP_DATA --nouns nouns.json",
		Args:    cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if data == "" {
				return usageError(cmd, errext.WithHint(errors.New("verify webshop needs the products of the records: --data is not given"), "harness verify webshop FILE… --data $WEBSHOP_DATA"))
			}
			files, err := filesIn(args)
			if err != nil {
				return err
			}
			if nouns == "" {
				nouns = nounTableAmong(files)
			}
			lib, err := webshop.OpenLibrary(cmd.Context(), data, nouns)
			if err != nil {
				return err
			}
			notes := map[string]int{}
			check := func(name string, r io.Reader, report func(string)) (int, int, error) {
				return webshop.Verify(cmd.Context(), name, r, lib, func(c webshop.Case) {
					if c.Note != "" {
						notes[c.Note]++
					}
					if c.Err != nil {
						report(fmt.Sprintf("%s: %s: %v", filepath.Base(name), c.Name, c.Err))
					}
				})
			}
			return runVerify(g, files, asJSON, check, func() { printNotes(g, notes) })
		},
	}
	cmd.Flags().StringVar(&data, "data", "", "folder that holds items_shuffle_1000.json and its companions, or the product file")
	cmd.Flags().StringVar(&nouns, "nouns", "", "file of titles' nouns that the records were made with")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

// filesIn replaces folders by the files in them.
func filesIn(names []string) ([]string, error) {
	var out []string
	for _, name := range names {
		err := filepath.WalkDir(name, func(path string, d fs.DirEntry, err error) error {
			if err == nil && !d.IsDir() {
				out = append(out, path)
			}
			return err
		})
		if err != nil {
			return nil, fmt.Errorf("verify: %w", err)
		}
	}
	return out, nil
}

// nounTableAmong finds a noun table among the files; "" if there is none.
func nounTableAmong(files []string) string {
	for _, name := range files {
		if f, err := os.Open(name); err == nil {
			kind, err := webshop.KindOfFile(f)
			_ = f.Close()
			if err == nil && kind == webshop.KindNouns {
				return name
			}
		}
	}
	return ""
}
