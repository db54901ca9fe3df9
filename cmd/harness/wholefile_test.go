package main

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

func TestWriteWhole(t *testing.T) {
	dir := t.TempDir()
	said := func(text string) func(*os.File) error {
		return func(f *os.File) error { _, err := f.WriteString(text); return err }
	}
	file, link := filepath.Join(dir, "out"), filepath.Join(dir, "link")
	if err := writeWhole(file, said("one")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(file, link); err != nil {
		t.Fatal(err)
	}
	if err := writeWhole(link, said("two")); err != nil {
		t.Fatal(err)
	}
	if err := writeWhole(file, func(*os.File) error { return errors.New("broke") }); err == nil {
		t.Error("a write that broke off is no error")
	}
	if got, err := os.ReadFile(file); err != nil || string(got) != "two" {
		t.Errorf("the file holds %q, %v", got, err)
	}
	if info, err := os.Lstat(link); err != nil || info.Mode().Type() != os.ModeSymlink {
		t.Errorf("the link is %v, %v", info, err)
	}
	dangling := filepath.Join(dir, "dangling")
	if err := os.Symlink(filepath.Join(dir, "nowhere"), dangling); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{os.DevNull, dir, dangling} {
		if err := writeWhole(path, said("x")); err == nil {
			t.Errorf("%s was replaced", path)
		}
	}
	left, err := os.ReadDir(dir)
	if err != nil || len(left) != 3 {
		t.Errorf("left in the folder: %v, %v", left, err)
	}
}
