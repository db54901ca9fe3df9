// Command e2e runs all tests, those of the build tag e2e among them, and says what a plain go test keeps to
// itself: each test that was skipped, with its reason, and each that took long. Its exit code is 1 where
// anything failed. Arguments go to go test, before the packages, which -packages names.
package main

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strings"
	"time"
)

// long is from when a test's time is listed.
const long = 30 * time.Second

func main() {
	packages := flag.String("packages", "./...", "packages to test, separated by spaces")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, slices.Concat(flag.Args(), strings.Fields(*packages)), os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "e2e:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, out io.Writer) error {
	began := time.Now()
	cmd := exec.CommandContext(ctx, "go", slices.Concat([]string{"test", "-json", "-count=1", "-tags", "e2e"}, args)...)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.Stderr = os.Stderr
	events, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	r := newReport(out)
	readErr := r.read(events)
	_, _ = io.Copy(io.Discard, events) // so that go test can end
	err = cmd.Wait()
	r.summary(time.Since(began))
	if err != nil {
		return fmt.Errorf("go test: %w", err)
	}
	if r.failed > 0 && readErr == nil {
		readErr = fmt.Errorf("go test ended well although %d tests or packages failed", r.failed)
	}
	return readErr
}

// event is a line of go test -json. Source: go doc test2json, go help buildjson.
type event struct {
	Action     string
	Package    string
	ImportPath string // of what was built, in place of Package
	Test       string // "" is the package
	Elapsed    float64
	Output     string
}

// name is where something happened, without the module.
func (e event) name() string {
	pkg := strings.TrimPrefix(strings.TrimPrefix(cmp.Or(e.Package, e.ImportPath), "github.com/hindsightrl/harness"), "/")
	return strings.TrimSpace(cmp.Or(pkg, ".") + " " + e.Test)
}

func (e event) took() time.Duration { return time.Duration(e.Elapsed * float64(time.Second)) }

// report is what became of the tests.
type report struct {
	out           io.Writer
	printed       map[string]*strings.Builder // by name; of those that have not ended
	skipped, slow []string
	passed        int
	failed        int
}

func newReport(out io.Writer) *report {
	return &report{out: out, printed: map[string]*strings.Builder{}}
}

// read takes go test's events, and prints failures and packages as they come.
func (r *report) read(events io.Reader) error {
	sc := bufio.NewScanner(events)
	sc.Buffer(nil, 64<<20)
	for sc.Scan() {
		var e event
		if err := json.Unmarshal(sc.Bytes(), &e); err != nil {
			return fmt.Errorf("read go test -json: %w: %.200s", err, sc.Bytes())
		}
		r.take(e)
	}
	return sc.Err()
}

func (r *report) take(e event) {
	name := e.name()
	switch e.Action {
	case "output", "build-output":
		if r.printed[name] == nil {
			r.printed[name] = &strings.Builder{}
		}
		r.printed[name].WriteString(e.Output)
	case "build-fail":
		r.fail(e)
	case "pass", "skip", "fail":
		switch {
		case e.Action == "fail":
			r.fail(e)
		case e.Test == "" && e.Action == "pass":
			fmt.Fprintf(r.out, "ok    %-40s %s\n", name, e.took().Round(100*time.Millisecond))
		case e.Test == "": // it has no tests
		case e.Action == "skip":
			r.skipped = append(r.skipped, name+": "+reason(r.printed[name]))
		default:
			r.passed++
		}
		if e.Test != "" && e.took() >= long {
			r.slow = append(r.slow, fmt.Sprintf("%6s  %s", e.took().Round(time.Second), name))
		}
		delete(r.printed, name)
	}
}

func (r *report) fail(e event) {
	r.failed++
	fmt.Fprintf(r.out, "FAIL  %-40s %s\n", e.name(), e.took().Round(100*time.Millisecond))
	if b := r.printed[e.name()]; b != nil {
		fmt.Fprint(r.out, b.String())
	}
	delete(r.printed, e.name())
}

// reason is what a skipped test said, in one line.
func reason(printed *strings.Builder) string {
	if printed == nil {
		return "it does not say why"
	}
	var said []string
	for line := range strings.Lines(printed.String()) {
		line = strings.TrimSpace(line)
		if line != "" && !strings.HasPrefix(line, "=== ") && !strings.HasPrefix(line, "--- ") {
			said = append(said, line)
		}
	}
	return cmp.Or(strings.Join(said, " "), "it does not say why")
}

func (r *report) summary(took time.Duration) {
	fmt.Fprintf(r.out, "\n%d passed, %d failed, %d skipped in %s\n", r.passed, r.failed, len(r.skipped), took.Round(time.Second))
	if len(r.slow) > 0 {
		fmt.Fprintf(r.out, "\n%s and more:\n%s\n", long, strings.Join(r.slow, "\n"))
	}
	if len(r.skipped) > 0 {
		slices.Sort(r.skipped)
		fmt.Fprintf(r.out, "\nskipped:\n%s\n", strings.Join(r.skipped, "\n"))
	}
}
