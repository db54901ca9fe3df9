package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// column is one column of a table.
type column struct {
	title string
	right bool // numbers align right
}

// table is a plain-text table: no borders, so that columns survive cut and awk.
type table struct {
	columns []column
	rows    [][]string
}

// add appends a row. Cells may quote outside text: they lose their control characters and line breaks,
// which would forge rows or reach the terminal.
func (t *table) add(cells ...string) {
	row := make([]string, len(cells))
	for i, cell := range cells {
		row[i] = breaks.Replace(printable(cell))
	}
	t.rows = append(t.rows, row)
}

var breaks = strings.NewReplacer("\n", " ", "\t", " ")

func (t *table) write(w io.Writer) error {
	width := make([]int, len(t.columns))
	head := make([]string, len(t.columns))
	for i, c := range t.columns {
		head[i] = c.title
	}
	all := append([][]string{head}, t.rows...)
	for _, row := range all {
		for i, cell := range row {
			width[i] = max(width[i], utf8.RuneCountInString(cell))
		}
	}
	var b strings.Builder
	for _, row := range all {
		line := ""
		for i, cell := range row {
			pad := strings.Repeat(" ", width[i]-utf8.RuneCountInString(cell))
			if t.columns[i].right {
				line += pad + cell + "  "
			} else {
				line += cell + pad + "  "
			}
		}
		b.WriteString(strings.TrimRight(line, " ") + "\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// writeJSON prints v as indented JSON with a newline.
func writeJSON(w io.Writer, v any) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(v); err != nil {
		return fmt.Errorf("print JSON: %w", err)
	}
	return nil
}

func percent(part, whole int) string {
	if whole == 0 {
		return "-"
	}
	return fmt.Sprintf("%.1f%%", 100*float64(part)/float64(whole))
}
