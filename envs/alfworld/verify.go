package alfworld

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/hindsightrl/harness/envs/alfworld/engine"
)

// Library opens the games that transcripts name. *Suite and *Archives are libraries.
type Library interface {
	// OpenGame compiles a game by id, "<split>/<task>/<trial>", whether or not it is marked as solvable.
	// assets names the version of the data, "" where there is one only. note says in what the game
	// differs from a file of that version; "" if it is one.
	OpenGame(ctx context.Context, id, assets string) (g *engine.Game, note string, err error)
}

// Case is the replay of one episode of one game.
type Case struct {
	Game    string
	Assets  string
	Episode string
	Steps   int    // compared, the reset included
	Note    string // see Library
	Err     error  // nil if everything agreed; *Mismatch for a difference
}

// Mismatch is the first difference of an episode.
type Mismatch struct { //nolint:errname // it is a finding of a comparison first, and an error so that a Case can carry it
	Step   int
	Action string
	Field  string
	Got    string
	Want   string
}

// Error prints the step, the field and both values.
func (m *Mismatch) Error() string {
	return fmt.Sprintf("step %d, action %q: %s differs\n got: %s\nwant: %s", m.Step, m.Action, m.Field, m.Got, m.Want)
}

// transcriptLine is a line of a transcript: {game, assets} opens a game, anything else is a step. A key
// that is absent is not compared; the action is null at the reset.
type transcriptLine struct {
	Game        *string  `json:"game"`
	Assets      string   `json:"assets"`
	Episode     string   `json:"episode"`
	Step        int      `json:"step"`
	Action      *string  `json:"action"`
	Observation *string  `json:"observation"`
	Admissible  []string `json:"admissible_commands"`
	Won         *bool    `json:"won"`
	Score       *float64 `json:"score"`
	Done        *bool    `json:"done"`
}

// Verify replays a transcript of the original, JSONL, plain or gzipped, and compares every recorded
// value byte for byte. report is called once per case, in order, and may be nil. An error means that
// the transcript itself cannot be read; a game that cannot be opened fails its cases.
func Verify(ctx context.Context, r io.Reader, games Library, report func(Case)) (passed, failed int, err error) {
	br := bufio.NewReaderSize(r, 1<<16)
	if magic, peekErr := br.Peek(2); peekErr == nil && magic[0] == 0x1f && magic[1] == 0x8b {
		zr, err := gzip.NewReader(br)
		if err != nil {
			return 0, 0, fmt.Errorf("read transcript: %w", err)
		}
		defer zr.Close()
		br = bufio.NewReaderSize(zr, 1<<16)
	}
	v := &verifier{games: games, report: report}
	for number := 1; ; number++ {
		if err := ctx.Err(); err != nil {
			return v.passed, v.failed, err
		}
		text, readErr := br.ReadBytes('\n')
		if len(bytes.TrimSpace(text)) > 0 {
			if err := v.line(ctx, text); err != nil {
				return v.passed, v.failed, fmt.Errorf("read transcript: line %d: %w", number, err)
			}
		}
		switch {
		case errors.Is(readErr, io.EOF):
			v.finish()
			return v.passed, v.failed, nil
		case readErr != nil:
			return v.passed, v.failed, fmt.Errorf("read transcript: line %d: %w", number, readErr)
		}
	}
}

// verifier replays line by line.
type verifier struct {
	games          Library
	report         func(Case)
	passed, failed int

	named   bool // a game line was met
	game    *engine.Game
	gameErr error
	header  Case // what the game's cases share
	ep      *engine.Episode
	open    bool
	current Case
	last    int // number of the case's latest line
}

func (v *verifier) line(ctx context.Context, text []byte) error {
	var l transcriptLine
	if err := json.Unmarshal(text, &l); err != nil {
		return err
	}
	if l.Game != nil {
		v.finish()
		v.named = true
		v.header = Case{Game: *l.Game, Assets: l.Assets}
		v.game, v.header.Note, v.gameErr = v.games.OpenGame(ctx, *l.Game, l.Assets)
		return ctx.Err()
	}
	if !v.named {
		return errors.New("the first line must name a game")
	}
	if !v.open || l.Episode != v.current.Episode || l.Action == nil {
		v.begin(l.Episode)
	}
	if v.current.Err == nil {
		v.current.Err = v.step(&l)
		v.current.Steps++
	}
	v.last = l.Step
	return nil
}

func (v *verifier) begin(episode string) {
	v.finish()
	v.open = true
	v.current = v.header
	v.current.Episode = episode
	v.current.Err = v.gameErr
	if v.game != nil && v.gameErr == nil {
		v.ep = v.game.NewEpisode()
	}
}

// finish closes the current case.
func (v *verifier) finish() {
	if !v.open {
		return
	}
	v.open = false
	if v.current.Err == nil {
		v.passed++
	} else {
		v.failed++
	}
	if v.report != nil {
		v.report(v.current)
	}
}

func (v *verifier) step(l *transcriptLine) error {
	// An action that changed nothing could be cut out of a transcript without any later difference.
	if v.current.Steps > 0 && l.Step > v.last+1 {
		return fmt.Errorf("step %d follows step %d: the transcript lacks what is between", l.Step, v.last)
	}
	var res engine.Result
	m := &Mismatch{Step: l.Step}
	if l.Action == nil {
		res = v.ep.Reset()
	} else {
		var err error
		m.Action = *l.Action
		if res, err = v.ep.Step(*l.Action); err != nil {
			return fmt.Errorf("step %d, action %q: %w", l.Step, *l.Action, err)
		}
	}
	score := 0.0
	if res.Won {
		score = 1
	}
	switch {
	case l.Observation != nil && *l.Observation != res.Observation:
		return m.of("observation", res.Observation, *l.Observation)
	case l.Won != nil && *l.Won != res.Won:
		return m.of("won", res.Won, *l.Won)
	case l.Score != nil && *l.Score != score:
		return m.of("score", score, *l.Score)
	case l.Done != nil && *l.Done != res.Won:
		return m.of("done", res.Won, *l.Done)
	case l.Admissible != nil:
		return m.commands(v.ep.Admissible(nil), l.Admissible)
	}
	return nil
}

// of fills in a difference.
func (m *Mismatch) of(field string, got, want any) *Mismatch {
	m.Field, m.Got, m.Want = field, show(got), show(want)
	return m
}

func show(v any) string {
	if s, ok := v.(string); ok {
		return fmt.Sprintf("%q", s)
	}
	return fmt.Sprint(v)
}

// commands compares two lists and names the first place where they part.
func (m *Mismatch) commands(got, want []string) error {
	for i := range max(len(got), len(want)) {
		g, w := "(end of list)", "(end of list)"
		if i < len(got) {
			g = fmt.Sprintf("%q", got[i])
		}
		if i < len(want) {
			w = fmt.Sprintf("%q", want[i])
		}
		if g != w {
			m.Field, m.Got, m.Want = fmt.Sprintf("admissible_commands[%d]", i), g, w
			return m
		}
	}
	return nil
}
