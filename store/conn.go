package store

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"net/url"
	"slices"
	"time"

	"github.com/hindsightrl/harness"
	"github.com/mattn/go-sqlite3"
)

// conn is one SQLite connection used without database/sql: the writer prepares each statement once
// and binds to it for the whole run, which is what the recording speed rests on. One goroutine owns it.
type conn struct {
	raw   *sqlite3.SQLiteConn
	stmts map[string]*sqlite3.SQLiteStmt
	args  []driver.NamedValue
	metas map[harness.TokenMeta]int64 // rows of token_meta that this connection saw or wrote
}

// openConn opens path with the given URI and driver parameters.
func openConn(path string, params url.Values) (*conn, error) {
	dc, err := (&sqlite3.SQLiteDriver{}).Open(dsn(path, params))
	if err != nil {
		return nil, err
	}
	raw, ok := dc.(*sqlite3.SQLiteConn)
	if !ok {
		return nil, fmt.Errorf("the SQLite driver returned a %T", dc)
	}
	return &conn{raw: raw, stmts: make(map[string]*sqlite3.SQLiteStmt), metas: make(map[harness.TokenMeta]int64)}, nil
}

// dsn builds a file: URI. The path is escaped so that a name with ?, # or % stays a name.
func dsn(path string, params url.Values) string {
	return "file:" + (&url.URL{Path: path}).EscapedPath() + "?" + params.Encode()
}

func writerParams(busy time.Duration) url.Values {
	return url.Values{
		"_busy_timeout": {fmt.Sprint(busy.Milliseconds())},
		"_foreign_keys": {"1"},
		"_synchronous":  {"FULL"},
		"_txlock":       {"immediate"},
		"_mutex":        {"no"}, // one goroutine owns the connection
	}
}

func readerParams(busy time.Duration, immutable bool) url.Values {
	p := url.Values{
		"mode":          {"ro"},
		"_busy_timeout": {fmt.Sprint(busy.Milliseconds())},
		"_query_only":   {"1"},
		"_foreign_keys": {"1"},
		// The feed asks the same few questions for each lease; planning its joins costs as much as a small answer.
		"_stmt_cache_size": {"32"},
	}
	if immutable {
		p.Set("immutable", "1")
	}
	return p
}

// script runs statements that take no arguments.
func (c *conn) script(sql string) error {
	_, err := c.raw.ExecContext(context.Background(), sql, nil)
	return err
}

func (c *conn) stmt(sql string) (*sqlite3.SQLiteStmt, error) {
	if s, ok := c.stmts[sql]; ok {
		return s, nil
	}
	ds, err := c.raw.Prepare(sql)
	if err != nil {
		return nil, err
	}
	s, ok := ds.(*sqlite3.SQLiteStmt)
	if !ok {
		return nil, fmt.Errorf("the SQLite driver returned a %T", ds)
	}
	c.stmts[sql] = s
	return s, nil
}

func (c *conn) bind(args []driver.Value) []driver.NamedValue {
	c.args = c.args[:0]
	for i, a := range args {
		c.args = append(c.args, driver.NamedValue{Ordinal: i + 1, Value: a})
	}
	return c.args
}

// exec runs a prepared statement and returns the id of the row it inserted, if it did.
func (c *conn) exec(sql string, args ...driver.Value) (int64, error) {
	s, err := c.stmt(sql)
	if err != nil {
		return 0, err
	}
	// The driver clears all bindings first: what is not bound is NULL, without a call into C.
	bound := slices.DeleteFunc(c.bind(args), func(v driver.NamedValue) bool { return v.Value == nil })
	// A background context keeps the driver on its direct path: no goroutine per call.
	res, err := s.ExecContext(context.Background(), bound)
	if err != nil {
		return 0, err
	}
	return res.LastInsertId()
}

// row runs a prepared query and returns its first row, or nil where there is none.
func (c *conn) row(sql string, args ...driver.Value) ([]driver.Value, error) {
	s, err := c.stmt(sql)
	if err != nil {
		return nil, err
	}
	rows, err := s.QueryContext(context.Background(), c.bind(args))
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	dest := make([]driver.Value, len(rows.Columns()))
	switch err := rows.Next(dest); {
	case errors.Is(err, io.EOF):
		return nil, nil
	case err != nil:
		return nil, err
	}
	return dest, nil
}

// value is row for a query of one column and one row.
func (c *conn) value(sql string, args ...driver.Value) (driver.Value, error) {
	r, err := c.row(sql, args...)
	if err != nil || len(r) == 0 {
		return nil, err
	}
	return r[0], nil
}

func (c *conn) close() error {
	var errs []error
	for _, s := range c.stmts {
		errs = append(errs, s.Close())
	}
	clear(c.stmts)
	return errors.Join(append(errs, c.raw.Close())...)
}
