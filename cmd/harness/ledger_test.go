package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hindsightrl/harness/agent"
	"github.com/hindsightrl/harness/internal/errext"
	"github.com/hindsightrl/harness/store"
)

// The agent looks for the second interface at run time: losing it would only make the ledger poorer.
var (
	_ agent.Recorder     = (*store.Recorder)(nil)
	_ agent.CallRecorder = (*store.Recorder)(nil)
)

// TestHintsNameTheLedger: what they say can be typed as it stands.
func TestHintsNameTheLedger(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "my old.db")
	read := func() error { return readLedger(t.Context(), path, func(*store.Store) error { return nil }) }
	db, err := store.Open(t.Context(), path, store.Config{Now: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if err := read(); err != nil {
		t.Fatal(err)
	}
	file, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	const userVersion = 60 // its place in the header of an SQLite file, big-endian
	if _, err := file.WriteAt([]byte{0, 0, 0, 1}, userVersion); err != nil {
		t.Fatal(err)
	}
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
	if hint := errext.Hint(read()); !strings.HasPrefix(hint, "harness db migrate --db '"+path+"' ") {
		t.Errorf("an older ledger's hint: %s", hint)
	}
}
