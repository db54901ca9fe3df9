package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// TestTutorials runs every command of the pages in docs/tutorials, each page in a folder of its own.
func TestTutorials(t *testing.T) {
	t.Parallel()
	pages, err := filepath.Glob("../../docs/tutorials/*.md")
	if err != nil || len(pages) == 0 {
		t.Fatalf("no tutorials: %v", err)
	}
	dir := t.TempDir()
	for _, page := range pages {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		commands := shellCommands(string(text))
		if len(commands) == 0 {
			t.Fatalf("%s has no command", page)
		}
		script := "exec " + strings.Join(commands, "\nexec ") + "\n"
		name := strings.TrimSuffix(filepath.Base(page), ".md") + ".txtar"
		if err := os.WriteFile(filepath.Join(dir, name), []byte(script), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	testscript.Run(t, testscript.Params{Dir: dir, RequireExplicitExec: true})
}

// shellCommands are the lines of a page's ```sh blocks.
func shellCommands(page string) []string {
	var out []string
	inside := false
	for line := range strings.Lines(page) {
		line = strings.TrimSpace(line)
		switch {
		case strings.HasPrefix(line, "```"):
			inside = line == "```sh"
		case inside && line != "" && !strings.HasPrefix(line, "#"):
			out = append(out, line)
		}
	}
	return out
}
