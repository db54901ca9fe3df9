package store

import (
	"embed"
	"fmt"
	"io/fs"
	"strconv"
	"strings"

	"github.com/hindsightrl/harness/internal/errext"
)

//go:embed migrations/*.sql
var embedded embed.FS

// applicationID marks the file as a ledger of this program ("HNDS" in the SQLite header).
const applicationID = 0x484e4453

// migration is one numbered step of the schema; user_version holds the last one applied.
type migration struct {
	version int
	name    string
	sql     string
}

// loadMigrations reads NNNN_name.sql files, which must be numbered 1, 2, 3, … without a gap.
func loadMigrations(files fs.FS) ([]migration, error) {
	names, err := fs.Glob(files, "migrations/*.sql")
	if err != nil {
		return nil, fmt.Errorf("list migrations: %w", err)
	}
	var all []migration
	for i, path := range names {
		name := strings.TrimSuffix(strings.TrimPrefix(path, "migrations/"), ".sql")
		num, _, _ := strings.Cut(name, "_")
		v, err := strconv.Atoi(num)
		if err != nil || v != i+1 {
			return nil, fmt.Errorf("migration %s: want number %04d", path, i+1)
		}
		sql, err := fs.ReadFile(files, path)
		if err != nil {
			return nil, fmt.Errorf("read migration: %w", err)
		}
		all = append(all, migration{v, name, string(sql)})
	}
	return all, nil
}

// identity is what a database file says it is.
type identity struct {
	application int64
	version     int64
	tables      int64
}

func (id identity) empty() bool { return id.application == 0 && id.version == 0 && id.tables == 0 }

// check reports a file that this version of the program must not touch. latest is the newest schema
// known here.
func (id identity) check(latest int) error {
	switch {
	case id.application != applicationID:
		return errext.WithHint(ErrForeign, "choose another path: this file belongs to another program and was left as it is")
	case id.version > int64(latest):
		return errext.WithHint(fmt.Errorf("%w: schema %d, known up to %d", ErrNewer, id.version, latest),
			"install the newer harness that wrote it; this one would not understand it")
	}
	return nil
}

// readIdentity asks the connection's database what it is.
func readIdentity(c *conn) (identity, error) {
	var id identity
	for _, q := range []struct {
		sql string
		to  *int64
	}{
		{"SELECT count(*) FROM sqlite_schema", &id.tables},
		{"PRAGMA application_id", &id.application},
		{"PRAGMA user_version", &id.version},
	} {
		v, err := c.value(q.sql)
		if err != nil {
			return id, classify(err)
		}
		n, ok := v.(int64)
		if !ok {
			return id, fmt.Errorf("%s: got %v", q.sql, v)
		}
		*q.to = n
	}
	return id, nil
}

// migrate brings the connection's database up to date in one transaction, so that a crash leaves
// either the old schema or the new one.
func migrate(c *conn, all []migration) (err error) {
	if err := c.script("BEGIN IMMEDIATE"); err != nil {
		return classify(err)
	}
	defer func() {
		if err != nil {
			_ = c.script("ROLLBACK") // the first error is the one to report
		}
	}()
	id, err := readIdentity(c)
	if err != nil {
		return err
	}
	if !id.empty() {
		if err := id.check(len(all)); err != nil {
			return err
		}
	}
	for _, m := range all {
		if int64(m.version) <= id.version {
			continue
		}
		if err := c.script(m.sql); err != nil {
			return fmt.Errorf("migration %s: %w", m.name, classify(err))
		}
	}
	pragmas := fmt.Sprintf("PRAGMA application_id = %d; PRAGMA user_version = %d", applicationID, len(all))
	if err := c.script(pragmas); err != nil {
		return classify(err)
	}
	return classify(c.script("COMMIT"))
}
