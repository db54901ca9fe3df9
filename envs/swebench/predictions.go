package swebench

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hindsightrl/harness/internal/errext"
)

// Prediction is one model's patch of one instance.
type Prediction struct {
	InstanceID string
	Model      string // model_name_or_path
	Patch      string // as the file has it, byte for byte
	None       bool   // the file says null, or nothing
}

// Empty reports whether there is nothing to evaluate: such a prediction is listed, never run.
func (p Prediction) Empty() bool { return p.None || p.Patch == "" }

// ModelDir is the model's name as part of a path.
func (p Prediction) ModelDir() string { return strings.ReplaceAll(p.Model, "/", "__") }

// GoldModel is the model name of the dataset's own patches.
const GoldModel = "gold"

// ErrUnknownInstance is returned for predictions of instances that the dataset does not have.
var ErrUnknownInstance = errors.New("instances that the dataset does not have")

// PredictionError is a prediction that cannot be used.
type PredictionError struct {
	Number int    // 1-based in the file
	Key    string // of a dictionary, "" in a list
	Err    error
}

// Error prints where the prediction is, and the cause.
func (e *PredictionError) Error() string {
	if e.Key != "" {
		return fmt.Sprintf("prediction %d (key %q): %v", e.Number, e.Key, e.Err)
	}
	return fmt.Sprintf("prediction %d: %v", e.Number, e.Err)
}

// Unwrap returns the cause.
func (e *PredictionError) Unwrap() error { return e.Err }

// LoadPredictions reads a predictions file, .jsonl or .json (a list, or a dictionary by instance), or,
// for the word "gold", takes the dataset's own patches. Of several for one instance the last one counts,
// in the first one's place. Predictions for instances that the dataset lacks are an error that names
// them.
func LoadPredictions(source string, data *Dataset) ([]Prediction, error) {
	if source == GoldModel {
		return goldPredictions(data), nil
	}
	f, err := os.Open(source)
	if err != nil {
		return nil, errext.WithHint(fmt.Errorf("load predictions: %w", err), `name a .json or .jsonl file, or "gold" for the dataset's own patches`)
	}
	defer f.Close()
	var all []Prediction
	switch filepath.Ext(source) {
	case ".jsonl":
		all, err = ParsePredictions(f, true)
	case ".json":
		all, err = ParsePredictions(f, false)
	default:
		err = errors.New("the name must end in .json or .jsonl")
	}
	if err == nil {
		err = known(all, data)
	}
	if err != nil {
		return nil, fmt.Errorf("load predictions %s: %w", source, err)
	}
	return all, nil
}

func goldPredictions(data *Dataset) []Prediction {
	all := make([]Prediction, len(data.Instances))
	for i, in := range data.Instances {
		all[i] = Prediction{InstanceID: in.ID, Model: GoldModel, Patch: in.Patch}
	}
	return all
}

func known(all []Prediction, data *Dataset) error {
	var unknown []string
	for _, p := range all {
		if data.Get(p.InstanceID) == nil {
			unknown = append(unknown, p.InstanceID)
		}
	}
	if len(unknown) == 0 {
		return nil
	}
	slices.Sort(unknown)
	const shown = 10
	more := ""
	if len(unknown) > shown {
		more = fmt.Sprintf(" and %d more", len(unknown)-shown)
		unknown = unknown[:shown]
	}
	return fmt.Errorf("%w: %s%s", ErrUnknownInstance, strings.Join(unknown, ", "), more)
}

// ParsePredictions reads predictions from JSON lines, or from a JSON list or dictionary.
func ParsePredictions(r io.Reader, asLines bool) ([]Prediction, error) {
	c := &predictions{place: map[string]int{}}
	if asLines {
		if err := c.lines(r); err != nil {
			return nil, err
		}
		return c.all, nil
	}
	dec := json.NewDecoder(bufio.NewReaderSize(r, 1<<16))
	token, err := dec.Token()
	if err != nil {
		return nil, fmt.Errorf("read JSON: %w", err)
	}
	if token != json.Delim('[') && token != json.Delim('{') {
		return nil, fmt.Errorf("read JSON: predictions are a list or a dictionary, not %v", token)
	}
	if err := c.document(dec, token == json.Delim('{')); err != nil {
		return nil, err
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("read JSON: something follows the predictions")
	}
	return c.all, nil
}

// predictions collects, the last one of an instance winning.
type predictions struct {
	all    []Prediction
	place  map[string]int
	number int
}

func (c *predictions) lines(r io.Reader) error {
	br := bufio.NewReaderSize(r, 1<<16)
	for line := 1; ; line++ {
		text, err := br.ReadBytes('\n')
		if len(bytes.TrimSpace(text)) > 0 {
			if addErr := c.add("", text); addErr != nil {
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

func (c *predictions) document(dec *json.Decoder, dictionary bool) error {
	for dec.More() {
		key := ""
		if dictionary {
			token, err := dec.Token()
			if err != nil {
				return fmt.Errorf("read JSON: %w", err)
			}
			key, _ = token.(string)
		}
		var raw json.RawMessage
		if err := dec.Decode(&raw); err != nil {
			return fmt.Errorf("read JSON: prediction %d: %w", c.number+1, err)
		}
		if err := c.add(key, raw); err != nil {
			return err
		}
	}
	_, err := dec.Token()
	if err != nil {
		return fmt.Errorf("read JSON: %w", err)
	}
	return nil
}

func (c *predictions) add(key string, raw []byte) error {
	c.number++
	fail := func(err error) error { return &PredictionError{Number: c.number, Key: key, Err: err} }
	var p struct {
		InstanceID *string `json:"instance_id"`
		Model      *string `json:"model_name_or_path"`
		Patch      *string `json:"model_patch"`
	}
	if err := json.Unmarshal(raw, &p); err != nil {
		return fail(err)
	}
	id := key
	if p.InstanceID != nil {
		id = *p.InstanceID
	}
	switch {
	case id == "":
		return fail(errors.New("instance_id is missing"))
	case key != "" && id != key:
		return fail(fmt.Errorf("its instance_id is %q", id))
	case p.Model == nil || strings.TrimSpace(*p.Model) == "":
		return fail(errors.New("model_name_or_path is missing"))
	}
	found := Prediction{InstanceID: id, Model: *p.Model, None: p.Patch == nil}
	if p.Patch != nil {
		found.Patch = *p.Patch
	}
	if !filepath.IsLocal(found.ModelDir()) || !filepath.IsLocal(id) || strings.ContainsAny(id, `/\`) {
		return fail(fmt.Errorf("%q or %q cannot be the name of a folder", found.Model, id))
	}
	if i, ok := c.place[id]; ok {
		c.all[i] = found
		return nil
	}
	c.place[id] = len(c.all)
	c.all = append(c.all, found)
	return nil
}
