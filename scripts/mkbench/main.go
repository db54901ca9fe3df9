// Command mkbench runs the module's benchmarks and writes their medians into docs/performance.md,
// between the markers <!-- bench:begin --> and <!-- bench:end -->.
package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"strings"
)

const (
	begin = "<!-- bench:begin -->"
	end   = "<!-- bench:end -->"
)

func main() {
	count := flag.Int("count", 3, "runs of each benchmark; the table shows the median")
	pkgs := flag.String("packages", "./...", "packages to measure, separated by spaces")
	match := flag.String("bench", ".", "benchmarks to run")
	out := flag.String("out", "docs/performance.md", "file to write")
	flag.Parse()
	if err := run(*count, *pkgs, *match, *out); err != nil {
		fmt.Fprintln(os.Stderr, "mkbench:", err)
		os.Exit(1)
	}
}

func run(count int, pkgs, match, out string) error {
	args := []string{"test", "-run", "^$", "-bench", match, "-benchmem", "-p", "1", "-count", strconv.Itoa(count)}
	cmd := exec.CommandContext(context.Background(), "go", append(args, strings.Fields(pkgs)...)...)
	cmd.Stderr = os.Stderr
	raw, err := cmd.Output()
	if err != nil {
		return fmt.Errorf("go test: %w\n%s", err, raw)
	}
	rows := parse(raw)
	if len(rows) == 0 {
		return errors.New("no benchmark ran")
	}
	return replace(out, render(rows, count))
}

// sample is one benchmark with every value seen of each metric, in the order of first appearance.
type sample struct {
	pkg, name string
	units     []string
	values    map[string][]float64
}

func parse(raw []byte) []*sample {
	var rows []*sample
	index := map[string]*sample{}
	pkg := ""
	for sc := bufio.NewScanner(bytes.NewReader(raw)); sc.Scan(); {
		fields := strings.Fields(sc.Text())
		switch {
		case len(fields) == 2 && fields[0] == "pkg:":
			_, pkg, _ = strings.Cut(fields[1], "hindsightrl/harness")
			pkg = strings.TrimPrefix(pkg, "/")
		case len(fields) >= 4 && strings.HasPrefix(fields[0], "Benchmark"):
			name := strings.TrimPrefix(fields[0], "Benchmark")
			if i := strings.LastIndex(name, "-"); i > 0 {
				name = name[:i]
			}
			s := index[pkg+name]
			if s == nil {
				s = &sample{pkg: pkg, name: name, values: map[string][]float64{}}
				index[pkg+name] = s
				rows = append(rows, s)
			}
			s.add(fields[2:])
		}
	}
	return rows
}

func (s *sample) add(fields []string) {
	for i := 0; i+1 < len(fields); i += 2 {
		v, err := strconv.ParseFloat(fields[i], 64)
		if err != nil {
			continue
		}
		unit := fields[i+1]
		if _, seen := s.values[unit]; !seen {
			s.units = append(s.units, unit)
		}
		s.values[unit] = append(s.values[unit], v)
	}
}

func render(rows []*sample, count int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Medians of %d runs on %d cores, %s, %s/%s.\n\n", count, runtime.NumCPU(), runtime.Version(), runtime.GOOS, runtime.GOARCH)
	b.WriteString("| package | benchmark | time per operation | other figures |\n|---|---|---:|---|\n")
	for _, s := range rows {
		var others []string
		for _, u := range s.units {
			if u != "ns/op" {
				others = append(others, number(median(s.values[u]))+" "+u)
			}
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", s.pkg, s.name, duration(median(s.values["ns/op"])), strings.Join(others, ", "))
	}
	return b.String()
}

func median(v []float64) float64 {
	if len(v) == 0 {
		return 0
	}
	v = slices.Sorted(slices.Values(v))
	return v[len(v)/2]
}

func number(v float64) string {
	if v >= 1000 {
		return strconv.FormatFloat(v, 'f', 0, 64)
	}
	return strconv.FormatFloat(v, 'g', 4, 64)
}

func duration(ns float64) string {
	for _, u := range []struct {
		size float64
		name string
	}{{1e9, "s"}, {1e6, "ms"}, {1e3, "µs"}} {
		if ns >= u.size {
			return fmt.Sprintf("%.3g %s", ns/u.size, u.name)
		}
	}
	return fmt.Sprintf("%.3g ns", ns)
}

func replace(path, table string) error {
	doc, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	head, rest, ok1 := strings.Cut(string(doc), begin)
	_, tail, ok2 := strings.Cut(rest, end)
	if !ok1 || !ok2 {
		return fmt.Errorf("%s has no %s … %s", path, begin, end)
	}
	return os.WriteFile(path, []byte(head+begin+"\n"+table+end+tail), 0o644)
}
