package alfworld

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"
	"sync"

	"github.com/hindsightrl/harness"
	"github.com/hindsightrl/harness/envs/alfworld/engine"
	"github.com/hindsightrl/harness/envs/alfworld/pddl"
	"github.com/hindsightrl/harness/internal/errext"
)

// game is a compiled game file.
type game struct {
	*engine.Game
	hash        string
	typ         string
	walkthrough []string
}

// domains shares parsed domains: every game of a release has the same one.
type domains struct {
	mu     sync.Mutex
	parsed map[string]*pddl.Domain
}

// maxDomains bounds the shared domains; a data set has one or a few.
const maxDomains = 16

func (d *domains) parse(text string) (*pddl.Domain, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if dom, ok := d.parsed[text]; ok {
		return dom, nil
	}
	dom, err := pddl.ParseDomain(text)
	if err != nil {
		return nil, fmt.Errorf("read domain: %w", err)
	}
	if d.parsed == nil || len(d.parsed) >= maxDomains {
		d.parsed = make(map[string]*pddl.Domain)
	}
	d.parsed[text] = dom
	return dom, nil
}

// compile loads a game for the cache.
func (s *Suite) compile(id string) (*game, error) {
	if !fs.ValidPath(id) || strings.Count(id, "/") != 2 || !isDir(s.fsys, id) {
		return nil, s.noSuchTask(id)
	}
	file := path.Join(s.name, id, gameFile)
	typ, err := taskType(s.fsys, id)
	if err != nil {
		return nil, s.unplayable(id, err)
	}
	data, err := readGame(s.fsys, id)
	if err != nil {
		return nil, s.unplayable(id, err)
	}
	c, err := parseContent(data)
	if err != nil {
		return nil, errext.WithHint(fmt.Errorf("open game %q: %w", file, err), "the file is damaged or cut short: fetch it again")
	}
	if err := checkSolvable(c.Solvable); err != nil {
		return nil, s.unplayable(id, err)
	}
	g, err := s.build(c)
	if err != nil {
		return nil, errext.WithHint(fmt.Errorf("open game %q: %w", file, err),
			"the file is damaged or uses what this engine does not know; leave this game out of the panel or fetch it again")
	}
	return &game{Game: g, hash: hashOf(data), typ: typ, walkthrough: c.Walkthrough}, nil
}

func (s *Suite) build(c *content) (*engine.Game, error) {
	dom, err := s.domains.parse(c.Domain)
	if err != nil {
		return nil, err
	}
	return engine.CompileWith(dom, engine.Source{Domain: c.Domain, Problem: c.Problem, Grammar: c.Grammar})
}

func (s *Suite) unplayable(id string, reason error) error {
	return errext.WithHint(fmt.Errorf("open game %q in %s: %w", id, s.name, reason), "list the playable games with: harness panel make")
}

// noSuchTask names the nearest task.
func (s *Suite) noSuchTask(id string) error {
	err := fmt.Errorf("open game: no task %q in %s", id, s.name)
	if near := s.nearest(id); near != "" {
		return errext.WithHint(err, fmt.Sprintf("did you mean %q? A task is <split>/<task>/<trial>", near))
	}
	return errext.WithHint(err, "a task is <split>/<task>/<trial>; list them with: harness panel make")
}

// nearest finds the trial folder whose name is closest to id, or "" where none is near.
func (s *Suite) nearest(id string) string {
	splits, err := s.Splits()
	if err != nil {
		return ""
	}
	best, bestCost := "", len(id)/2+3
	for _, sp := range splits {
		ids, err := trials(s.fsys, sp)
		if err != nil {
			continue
		}
		for _, cand := range ids {
			if strings.HasSuffix(cand, "/"+id) {
				return cand
			}
			if cost := editDistance(id, cand, bestCost); cost < bestCost {
				best, bestCost = cand, cost
			}
		}
	}
	return best
}

// editDistance is the Levenshtein distance of a and b in bytes, cut off at most.
func editDistance(a, b string, most int) int {
	if len(a)-len(b) >= most || len(b)-len(a) >= most {
		return most
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := 1; i <= len(a); i++ {
		diagonal, least := row[0], i
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := diagonal
			if a[i-1] != b[j-1] {
				cost++
			}
			diagonal = row[j]
			row[j] = min(cost, row[j]+1, row[j-1]+1)
			least = min(least, row[j])
		}
		if least >= most {
			return most
		}
	}
	return row[len(b)]
}

// open returns the compiled game of a task and checks its hash.
func (s *Suite) open(task harness.Task) (*game, error) {
	if err := ours(task); err != nil {
		return nil, err
	}
	g, err := s.games.get(task.ID)
	if err != nil {
		return nil, err
	}
	return g, s.sameHash(task, g.hash)
}

// ours refuses the tasks of other environments.
func ours(task harness.Task) error {
	if task.Env != "" && task.Env != Name {
		return fmt.Errorf("open game: task %q belongs to environment %q", task.ID, task.Env)
	}
	return nil
}

// sameHash compares a game file's hash with the task's, where that has one.
func (s *Suite) sameHash(task harness.Task, hash string) error {
	if task.Hash == "" || task.Hash == hash {
		return nil
	}
	return errext.WithHint(
		fmt.Errorf("open game %q in %s: the file's hash is %.12s…, the task's is %.12s…", task.ID, s.name, hash, task.Hash),
		"the panel was made from another version of the data: use that version, or make the panel anew")
}

// CheckTask says whether the data holds a task: its game file is there and has the task's hash. It reads
// the file and compiles nothing, so that a whole panel is checked in the time of reading it.
func (s *Suite) CheckTask(ctx context.Context, task harness.Task) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := ours(task); err != nil {
		return err
	}
	if !fs.ValidPath(task.ID) || strings.Count(task.ID, "/") != 2 {
		return s.noSuchTask(task.ID)
	}
	data, err := readGame(s.fsys, task.ID)
	switch {
	case errors.Is(err, errNoGame):
		return s.noSuchTask(task.ID)
	case err != nil:
		return fmt.Errorf("open game %q in %s: %w", task.ID, s.name, err)
	}
	return s.sameHash(task, hashOf(data))
}
