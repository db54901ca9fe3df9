package browser

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/hindsightrl/harness"
	"github.com/hindsightrl/harness/envs/webshop"
)

// Suite plays the tasks of a shop in a browser. It is safe for concurrent use.
type Suite struct {
	shop   *webshop.Suite
	cfg    Config
	pool   *pool
	server *server
}

var _ harness.Suite = (*Suite)(nil)

// New serves a shop on loopback and finds a browser for it, which starts with the first episode. The
// caller closes the suite, and the shop after it. ErrMissing is in the error where there is no browser.
func New(s *webshop.Suite, cfg Config) (*Suite, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	cfg = cfg.complete()
	bin, err := Find(cfg.Bin)
	if err != nil {
		return nil, err
	}
	if cfg.Screenshots != "" {
		if err := os.MkdirAll(cfg.Screenshots, 0o777); err != nil {
			return nil, fmt.Errorf("make the folder of screenshots: %w", err)
		}
	}
	server, err := serve(s.Shop(), s.World)
	if err != nil {
		return nil, err
	}
	return &Suite{shop: s, cfg: cfg, pool: newPool(cfg, bin), server: server}, nil
}

// Name is "webshop".
func (s *Suite) Name() string { return s.shop.Name() }

// Tasks lists the tasks of the shop.
func (s *Suite) Tasks(ctx context.Context, split string) ([]harness.Task, error) {
	return s.shop.Tasks(ctx, split)
}

// Info is what a run should record: the shop's and the backend.
func (s *Suite) Info() map[string]string {
	info := s.shop.Info()
	info["backend"] = "browser"
	return info
}

// NewEnv opens an environment. It takes a page when it is reset.
func (s *Suite) NewEnv(ctx context.Context) (harness.Env, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return &Env{suite: s}, nil
}

// Close ends the browser and the server. Episodes that are open fail.
func (s *Suite) Close() error {
	s.pool.close()
	return s.server.close()
}

// Starts is how many browsers were started so far: more than one means that others ended.
func (s *Suite) Starts() int {
	s.pool.mu.Lock()
	defer s.pool.mu.Unlock()
	return s.pool.starts
}

// failure types an error of the browser: another try, with another browser if need be, can help. An
// error of the caller's context stays what it is.
func failure(ctx context.Context, op string, err error) error {
	if ctx.Err() != nil && errors.Is(err, ctx.Err()) {
		return err
	}
	return harness.Fail(harness.FailEnv, op, err)
}
