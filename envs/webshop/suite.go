package webshop

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/hindsightrl/harness"
	"github.com/hindsightrl/harness/envs/webshop/catalog"
	"github.com/hindsightrl/harness/envs/webshop/internal/py"
	"github.com/hindsightrl/harness/envs/webshop/shop"
	"github.com/hindsightrl/harness/internal/errext"
)

// Name is the environment name of WebShop tasks.
const Name = "webshop"

// DefaultSeed is the seed of a suite that names none: that of the serl variant's environment.
const DefaultSeed = 42

// Config configures a Suite. The zero value is the serl variant's set-up: synthetic goals, text
// observations, a reward of 10 for a perfect purchase.
type Config struct {
	// Shop is nouns, order of ties and the like.
	Shop shop.Config
	// Variant decides draws, splits and reward; "" means serl.
	Variant catalog.Variant
	// Seed decides prices, goals and their order for tasks without a seed of their own; 0 means DefaultSeed.
	Seed int64
	// Human takes the goals that people wrote, instead of synthetic ones.
	Human bool
	// Mode is how pages are observed; "" means text.
	Mode shop.Mode
}

func (c *Config) complete() error {
	c.Variant = cmp.Or(c.Variant, catalog.SERL)
	c.Mode = cmp.Or(c.Mode, shop.Text)
	c.Seed = cmp.Or(c.Seed, DefaultSeed)
	if _, err := catalog.ParseVariant(string(c.Variant)); err != nil {
		return err
	}
	_, err := shop.ParseMode(string(c.Mode))
	return err
}

// Suite is a shop with its goals. It is safe for concurrent use.
type Suite struct {
	cfg  Config
	shop *shop.Shop

	mu     sync.Mutex
	worlds map[int64]*catalog.World // by seed
	recent []int64                  // seeds, the latest last
}

var _ harness.Suite = (*Suite)(nil)

// New opens a folder of data files, or a product file.
func New(ctx context.Context, name string, cfg Config) (*Suite, error) {
	return newSuite(cfg, func(c shop.Config) (*shop.Shop, error) { return shop.Open(ctx, name, c) })
}

// NewFiles opens data files that are open already. They are read to the end; the product file is read
// again later if it is a large one.
func NewFiles(ctx context.Context, files catalog.Files, cfg Config) (*Suite, error) {
	return newSuite(cfg, func(c shop.Config) (*shop.Shop, error) { return shop.Load(ctx, files, c) })
}

func newSuite(cfg Config, open func(shop.Config) (*shop.Shop, error)) (*Suite, error) {
	if err := cfg.complete(); err != nil {
		return nil, err
	}
	s, err := open(cfg.Shop)
	if err != nil {
		return nil, err
	}
	suite := &Suite{cfg: cfg, shop: s, worlds: map[int64]*catalog.World{}}
	_, err = suite.World(cfg.Seed) // data without goals fails here and not at the first episode
	return suite, err
}

// Name is "webshop".
func (s *Suite) Name() string { return Name }

// Shop is the shop that all episodes share.
func (s *Suite) Shop() *shop.Shop { return s.shop }

// Info is what a run should record about the shop: how much there is, and what decides rewards.
func (s *Suite) Info() map[string]string {
	kind := "synthetic"
	if s.cfg.Human {
		kind = "human"
	}
	return map[string]string{
		"variant": string(s.cfg.Variant), "goals": kind, "observation": string(s.cfg.Mode), "nouns": s.shop.Nouns.Name(),
		"products": strconv.Itoa(len(s.shop.Products)), "data": fmt.Sprintf("%016x", s.shop.Digest),
	}
}

// Close ends reading from the product file.
func (s *Suite) Close() error { return s.shop.Close() }

// keptGoals bounds the goals of the worlds that are kept, in total.
const keptGoals = 4 << 20

// World returns prices and goals of a seed. Its random stream belongs to nobody and must not be drawn
// from.
func (s *Suite) World(seed int64) (*catalog.World, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if w, ok := s.worlds[seed]; ok {
		s.recent = append(slices.DeleteFunc(s.recent, func(o int64) bool { return o == seed }), seed)
		return w, nil
	}
	w, err := catalog.NewWorld(s.shop.Catalog, catalog.WorldConfig{Variant: s.cfg.Variant, Seed: seed, Human: s.cfg.Human})
	if err != nil {
		return nil, err
	}
	for len(s.recent) > 0 && (len(s.recent)+1)*w.Len() > keptGoals {
		delete(s.worlds, s.recent[0])
		s.recent = s.recent[1:]
	}
	s.worlds[seed] = w
	s.recent = append(s.recent, seed)
	return w, nil
}

// prefix begins the ids of tasks.
func (s *Suite) prefix() string {
	if s.cfg.Human {
		return string(s.cfg.Variant) + "-human/"
	}
	return string(s.cfg.Variant) + "-synthetic/"
}

// Task is the task of a goal by its index, under a seed; 0 means the suite's. Its id is
// "<variant>-<kind of goals>/<index>", its type the product's category, its hash that of the goal and
// all data files.
func (s *Suite) Task(seed int64, index int) (harness.Task, error) {
	seed = cmp.Or(seed, s.cfg.Seed)
	w, err := s.World(seed)
	if err != nil {
		return harness.Task{}, err
	}
	if index < 0 || index >= w.Len() {
		return harness.Task{}, fmt.Errorf("no goal %d: there are %d", index, w.Len())
	}
	return s.task(w, seed, index), nil
}

func (s *Suite) task(w *catalog.World, seed int64, index int) harness.Task {
	return harness.Task{
		Env: Name, ID: s.prefix() + strconv.Itoa(index), Split: splitOf(s.cfg.Variant, index), Seed: seed,
		Type: s.shop.Products[w.Product(index)].Category, Hash: s.hash(w, index),
	}
}

func (s *Suite) hash(w *catalog.World, index int) string {
	g := w.At(index)
	h := sha256.New()
	h.Write(binary.BigEndian.AppendUint64(nil, s.shop.Digest))
	h.Write(py.AppendJSON(nil, g.Dict(s.shop.Catalog), false))
	return hex.EncodeToString(h.Sum(nil))
}

// find reads a task back: its seed and the index of its goal.
func (s *Suite) find(task harness.Task) (*catalog.World, int, error) {
	number, ok := strings.CutPrefix(task.ID, s.prefix())
	index, err := strconv.Atoi(number)
	if task.Env != Name || !ok || err != nil {
		return nil, 0, errext.WithHint(fmt.Errorf("no task %q in this WebShop", task.Key()), fmt.Sprintf("its tasks are called %s0, %s1, …", s.prefix(), s.prefix()))
	}
	w, err := s.World(cmp.Or(task.Seed, s.cfg.Seed))
	if err != nil {
		return nil, 0, err
	}
	if index < 0 || index >= w.Len() {
		return nil, 0, fmt.Errorf("no task %q: there are %d goals", task.Key(), w.Len())
	}
	if task.Hash != "" && task.Hash != s.hash(w, index) {
		return nil, 0, errext.WithHint(fmt.Errorf("task %q is of other data: its hash differs", task.Key()), "open the data files that the task was made from")
	}
	return w, index, nil
}

// Tasks lists the goals of a split in their order under the suite's seed; the empty split means all.
func (s *Suite) Tasks(ctx context.Context, split string) ([]harness.Task, error) {
	w, err := s.World(s.cfg.Seed)
	if err != nil {
		return nil, err
	}
	from, to, err := bounds(s.cfg.Variant, split, w.Len())
	if err != nil {
		return nil, err
	}
	out := make([]harness.Task, 0, to-from)
	for i := from; i < to; i++ {
		if i%1024 == 0 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
		out = append(out, s.task(w, s.cfg.Seed, i))
	}
	return out, nil
}

// NewEnv opens an environment.
func (s *Suite) NewEnv(ctx context.Context) (harness.Env, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return &Env{suite: s}, nil
}
