package alfworld

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/hindsightrl/harness/envs/alfworld/engine"
	"github.com/hindsightrl/harness/internal/errext"
)

var (
	_ Library = (*Suite)(nil)
	_ Library = (*Archives)(nil)
)

// OpenGame implements Library. The assets' name is not looked at: a suite is one version of the data.
func (s *Suite) OpenGame(ctx context.Context, id, _ string) (*engine.Game, string, error) {
	c, err := s.content(ctx, id)
	if err != nil {
		return nil, "", err
	}
	g, err := s.build(c)
	if err != nil {
		return nil, "", fmt.Errorf("open game %q in %s: %w", id, s.name, err)
	}
	return g, "", nil
}

// content reads a game file without the filter.
func (s *Suite) content(ctx context.Context, id string) (*content, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if !fs.ValidPath(id) || !isDir(s.fsys, id) {
		return nil, s.noSuchTask(id)
	}
	data, err := readGame(s.fsys, id)
	if err != nil {
		return nil, fmt.Errorf("open game %q in %s: %w", id, s.name, err)
	}
	c, err := parseContent(data)
	if err != nil {
		return nil, fmt.Errorf("open game %q in %s: %w", id, s.name, err)
	}
	return c, nil
}

// Archives is a folder of several versions of the data: games-<assets>.tar.xz. An archive is read when
// the first game of its version is asked for. It is safe for concurrent use.
type Archives struct {
	dir   string
	names []string // assets, sorted

	mu     sync.Mutex
	suites map[string]*Suite
}

// OpenLibrary opens what holds the games of transcripts: a folder with json_2.1.1 (or that folder), an
// archive, or a folder of games-<assets>.tar.xz, from which each transcript's assets choose.
func OpenLibrary(ctx context.Context, name string) (Library, error) {
	archives, err := filepath.Glob(filepath.Join(name, "games-*.tar.xz"))
	if err != nil || len(archives) == 0 || holdsGames(name) {
		return New(ctx, name, Config{})
	}
	a := &Archives{dir: name, suites: make(map[string]*Suite)}
	for _, file := range archives {
		base := strings.TrimSuffix(filepath.Base(file), ".tar.xz")
		a.names = append(a.names, strings.TrimPrefix(base, "games-"))
	}
	slices.Sort(a.names)
	return a, nil
}

func holdsGames(dir string) bool {
	_, err := splitsOf(os.DirFS(dir))
	return err == nil
}

// Suite opens one version of the data.
func (a *Archives) Suite(ctx context.Context, assets string) (*Suite, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if s, ok := a.suites[assets]; ok {
		return s, nil
	}
	if !slices.Contains(a.names, assets) {
		return nil, errext.WithHint(fmt.Errorf("open ALFWorld data %q: no games-%s.tar.xz", a.dir, assets), "it has the versions "+strings.Join(a.names, ", "))
	}
	s, err := New(ctx, filepath.Join(a.dir, "games-"+assets+".tar.xz"), Config{})
	if err == nil {
		a.suites[assets] = s
	}
	return s, err
}

// OpenGame implements Library. A version's archive may hold a part of the games only. One that is
// missing is put together from what the version says everywhere alike (domain and wording) and from
// what is the game's own in any version (problem and task sentence); the note says so.
func (a *Archives) OpenGame(ctx context.Context, id, assets string) (*engine.Game, string, error) {
	s, err := a.Suite(ctx, assets)
	if err != nil {
		return nil, "", err
	}
	if isDir(s.fsys, id) {
		return s.OpenGame(ctx, id, assets)
	}
	for _, other := range a.names {
		o, err := a.Suite(ctx, other)
		if err != nil {
			return nil, "", err
		}
		if other == assets || !isDir(o.fsys, id) {
			continue
		}
		c, err := a.compose(ctx, s, o, id)
		if err != nil {
			return nil, "", fmt.Errorf("put game %q of %s together: %w", id, assets, err)
		}
		g, err := s.build(c)
		return g, fmt.Sprintf("domain and wording of %s, problem and task of %s", assets, other), err
	}
	return nil, "", s.noSuchTask(id)
}

// compose takes domain and grammar from any game of s, problem and task sentence from game id of o.
func (a *Archives) compose(ctx context.Context, s, o *Suite, id string) (*content, error) {
	own, err := o.content(ctx, id)
	if err != nil {
		return nil, err
	}
	splits, err := s.Splits()
	if err != nil {
		return nil, err
	}
	for _, sp := range splits {
		ids, err := trials(s.fsys, sp)
		if err != nil || len(ids) == 0 {
			continue
		}
		c, err := s.content(ctx, ids[0])
		if err != nil {
			return nil, err
		}
		return transplant(c, own)
	}
	return nil, errors.New("the archive has no game")
}

// taskRule finds the text of the first rule of the symbol "task" in a grammar's JSON.
var taskRule = regexp.MustCompile(`"task"\s*:\s*\[\s*\{\s*"rhs"\s*:\s*("(?:[^"\\]|\\.)*")`)

// transplant puts own's problem and task sentence into the version that c is of.
func transplant(c, own *content) (*content, error) {
	to, from := taskRule.FindStringSubmatchIndex(c.Grammar), taskRule.FindStringSubmatch(own.Grammar)
	if to == nil || from == nil {
		return nil, errors.New("the grammar has no rule for the task sentence")
	}
	return &content{
		Domain:  c.Domain,
		Grammar: c.Grammar[:to[2]] + from[1] + c.Grammar[to[3]:],
		Problem: own.Problem,
	}, nil
}
