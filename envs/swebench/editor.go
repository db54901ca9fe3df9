package swebench

import (
	"context"
	"errors"
	"fmt"
	"path"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/hindsightrl/harness"
)

const (
	maxPath   = 4096
	maxEdited = 4 << 20 // bytes of a file that the editor takes
	maxView   = 10000   // code points of a file that a view shows
	around    = 4       // lines around a change that its result shows
	editPath  = "/tmp/.hindsight-edit"
)

// editError is what an agent did wrong with the editor.
type editError string

func (p editError) Error() string { return string(p) }

func wrong(format string, args ...any) error { return editError(fmt.Sprintf(format, args...)) }

// edit runs a command of file_editor. Files are changed from outside, so that an image need not hold a
// language to do it in; links are followed, and modes stay.
func (e *Env) edit(ctx context.Context, p map[string]string) (string, error) {
	name := p["path"]
	var text string
	var err error
	switch {
	case !path.IsAbs(name) || len(name) > maxPath || strings.ContainsRune(name, 0):
		return fmt.Sprintf("The path %q is not an absolute path, such as %s/%s.", name, WorkDir, strings.TrimLeft(name, "./")), nil
	case p["command"] == "view":
		text, err = e.view(ctx, name, p["view_range"])
	case p["command"] == "create":
		text, err = e.create(ctx, name, p)
	case p["command"] == "str_replace":
		text, err = e.replace(ctx, name, p)
	case p["command"] == "insert":
		text, err = e.insert(ctx, name, p)
	case p["command"] == "undo_edit":
		text, err = e.undoEdit(ctx, name)
	default:
		return fmt.Sprintf("There is no command %q; there are view, create, str_replace, insert and undo_edit.", p["command"]), nil
	}
	if problem := editError(""); errors.As(err, &problem) {
		return string(problem), nil
	}
	return text, err
}

// lookScript says what a path is, and copies the beginning of a file to where it is read from. $0 is the
// path.
var lookScript = fmt.Sprintf(`if [ -d "$0" ]; then echo folder
elif [ -f "$0" ]; then head -c %d -- "$0" > %s && echo file
elif [ -e "$0" ]; then echo other; else echo nothing; fi`, maxEdited+1, editPath)

// look says whether a path is a folder, a file, something other or nothing. contents reads the file.
func (e *Env) look(ctx context.Context, name string) (kind string, err error) {
	out, err := e.exec(ctx, "sh", "-c", lookScript, name)
	switch {
	case err != nil:
		return "", err
	case out.problem != "" || out.code != 0:
		return "", wrong("The file %s cannot be read: %s", name, strings.TrimSpace(out.problem+" "+out.text))
	}
	return strings.TrimSpace(out.text), nil
}

// contents returns the file that look looked at last.
func (e *Env) contents(ctx context.Context, name string) (string, error) {
	content, err := e.box.ReadFile(ctx, editPath, maxEdited)
	switch {
	case err == nil:
	case ctx.Err() != nil:
		return "", ctx.Err()
	case errors.As(err, new(*harness.Failure)):
		return "", err
	default:
		return "", wrong("The file %s has more than %d bytes.", name, maxEdited)
	}
	if !utf8.Valid(content) {
		return "", wrong("The file %s is not text in UTF-8.", name)
	}
	return string(content), nil
}

// read returns the text of a file that is there.
func (e *Env) read(ctx context.Context, name string) (string, error) {
	kind, err := e.look(ctx, name)
	switch {
	case err != nil:
		return "", err
	case kind != "file":
		return "", wrong("There is no file %s.", name)
	}
	return e.contents(ctx, name)
}

// write puts a text into a file, which is made if it is not there.
func (e *Env) write(ctx context.Context, name, content string) error {
	if len(content) > maxEdited {
		return wrong("The file %s would have more than %d bytes.", name, maxEdited)
	}
	if err := e.box.WriteFile(ctx, editPath, []byte(content), 0o644); err != nil {
		return err
	}
	out, err := e.exec(ctx, "sh", "-c", `mkdir -p -- "$(dirname -- "$0")" && cat `+editPath+` > "$0"; c=$?; rm -f `+editPath+`; exit $c`, name)
	switch {
	case err != nil:
		return err
	case out.problem != "" || out.code != 0:
		return wrong("The file %s cannot be written: %s", name, strings.TrimSpace(out.problem+" "+out.text))
	}
	return nil
}

func (e *Env) view(ctx context.Context, name, lines string) (string, error) {
	kind, err := e.look(ctx, name)
	switch {
	case err != nil:
		return "", err
	case kind == "folder":
		return e.listFolder(ctx, name)
	case kind != "file":
		return "", wrong("There is no file or folder %s.", name)
	}
	content, err := e.contents(ctx, name)
	if err != nil {
		return "", err
	}
	first, last, err := viewRange(lines, strings.Count(content, "\n")+1)
	if err != nil {
		return "", err
	}
	text := numbered(content, first, last)
	if at := prefixBytes(text, maxView); at < len(text) {
		text = text[:at] + "\n<response clipped><NOTE>The file is longer than what is shown. Give a view_range, or search it for the lines that you need.</NOTE>"
	}
	return fmt.Sprintf("Here's the result of running `cat -n` on %s:\n%s", name, text), nil
}

func (e *Env) listFolder(ctx context.Context, name string) (string, error) {
	out, err := e.exec(ctx, "sh", "-c", `cd -- "$0" && find . -maxdepth 2 -not -path './.*' -not -path './*/.*' | sort`, name)
	if err != nil {
		return "", err
	}
	top := strings.TrimRight(name, "/")
	lines := strings.Split(strings.TrimRight(out.problem+out.text, "\n"), "\n")
	for i, line := range lines {
		if line == "." || strings.HasPrefix(line, "./") {
			lines[i] = top + line[1:]
		}
	}
	return fmt.Sprintf("Here's the files and directories up to 2 levels deep in %s, excluding hidden items:\n%s", name, strings.Join(lines, "\n")), nil
}

// viewRange reads "[10, 40]"; nothing is all, and an end of -1 the last line.
func viewRange(text string, total int) (first, last int, err error) {
	if text == "" {
		return 1, total, nil
	}
	if n, err := fmt.Sscanf(strings.ReplaceAll(text, " ", ""), "[%d,%d]", &first, &last); n != 2 || err != nil {
		return 0, 0, wrong("The view_range %q is not of the form [10, 40].", text)
	}
	if last == -1 || last > total {
		last = total
	}
	if first < 1 || first > last {
		return 0, 0, wrong("The view_range %s is not within the file's lines, 1 to %d.", text, total)
	}
	return first, last, nil
}

// numbered prints lines first to last, 1-based, as cat -n does.
func numbered(content string, first, last int) string {
	var b strings.Builder
	for i, line := range strings.Split(content, "\n") {
		if n := i + 1; n >= first && n <= last {
			fmt.Fprintf(&b, "%6d\t%s\n", n, line)
		}
	}
	return b.String()
}

func (e *Env) create(ctx context.Context, name string, p map[string]string) (string, error) {
	content, given := p["file_text"]
	if !given {
		return "", wrong("The command create needs the parameter file_text.")
	}
	kind, err := e.look(ctx, name)
	switch {
	case err != nil:
		return "", err
	case kind != "nothing":
		return "", wrong("There is a %s at %s already. It cannot be created anew; change it with str_replace.", kind, name)
	}
	if content != "" && !strings.HasSuffix(content, "\n") {
		content += "\n"
	}
	if err := e.write(ctx, name, content); err != nil {
		return "", err
	}
	return "File created successfully at: " + name, nil
}

func (e *Env) replace(ctx context.Context, name string, p map[string]string) (string, error) {
	old, given := p["old_str"]
	if !given || old == "" {
		return "", wrong("The command str_replace needs the parameter old_str.")
	}
	content, err := e.read(ctx, name)
	if err != nil {
		return "", err
	}
	text := p["new_str"]
	if !strings.Contains(content, old) && strings.TrimSpace(old) != "" && strings.Count(content, strings.TrimSpace(old)) == 1 {
		old, text = strings.TrimSpace(old), strings.TrimSpace(text) // only the space around it was wrong
	}
	switch strings.Count(content, old) {
	case 0:
		return "", wrong("No replacement was performed, old_str `%s` did not appear verbatim in %s.", old, name)
	case 1:
	default:
		return "", wrong("No replacement was performed. Multiple occurrences of old_str `%s` in lines %v. Please ensure it is unique.", old, occurrences(content, old))
	}
	at := strings.Index(content, old)
	changed := content[:at] + text + content[at+len(old):]
	line := 1 + strings.Count(content[:at], "\n")
	return e.changed(ctx, name, content, changed, line, line+strings.Count(text, "\n"))
}

func occurrences(content, old string) []int {
	var lines []int
	for at := 0; ; {
		i := strings.Index(content[at:], old)
		if i < 0 {
			return lines
		}
		lines = append(lines, 1+strings.Count(content[:at+i], "\n"))
		at += i + len(old)
	}
}

func (e *Env) insert(ctx context.Context, name string, p map[string]string) (string, error) {
	text, given := p["new_str"]
	after, err := strconv.Atoi(p["insert_line"])
	if !given || err != nil {
		return "", wrong("The command insert needs the parameters insert_line, a number, and new_str.")
	}
	content, err := e.read(ctx, name)
	if err != nil {
		return "", err
	}
	lines := strings.SplitAfter(content, "\n")
	if lines[len(lines)-1] == "" {
		lines = lines[:len(lines)-1]
	}
	if after < 0 || after > len(lines) {
		return "", wrong("The insert_line %d is not within the file's lines, 0 to %d.", after, len(lines))
	}
	head := strings.Join(lines[:after], "")
	if head != "" && !strings.HasSuffix(head, "\n") {
		head += "\n"
	}
	return e.changed(ctx, name, content, head+text+"\n"+strings.Join(lines[after:], ""), after+1, after+1+strings.Count(text, "\n"))
}

// changed writes a changed file, remembers what it was, and shows the lines around the change.
func (e *Env) changed(ctx context.Context, name, before, after string, first, last int) (string, error) {
	if err := e.write(ctx, name, after); err != nil {
		return "", err
	}
	e.undo[name] = append(e.undo[name], before)
	snippet := numbered(strings.TrimSuffix(after, "\n"), first-around, last+around)
	return fmt.Sprintf("The file %s has been edited. Here's the result of running `cat -n` on a snippet of %s:\n%sReview the changes and make sure they are as expected. Edit the file again if necessary.",
		name, name, snippet), nil
}

func (e *Env) undoEdit(ctx context.Context, name string) (string, error) {
	past := e.undo[name]
	if len(past) == 0 {
		return "", wrong("No edit of %s is remembered.", name)
	}
	if err := e.write(ctx, name, past[len(past)-1]); err != nil {
		return "", err
	}
	e.undo[name] = past[:len(past)-1]
	return fmt.Sprintf("Last edit to %s undone successfully.", name), nil
}
