package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/hindsightrl/harness"
	"github.com/hindsightrl/harness/internal/errext"
)

// RunState is where a run stands.
//
//	created ─► running ─► done
//	            │ ▲  ▲      │
//	            ▼ │  └──────┘ (failed episodes were queued again)
//	        interrupted
//
// A run that the ledger shows as running while no process writes was killed; starting it again is
// the same as after an interruption.
type RunState string

// The states of a run.
const (
	RunCreated     RunState = "created"
	RunRunning     RunState = "running"
	RunInterrupted RunState = "interrupted"
	RunDone        RunState = "done"
)

// RunSpec is what a run is made from. It is stored as given and never changes.
type RunSpec struct {
	Name        string          // unique in the file, UTF-8 text
	Panel       harness.Panel   // one group per task
	GroupSize   int             // episodes per group
	Seed        int64           // all randomness derives from it
	Policy      string          // what acts: model, server, sampler, for people to read
	Config      json.RawMessage // merged configuration; nil means {}
	Info        json.RawMessage // environment information such as asset hashes; nil means {}
	CodeVersion string          // version or commit of the program
}

// Validate reports the first thing about the spec that cannot run or cannot be stored.
func (r RunSpec) Validate() error {
	switch {
	case r.Name == "":
		return errors.New("the run has no name")
	case r.GroupSize <= 0:
		return fmt.Errorf("group size %d: want at least 1", r.GroupSize)
	}
	if err := r.Panel.Validate(); err != nil {
		return err
	}
	for _, t := range [][2]string{{"run name", r.Name}, {"panel name", r.Panel.Name}, {"policy", r.Policy}, {"code version", r.CodeVersion}} {
		if err := plain(t[0], t[1]); err != nil {
			return err
		}
	}
	for i, t := range r.Panel.Tasks {
		for _, f := range []string{t.Env, t.ID, t.Split, t.Type, t.Hash} {
			if err := plain(fmt.Sprintf("task %d", i), f); err != nil {
				return err
			}
		}
	}
	for name, j := range map[string]json.RawMessage{"config": r.Config, "info": r.Info} {
		if j != nil && !json.Valid(j) {
			return fmt.Errorf("%s is not valid JSON", name)
		}
		if err := plain(name, string(j)); err != nil {
			return err
		}
	}
	return nil
}

// Run is a run as the ledger holds it.
type Run struct {
	ID          int64           `json:"id"`
	Name        string          `json:"name"`
	State       RunState        `json:"state"`
	Created     time.Time       `json:"created"` // UTC, millisecond
	PanelName   string          `json:"panel"`
	PanelHash   string          `json:"panel_hash"`
	GroupSize   int             `json:"group_size"`
	Seed        int64           `json:"seed"`
	Policy      string          `json:"policy"`
	CodeVersion string          `json:"code_version"`
	Config      json.RawMessage `json:"config"`
	Info        json.RawMessage `json:"info"`
}

// CreateRun writes a run with its panel, groups and all its episodes as pending, in panel order, so
// that no id depends on how the episodes are scheduled. ErrRunExists if the name is taken.
func (s *Store) CreateRun(ctx context.Context, spec RunSpec) (Run, error) {
	if err := spec.Validate(); err != nil {
		return Run{}, fmt.Errorf("create run %q: %w", spec.Name, err)
	}
	if spec.Config == nil {
		spec.Config = json.RawMessage("{}")
	}
	if spec.Info == nil {
		spec.Info = json.RawMessage("{}")
	}
	now := s.now()
	var id int64
	err := s.write(ctx, func(c *conn) (err error) {
		id, err = insertRun(c, spec, now)
		return err
	})
	if err != nil {
		return Run{}, fmt.Errorf("create run %q: %w", spec.Name, err)
	}
	return s.Run(ctx, id)
}

func insertRun(c *conn, spec RunSpec, now int64) (int64, error) {
	taken, err := c.value("SELECT id FROM runs WHERE name = ?", spec.Name)
	if err != nil {
		return 0, err
	}
	if taken != nil {
		return 0, errext.WithHint(ErrRunExists, "resume it, or choose another name")
	}
	panel, err := insertPanel(c, spec.Panel)
	if err != nil {
		return 0, err
	}
	run, err := c.exec(`INSERT INTO runs (name, state, created_ms, panel_id, group_size, seed, policy, code_version, config, info)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`, spec.Name, string(RunCreated), now, panel, int64(spec.GroupSize), spec.Seed,
		spec.Policy, spec.CodeVersion, string(spec.Config), string(spec.Info))
	if err != nil {
		return 0, err
	}
	for i := range spec.Panel.Tasks {
		group, err := c.exec(`INSERT INTO groups (run_id, idx, task_id)
			SELECT ?1, ?2, id FROM tasks WHERE panel_id = ?3 AND idx = ?2`, run, int64(i), panel)
		if err != nil {
			return 0, err
		}
		for k := range spec.GroupSize {
			if _, err := c.exec("INSERT INTO episodes (run_id, group_id, sample) VALUES (?, ?, ?)", run, group, int64(k)); err != nil {
				return 0, err
			}
		}
	}
	return run, insertEvent(c, run, nil, now, EventCreated, "")
}

// insertPanel finds the panel by content and name, or adds it.
func insertPanel(c *conn, p harness.Panel) (int64, error) {
	hash := p.Hash()
	found, err := c.value("SELECT id FROM panels WHERE hash = ? AND name = ?", hash, p.Name)
	if err != nil {
		return 0, err
	}
	if id, ok := found.(int64); ok {
		return id, nil
	}
	id, err := c.exec("INSERT INTO panels (name, hash) VALUES (?, ?)", p.Name, hash)
	if err != nil {
		return 0, err
	}
	for i, t := range p.Tasks {
		_, err := c.exec("INSERT INTO tasks (panel_id, idx, env, task, split, type, seed, hash) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
			id, int64(i), t.Env, t.ID, t.Split, t.Type, t.Seed, t.Hash)
		if err != nil {
			return 0, err
		}
	}
	return id, nil
}

const selectRun = `SELECT r.id, r.name, r.state, r.created_ms, p.name, p.hash, r.group_size, r.seed, r.policy, r.code_version,
	r.config, r.info FROM runs r JOIN panels p ON p.id = r.panel_id `

func scanRun(scan func(...any) error) (Run, error) {
	var (
		r            Run
		created      int64
		config, info string
	)
	err := scan(&r.ID, &r.Name, &r.State, &created, &r.PanelName, &r.PanelHash, &r.GroupSize, &r.Seed, &r.Policy, &r.CodeVersion, &config, &info)
	r.Created = fromMS(created)
	r.Config, r.Info = json.RawMessage(config), json.RawMessage(info)
	return r, err
}

// Run reads one run. ErrNotFound if there is none of this id.
func (s *Store) Run(ctx context.Context, id int64) (Run, error) {
	r, err := scanRun(s.db.QueryRowContext(ctx, selectRun+"WHERE r.id = ?", id).Scan)
	if err != nil {
		return Run{}, fmt.Errorf("read run %d: %w", id, missing(err, "list the runs of this ledger to see their names"))
	}
	return r, nil
}

// RunByName reads the run of this name; the empty name means the one created last. ErrNotFound if
// there is none.
func (s *Store) RunByName(ctx context.Context, name string) (Run, error) {
	query, args := selectRun+"WHERE r.name = ?", []any{name}
	if name == "" {
		query, args = selectRun+"ORDER BY r.id DESC LIMIT 1", nil
	}
	r, err := scanRun(s.db.QueryRowContext(ctx, query, args...).Scan)
	if err != nil {
		return Run{}, fmt.Errorf("read run %q: %w", name, missing(err, "list the runs of this ledger to see their names"))
	}
	return r, nil
}

// SetRunState moves a run to another state and logs the move as an event with a message.
func (s *Store) SetRunState(ctx context.Context, runID int64, state RunState, message string) error {
	now := s.now()
	err := s.write(ctx, func(c *conn) error {
		old, err := c.value("SELECT state FROM runs WHERE id = ?", runID)
		if err != nil {
			return err
		}
		if old == nil {
			return ErrNotFound
		}
		kind, err := transition(RunState(old.(string)), state)
		if err != nil {
			return err
		}
		if _, err := c.exec("UPDATE runs SET state = ? WHERE id = ?", string(state), runID); err != nil {
			return err
		}
		return insertEvent(c, runID, nil, now, kind, message)
	})
	if err != nil {
		return fmt.Errorf("set run %d to %s: %w", runID, state, err)
	}
	return nil
}

// transition names the event of a change of state, or says that there is no such change.
func transition(from, to RunState) (EventKind, error) {
	switch {
	case from == RunCreated && to == RunRunning:
		return EventStarted, nil
	case to == RunRunning:
		return EventResumed, nil // also from running: the process before was killed
	case from == RunRunning && to == RunInterrupted:
		return EventInterrupted, nil
	case from == RunRunning && to == RunDone:
		return EventDone, nil
	}
	return "", fmt.Errorf("a run that is %s cannot become %s", from, to)
}

func missing(err error, hint string) error {
	if errors.Is(err, sql.ErrNoRows) {
		return errext.WithHint(ErrNotFound, hint)
	}
	return classify(err)
}

func fromMS(ms int64) time.Time { return time.UnixMilli(ms).UTC() }
