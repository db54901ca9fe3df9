package main

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/hindsightrl/harness/internal/errext"
)

// evil is what a server, a game or a run's name may try: colour, a title, a clipboard write, a reversed
// line, a second row, and bytes that are no text.
const evil = "a\x1b[31mb\x1b]52;c;aGk=\x07c\u009b2Jd\u202ee\r\nf\x00\xffg"

func TestOutsideTextDoesNotSteerTheTerminal(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	rows := table{columns: []column{{title: "run"}}}
	rows.add(evil)
	if err := rows.write(&out); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(out.String(), "\n"); n != 2 {
		t.Errorf("%d lines, want the head and one row:\n%q", n, out.String())
	}
	printError(&globals{stderr: &out}, errext.WithHint(errors.New(evil), evil))
	if strings.ContainsAny(out.String(), "\x00\x07\x1b\r\u009b\u202e") {
		t.Errorf("steering characters are left: %q", out.String())
	}
	if got := printable("größe 世界\t…\n"); got != "größe 世界\t…\n" {
		t.Errorf("ordinary text was changed: %q", got)
	}
}
