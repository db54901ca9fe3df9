package swebench

import (
	"errors"
	"fmt"
	"path"
	"strings"
)

// NormalizePatch makes the text of an extracted diff a patch: the bytes as they are, ended by a newline,
// without which git apply and patch refuse the last hunk. An empty diff stays empty.
func NormalizePatch(diff string) string {
	if diff == "" || strings.HasSuffix(diff, "\n") {
		return diff
	}
	return diff + "\n"
}

// PatchLimits bound a patch in bytes. A file within its limit is kept whatever it is; what is above is
// left out, or refused, and named.
type PatchLimits struct {
	Total    int // of the whole patch after files were left out; above it is an error
	Lock     int // of a dependency lock file's section
	Binary   int // of a binary file's section
	Artifact int // of a section of what tools leave behind: caches, logs, node_modules, virtual environments
}

// DefaultPatchLimits suit repairs: gold patches have a few KB, and floods come from package managers
// and builds.
var DefaultPatchLimits = PatchLimits{Total: 8 << 20, Lock: 64 << 10, Binary: 256 << 10, Artifact: 16 << 10}

// Validate reports limits that would allow nothing.
func (l PatchLimits) Validate() error {
	if l.Total <= 0 || l.Lock < 0 || l.Binary < 0 || l.Artifact < 0 {
		return fmt.Errorf("patch limits %+v: the total must be above 0 and none below 0", l)
	}
	return nil
}

// ErrPatchTooLarge is returned for a patch that is above the total even without the files left out.
var ErrPatchTooLarge = errors.New("the patch is too large")

// LeftOut is a file's section that a bounded patch lacks.
type LeftOut struct {
	Path  string
	Why   string // "lock file", "binary file", "artifact"
	Bytes int
}

// BoundPatch leaves the sections out that are above their limits and keeps the rest exact to the byte.
func BoundPatch(patch string, limits PatchLimits) (bounded string, left []LeftOut, err error) {
	if err := limits.Validate(); err != nil {
		return "", nil, err
	}
	var kept strings.Builder
	done := 0
	for _, f := range PatchFiles(patch) {
		why := overLimit(f, limits)
		if why == "" {
			continue
		}
		left = append(left, LeftOut{Path: f.Path(), Why: why, Bytes: f.End - f.Start})
		kept.WriteString(patch[done:f.Start])
		done = f.End
	}
	bounded = patch
	if done > 0 {
		kept.WriteString(patch[done:])
		bounded = kept.String()
	}
	if len(bounded) > limits.Total {
		return "", left, fmt.Errorf("bound patch: %w: %d bytes, %d are allowed", ErrPatchTooLarge, len(bounded), limits.Total)
	}
	return bounded, left, nil
}

func overLimit(f PatchFile, l PatchLimits) string {
	size, name := f.End-f.Start, f.Path()
	switch {
	case size > l.Lock && isLockFile(name):
		return "lock file"
	case size > l.Artifact && isArtifact(name):
		return "artifact"
	case size > l.Binary && f.Binary:
		return "binary file"
	}
	return ""
}

// lockFiles are written by package managers; a repair is never in them alone.
var lockFiles = map[string]bool{
	"package-lock.json": true, "npm-shrinkwrap.json": true, "yarn.lock": true, "pnpm-lock.yaml": true, "bun.lock": true,
	"bun.lockb": true, "deno.lock": true, "Cargo.lock": true, "poetry.lock": true, "Pipfile.lock": true, "uv.lock": true,
	"pdm.lock": true, "pixi.lock": true, "composer.lock": true, "Gemfile.lock": true, "go.sum": true, "mix.lock": true,
	"Podfile.lock": true, "packages.lock.json": true, "gradle.lockfile": true, "flake.lock": true, "conda-lock.yml": true,
}

func isLockFile(name string) bool { return lockFiles[path.Base(name)] }

var artifactFolders = map[string]bool{
	"node_modules": true, "__pycache__": true, ".pytest_cache": true, ".mypy_cache": true, ".ruff_cache": true, ".tox": true,
	".nox": true, ".venv": true, "venv": true, ".eggs": true, ".cache": true, ".gradle": true, "htmlcov": true, ".nyc_output": true,
}

var artifactEndings = []string{".pyc", ".pyo", ".log", ".orig", ".rej", ".o", ".so", ".class", ".swp"}

func isArtifact(name string) bool {
	parts := strings.Split(name, "/")
	for _, dir := range parts[:len(parts)-1] {
		if artifactFolders[dir] || strings.HasSuffix(dir, ".egg-info") {
			return true
		}
	}
	for _, ending := range artifactEndings {
		if strings.HasSuffix(name, ending) {
			return true
		}
	}
	return path.Base(name) == "core"
}
