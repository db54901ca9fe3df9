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
	columns := file.Schema().Columns()
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

func readRowGroup(rows parquet.Rows, columns [][]string, number *int, add func(int, row) error) error {
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

// rowOf turns a record's values into fields: a column with a path of one name is a value, a longer
// path (name, "list", "element") a list.
func rowOf(values parquet.Row, columns [][]string) row {
	fields := make(row, len(columns))
	for _, v := range values {
		path := columns[v.Column()]
		name := path[0]
		if len(path) == 1 {
			if !v.IsNull() {
				fields[name] = valueOf(v)
			}
			continue
		}
		// Definition levels: below 1 the list itself is null; an empty list has a null element.
		list, _ := fields[name].([]any)
		switch {
		case !v.IsNull():
			list = append(list, valueOf(v))
		case v.DefinitionLevel() == 0:
			continue
		case list == nil:
			list = []any{}
		}
		fields[name] = list
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
