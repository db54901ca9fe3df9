package webshop_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/hindsightrl/harness/envs/webshop"
	"github.com/hindsightrl/harness/internal/testutil"
)

// Everything that was recorded from the original agrees.
func TestVerifyAllRecords(t *testing.T) {
	t.Parallel()
	data, truth := testutil.Shared(t, "data/webshop"), testutil.Shared(t, "truth/webshop")
	lib, err := webshop.OpenLibrary(t.Context(), data, filepath.Join(truth, "stub_nouns_1k.json"))
	if err != nil {
		t.Fatal(err)
	}
	err = filepath.WalkDir(truth, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		t.Run(d.Name(), func(t *testing.T) {
			t.Parallel()
			f, err := os.Open(path)
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			shown := 0
			passed, failed, err := webshop.Verify(t.Context(), path, f, lib, func(c webshop.Case) {
				if c.Err != nil && shown < 4 {
					shown++
					t.Errorf("%s: %v", c.Name, c.Err)
				}
			})
			if err != nil {
				t.Fatal(err)
			}
			if failed > 0 || passed == 0 {
				t.Errorf("%d passed, %d failed", passed, failed)
			}
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
