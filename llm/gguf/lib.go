package gguf

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/ebitengine/purego"
	"github.com/hybridgroup/yzma/pkg/llama"
	"github.com/hybridgroup/yzma/pkg/utils"

	"github.com/hindsightrl/harness/internal/errext"
)

// ErrNoLibrary means that no llama.cpp library was found or that it could not be loaded.
var ErrNoLibrary = errors.New("no llama.cpp library")

const installHint = "run harness model install, or point at a folder that holds libllama.so"

// libFiles are the names that are loaded from a library folder.
var libFiles = []string{"libllama.so", "libggml.so", "libggml-base.so"}

// FindLib returns the folder of the llama.cpp library: the first of the given folders that is not "",
// which then must hold it, else the one that Install writes to.
func FindLib(given ...string) (string, error) {
	for _, dir := range given {
		if dir != "" {
			return dir, checkLib(dir)
		}
	}
	dir, err := DefaultLibDir()
	if err != nil {
		return "", errext.WithHint(fmt.Errorf("%w: %w", ErrNoLibrary, err), installHint)
	}
	return dir, checkLib(dir)
}

// DefaultLibDir is where Install puts the library: a folder of the user's cache, named for the
// package's version, so that two versions of this program do not disturb each other.
func DefaultLibDir() (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	return filepath.Join(cache, "hindsight", "llama.cpp-"+libVersion), nil
}

func checkLib(dir string) error {
	for _, name := range libFiles {
		_, err := os.Stat(filepath.Join(dir, name))
		if err == nil {
			continue
		}
		hint := installHint
		stem := strings.TrimSuffix(name, ".so")
		if m, _ := filepath.Glob(filepath.Join(dir, stem+".v*.so")); len(m) > 0 {
			hint = fmt.Sprintf("make the link: ln -s %s %s", filepath.Base(m[0]), filepath.Join(dir, name))
		}
		return errext.WithHint(fmt.Errorf("find %s in %q: %w", name, dir, ErrNoLibrary), hint)
	}
	return nil
}

// lib is the library of this process. It can be loaded once: its functions are global to yzma, and
// unloading C++ code that has threads is not safe.
var lib struct {
	sync.Mutex
	dir string
	err error
}

// loadLib loads the library from dir. Later calls must name the same folder.
func loadLib(dir string) error {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return err
	}
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		dir = real
	}
	lib.Lock()
	defer lib.Unlock()
	if lib.dir != "" && lib.dir != dir {
		return fmt.Errorf("load llama.cpp from %q: this process already runs the one in %q", dir, lib.dir)
	}
	if lib.dir == dir {
		return lib.err
	}
	if err := checkLib(dir); err != nil {
		return err
	}
	lib.dir = dir
	if err := llama.Load(dir); err != nil {
		lib.err = errext.WithHint(fmt.Errorf("load llama.cpp from %q: %w: %w", dir, ErrNoLibrary, err), installHint)
		return lib.err
	}
	llama.LogSet(purego.NewCallback(onLog))
	llama.Init()
	if llama.GGMLBackendDeviceCount() == 0 {
		lib.err = errext.WithHint(fmt.Errorf("load llama.cpp from %q: no libggml-cpu-*.so fits this processor: %w", dir, ErrNoLibrary), installHint)
	}
	return lib.err
}

// complaints keeps the library's last warnings and errors: its functions return little more than
// null, and the reason is only in its log.
var complaints struct {
	sync.Mutex
	lines []string
}

const maxComplaints = 4

func onLog(level int32, text *byte, _ uintptr) uintptr {
	if l := llama.LogLevel(level); l != llama.LogLevelError || text == nil {
		return 0
	}
	line := strings.TrimSpace(utils.BytePtrToString(text))
	complaints.Lock()
	defer complaints.Unlock()
	if line != "" {
		complaints.lines = append(complaints.lines, line)
		complaints.lines = complaints.lines[max(0, len(complaints.lines)-maxComplaints):]
	}
	return 0
}

// withComplaints adds to err what the library said since the last call.
func withComplaints(err error) error {
	complaints.Lock()
	defer complaints.Unlock()
	if err != nil && len(complaints.lines) > 0 {
		err = fmt.Errorf("%w (llama.cpp: %s)", err, strings.Join(complaints.lines, "; "))
	}
	complaints.lines = nil
	return err
}
