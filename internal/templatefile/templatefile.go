// Package templatefile reads files of named strings, JSON or YAML, and finds the name that a misspelt
// one was meant to be. What the names mean belongs to the packages that read such files: agent and teacher
// share one format, and each takes its own keys.
package templatefile

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"gopkg.in/yaml.v3"
)

// MaxBytes bounds a template file; prompts are kilobytes.
const MaxBytes = 4 << 20

// Decode reads a JSON or YAML mapping of strings. A key that occurs twice and a value that is
// not a string are errors. Keys that start with "_" are dropped, whatever they hold.
func Decode(file []byte) (map[string]string, error) {
	file = bytes.TrimPrefix(file, []byte("\ufeff"))
	switch {
	case len(file) > MaxBytes:
		return nil, fmt.Errorf("the file has %d bytes, more than %d", len(file), MaxBytes)
	case !utf8.Valid(file):
		return nil, errors.New("the file is not UTF-8")
	case bytes.HasPrefix(bytes.TrimLeft(file, " \t\r\n"), []byte("{")):
		return decodeJSON(file)
	}
	return decodeYAML(file)
}

func decodeJSON(file []byte) (map[string]string, error) {
	dec := json.NewDecoder(bytes.NewReader(file))
	if _, err := dec.Token(); err != nil {
		return nil, err
	}
	out := make(map[string]string)
	for dec.More() {
		token, err := dec.Token()
		if err != nil {
			return nil, err
		}
		key, ok := token.(string)
		if !ok {
			return nil, fmt.Errorf("unexpected %v where a key belongs", token)
		}
		var value any
		if err := dec.Decode(&value); err != nil {
			return nil, fmt.Errorf("key %q: %w", key, err)
		}
		if err := put(out, key, value); err != nil {
			return nil, err
		}
	}
	if _, err := dec.Token(); err != nil {
		return nil, err
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("something follows the closing brace")
	}
	return out, nil
}

func decodeYAML(file []byte) (map[string]string, error) {
	var doc yaml.Node
	dec := yaml.NewDecoder(bytes.NewReader(file))
	if err := dec.Decode(&doc); errors.Is(err, io.EOF) {
		return nil, errors.New("the file is empty")
	} else if err != nil {
		return nil, err
	}
	if err := dec.Decode(new(yaml.Node)); !errors.Is(err, io.EOF) {
		return nil, errors.New("the file holds more than one document")
	}
	out := make(map[string]string)
	root := doc.Content[0]
	if root.Kind != yaml.MappingNode {
		return nil, errors.New("the file is not a mapping of keys to strings")
	}
	for i := 0; i+1 < len(root.Content); i += 2 {
		key, value := root.Content[i], root.Content[i+1]
		var v any
		if value.Kind == yaml.ScalarNode && value.Tag == "!!str" {
			v = value.Value
		}
		if err := put(out, key.Value, v); err != nil {
			return nil, fmt.Errorf("line %d: %w", key.Line, err)
		}
	}
	return out, nil
}

func put(out map[string]string, key string, value any) error {
	if strings.HasPrefix(key, "_") {
		return nil
	}
	text, ok := value.(string)
	if !ok {
		return fmt.Errorf("key %q: not a string", key)
	}
	if _, twice := out[key]; twice {
		return fmt.Errorf("key %q occurs twice", key)
	}
	out[key] = text
	return nil
}
