package main

import (
	"io"
	"log/slog"
	"os"
	"runtime/debug"
	"strings"
	"time"

	"golang.org/x/term"
)

// globals is everything that a command takes from its process, in one place, so that tests can run
// commands in memory.
type globals struct {
	stdin       io.Reader
	stdout      io.Writer // the result
	stderr      io.Writer // logs and progress
	env         func(key string) string
	now         func() time.Time
	interactive bool // stderr is a terminal: progress bars instead of lines
	colour      bool // stdout is a terminal and NO_COLOR is unset
	log         *slog.Logger
}

func osGlobals() *globals {
	g := &globals{
		stdin: os.Stdin, stdout: os.Stdout, stderr: os.Stderr,
		env: os.Getenv, now: time.Now,
		interactive: term.IsTerminal(int(os.Stderr.Fd())),
	}
	g.colour = term.IsTerminal(int(os.Stdout.Fd())) && g.env("NO_COLOR") == ""
	g.log = slog.New(slog.NewTextHandler(g.stderr, &slog.HandlerOptions{Level: logLevel(g.env("HARNESS_LOG"))}))
	return g
}

func logLevel(name string) slog.Level {
	var l slog.Level
	if err := l.UnmarshalText([]byte(strings.TrimSpace(name))); err != nil {
		return slog.LevelWarn
	}
	return l
}

// codeVersion is the commit or module version that this binary was built from.
func codeVersion() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	rev, dirty := "", ""
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision":
			rev = s.Value
		case s.Key == "vcs.modified" && s.Value == "true":
			dirty = "+dirty"
		}
	}
	if rev == "" {
		return info.Main.Version
	}
	return rev + dirty
}
