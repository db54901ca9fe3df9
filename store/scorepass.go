package store

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"slices"
	"strconv"
	"strings"

	"github.com/hindsightrl/harness"
	"github.com/hindsightrl/harness/internal/errext"
)

const selectScorePass = `SELECT id, run_id, key, mode, teacher, policy_version, state, created_ms, updated_ms, config, report FROM score_passes `

func scanScorePass(scan func(...any) error) (p harness.ScorePass, err error) {
	var (
		created, updated int64
		config, report   string
	)
	err = scan(&p.ID, &p.RunID, &p.Key, &p.Mode, &p.Teacher, &p.PolicyVersion, &p.State, &created, &updated, &config, &report)
	p.Created, p.Updated = fromMS(created), fromMS(updated)
	p.Config, p.Report = json.RawMessage(config), json.RawMessage(report)
	return p, err
}

// OpenScorePass finds the pass of the run with this key, or adds it. Of a pass that is there already,
// nothing changes but its state: it is running until CloseScorePass.
func (s *Store) OpenScorePass(ctx context.Context, p harness.ScorePass) (harness.ScorePass, error) {
	if p.Key == "" || p.Mode == "" {
		return p, errors.New("open score pass: it has no key or no mode")
	}
	for what, text := range map[string]string{"key": p.Key, "mode": p.Mode, "teacher": p.Teacher} {
		if err := plain(what, text); err != nil {
			return p, fmt.Errorf("open score pass: %w", err)
		}
	}
	if !json.Valid(p.Config) {
		return p, errors.New("open score pass: its configuration is not valid JSON")
	}
	now := s.now()
	err := s.write(ctx, func(c *conn) error {
		_, err := c.exec(`INSERT INTO score_passes (run_id, key, mode, teacher, policy_version, state, created_ms, updated_ms, config, report)
			VALUES (?1, ?2, ?3, ?4, ?5, 'running', ?6, ?6, ?7, '{}') ON CONFLICT (run_id, key) DO UPDATE SET state = 'running'`,
			p.RunID, p.Key, p.Mode, p.Teacher, int64(p.PolicyVersion), now, string(p.Config))
		return err
	})
	if err != nil {
		return p, fmt.Errorf("open score pass: %w", err)
	}
	return s.scorePass(ctx, "WHERE run_id = ? AND key = ?", p.RunID, p.Key)
}

func (s *Store) scorePass(ctx context.Context, where string, args ...any) (harness.ScorePass, error) {
	p, err := scanScorePass(s.db.QueryRowContext(ctx, selectScorePass+where, args...).Scan)
	if err != nil {
		return p, fmt.Errorf("read score pass: %w", missing(err, "list the run's passes: harness score list"))
	}
	return p, nil
}

// NoteScorePass keeps a pass's report and leaves its state as it is.
func (s *Store) NoteScorePass(ctx context.Context, pass int64, report json.RawMessage) error {
	return s.reportScorePass(ctx, "note", pass, report, "")
}

// CloseScorePass marks a pass as done and keeps its report.
func (s *Store) CloseScorePass(ctx context.Context, pass int64, report json.RawMessage) error {
	return s.reportScorePass(ctx, "close", pass, report, "state = 'done', ")
}

func (s *Store) reportScorePass(ctx context.Context, what string, pass int64, report json.RawMessage, set string) error {
	if !json.Valid(report) {
		return fmt.Errorf("%s score pass %d: the report is not valid JSON", what, pass)
	}
	now := s.now()
	err := s.write(ctx, func(c *conn) error {
		_, err := c.exec("UPDATE score_passes SET "+set+"updated_ms = ?, report = ? WHERE id = ?", now, string(report), pass)
		return err
	})
	if err != nil {
		return fmt.Errorf("%s score pass %d: %w", what, pass, err)
	}
	return nil
}

// ScorePasses lists the passes over a run, oldest first; a run id of 0 lists those of all runs.
func (s *Store) ScorePasses(ctx context.Context, runID int64) ([]harness.ScorePass, error) {
	return collect(query(ctx, s.db, "read score passes", selectScorePass+"WHERE run_id = ?1 OR ?1 = 0 ORDER BY id", []any{runID}, scanScorePass))
}

// FindScorePass finds a pass over a run by its id, by the beginning of its key (at least 6 characters), or
// by its mode, of which it takes the latest that is done, else the latest. ErrNotFound if there is none.
func (s *Store) FindScorePass(ctx context.Context, runID int64, name string) (harness.ScorePass, error) {
	all, err := s.ScorePasses(ctx, runID)
	if err != nil {
		return harness.ScorePass{}, err
	}
	var found *harness.ScorePass
	for i := range all {
		p := &all[i]
		switch {
		case strconv.FormatInt(p.ID, 10) == name, len(name) >= 6 && strings.HasPrefix(p.Key, name):
			return *p, nil
		case p.Mode == name && (found == nil || p.State == "done" || found.State != "done"):
			found = p
		}
	}
	if found != nil {
		return *found, nil
	}
	var known []string
	for _, p := range all {
		if !slices.Contains(known, p.Mode) {
			known = append(known, p.Mode)
		}
	}
	hint := "score the run first: harness score"
	if len(known) > 0 {
		hint = "it was scored in: " + strings.Join(known, ", ")
	}
	return harness.ScorePass{}, errext.WithHint(fmt.Errorf("score pass %q: %w", name, ErrNotFound), hint)
}

// ScoreGroups lists the groups of a run with what tells whether their scores are up to date.
func (s *Store) ScoreGroups(ctx context.Context, runID int64) ([]harness.ScoreGroup, error) {
	type row struct {
		group              int
		episode, attempt   int64
		status             harness.Status
		judged, judgedLast int64
	}
	text := `SELECT g.idx, e.id, coalesce(e.attempt_id, 0), e.status,
		(SELECT count(*) FROM feedback f JOIN steps s ON s.id = f.step_id WHERE s.attempt_id = e.attempt_id),
		(SELECT coalesce(max(f.created_ms), 0) FROM feedback f JOIN steps s ON s.id = f.step_id WHERE s.attempt_id = e.attempt_id)
		FROM episodes e JOIN groups g ON g.id = e.group_id WHERE e.run_id = ? ORDER BY g.idx, e.sample`
	if empty, err := s.empty(ctx, "feedback"); err != nil {
		return nil, err
	} else if empty { // looking for what is not there costs the most
		text = `SELECT g.idx, e.id, coalesce(e.attempt_id, 0), e.status, 0, 0
			FROM episodes e JOIN groups g ON g.id = e.group_id WHERE e.run_id = ? ORDER BY g.idx, e.sample`
	}
	var (
		out           []harness.ScoreGroup
		steps, judged hash.Hash
		anyJudged     bool
	)
	closeGroup := func() {
		if n := len(out); n > 0 {
			out[n-1].Fingerprint = hex.EncodeToString(steps.Sum(nil)[:16])
			if anyJudged {
				out[n-1].Judged = hex.EncodeToString(judged.Sum(nil)[:16])
			}
		}
	}
	for r, err := range query(ctx, s.db, fmt.Sprintf("read groups of run %d", runID), text, []any{runID}, func(scan func(...any) error) (r row, err error) {
		err = scan(&r.group, &r.episode, &r.attempt, &r.status, &r.judged, &r.judgedLast)
		return r, err
	}) {
		if err != nil {
			return nil, err
		}
		if n := len(out); n == 0 || out[n-1].Index != r.group {
			closeGroup()
			out = append(out, harness.ScoreGroup{Index: r.group})
			steps, judged, anyJudged = sha256.New(), sha256.New(), false
		}
		g := &out[len(out)-1]
		switch r.status {
		case harness.StatusDone:
			g.Done++
			fmt.Fprintf(steps, "%d:%d ", r.episode, r.attempt)
			if r.judged > 0 {
				anyJudged = true
				fmt.Fprintf(judged, "%d:%d:%d ", r.attempt, r.judged, r.judgedLast)
			}
		case harness.StatusFailed:
			g.Failed++
		default:
			g.Open++
		}
	}
	closeGroup()
	return out, nil
}

func (s *Store) empty(ctx context.Context, table string) (bool, error) {
	var found bool
	err := s.db.QueryRowContext(ctx, "SELECT EXISTS (SELECT 1 FROM "+table+")").Scan(&found)
	return !found, classify(err)
}

// ScoredGroups maps the groups that a pass holds to their fingerprints.
func (s *Store) ScoredGroups(ctx context.Context, pass int64) (map[int]string, error) {
	type row struct {
		group       int
		fingerprint string
	}
	text := `SELECT g.idx, sg.fingerprint FROM score_groups sg JOIN groups g ON g.id = sg.group_id WHERE sg.pass_id = ?`
	out := make(map[int]string)
	for r, err := range query(ctx, s.db, fmt.Sprintf("read groups of score pass %d", pass), text, []any{pass}, func(scan func(...any) error) (r row, err error) {
		err = scan(&r.group, &r.fingerprint)
		return r, err
	}) {
		if err != nil {
			return nil, err
		}
		out[r.group] = r.fingerprint
	}
	return out, nil
}

// ScoreCounts sums up what a pass holds.
func (s *Store) ScoreCounts(ctx context.Context, pass int64) (harness.ScoreCounts, error) {
	c := harness.ScoreCounts{Rows: make(map[harness.ScoreStatus]int)}
	type row struct {
		status                                             harness.ScoreStatus
		rows, tokens, marked, noAction, shortened, prompts int
	}
	text := `SELECT status, count(*), sum(n), sum(marked), sum(status = 'scored' AND marked = 0), sum(left_out IS NOT NULL), sum(prompt_tokens)
		FROM scores WHERE pass_id = ? GROUP BY status`
	for r, err := range query(ctx, s.db, fmt.Sprintf("sum score pass %d up", pass), text, []any{pass}, func(scan func(...any) error) (r row, err error) {
		err = scan(&r.status, &r.rows, &r.tokens, &r.marked, &r.noAction, &r.shortened, &r.prompts)
		return r, err
	}) {
		if err != nil {
			return c, err
		}
		c.Rows[r.status] = r.rows
		c.Tokens, c.Marked, c.NoAction = c.Tokens+r.tokens, c.Marked+r.marked, c.NoAction+r.noAction
		c.Shortened, c.Prompts = c.Shortened+r.shortened, c.Prompts+r.prompts
	}
	err := s.db.QueryRowContext(ctx, "SELECT count(*) FROM score_groups WHERE pass_id = ?", pass).Scan(&c.Groups)
	return c, classify(err)
}
