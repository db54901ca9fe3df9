package main

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"unicode"

	"github.com/spf13/pflag"

	"github.com/hindsightrl/harness"
	"github.com/hindsightrl/harness/agent"
	"github.com/hindsightrl/harness/internal/errext"
	"github.com/hindsightrl/harness/llm"
	"github.com/hindsightrl/harness/store"
)

// takeOver sets every flag to the stored run's value. A flag that was given with another value is an
// error: a resumed run ends with the rows of an uninterrupted one, so nothing about it may change. What
// HARNESS_* variables and the config file say yields to the run.
func takeOver(flags *pflag.FlagSet, run store.Run) error {
	var config map[string]string
	if err := json.Unmarshal(run.Config, &config); err != nil {
		return fmt.Errorf("run %q: read its configuration: %w", run.Name, err)
	}
	moved := onServer(config["policy"]) && onServer(flags.Lookup("policy").Value.String())
	var errs []error
	flags.VisitAll(func(f *pflag.Flag) {
		stored, ok := config[f.Name]
		if !ok || f.Value.String() == stored {
			return
		}
		if originOf(f) == originFlag {
			if moved && (f.Name == "policy" || f.Name == "model") {
				return // a server may have moved; samePolicy decides once it has said who it is
			}
			errs = append(errs, fmt.Errorf("run %q was started with --%s=%s and cannot go on with %s", run.Name, f.Name, stored, f.Value))
			return
		}
		errs = append(errs, flags.Set(f.Name, stored))
	})
	return errors.Join(errs...)
}

// samePolicy refuses to go on with another policy or model than the run began with: its episodes would
// not be comparable. The address of a server may differ.
func samePolicy(run store.Run, policy string) error {
	if policyIdentity(run.Policy) == policyIdentity(policy) {
		return nil
	}
	return errext.WithHint(fmt.Errorf("run %q was played by %s and cannot go on with %s", run.Name, run.Policy, policy),
		"serve the run's own model, or start a new run")
}

// templatesKey is where a run's info keeps the hash of its template file: the path alone would let another
// wording into a resumed run.
const templatesKey = "templates_sha256"

// templatesHash is the hash of a template file, "" for built-in templates.
func templatesHash(path string) (string, error) {
	if path == "" {
		return "", nil
	}
	if _, ok := agent.NamedTemplates(path); ok {
		return "", nil
	}
	raw, err := os.ReadFile(path)
	if err != nil {
		return "", fmt.Errorf("read templates: %w", err)
	}
	return fmt.Sprintf("%x", sha256.Sum256(raw)), nil
}

// sameTemplates refuses to go on with a template file that was edited since.
func (c *rolloutCommand) sameTemplates(run store.Run) error {
	var info map[string]any
	if len(run.Info) > 0 {
		if err := json.Unmarshal(run.Info, &info); err != nil {
			return fmt.Errorf("run %q: read its info: %w", run.Name, err)
		}
	}
	stored, _ := info[templatesKey].(string)
	hash, err := templatesHash(c.templates)
	if err == nil && stored != "" && hash != stored {
		err = errext.WithHint(fmt.Errorf("the template file %q was edited since run %q began", c.templates, run.Name),
			"restore the file, or start a new run")
	}
	return err
}

// policyIdentity is a policy's recorded name without the address of its server.
func policyIdentity(name string) string {
	spec, model, _ := strings.Cut(name, " ")
	if !onServer(spec) {
		return name
	}
	kind, _, _ := llm.SplitSpec(spec) // onServer has split it
	return kind + " " + model
}

// onServer reports whether a policy spec names an inference server.
func onServer(spec string) bool {
	_, address, err := llm.SplitSpec(spec)
	return err == nil && address != ""
}

// taskChecker is what a suite may be besides: it says in little time whether its data holds a task.
type taskChecker interface {
	CheckTask(ctx context.Context, task harness.Task) error
}

// checkTasks refuses data that does not hold a run's tasks. Without it, every episode of the run would
// fail for good, one after the other.
func (c *rolloutCommand) checkTasks(ctx context.Context, suite harness.Suite, tasks []harness.Task) error {
	checker, ok := suite.(taskChecker)
	if !ok {
		return nil
	}
	checked := make(map[string]bool, len(tasks))
	for _, task := range tasks {
		if checked[task.Key()] {
			continue
		}
		checked[task.Key()] = true
		if err := checker.CheckTask(ctx, task); err != nil {
			hint := "give the data that the panel was made from: --data DIR"
			if c.source.data != "" {
				hint = fmt.Sprintf("%s is not the data that the panel was made from, or it is incomplete: harness panel check PANEL --data DIR", c.source.data)
			}
			return errext.WithHint(fmt.Errorf("the tasks are not in this data: %w", err), hint)
		}
	}
	return nil
}

// left is the tasks that a resumed run has still to play.
func left(ctx context.Context, db *store.Store, run int64) ([]harness.Task, error) {
	refs, err := db.Pending(ctx, run)
	if err != nil {
		return nil, err
	}
	tasks := make([]harness.Task, len(refs))
	for i, ref := range refs {
		tasks[i] = ref.Task
	}
	return tasks, nil
}

// ofThisMachine are the flags that a run does not store although it cannot go on without them.
var ofThisMachine = []string{"data", "library", "api-key-env", "workers", "prepared", "max-concurrent", "bridge", "original-image"}

// resumeCommand is the command line that goes on with a run.
func resumeCommand(flags *pflag.FlagSet, run string) string {
	words := []string{"harness", "rollout", "--db", flags.Lookup("db").Value.String(), "--resume", run}
	for _, name := range ofThisMachine {
		if f := flags.Lookup(name); f != nil && f.Changed {
			words = append(words, "--"+name, f.Value.String())
		}
	}
	return shellLine(words)
}

// shellLine joins words so that a shell splits them the same way.
func shellLine(words []string) string {
	quoted := make([]string, len(words))
	for i, w := range words {
		quoted[i] = shellWord(w)
	}
	return strings.Join(quoted, " ")
}

func shellWord(w string) string {
	plain := w != "" && !slices.ContainsFunc([]rune(w), func(r rune) bool {
		return !strings.ContainsRune("-_./:=,+@%", r) && (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && r < 0x80
	})
	if plain {
		return w
	}
	return "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
}

// checkRunName refuses names for new runs that could not be typed back: a leading dash reads as a flag, and
// control characters and outer spaces are lost on the screen. "" is left to the caller.
func checkRunName(name string) error {
	switch {
	case strings.HasPrefix(name, "-"):
		return fmt.Errorf("--name %s: a name that begins with a dash reads as a flag", shellWord(name))
	case name != strings.TrimSpace(name) || name != printable(name) || strings.ContainsAny(name, "\n\t"):
		return fmt.Errorf("--name %q: want no control characters, and no space at its ends", name)
	}
	return nil
}

// fileName makes a file's name of a run's: one that stays in the folder, is not hidden and can be typed.
func fileName(run string) string {
	name := strings.Map(func(r rune) rune {
		if r == '/' || r == '\\' || r == ':' || unicode.IsControl(r) {
			return '_'
		}
		return r
	}, run)
	if strings.HasPrefix(name, ".") || strings.HasPrefix(name, "-") {
		name = "_" + name[1:]
	}
	return name
}

// freeName is base, or base with the first number after it that no run has: two runs may start within a
// second.
func freeName(ctx context.Context, db *store.Store, base string) (string, error) {
	for n := 1; ; n++ {
		name := base
		if n > 1 {
			name = fmt.Sprintf("%s-%d", base, n)
		}
		switch _, err := db.RunByName(ctx, name); {
		case errors.Is(err, store.ErrNotFound):
			return name, nil
		case err != nil:
			return "", err
		}
	}
}
