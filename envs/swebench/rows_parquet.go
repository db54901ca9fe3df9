package swebench

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/parquet-go/parquet-go"
)

// readParquet calls add for each row. Columns are found by name, whatever their order; strings and
// lists of strings are read, other columns must be ones that no row needs.
func readParquet(f *os.File, add func(number int, fields row) error) (err error) {
	info, err := f.Stat()
	if err != nil {
		return err
	}
	// The library panics on some broken files.
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("read Parquet: %v", p)
		}
	}()
	file, err := parquet.OpenFile(f, info.Size())
	if err != nil {
		return fmt.Errorf("read Parquet: %w", err)
	}
	columns := layoutOf(file.Schema())
	number := 0
	for _, group := range file.RowGroups() {
		rows := group.Rows()
		err := readRowGroup(rows, columns, &number, add)
		if err = errors.Join(err, rows.Close()); err != nil {
			return err
		}
	}
	return nil
}

func readRowGroup(rows parquet.Rows, columns []column, number *int, add func(int, row) error) error {
	buffer := make([]parquet.Row, 64)
	for {
		n, err := rows.ReadRows(buffer)
		for _, values := range buffer[:n] {
			*number++
			if err := add(*number, rowOf(values, columns)); err != nil {
				return err
			}
		}
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return fmt.Errorf("read Parquet: row %d: %w", *number+1, err)
		case n == 0:
			return fmt.Errorf("read Parquet: row %d: %w", *number+1, io.ErrNoProgress)
		}
	}
}

// column is where a leaf's values go.
type column struct {
	name     string
	list     bool // its path is longer than a name: name, "list", "element"
	optional bool // the value, or the list as a whole, may be null
}

func layoutOf(schema *parquet.Schema) []column {
	optional := map[string]bool{}
	for _, f := range schema.Fields() {
		optional[f.Name()] = f.Optional()
	}
	var all []column
	for _, path := range schema.Columns() {
		all = append(all, column{name: path[0], list: len(path) > 1, optional: optional[path[0]]})
	}
	return all
}

// rowOf turns a record's values into fields.
func rowOf(values parquet.Row, columns []column) row {
	fields := make(row, len(columns))
	for _, v := range values {
		c := columns[v.Column()]
		if !c.list {
			if !v.IsNull() {
				fields[c.name] = valueOf(v)
			}
			continue
		}
		list, _ := fields[c.name].([]any)
		switch {
		case !v.IsNull():
			list = append(list, valueOf(v))
		case v.DefinitionLevel() == 0 && c.optional:
			continue // no list at all; an empty one has a null element too, one level further in
		case list == nil:
			list = []any{}
		}
		fields[c.name] = list
	}
	return fields
}

// valueOf copies a value: the library reuses its pages.
func valueOf(v parquet.Value) any {
	switch v.Kind() {
	case parquet.ByteArray, parquet.FixedLenByteArray:
		return string(v.ByteArray())
	case parquet.Boolean:
		return v.Boolean()
	case parquet.Int32, parquet.Int64:
		return v.Int64()
	default:
		return v.String()
	}
}
