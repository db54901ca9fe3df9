package alfworld_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hindsightrl/harness/envs/alfworld"
	"github.com/hindsightrl/harness/envs/alfworld/engine"
	"github.com/hindsightrl/harness/internal/testutil"
)

// TestTranscriptsOfTheOriginal replays everything that was recorded.
func TestTranscriptsOfTheOriginal(t *testing.T) {
	t.Parallel()
	lib := archives(t)
	files, err := filepath.Glob(filepath.Join(testutil.Shared(t, "truth/alfworld"), "*.jsonl.gz"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no transcripts: %v", err)
	}
	total := 0
	for _, file := range files {
		f, err := os.Open(file)
		if err != nil {
			t.Fatal(err)
		}
		passed, failed, err := alfworld.Verify(t.Context(), f, lib, func(c alfworld.Case) {
			if c.Err != nil {
				t.Errorf("%s, %s: %v", c.Game, c.Episode, c.Err)
			}
		})
		f.Close()
		if err != nil || failed > 0 || passed == 0 {
			t.Errorf("%s: %d passed, %d failed, %v", filepath.Base(file), passed, failed, err)
		}
		total += passed
	}
	t.Logf("%d cases agree", total)
}

// oneGame is a library with a single game.
type oneGame struct{ src engine.Source }

func (o oneGame) OpenGame(_ context.Context, id, _ string) (*engine.Game, string, error) {
	if id != "workshop.json" {
		return nil, "", errors.New("no such game")
	}
	g, err := engine.Compile(o.src)
	return g, "", err
}

func workshopLibrary(t *testing.T) oneGame {
	t.Helper()
	s, err := alfworld.NewFS(t.Context(), workshopFS(t), alfworld.Config{})
	if err != nil {
		t.Fatal(err)
	}
	src, err := alfworld.SourceOf(t.Context(), s, "valid/weld/t1")
	if err != nil {
		t.Fatal(err)
	}
	return oneGame{src}
}

func workshopTranscript(t *testing.T) []byte {
	t.Helper()
	packed, err := os.ReadFile(filepath.Join("testdata", "workshop.jsonl.gz"))
	if err != nil {
		t.Fatal(err)
	}
	zr, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if _, err := out.ReadFrom(zr); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// TestAnotherDomainAgreesWithTheOriginal replays what the original answered (TextWorld 1.7.0) on a game
// whose domain, types and wording have nothing to do with ALFWorld's.
func TestAnotherDomainAgreesWithTheOriginal(t *testing.T) {
	t.Parallel()
	lib := workshopLibrary(t)
	packed, err := os.ReadFile(filepath.Join("testdata", "workshop.jsonl.gz"))
	if err != nil {
		t.Fatal(err)
	}
	for name, data := range map[string][]byte{"gzipped": packed, "plain": workshopTranscript(t)} {
		passed, failed, err := alfworld.Verify(t.Context(), bytes.NewReader(data), lib, func(c alfworld.Case) {
			if c.Err != nil {
				t.Errorf("%s: %v", c.Episode, c.Err)
			}
			if c.Steps != 71 {
				t.Errorf("%s has %d steps, want 71", c.Episode, c.Steps)
			}
		})
		if passed != 5 || failed != 0 || err != nil {
			t.Errorf("%s: %d passed, %d failed, %v, want 5 passed", name, passed, failed, err)
		}
	}
}

func TestVerifyReportsTheFirstDifference(t *testing.T) {
	t.Parallel()
	lib := workshopLibrary(t)
	const head = `{"game": "workshop.json"}` + "\n" + `{"episode": "e", "step": 0, "action": null}` + "\n"
	for _, c := range []struct{ line, want string }{
		{`{"episode": "e", "step": 1, "action": "charge", "observation": "Humming\n  loud.\n", "won": false, "score": 0.0, "done": false}`, ""},
		{`{"episode": "e", "step": 1, "action": "charge", "observation": "Hum"}`, "step 1, action \"charge\": observation differs\n got: \"Humming\\n  loud.\\n\"\nwant: \"Hum\""},
		{`{"episode": "e", "step": 2, "action": "charge"}`, "step 2 follows step 0: the transcript lacks what is between"},
		{`{"episode": "e", "step": 1, "action": "x", "won": true}`, "step 1, action \"x\": won differs\n got: false\nwant: true"},
		{`{"episode": "e", "step": 1, "action": "x", "score": 1}`, "step 1, action \"x\": score differs\n got: 0\nwant: 1"},
		{`{"episode": "e", "step": 1, "action": "x", "done": true}`, "step 1, action \"x\": done differs\n got: false\nwant: true"},
		{`{"episode": "e", "step": 1, "action": "x", "admissible_commands": ["charge"]}`, "step 1, action \"x\": admissible_commands[1] differs\n got: \"grip bolt 2\"\nwant: (end of list)"},
		{`{"episode": "e", "step": 1, "action": "x", "admissible_commands": ["charge", "dance"]}`, "step 1, action \"x\": admissible_commands[1] differs\n got: \"grip bolt 2\"\nwant: \"dance\""},
	} {
		var cases []alfworld.Case
		passed, failed, err := alfworld.Verify(t.Context(), strings.NewReader(head+c.line), lib, func(c alfworld.Case) { cases = append(cases, c) })
		if err != nil || passed+failed != 1 || len(cases) != 1 {
			t.Fatalf("%s: %d passed, %d failed, %v", c.line, passed, failed, err)
		}
		got := ""
		if cases[0].Err != nil {
			got = cases[0].Err.Error()
		}
		if got != c.want {
			t.Errorf("%s:\ngot  %s\nwant %s", c.line, got, c.want)
		}
	}
}

func TestVerifyCountsCasesAndErrors(t *testing.T) {
	t.Parallel()
	lib := workshopLibrary(t)
	step := func(ep, action string) string {
		return `{"episode": "` + ep + `", "step": 0, "action": ` + action + `}` + "\n"
	}
	text := `{"game": "workshop.json"}` + "\n" + step("a", "null") + step("a", `"charge"`) + step("b", `"charge"`) + step("b", "null") + "\n" +
		`{"game": "gone"}` + "\n" + step("a", "null") + step("a", `"charge"`) + step("b", "null")
	passed, failed, err := alfworld.Verify(t.Context(), strings.NewReader(text), lib, nil)
	if passed != 3 || failed != 2 || err != nil {
		t.Errorf("%d passed, %d failed, %v, want 3 and 2", passed, failed, err)
	}
	for text, want := range map[string]string{
		step("a", "null"):                        "read transcript: line 1: the first line must name a game",
		`{"game": "workshop.json"}` + "\n" + "{": "read transcript: line 2: unexpected end of JSON input",
		"\x1f\x8bnope":                           "read transcript: ",
	} {
		if _, _, err := alfworld.Verify(t.Context(), strings.NewReader(text), lib, nil); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%q: got %v, want %s", text, err, want)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := alfworld.Verify(ctx, strings.NewReader(text), lib, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: got %v", err)
	}
}
