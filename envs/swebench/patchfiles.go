package swebench

import (
	"strings"
)

// PatchFile is one file's section of a git diff.
type PatchFile struct {
	Old, New string // paths without the a/ and b/ prefix; "" for a file that is added or removed
	Binary   bool   // it has no text hunks: "GIT binary patch" or "Binary files differ"
	Start    int    // byte range of the section in the patch
	End      int
}

// Path is the file's path after the patch, or before it where the patch removes the file.
func (f PatchFile) Path() string {
	if f.New != "" {
		return f.New
	}
	return f.Old
}

// PatchFiles splits a git diff into its sections. Lines of hunks begin with a blank, "+", "-" or "\",
// and those of binary patches hold no blank, so a line "diff --git " always opens a section. Text before
// the first one belongs to none.
func PatchFiles(patch string) []PatchFile {
	var files []PatchFile
	const header = "diff --git "
	for at := sectionStart(patch, 0); at >= 0; {
		next := sectionStart(patch, at+len(header))
		end := len(patch)
		if next >= 0 {
			end = next
		}
		f := parseSection(patch[at:end])
		f.Start, f.End = at, end
		files = append(files, f)
		at = next
	}
	return files
}

func sectionStart(patch string, from int) int {
	const header = "diff --git "
	if from == 0 && strings.HasPrefix(patch, header) {
		return 0
	}
	if from > 0 {
		from-- // the newline before the header may be the last byte looked at
	}
	if i := strings.Index(patch[from:], "\n"+header); i >= 0 {
		return from + i + 1
	}
	return -1
}

// parseSection reads the lines before the first hunk.
func parseSection(section string) PatchFile {
	line, rest, _ := strings.Cut(section, "\n")
	f := PatchFile{}
	f.Old, f.New = headerPaths(strings.TrimSuffix(strings.TrimPrefix(line, "diff --git "), "\r"))
	for rest != "" {
		line, rest, _ = strings.Cut(rest, "\n")
		line = strings.TrimSuffix(line, "\r")
		switch {
		case strings.HasPrefix(line, "@@ "):
			return f
		case strings.HasPrefix(line, "new file mode"):
			f.Old = ""
		case strings.HasPrefix(line, "deleted file mode"):
			f.New = ""
		case strings.HasPrefix(line, "rename from "), strings.HasPrefix(line, "copy from "):
			_, from, _ := strings.Cut(line, " from ")
			f.Old = unquotePath(from)
		case strings.HasPrefix(line, "rename to "), strings.HasPrefix(line, "copy to "):
			_, to, _ := strings.Cut(line, " to ")
			f.New = unquotePath(to)
		case line == "GIT binary patch", strings.HasPrefix(line, "Binary files "):
			f.Binary = true
			return f
		case strings.HasPrefix(line, "--- "):
			if p := sidePath(line[len("--- "):], "a/"); p != "" && f.Old != "" {
				f.Old = p
			}
		case strings.HasPrefix(line, "+++ "):
			if p := sidePath(line[len("+++ "):], "b/"); p != "" && f.New != "" {
				f.New = p
			}
		}
	}
	return f
}

// headerPaths reads "a/x b/x". A path may hold blanks; where it is not renamed both sides are equal,
// which tells where the first one ends. Other headers are corrected by the lines that follow.
func headerPaths(s string) (from, to string) {
	if strings.HasPrefix(s, `"`) {
		if end := closingQuote(s); end > 0 && end+2 <= len(s) {
			return strings.TrimPrefix(unquotePath(s[:end]), "a/"), strings.TrimPrefix(unquotePath(s[end+1:]), "b/")
		}
	}
	if half := len(s) / 2; len(s)%2 == 1 && s[half] == ' ' &&
		strings.TrimPrefix(s[:half], "a/") == strings.TrimPrefix(s[half+1:], "b/") {
		return strings.TrimPrefix(s[:half], "a/"), strings.TrimPrefix(s[half+1:], "b/")
	}
	if i := strings.LastIndex(s, " b/"); i >= 0 {
		return strings.TrimPrefix(s[:i], "a/"), s[i+len(" b/"):]
	}
	from, to, _ = strings.Cut(s, " ")
	return from, to
}

// closingQuote returns the offset after the quote that ends a quoted path at the start of s, 0 if none.
func closingQuote(s string) int {
	for i := 1; i < len(s); i++ {
		switch s[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return 0
}

// sidePath reads what follows "--- " or "+++ ": a path with its prefix, perhaps followed by a tab and a
// date; "" for /dev/null.
func sidePath(s, prefix string) string {
	s, _, _ = strings.Cut(s, "\t")
	if s == "/dev/null" {
		return ""
	}
	return strings.TrimPrefix(unquotePath(s), prefix)
}

// unquotePath undoes git's C-style quoting of unusual paths.
func unquotePath(s string) string {
	if len(s) < 2 || s[0] != '"' || s[len(s)-1] != '"' {
		return s
	}
	s = s[1 : len(s)-1]
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' || i+1 == len(s) {
			b.WriteByte(s[i])
			continue
		}
		i++
		if named := strings.IndexByte("abtnvfr", s[i]); named >= 0 {
			b.WriteByte("\a\b\t\n\v\f\r"[named])
			continue
		}
		n, code := 0, 0
		for n < 3 && i+n < len(s) && '0' <= s[i+n] && s[i+n] <= '7' {
			code = code*8 + int(s[i+n]-'0')
			n++
		}
		if n == 0 {
			b.WriteByte(s[i])
			continue
		}
		b.WriteByte(byte(code))
		i += n - 1
	}
	return b.String()
}
