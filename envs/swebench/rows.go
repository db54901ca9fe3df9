package swebench

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hindsightrl/harness/internal/errext"
)

// ErrFormat is returned for a file whose name tells no known format.
var ErrFormat = errors.New("the name must end in .parquet, .jsonl or .json")

// LoadRows reads the instances of one dataset file: Parquet, JSON lines, or a JSON list. It is strict:
// the first row that cannot be used is a *RowError, and nothing is skipped.
func LoadRows(path string) ([]*Instance, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("load dataset: %w", err)
	}
	defer f.Close()
	var all []*Instance
	add := func(number int, fields row) error {
		in, err := newInstance(number, fields)
		all = append(all, in)
		return err
	}
	switch filepath.Ext(path) {
	case ".parquet":
		err = readParquet(f, add)
	case ".jsonl":
		err = readJSONLines(f, add)
	case ".json":
		err = readJSONList(f, add)
	default:
		err = ErrFormat
	}
	if err != nil {
		return nil, fmt.Errorf("load dataset %s: %w", path, err)
	}
	return all, nil
}

// ParseRows is LoadRows for JSON text that has already been opened: a list, or JSON lines.
func ParseRows(r io.Reader, asLines bool) ([]*Instance, error) {
	var all []*Instance
	add := func(number int, fields row) error {
		in, err := newInstance(number, fields)
		all = append(all, in)
		return err
	}
	read := readJSONList
	if asLines {
		read = readJSONLines
	}
	if err := read(r, add); err != nil {
		return nil, fmt.Errorf("load dataset: %w", err)
	}
	return all, nil
}

// Dataset is a set of instances in a stable order.
type Dataset struct {
	Instances []*Instance
	byID      map[string]*Instance
}

// NewDataset makes a dataset of instances. An id that occurs twice is an error unless both rows grade
// alike: files of overlapping sets may be opened together.
func NewDataset(instances []*Instance) (*Dataset, error) {
	d := &Dataset{byID: make(map[string]*Instance, len(instances))}
	for _, in := range instances {
		switch old := d.byID[in.ID]; {
		case old == nil:
			d.byID[in.ID] = in
			d.Instances = append(d.Instances, in)
		case !gradesAlike(old, in):
			return nil, fmt.Errorf("open dataset: instance %s occurs twice, with different tests, parser or base commit", in.ID)
		case old.Rebuilt && !in.Rebuilt:
			*old = *in
		}
	}
	return d, nil
}

func gradesAlike(a, b *Instance) bool {
	return a.BaseCommit == b.BaseCommit && a.LogParser == b.LogParser && a.EvalType == b.EvalType &&
		slices.Equal(a.FailToPass, b.FailToPass) && slices.Equal(a.PassToPass, b.PassToPass)
}

// Get returns an instance by id, nil where there is none.
func (d *Dataset) Get(id string) *Instance { return d.byID[id] }

// OpenDataset reads every dataset file of a folder, in the order of their names, or one file.
func OpenDataset(path string) (*Dataset, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, errext.WithHint(fmt.Errorf("open dataset: %w", err),
			"name a .parquet, .jsonl or .json file of rows, or a folder of them")
	}
	files := []string{path}
	if info.IsDir() {
		if files, err = rowFiles(path); err != nil {
			return nil, err
		}
	}
	var all []*Instance
	for _, file := range files {
		rows, err := LoadRows(file)
		if err != nil {
			return nil, err
		}
		all = append(all, rows...)
	}
	return NewDataset(all)
}

func rowFiles(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("open dataset: %w", err)
	}
	var files []string
	for _, e := range entries {
		switch filepath.Ext(e.Name()) {
		case ".parquet", ".jsonl", ".json":
			if !e.IsDir() && !strings.HasPrefix(e.Name(), ".") {
				files = append(files, filepath.Join(dir, e.Name()))
			}
		}
	}
	if len(files) == 0 {
		return nil, errext.WithHint(fmt.Errorf("open dataset: no .parquet, .jsonl or .json file in %s", dir),
			"download a split, e.g. SWE-bench_Verified's test split as Parquet")
	}
	return files, nil
}
