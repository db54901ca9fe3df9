package swebench

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/hindsightrl/harness/internal/sweaction"
)

// What the tools interface shows, as the scaffold does.
// Source: R2E-Gym/R2E-Gym@69bc9535 agenthub/observation, agenthub/tools.
const (
	noCall = `
You forgot to use a function call in your response. 
YOU MUST USE A FUNCTION CALL IN EACH RESPONSE.

IMPORTANT: YOU SHOULD NEVER ASK FOR HUMAN HELP.
`
	finished      = "<<< Finished >>>"
	maxLines      = 80 // of an output; beyond it 40 stay at either end
	maxLineRunes  = 2000
	truncatedLine = "--------------------------------------------------\n<Observation truncated in middle for saving context>\n--------------------------------------------------"
)

// blocked are first words of commands that make no sense in a shell of their own, or wait for input.
var blocked = []string{"cd", "ipython", "jupyter", "nohup", "pip"}

// useTool runs an action of the tools interface.
func (e *Env) useTool(ctx context.Context, action string) (text string, submitted *submission, err error) {
	call, err := sweaction.ParseTools(action)
	switch {
	case errors.As(err, new(sweaction.NoCallError)):
		return noCall, nil, nil
	case err != nil:
		return "The call could not be understood: " + err.Error() + ".", nil, nil
	}
	switch call.Function {
	case sweaction.Finish:
		return finished, &submission{}, nil
	case sweaction.ExecuteBash:
		text, err = e.executeBash(ctx, call.Params["cmd"])
		return text, nil, err
	case sweaction.Search:
		text, err = e.search(ctx, call.Params["search_term"], call.Params["path"])
	default:
		text, err = e.edit(ctx, call.Params)
	}
	return fmt.Sprintf("Execution output of [%s]:\n%s", call.Function, shorten(text)), nil, err
}

// splitScript runs a command with stderr in a file, and prints that behind a line that the command cannot
// know. $0 is the line, $1 the command.
const splitScript = `f=/tmp/.hindsight-stderr; rm -f $f
bash -c "$1" 2>$f; c=$?
printf '\n%s\n' "$0"; tail -c 100000 $f; rm -f $f
exit $c`

func (e *Env) executeBash(ctx context.Context, command string) (string, error) {
	show := func(code, text string) string {
		return fmt.Sprintf("Exit code: %s\nExecution output of [%s]:\n%s", code, sweaction.ExecuteBash, shorten(text))
	}
	first, _, _ := strings.Cut(strings.TrimLeftFunc(command, unicode.IsSpace), " ")
	switch {
	case slices.Contains(blocked, first):
		return show("Error: Exit code 1", fmt.Sprintf("Bash command '%s' is not allowed. Please use a different command or tool.", first)), nil
	case strings.ContainsRune(command, 0) || len(command) > maxArgument:
		return show("Error: Exit code 1", fmt.Sprintf("A command holds no NUL byte and at most %d bytes.", maxArgument)), nil
	}
	line := "stderr-" + rand.Text()
	out, err := e.exec(ctx, "bash", "-c", splitScript, line, command)
	if err != nil {
		return "", err
	}
	if out.problem != "" {
		return show("-1", out.problem+"\n"+out.text), nil
	}
	text := out.text
	if out.missing > 0 {
		text = text[:out.cut] + fmt.Sprintf("\n[%d bytes left out]\n", out.missing) + text[out.cut:]
	}
	stdout, stderr, _ := strings.Cut(text, "\n"+line+"\n")
	text = fmt.Sprintf("[STDOUT]\n\n%s\n\n[STDERR]\n\n%s", strings.TrimSuffix(stdout, "\n"), strings.TrimSuffix(stderr, "\n"))
	if out.code == 0 {
		return show("0", text), nil
	}
	return show(fmt.Sprintf("Error: Exit code %d", out.code), "Error executing command:\n\n"+text), nil
}

// shorten keeps 40 lines at either end of a long text, and the beginning of endless lines.
func shorten(text string) string {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		if len(line) > maxLineRunes {
			if at := prefixBytes(line, maxLineRunes); at < len(line) {
				lines[i] = line[:at] + "[line cut]"
			}
		}
	}
	if len(lines) > maxLines {
		lines = slices.Concat(lines[:maxLines/2], []string{truncatedLine}, lines[len(lines)-maxLines/2:])
	}
	return strings.Join(lines, "\n")
}

// searchScript counts matches by file, or prints a file's matching lines. $0 is the term, $1 the path.
const searchScript = `if [ -d "$1" ]; then cd "$1" && grep -rIcF --exclude-dir=.git -e "$0" . | grep -v ':0$' | sort
elif [ -f "$1" ]; then grep -nF -e "$0" "$1"
else echo "There is no file or folder $1." >&2; exit 3; fi`

const maxMatched = 100

func (e *Env) search(ctx context.Context, term, path string) (string, error) {
	switch {
	case term == "":
		return "The search_term is empty.", nil
	case strings.ContainsRune(term+path, 0) || len(term) > maxArgument || len(path) > maxPath:
		return "The search_term or the path is not possible.", nil
	case path == "":
		path = WorkDir
	}
	out, err := e.exec(ctx, "sh", "-c", searchScript, term, path)
	if err != nil {
		return "", err
	}
	if out.problem != "" || out.code > 1 {
		return strings.TrimSpace(out.problem + "\n" + out.text), nil
	}
	lines := strings.Split(strings.TrimRight(out.text, "\n"), "\n")
	if lines[0] == "" {
		return fmt.Sprintf("No matches found for %q in %s", term, path), nil
	}
	if out.missing > 0 || len(lines) > maxMatched {
		return fmt.Sprintf("More than %d files or lines matched for %q in %s. Please narrow your search.", maxMatched, term, path), nil
	}
	return found(lines, term, path), nil
}

// found prints matches: "./file:3" of a folder becomes "./file (3 matches)", a file's lines stay.
func found(lines []string, term, path string) string {
	var b strings.Builder
	if !strings.HasPrefix(lines[0], "./") {
		fmt.Fprintf(&b, "Matches for %q in %s:\n%s", term, path, strings.Join(lines, "\n"))
		return b.String()
	}
	fmt.Fprintf(&b, "Found %q in %d files in %s:\n", term, len(lines), path)
	for _, line := range lines {
		at := strings.LastIndexByte(line, ':')
		plural := "es"
		if line[at+1:] == "1" {
			plural = ""
		}
		fmt.Fprintf(&b, "%s (%s match%s)\n", line[:at], line[at+1:], plural)
	}
	return strings.TrimSuffix(b.String(), "\n")
}
