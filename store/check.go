package store

import (
	"context"
	"database/sql"
	"fmt"
	"strings"

	"github.com/hindsightrl/harness"
)

// Violation is a row that breaks one of the ledger's invariants.
type Violation struct {
	Table string `json:"table"`
	Row   int64  `json:"row"` // 0: the table or the file as a whole
	What  string `json:"what"`
	// Repairable: the truth is still in other rows, so the row can be mended without running
	// anything again.
	Repairable bool `json:"repairable"`
}

// String prints "table row: what".
func (v Violation) String() string {
	if v.Row == 0 {
		return v.Table + ": " + v.What
	}
	return fmt.Sprintf("%s %d: %s", v.Table, v.Row, v.What)
}

// Check verifies every invariant of the ledger as of one moment and reports what breaks them; an
// empty result is a sound ledger. It may run while a run writes. The error is for a file that cannot
// be read at all.
func (s *Store) Check(ctx context.Context) ([]Violation, error) {
	c := checker{ctx: ctx}
	err := s.snapshot(ctx, func(q querier) error {
		c.q = q
		for _, f := range []func() error{c.file, c.foreignKeys, c.panels, c.rules, c.trees, c.steps, c.texts, c.artifacts, c.scores, c.credits, c.leases} {
			if err := f(); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("check ledger %q: %w", s.path, err)
	}
	return c.found, nil
}

type checker struct {
	ctx   context.Context
	q     querier
	found []Violation
}

func (c *checker) add(table string, row int64, repairable bool, format string, args ...any) {
	c.found = append(c.found, Violation{table, row, fmt.Sprintf(format, args...), repairable})
}

// file asks SQLite whether its own structures are sound.
func (c *checker) file() error {
	for line, err := range query(c.ctx, c.q, "integrity check", "PRAGMA integrity_check", nil, scanOne[string]) {
		if err != nil {
			return err
		}
		if line != "ok" {
			// What only an index lacks is rebuilt from its table.
			c.add("file", 0, strings.Contains(line, "missing from index"), "%s", line)
		}
	}
	return nil
}

func (c *checker) foreignKeys() error {
	type ref struct {
		table, parent string
		row           sql.NullInt64
	}
	for r, err := range query(c.ctx, c.q, "foreign key check", `SELECT "table", "rowid", "parent" FROM pragma_foreign_key_check`, nil,
		func(scan func(...any) error) (r ref, err error) {
			err = scan(&r.table, &r.row, &r.parent)
			return r, err
		}) {
		if err != nil {
			return err
		}
		c.add(r.table, r.row.Int64, false, "refers to a row of %s that is absent", r.parent)
	}
	return nil
}

// panels computes each panel's hash again.
func (c *checker) panels() error {
	type row struct {
		id, idx int64
		hash    string
		task    harness.Task
	}
	var (
		last  row
		panel harness.Panel
	)
	done := func() {
		if got := panel.Hash(); last.id != 0 && got != last.hash {
			c.add("panels", last.id, false, "the hash is %s, its tasks make %s", last.hash, got)
		}
	}
	text := `SELECT p.id, p.hash, t.idx, t.env, t.task, t.split, t.type, t.seed, t.hash FROM panels p JOIN tasks t ON t.panel_id = p.id ORDER BY p.id, t.idx`
	for r, err := range query(c.ctx, c.q, "read panels", text, nil, func(scan func(...any) error) (r row, err error) {
		err = scan(&r.id, &r.hash, &r.idx, &r.task.Env, &r.task.ID, &r.task.Split, &r.task.Type, &r.task.Seed, &r.task.Hash)
		return r, err
	}) {
		if err != nil {
			return err
		}
		if r.id != last.id {
			done()
			last, panel.Tasks = r, nil
		}
		if r.idx != int64(len(panel.Tasks)) {
			c.add("panels", r.id, false, "task %d stands where task %d belongs", r.idx, len(panel.Tasks))
		}
		panel.Tasks = append(panel.Tasks, r.task)
	}
	done()
	return nil
}

// rule is an invariant in SQL: it selects the id and a description of each row that breaks it.
type rule struct {
	table      string
	repairable bool
	sql        string
}

// rules runs the invariants that are about how rows of different tables fit together.
func (c *checker) rules() error { return c.runRules(checkRules) }

func (c *checker) runRules(rules []rule) error {
	for _, r := range rules {
		type hit struct {
			row  int64
			what string
		}
		for h, err := range query(c.ctx, c.q, "check "+r.table, r.sql, nil, func(scan func(...any) error) (h hit, err error) {
			err = scan(&h.row, &h.what)
			return h, err
		}) {
			if err != nil {
				return err
			}
			c.add(r.table, h.row, r.repairable, "%s", h.what)
		}
	}
	return nil
}

func scanOne[T any](scan func(...any) error) (v T, err error) {
	err = scan(&v)
	return v, err
}
