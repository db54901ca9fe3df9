package eval

import (
	"regexp"
	"strconv"
	"strings"

	"github.com/hindsightrl/harness/envs/swebench"
)

// unsafePath returns the first path of a patch that reaches for the repository's own data (.git) or out
// of the repository, and "" where there is none. git apply refuses such paths by itself; patch, the last
// of the chain, does not know what .git is, and what is written there decides what the script's own git
// commands do.
func unsafePath(patch string) string {
	for _, f := range swebench.PatchFiles(patch) {
		for _, p := range [...]string{f.Old, f.New} {
			if isUnsafe(p) {
				return p
			}
		}
	}
	return scanHeaders(patch)
}

// isUnsafe looks at a path with or without its a/ or b/.
func isUnsafe(p string) bool {
	if p == "" || p == "/dev/null" {
		return false
	}
	if strings.HasPrefix(p, "/") || strings.ContainsRune(p, 0) {
		return true
	}
	for _, part := range strings.FieldsFunc(p, func(r rune) bool { return r == '/' || r == '\\' }) {
		// Other systems take ".GIT" and ".git. " for the same folder.
		if part == ".." || strings.EqualFold(strings.TrimRight(part, ". "), ".git") {
			return true
		}
	}
	return false
}

// headers are the beginnings of lines by which git and patch learn a file's name.
var headers = []string{"--- ", "+++ ", "*** ", "Index: ", "rename from ", "rename to ", "copy from ", "copy to "}

var hunkHeader = regexp.MustCompile(`^@@ -\d+(?:,(\d+))? \+\d+(?:,(\d+))? @@`)

// scanHeaders looks at every line that names a file, also in diffs that are not git's. Lines of a hunk
// may look like headers and are not; the hunk's own counts say how many there are.
func scanHeaders(patch string) string {
	before, after := 0, 0 // lines that the hunk still has
	for rest, line := patch, ""; rest != ""; {
		line, rest, _ = strings.Cut(rest, "\n")
		if (before > 0 || after > 0) && inHunk(line, &before, &after) {
			continue
		}
		before, after = 0, 0
		if m := hunkHeader.FindStringSubmatch(line); m != nil {
			before, after = count(m[1]), count(m[2])
			continue
		}
		for _, h := range headers {
			if name, ok := strings.CutPrefix(line, h); ok {
				if p, safe := headerPath(name); !safe {
					return p
				}
			}
		}
	}
	return ""
}

// inHunk takes a line off a hunk's counts; false where it cannot be one of the hunk's.
func inHunk(line string, before, after *int) bool {
	switch {
	case line == "" || line == "\r", line[0] == ' ', line[0] == '\t':
		*before--
		*after--
	case line[0] == '-':
		*before--
	case line[0] == '+':
		*after--
	case line[0] != '\\':
		return false
	}
	return *before >= 0 && *after >= 0
}

// count reads a hunk's number of lines; left out it is 1.
func count(s string) int {
	if s == "" {
		return 1
	}
	n, err := strconv.Atoi(s)
	if err != nil {
		return 0
	}
	return n
}

// headerPath reads the name in a header, which may be quoted, or followed by a tab and a date.
func headerPath(s string) (name string, safe bool) {
	if strings.HasPrefix(s, `"`) {
		end := strings.LastIndexByte(s, '"')
		unquoted, err := strconv.Unquote(s[:end+1])
		if err != nil {
			return s, false // a name that cannot be read cannot be known to be safe
		}
		return unquoted, !isUnsafe(unquoted)
	}
	name, _, _ = strings.Cut(s, "\t")
	name = strings.TrimRight(name, " \r")
	return name, !isUnsafe(name)
}
