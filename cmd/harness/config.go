package main

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"gopkg.in/yaml.v3"

	"github.com/hindsightrl/harness/internal/errext"
)

// Where a setting's value came from, strongest first.
const (
	originFlag    = "flag"
	originEnv     = "environment"
	originFile    = "config file"
	originDefault = "default"
)

// configurable adds --config to a command and makes its other flags settable by HARNESS_* variables
// and by the file: flag > HARNESS_* > config file > default. It must be called after the command's
// flags are declared.
func configurable(g *globals, cmd *cobra.Command) {
	cmd.Flags().String("config", "", "YAML file with a value per flag name (HARNESS_CONFIG)")
	cmd.PreRunE = func(cmd *cobra.Command, _ []string) error {
		_, err := resolveFlags(g, cmd)
		return err
	}
}

// resolveFlags fills every flag that the command line left alone and returns each one's origin.
func resolveFlags(g *globals, cmd *cobra.Command) (map[string]string, error) {
	origins := map[string]string{}
	if err := setFromEnv(g, cmd.Flags(), origins, "config"); err != nil {
		return nil, usageError(cmd, err)
	}
	file, err := readConfig(cmd.Flags())
	if err != nil {
		return nil, usageError(cmd, err)
	}
	var errs []error
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if f.Name == "help" {
			return
		}
		if err := setFromEnv(g, cmd.Flags(), origins, f.Name); err != nil {
			errs = append(errs, err)
			return
		}
		value, inFile := file[f.Name]
		if origins[f.Name] != "" || !inFile {
			return
		}
		if err := cmd.Flags().Set(f.Name, value); err != nil {
			errs = append(errs, fmt.Errorf("config file %s: %w", cmd.Flag("config").Value, err))
		}
		origins[f.Name] = originFile
	})
	if err := errors.Join(errs...); err != nil {
		return nil, usageError(cmd, err)
	}
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if origins[f.Name] == "" {
			origins[f.Name] = originDefault
		}
		if f.Annotations == nil {
			f.Annotations = map[string][]string{}
		}
		f.Annotations[originKey] = []string{origins[f.Name]}
	})
	return origins, nil
}

// originKey is the annotation of a flag that says where its value came from.
const originKey = "origin"

// originOf is where a flag's value came from, as far as resolveFlags has seen the flag.
func originOf(f *pflag.Flag) string {
	if from := f.Annotations[originKey]; len(from) > 0 {
		return from[0]
	}
	return originDefault
}

// setFromEnv notes that a flag was given, or else takes its HARNESS_* variable where that is set.
func setFromEnv(g *globals, flags *pflag.FlagSet, origins map[string]string, name string) error {
	f := flags.Lookup(name)
	if f == nil || origins[name] != "" {
		return nil
	}
	if f.Changed {
		origins[name] = originFlag
		return nil
	}
	key := "HARNESS_" + strings.ToUpper(strings.ReplaceAll(name, "-", "_"))
	value := g.env(key)
	if value == "" {
		return nil
	}
	origins[name] = originEnv
	if err := flags.Set(name, value); err != nil {
		return fmt.Errorf("%s: %w", key, err)
	}
	return nil
}

// readConfig reads the --config file as one scalar or list per flag name.
func readConfig(flags *pflag.FlagSet) (map[string]string, error) {
	path, err := flags.GetString("config")
	if err != nil || path == "" {
		return nil, err
	}
	raw, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read config file: %w", err)
	}
	var doc map[string]any
	if err := yaml.Unmarshal(raw, &doc); err != nil {
		return nil, fmt.Errorf("read config file %q: %w", path, err)
	}
	values := make(map[string]string, len(doc))
	for key, v := range doc {
		if flags.Lookup(key) == nil || key == "config" {
			return nil, unknownKey(path, key, flags)
		}
		s, err := scalar(v)
		if err != nil {
			return nil, fmt.Errorf("read config file %q: key %q: %w", path, key, err)
		}
		values[key] = s
	}
	return values, nil
}

func scalar(v any) (string, error) {
	switch v := v.(type) {
	case string, bool, int, int64, uint64, float64:
		return fmt.Sprint(v), nil
	case []any:
		parts := make([]string, len(v))
		for i, item := range v {
			s, err := scalar(item)
			if err != nil {
				return "", err
			}
			parts[i] = s
		}
		return strings.Join(parts, ","), nil
	default:
		return "", fmt.Errorf("want a scalar or a list of scalars, got %T", v)
	}
}

func unknownKey(path, key string, flags *pflag.FlagSet) error {
	var names []string
	flags.VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
	err := fmt.Errorf("config file %q: unknown key %q", path, key)
	if near := nearest(key, names); near != "" {
		return errext.WithHint(err, fmt.Sprintf("did you mean %q?", near))
	}
	return err
}

// nearest returns the name with the smallest edit distance to key, or "" where none is close.
func nearest(key string, names []string) string {
	best, at := 1+max(2, len(key)/3), ""
	slices.Sort(names)
	for _, n := range names {
		if d := editDistance(key, n); d < best {
			best, at = d, n
		}
	}
	return at
}

func editDistance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diag := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			diag, row[j+1] = row[j+1], min(row[j+1]+1, row[j]+1, diag+cost)
		}
	}
	return row[len(b)]
}

// newConfig prints what a command would run with, and where each value comes from.
func newConfig(g *globals) *cobra.Command {
	return &cobra.Command{
		Use:                "config COMMAND [FLAGS]",
		Short:              "Print a command's merged settings and where each value comes from",
		Example:            "  harness config rollout --config run.yaml",
		GroupID:            "prove",
		DisableFlagParsing: true,
		Args:               cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 || args[0] == "--help" || args[0] == "-h" {
				return cmd.Help()
			}
			target, rest, err := cmd.Root().Find(args)
			if err != nil || target.Flag("config") == nil {
				return usageError(cmd, fmt.Errorf("%q is not a configurable command", strings.Join(args, " ")))
			}
			if err := target.ParseFlags(rest); err != nil {
				return usageError(target, err)
			}
			origins, err := resolveFlags(g, target)
			if err != nil {
				return err
			}
			t := table{columns: []column{{title: "setting"}, {title: "value"}, {title: "from"}}}
			target.Flags().VisitAll(func(f *pflag.Flag) {
				if f.Name != "help" {
					t.add(f.Name, f.Value.String(), origins[f.Name])
				}
			})
			return t.write(g.stdout)
		},
	}
}
