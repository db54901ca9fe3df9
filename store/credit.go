package store

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/hindsightrl/harness/internal/errext"
)

// CreditPass is one application of a credit configuration to a run's finished episodes.
type CreditPass struct {
	ID          int64           `json:"id"`
	RunID       int64           `json:"run_id"`
	Key         string          `json:"key"`    // content hash of inputs and configuration
	Scores      string          `json:"scores"` // key of the scoring pass that was read; "" = none
	Created     time.Time       `json:"created"`
	CodeVersion string          `json:"code_version"`
	Config      json.RawMessage `json:"config"`
	Report      json.RawMessage `json:"report"`
	Rows        int             `json:"rows"`
}

// Credit is the credit of one step. Episode and Index are read, not written: the step says them.
type Credit struct {
	Step      int64     `json:"step_id"`
	Episode   int64     `json:"episode"`
	Index     int       `json:"step"`
	Base      float64   `json:"base"`
	Factor    float64   `json:"factor"`
	Tokens    []float32 `json:"tokens"`   // token advantages; nil: the policy gave no tokens
	Weighted  int       `json:"weighted"` // tokens that carry a weight
	Clipped   int       `json:"clipped"`
	WeightSum float64   `json:"weight_sum"`
	WeightMin float64   `json:"weight_min"`
	WeightMax float64   `json:"weight_max"`
}

// AddCreditPass writes a pass with its rows, all of them or none, and sets its ID, Created and Rows.
// A pass of the same key is left as it is and returned instead: equal keys mean equal rows.
func (s *Store) AddCreditPass(ctx context.Context, p CreditPass, rows []Credit) (CreditPass, error) {
	if err := checkCreditPass(p, rows); err != nil {
		return CreditPass{}, fmt.Errorf("add credit pass: %w", err)
	}
	now := s.now()
	err := s.write(ctx, func(c *conn) error {
		found, err := c.value("SELECT id FROM credit_passes WHERE key = ?", p.Key)
		if err != nil || found != nil {
			return err
		}
		return insertCredits(c, p, rows, now)
	})
	if err != nil {
		return CreditPass{}, fmt.Errorf("add credit pass: %w", err)
	}
	return s.CreditPassByKey(ctx, p.Key)
}

func checkCreditPass(p CreditPass, rows []Credit) error {
	if p.Key == "" {
		return errors.New("the pass has no key")
	}
	for name, j := range map[string]json.RawMessage{"config": p.Config, "report": p.Report} {
		if !json.Valid(j) {
			return fmt.Errorf("%s is not valid JSON", name)
		}
	}
	for i := range rows {
		r := &rows[i]
		for _, x := range []float64{r.Base, r.Factor, r.WeightSum, r.WeightMin, r.WeightMax} {
			if math.IsNaN(x) || math.IsInf(x, 0) {
				return fmt.Errorf("row %d (step %d): %v is not a finite number", i, r.Step, x)
			}
		}
	}
	return nil
}

func insertCredits(c *conn, p CreditPass, rows []Credit, now int64) error {
	pass, err := c.exec(`INSERT INTO credit_passes (run_id, key, scores, created_ms, code_version, config, report, n)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?)`, p.RunID, p.Key, p.Scores, now, p.CodeVersion, string(p.Config), string(p.Report), int64(len(rows)))
	if err != nil {
		return err
	}
	return insertCreditRows(c, pass, rows)
}

func insertCreditRows(c *conn, pass int64, rows []Credit) error {
	for _, i := range byStep(rows) {
		r := &rows[i]
		_, err := c.exec(`INSERT INTO credits (pass_id, step_id, base, factor, tokens, weighted, clipped, weight_sum, weight_min, weight_max)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`, pass, r.Step, r.Base, r.Factor, advantageColumn(r.Tokens),
			int64(r.Weighted), int64(r.Clipped), r.WeightSum, r.WeightMin, r.WeightMax)
		if err != nil {
			return fmt.Errorf("row %d (step %d): %w", i, r.Step, err)
		}
	}
	return nil
}

// byStep orders rows by their steps: tables and indexes then grow at their end only.
func byStep(rows []Credit) []int {
	order := make([]int, len(rows))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(rows[a].Step, rows[b].Step) })
	return order
}

// advantageColumn frames token advantages. Outside the action they are all the same, and where no token
// stage ran they all are: one word and a count.
func advantageColumn(v []float32) any {
	if v == nil {
		return nil
	}
	bits := make([]int32, len(v))
	for i, x := range v {
		bits[i] = int32(math.Float32bits(x))
		if bits[i] != bits[0] {
			return floatColumn(v)
		}
	}
	return narrowColumn(bits)
}

const selectCreditPass = `SELECT id, run_id, key, scores, created_ms, code_version, config, report, n FROM credit_passes `

func scanCreditPass(scan func(...any) error) (CreditPass, error) {
	var (
		p              CreditPass
		created        int64
		config, report string
	)
	err := scan(&p.ID, &p.RunID, &p.Key, &p.Scores, &created, &p.CodeVersion, &config, &report, &p.Rows)
	p.Created, p.Config, p.Report = fromMS(created), json.RawMessage(config), json.RawMessage(report)
	return p, err
}

const listPasses = "harness credit list"

// CreditPassByKey reads the pass of this key. ErrNotFound if there is none.
func (s *Store) CreditPassByKey(ctx context.Context, key string) (CreditPass, error) {
	p, err := scanCreditPass(s.db.QueryRowContext(ctx, selectCreditPass+"WHERE key = ?", key).Scan)
	if err != nil {
		return p, fmt.Errorf("read credit pass %.12s: %w", key, missing(err, listPasses))
	}
	return p, nil
}

// FindCreditPass reads the pass that a user names: by its number, or by the beginning of its key, six
// digits or more. ErrNotFound if there is none.
func (s *Store) FindCreditPass(ctx context.Context, name string) (CreditPass, error) {
	fail := func(err error) (CreditPass, error) {
		return CreditPass{}, fmt.Errorf("read credit pass %q: %w", name, err)
	}
	if id, err := strconv.ParseInt(name, 10, 32); err == nil {
		p, err := scanCreditPass(s.db.QueryRowContext(ctx, selectCreditPass+"WHERE id = ?", id).Scan)
		if err != nil {
			return fail(missing(err, listPasses))
		}
		return p, nil
	}
	var found []CreditPass
	if len(name) >= 6 {
		var err error
		found, err = collect(query(ctx, s.db, "find credit pass", selectCreditPass+"WHERE substr(key, 1, ?) = ?", []any{len(name), name}, scanCreditPass))
		if err != nil {
			return fail(err)
		}
	}
	switch len(found) {
	case 0:
		return fail(errext.WithHint(ErrNotFound, listPasses))
	case 1:
		return found[0], nil
	}
	return fail(errext.WithHint(fmt.Errorf("%d passes begin like that", len(found)), "give more digits of the key, or the pass's number"))
}

// CreditPasses lists the passes over a run, oldest first; run 0 means all runs.
func (s *Store) CreditPasses(ctx context.Context, runID int64) ([]CreditPass, error) {
	return collect(query(ctx, s.db, "list credit passes", selectCreditPass+"WHERE ?1 = 0 OR run_id = ?1 ORDER BY id", []any{runID}, scanCreditPass))
}

// Credits reads the rows of a pass, by episode and turn; episode 0 means all.
func (s *Store) Credits(ctx context.Context, passID, episode int64) ([]Credit, error) {
	op := fmt.Sprintf("read credit pass %d", passID)
	// Where a step belongs is read from an index of steps, apart from the rows of the pass: the steps
	// themselves, with their prompts, are most of the file.
	const place = `SELECT s.id, e.id, s.idx FROM credit_passes p JOIN episodes e ON e.run_id = p.run_id JOIN steps s ON s.attempt_id = e.attempt_id
		WHERE p.id = ?1 AND (?2 = 0 OR e.id = ?2)`
	const text = `SELECT step_id, base, factor, tokens, weighted, clipped, weight_sum, weight_min, weight_max FROM credits
		WHERE pass_id = ? ORDER BY step_id`
	const some = `SELECT step_id, base, factor, tokens, weighted, clipped, weight_sum, weight_min, weight_max FROM credits
		WHERE pass_id = ? AND step_id IN (SELECT s.id FROM episodes e JOIN steps s ON s.attempt_id = e.attempt_id WHERE e.id = ?)`
	places := map[int64]Credit{}
	for c, err := range query(ctx, s.db, op, place, []any{passID, episode}, scanPlace) {
		if err != nil {
			return nil, err
		}
		places[c.Step] = c
	}
	rows := query(ctx, s.db, op, text, []any{passID}, scanCredit)
	if episode != 0 {
		rows = query(ctx, s.db, op, some, []any{passID, episode}, scanCredit)
	}
	all := make([]Credit, 0, len(places))
	for c, err := range rows {
		if err != nil {
			return nil, err
		}
		at, ok := places[c.Step]
		if !ok {
			return nil, fmt.Errorf("%s: %w", op, badBlob("step %d is of no finished episode", c.Step))
		}
		c.Episode, c.Index = at.Episode, at.Index
		all = append(all, c)
	}
	slices.SortFunc(all, func(a, b Credit) int {
		return cmp.Or(cmp.Compare(a.Episode, b.Episode), cmp.Compare(a.Index, b.Index))
	})
	return all, nil
}

func scanPlace(scan func(...any) error) (c Credit, err error) {
	err = scan(&c.Step, &c.Episode, &c.Index)
	return c, err
}

func scanCredit(scan func(...any) error) (c Credit, err error) {
	var tokens any
	err = scan(&c.Step, &c.Base, &c.Factor, &tokens, &c.Weighted, &c.Clipped, &c.WeightSum, &c.WeightMin, &c.WeightMax)
	if err != nil {
		return c, err
	}
	if c.Tokens, err = float32s(tokens); err != nil {
		return c, fmt.Errorf("credit of step %d: %w", c.Step, err)
	}
	return c, nil
}
