package alfworld

import (
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"sync"

	"github.com/hindsightrl/harness"
)

// Name is the environment name of ALFWorld tasks.
const Name = "alfworld"

// Config configures a Suite. The zero value is the reference set-up.
type Config struct {
	// Reward is paid on first reaching the goal; 0 means 10, as the reference runs pay.
	Reward float64
	// CacheGames bounds how many compiled games are kept for sharing (about half a megabyte each); 0
	// means 256. Games in use stay in memory whatever the bound.
	CacheGames int
	// PlayOn lets an Env take actions after the goal is reached, as the bare engine does. Otherwise it
	// freezes, as the original's batch environment does: each further step gives the last answer again,
	// with no reward.
	PlayOn bool
}

// Validate reports a setting that cannot work.
func (c Config) Validate() error {
	if c.CacheGames < 0 {
		return fmt.Errorf("alfworld: CacheGames is %d, want 0 or more", c.CacheGames)
	}
	return nil
}

// Skip is a trial that Tasks leaves out, with the reason.
type Skip struct {
	ID     string
	Reason error
}

// Suite finds and compiles games. It is safe for concurrent use.
type Suite struct {
	cfg     Config
	name    string // where the games come from, for messages
	fsys    fs.FS
	games   *cache
	domains domains

	mu     sync.Mutex
	splits map[string]*listing
}

// listing is what a split holds.
type listing struct {
	tasks []harness.Task
	skips []Skip
}

var _ harness.Suite = (*Suite)(nil)

// New opens games from a folder that holds json_2.1.1, from json_2.1.1 itself, or from a .tar.xz or .tar
// of either, which is read into memory once.
func New(ctx context.Context, name string, cfg Config) (*Suite, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	fsys, err := openSource(name)
	if err != nil {
		return nil, err
	}
	return newSuite(name, fsys, cfg)
}

// NewFS opens games from a file system laid out like a download.
func NewFS(ctx context.Context, fsys fs.FS, cfg Config) (*Suite, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	sub, err := splitsOf(fsys)
	if err != nil {
		return nil, fmt.Errorf("open ALFWorld games: %w", err)
	}
	return newSuite("the given games", sub, cfg)
}

func newSuite(name string, fsys fs.FS, cfg Config) (*Suite, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	cfg.Reward = cmp.Or(cfg.Reward, 10)
	cfg.CacheGames = cmp.Or(cfg.CacheGames, 256)
	s := &Suite{cfg: cfg, name: name, fsys: fsys, splits: make(map[string]*listing)}
	s.games = newCache(cfg.CacheGames, s.compile)
	return s, nil
}

// Name is "alfworld".
func (s *Suite) Name() string { return Name }

// Splits lists the splits, sorted.
func (s *Suite) Splits() ([]string, error) { return subFolders(s.fsys, ".") }

// Tasks lists a split's playable games, sorted by id; the empty split means all. A task's id is
// "<split>/<task>/<trial>", its type the one in traj_data.json, its hash that of the game file. The
// filter is the original's; Skipped tells what it left out.
func (s *Suite) Tasks(ctx context.Context, split string) ([]harness.Task, error) {
	lists, err := s.lists(ctx, split)
	if err != nil {
		return nil, err
	}
	var out []harness.Task
	for _, l := range lists {
		out = append(out, l.tasks...)
	}
	return out, nil
}

// Skipped lists the trials of a split that Tasks leaves out, sorted by id.
func (s *Suite) Skipped(ctx context.Context, split string) ([]Skip, error) {
	lists, err := s.lists(ctx, split)
	if err != nil {
		return nil, err
	}
	var out []Skip
	for _, l := range lists {
		out = append(out, l.skips...)
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
