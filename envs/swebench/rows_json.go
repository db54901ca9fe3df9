package swebench

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// readJSONLines calls add for each line that is not blank. Rows are counted without the blank lines.
func readJSONLines(r io.Reader, add func(number int, fields row) error) error {
	br := bufio.NewReaderSize(r, 1<<16)
	for line, number := 1, 0; ; line++ {
		text, err := br.ReadBytes('\n')
		if len(bytes.TrimSpace(text)) > 0 {
			number++
			var fields row
			if jsonErr := json.Unmarshal(text, &fields); jsonErr != nil {
				return fmt.Errorf("line %d: %w", line, jsonErr)
			}
			if addErr := add(number, fields); addErr != nil {
				return addErr
			}
		}
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return fmt.Errorf("line %d: %w", line, err)
		}
	}
}

// readJSONList reads a list of objects one by one.
func readJSONList(r io.Reader, add func(number int, fields row) error) error {
	dec := json.NewDecoder(bufio.NewReaderSize(r, 1<<16))
	token, err := dec.Token()
	if err != nil {
		return fmt.Errorf("read JSON list: %w", err)
	}
	if token != json.Delim('[') {
		return fmt.Errorf("read JSON list: it begins with %v, not [", token)
	}
	for number := 1; dec.More(); number++ {
		var fields row
		if err := dec.Decode(&fields); err != nil {
			return fmt.Errorf("row %d: %w", number, err)
		}
		if err := add(number, fields); err != nil {
			return err
		}
	}
	if _, err := dec.Token(); err != nil {
		return fmt.Errorf("read JSON list: %w", err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return errors.New("read JSON list: something follows it")
	}
	return nil
}
