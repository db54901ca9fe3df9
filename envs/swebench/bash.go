package swebench

import (
	"context"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/hindsightrl/harness/internal/pystr"
	"github.com/hindsightrl/harness/internal/sweaction"
)

// SubmitLine is the first line that a command prints to say that the work is done. What follows it is
// taken for the patch if it is one.
const SubmitLine = "COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT"

// The elision of long outputs, in code points: the scaffold's.
// Source: SWE-agent/mini-swe-agent@a83fcae8 config/benchmarks/swebench.yaml.
const (
	maxOutput = 10000
	keptEnd   = 5000
)

const formatError = `Your answer must hold exactly one command block, and it held %d. Write a few sentences of thought and then one block, on lines of their own:

` + "```bash\ncommand\n```" + `

To run several commands, join them with && or ||. When the work is done, the command is: echo ` + SubmitLine

// runBash runs an action of the bash interface in a shell of its own.
func (e *Env) runBash(ctx context.Context, action string) (text string, submitted *submission, err error) {
	command, found, ok := sweaction.ParseBash(action)
	if !ok {
		return fmt.Sprintf(formatError, found), nil, nil
	}
	if strings.ContainsRune(command, 0) {
		return bashObservation(output{code: -1, problem: "The command holds a NUL byte, which no shell takes."}), nil, nil
	}
	if len(command) > maxArgument {
		return bashObservation(output{code: -1, problem: fmt.Sprintf("The command has %d bytes; %d are possible.", len(command), maxArgument)}), nil, nil
	}
	out, err := e.exec(ctx, "bash", "-c", command)
	if err != nil {
		return "", nil, err
	}
	return bashObservation(out), submittedBy(out), nil
}

// maxArgument is what Linux takes as one argument of a program, less a byte.
const maxArgument = 128<<10 - 1

// submittedBy reports whether a command's output says that the work is done.
func submittedBy(out output) *submission {
	if out.code != 0 {
		return nil
	}
	first, rest, _ := strings.Cut(strings.TrimLeftFunc(out.text, pystr.IsSpace), "\n")
	if pystr.Strip(first) != SubmitLine {
		return nil
	}
	if !out.complete {
		rest = "" // a patch that is cut is none
	}
	return &submission{text: rest}
}

// bashObservation shows an output as mini-swe-agent does.
func bashObservation(out output) string {
	var b strings.Builder
	if out.problem != "" {
		fmt.Fprintf(&b, "<exception>%s</exception>\n", out.problem)
	}
	fmt.Fprintf(&b, "<returncode>%d</returncode>\n", out.code)
	length := utf8.RuneCountInString(out.text) + int(out.missing)
	if length < maxOutput {
		fmt.Fprintf(&b, "<output>\n%s</output>", out.text)
		return b.String()
	}
	head, tail := out.text[:prefixBytes(out.text[:out.cut], keptEnd)], out.text[suffixStart(out.text, keptEnd):]
	b.WriteString("<warning>\nThe output of the last command was too long, and its middle is left out. Print less of it:\n" +
		"a part of a file with sed -n, matching lines with grep, the first or last ones with head or tail; or\nwrite it to a file and look at that.\n</warning>\n")
	fmt.Fprintf(&b, "<output_head>\n%s\n</output_head>\n<elided_chars>\n%d characters elided\n</elided_chars>\n<output_tail>\n%s\n</output_tail>",
		head, length-maxOutput, tail)
	return b.String()
}

// prefixBytes is the length in bytes of the first n code points.
func prefixBytes(s string, n int) int {
	for i := range s {
		if n == 0 {
			return i
		}
		n--
	}
	return len(s)
}

// suffixStart is where the last n code points begin.
func suffixStart(s string, n int) int {
	at := len(s)
	for ; n > 0 && at > 0; n-- {
		_, size := utf8.DecodeLastRuneInString(s[:at])
		at -= size
	}
	return at
}
