package webshop

import (
	"context"
	"fmt"
	"os"
	"regexp"
	"strconv"
	"sync"

	"github.com/hindsightrl/harness/envs/webshop/catalog"
	"github.com/hindsightrl/harness/envs/webshop/reward"
	"github.com/hindsightrl/harness/envs/webshop/search"
	"github.com/hindsightrl/harness/envs/webshop/shop"
	"github.com/hindsightrl/harness/internal/errext"
)

// Library opens the shops that recorded answers belong to, on one folder of data. It is safe for
// concurrent use.
type Library struct {
	data  string
	nouns reward.Nouns

	mu    sync.Mutex
	shops map[shopKey]*shop.Shop
}

type shopKey struct {
	limit int
	ties  search.Ties
}

type worldKey struct {
	variant catalog.Variant
	seed    int64
	human   bool
}

// OpenLibrary opens a folder of data, or a product file. nouns is the file of a noun table, "" for the
// fallback tagger, under which recorded rewards may differ.
func OpenLibrary(ctx context.Context, data, nouns string) (*Library, error) {
	l := &Library{data: data, shops: map[shopKey]*shop.Shop{}}
	var err error
	if l.nouns, err = OpenNouns(nouns); err != nil {
		return nil, err
	}
	_, err = l.shop(ctx, shopKey{ties: search.ByID})
	return l, err
}

// OpenNouns reads the file of a noun table; "" gives the fallback tagger.
func OpenNouns(name string) (reward.Nouns, error) {
	if name == "" {
		return &reward.Tagger{}, nil
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, errext.WithHint(fmt.Errorf("open noun table: %w", err), "scripts/webshop_nouns.py makes one with spaCy")
	}
	defer f.Close()
	t, err := reward.ReadTable(f)
	if err != nil {
		return nil, fmt.Errorf("%q: %w", name, err)
	}
	return t, nil
}

func (l *Library) shop(ctx context.Context, k shopKey) (*shop.Shop, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if s, ok := l.shops[k]; ok {
		return s, nil
	}
	s, err := shop.Open(ctx, l.data, shop.Config{Nouns: l.nouns, Ties: k.ties, Limit: k.limit})
	if err == nil {
		l.shops[k] = s
	}
	return s, err
}

// main is the shop on all products.
func (l *Library) main(ctx context.Context) (*shop.Shop, error) {
	return l.shop(ctx, shopKey{ties: search.ByID})
}

// world draws a world anew: its random stream is where a fresh process has it.
func (l *Library) world(ctx context.Context, k worldKey) (*catalog.World, error) {
	s, err := l.main(ctx)
	if err != nil {
		return nil, err
	}
	return catalog.NewWorld(s.Catalog, catalog.WorldConfig{Variant: k.variant, Seed: k.seed, Human: k.human})
}

// searchedSeeds is how many seeds are tried for a record that does not name its own.
const searchedSeeds = 1000

var namedWorld = regexp.MustCompile(`(ws|sw)_(?:.*_)?(human|synth)_seed(-?\d+)`)

// variants by the names that records have.
var variants = map[string]catalog.Variant{"ws": catalog.Princeton, "sw": catalog.SERL}

// findWorld finds the world that a record is of: the one that its file's name tells, else the first of
// many that agrees with the record's beginning. kinds are the kinds of goals that it may have.
func (l *Library) findWorld(ctx context.Context, name string, kinds []bool, agrees func(*catalog.World) bool) (*catalog.World, error) {
	try := func(k worldKey) (*catalog.World, error) {
		w, err := l.world(ctx, k)
		if err != nil || !agrees(w) {
			return nil, err
		}
		return l.world(ctx, k) // agreeing may have drawn
	}
	if m := namedWorld.FindStringSubmatch(name); m != nil {
		seed, err := strconv.ParseInt(m[3], 10, 64)
		if err == nil {
			k := worldKey{variants[m[1]], seed, m[2] == "human"}
			if w, err := try(k); w != nil || err != nil {
				return w, err
			}
		}
	}
	for seed := range int64(searchedSeeds) {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		for _, human := range kinds {
			for _, v := range []catalog.Variant{catalog.Princeton, catalog.SERL} {
				if w, err := try(worldKey{v, seed, human}); w != nil || err != nil {
					return w, err
				}
			}
		}
	}
	return nil, fmt.Errorf("no seed from 0 to %d gives what is recorded", searchedSeeds-1)
}
