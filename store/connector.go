package store

import (
	"context"
	"database/sql/driver"

	"github.com/mattn/go-sqlite3"
)

// connector opens the readers' connections without registering a driver name in the process.
type connector struct{ dsn string }

func (c connector) Connect(context.Context) (driver.Conn, error) { return c.Driver().Open(c.dsn) }
func (c connector) Driver() driver.Driver                        { return &sqlite3.SQLiteDriver{} }
