package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"reflect"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/hindsightrl/harness/credit"
	"github.com/hindsightrl/harness/creditrun"
	"github.com/hindsightrl/harness/internal/errext"
)

// readCreditConfig reads the file that names the stages; without a file it is GRPO, with SERL's weights
// where there are scores to weigh by.
func readCreditConfig(path string, scored bool) (creditrun.Config, error) {
	if path == "" {
		return creditrun.DefaultConfig(credit.GRPO, scored), nil
	}
	raw, err := os.ReadFile(path)
	if err != nil {
		return creditrun.Config{}, errext.WithHint(fmt.Errorf("read credit configuration: %w", err), "harness credit config > "+path)
	}
	cfg, err := parseCreditConfig(raw, scored)
	if err != nil {
		return cfg, errext.WithHint(fmt.Errorf("read credit configuration %q: %w", path, err), hintOr(err, "harness credit config prints all keys with their defaults"))
	}
	return cfg, nil
}

// parseCreditConfig decodes YAML over the defaults of the estimator that it names. Unknown keys and
// values of another type are errors that name the line.
func parseCreditConfig(raw []byte, scored bool) (creditrun.Config, error) {
	var doc yaml.Node
	dec := yaml.NewDecoder(bytes.NewReader(raw))
	if err := dec.Decode(&doc); err != nil && !errors.Is(err, io.EOF) {
		return creditrun.Config{}, err
	}
	if err := dec.Decode(new(yaml.Node)); !errors.Is(err, io.EOF) {
		return creditrun.Config{}, errors.New("want one YAML document")
	}
	if len(doc.Content) == 0 {
		return creditrun.DefaultConfig(credit.GRPO, scored), nil
	}
	root := doc.Content[0]
	cfg := creditrun.DefaultConfig(estimatorName(root), scored)
	if err := decodeNode("", root, reflect.ValueOf(&cfg).Elem()); err != nil {
		return cfg, err
	}
	return cfg, cfg.Validate()
}

// estimatorName looks the estimator up, whose name decides the defaults of the rest.
func estimatorName(root *yaml.Node) credit.Estimator {
	n := child(root, "estimator")
	if n != nil && n.Kind == yaml.MappingNode {
		n = child(n, "name")
	}
	if n != nil && n.Kind == yaml.ScalarNode {
		return credit.Estimator(n.Value)
	}
	return credit.GRPO
}

func child(n *yaml.Node, key string) *yaml.Node {
	if n.Kind != yaml.MappingNode {
		return nil
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == key {
			return n.Content[i+1]
		}
	}
	return nil
}

// decodeNode writes a node into a value; keys are the fields' JSON names. An estimator may be its name
// alone, and a reward its source.
func decodeNode(path string, n *yaml.Node, v reflect.Value) error {
	if v.Kind() == reflect.Struct {
		if e, ok := v.Addr().Interface().(*credit.EstimatorConfig); ok && n.Kind == yaml.ScalarNode {
			e.Name = credit.Estimator(n.Value)
			return nil
		}
		if r, ok := v.Addr().Interface().(*creditrun.RewardConfig); ok && n.Kind == yaml.ScalarNode {
			r.Source = creditrun.RewardSource(n.Value)
			return nil
		}
		return decodeMapping(path, n, v)
	}
	if n.Kind != yaml.ScalarNode {
		return fmt.Errorf("line %d: %s: want %s", n.Line, path, kindName(v.Kind()))
	}
	if v.Kind() == reflect.String && n.Tag != "!!str" || v.Kind() == reflect.Bool && n.Tag != "!!bool" || n.Tag == "!!null" {
		return fmt.Errorf("line %d: %s is %s, want %s", n.Line, path, n.Value, kindName(v.Kind()))
	}
	if err := n.Decode(v.Addr().Interface()); err != nil {
		return fmt.Errorf("line %d: %s is %q, want %s", n.Line, path, n.Value, kindName(v.Kind()))
	}
	return nil
}

func decodeMapping(path string, n *yaml.Node, v reflect.Value) error {
	if n.Kind != yaml.MappingNode {
		return fmt.Errorf("line %d: %swant keys with values", n.Line, pathColon(path))
	}
	fields := map[string]int{}
	var names []string
	for i := range v.NumField() {
		name := jsonName(v.Type().Field(i))
		fields[name], names = i, append(names, name)
	}
	seen := map[string]bool{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key := n.Content[i].Value
		at, known := fields[key]
		switch {
		case !known:
			err := fmt.Errorf("line %d: %sunknown key %q", n.Content[i].Line, pathColon(path), key)
			if near := nearest(key, slices.Clone(names)); near != "" {
				return errext.WithHint(err, fmt.Sprintf("did you mean %q?", near))
			}
			return errext.WithHint(err, "the keys here are "+strings.Join(names, ", "))
		case seen[key]:
			return fmt.Errorf("line %d: %skey %q stands here twice", n.Content[i].Line, pathColon(path), key)
		}
		seen[key] = true
		if err := decodeNode(strings.TrimPrefix(path+"."+key, "."), n.Content[i+1], v.Field(at)); err != nil {
			return err
		}
	}
	return nil
}

// jsonName is a field's name in JSON, without the options behind it.
func jsonName(f reflect.StructField) string {
	name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
	return name
}

func pathColon(path string) string {
	if path == "" {
		return ""
	}
	return path + ": "
}

func kindName(k reflect.Kind) string {
	switch k {
	case reflect.String:
		return "a word"
	case reflect.Bool:
		return "true or false"
	case reflect.Int, reflect.Uint64:
		return "a whole number"
	}
	return "a number"
}

// writeCreditConfig prints a configuration as the YAML that parseCreditConfig reads.
func writeCreditConfig(w io.Writer, cfg creditrun.Config) error {
	_, err := io.WriteString(w, yamlOf(reflect.ValueOf(cfg), ""))
	return err
}

func yamlOf(v reflect.Value, indent string) string {
	var b strings.Builder
	for i := range v.NumField() {
		name, f := jsonName(v.Type().Field(i)), v.Field(i)
		if f.Kind() == reflect.Struct {
			fmt.Fprintf(&b, "%s%s:\n%s", indent, name, yamlOf(f, indent+"  "))
			continue
		}
		fmt.Fprintf(&b, "%s%s: %v\n", indent, name, f.Interface())
	}
	return b.String()
}
