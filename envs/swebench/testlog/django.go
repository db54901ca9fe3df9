package testlog

import (
	"strings"
	"unicode/utf8"

	"github.com/hindsightrl/harness/internal/pystr"
)

// parseDjango reads the verbose output of Django's own runner, in which a test's result may be parted
// from its name by whatever the test prints.
func parseDjango(log string, out *Statuses) {
	d := djangoParser{out: out}
	for more, rest := true, log; more; {
		var line string
		line, rest, more = nextLine(rest)
		d.line(strip(line))
	}
	for _, i := range djangoInterrupted {
		i.parse(log, out)
	}
}

type djangoParser struct {
	out  *Statuses
	prev string // the last test whose line was begun
	open bool   // there is one
}

const djangoVersionTest = "--version is equivalent to version"

func (d *djangoParser) line(line string) {
	if strings.Contains(line, djangoVersionTest) {
		d.out.Set(djangoVersionTest, Passed)
	}
	dots := strings.Contains(line, " ...")
	if dots {
		line = d.dots(line)
	}
	d.result(line, "FAIL", Failed, dots)
	d.result(line, "ERROR", Errored, dots)
	// A test that printed something between "..." and "ok".
	if strings.HasPrefix(line, "ok") && d.open {
		d.out.Set(d.prev, Passed)
	}
}

// dots reads what follows "test ...": ok and skipped. It returns the line as the later rules see it.
func (d *djangoParser) dots(line string) string {
	if name, _, ok := strings.Cut(line, " ... "); ok {
		d.prev, d.open = name, true
	}
	for _, suffix := range [...]string{" ... ok", " ... OK", " ...  OK"} {
		if !strings.HasSuffix(line, suffix) {
			continue
		}
		// django-7188 prints a migration's progress on the line of the test that runs it.
		if strings.HasPrefix(line, "Applying sites.0002_alter_domain_unique...test_no_migrations") {
			_, line, _ = strings.Cut(line, "...")
			line = strip(line)
		}
		d.out.Set(strings.TrimSuffix(line, suffix), Passed)
		break
	}
	if name, _, ok := strings.Cut(line, " ... skipped"); ok {
		d.out.Set(name, Skipped)
	}
	return line
}

// result reads "test ... WORD" and the title "WORD: test (module)". A title without a test, on which
// the official parser fails, is passed over.
func (d *djangoParser) result(line, word, status string, dots bool) {
	if dots && strings.HasSuffix(line, " ... "+word) {
		name, _, _ := strings.Cut(line, " ... "+word)
		d.out.Set(name, status)
	}
	if !strings.HasPrefix(line, word) || !strings.HasPrefix(line[len(word):], ":") {
		return
	}
	_, rest := field(line)
	if name, _ := field(rest); name != "" {
		d.out.Set(name, status)
	}
}

// interruption is one way in which Django's logging breaks into a passing test's line:
// `^(.*?)\s\.\.\.\s` text, what `tail` accepts, and "ok" alone on its line.
type interruption struct {
	text string
	// tail returns the length of what follows text up to and including "ok", or -1.
	tail func(s string) int
}

var djangoInterrupted = [...]interruption{
	{"Testing against Django installed in ", func(s string) int { return okAfter(s, " silenced).\nok") }},
	{"Internal Server Error: /", func(s string) int {
		line, rest, _ := nextLine(s)
		if !strings.HasSuffix(line, "/") || !okLine(rest) {
			return -1
		}
		return len(line) + len("\nok")
	}},
	{"System check identified no issues (0 silenced)\n", func(s string) int {
		if !okLine(s) {
			return -1
		}
		return len("ok")
	}},
}

// okLine reports whether s begins with a line "ok".
func okLine(s string) bool {
	return strings.HasPrefix(s, "ok") && (len(s) == 2 || s[2] == '\n')
}

// okAfter finds the first mark (which ends with "\nok") whose "ok" stands alone, and returns its end.
func okAfter(s, mark string) int {
	for from := 0; ; {
		i := strings.Index(s[from:], mark)
		if i < 0 {
			return -1
		}
		end := from + i + len(mark)
		if end == len(s) || s[end] == '\n' {
			return end
		}
		from += i + 1
	}
}

// parse finds every match, left to right and without overlap, as re.finditer does with MULTILINE.
func (in interruption) parse(log string, out *Statuses) {
	done, from := 0, 0 // the next match may begin at done; from is where text is looked for
	for {
		i := strings.Index(log[from:], in.text)
		if i < 0 {
			return
		}
		at := from + i
		from = at + 1
		start, end, ok := testBefore(log[:at])
		if !ok || start < done {
			continue
		}
		if n := in.tail(log[at+len(in.text):]); n >= 0 {
			out.Set(log[start:end], Passed)
			done = at + len(in.text) + n
			from = done
		}
	}
}

// testBefore matches `^(.*?)\s\.\.\.\s` against the end of s and returns the bounds of the group.
func testBefore(s string) (start, end int, ok bool) {
	s, ok = cutLastSpace(s)
	if !ok {
		return 0, 0, false
	}
	if s, ok = strings.CutSuffix(s, "..."); !ok {
		return 0, 0, false
	}
	if s, ok = cutLastSpace(s); !ok {
		return 0, 0, false
	}
	return strings.LastIndexByte(s, '\n') + 1, len(s), true
}

func cutLastSpace(s string) (string, bool) {
	r, size := utf8.DecodeLastRuneInString(s)
	return s[:len(s)-size], size > 0 && pystr.IsSpace(r)
}
