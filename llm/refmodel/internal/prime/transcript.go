// Package prime makes the reference model's tables from transcripts of an expert: the vocabulary, the
// n-gram counts, and the ties between words of a task and words of the commands that solve it.
package prime

import (
	"bufio"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
)

// Transcript is one step of an expert: what it saw, what it was to do, what it did.
type Transcript struct {
	Prompt      string `json:"prompt"`      // the user message
	Observation string `json:"observation"` // the environment's text in it
	Task        string `json:"task"`        // the instruction
	Action      string `json:"action"`      // the command
	Response    string `json:"response"`    // what a policy that decides like the expert says
	Offers      string `json:"offers"`      // how a command begins that only pages of this kind offer; "" where none tells
}

// Openers of the expert's thought: what is to be done, then what is to be seen. The words are those
// that announce the same in a prompt, so that the context says how they go on.
var (
	openers = []string{"I have to achieve: ", "What I have to achieve: ", "Still, I have to achieve: "}
	seers   = []string{" What I see: ", " Now what I see: "}
)

// Respond words the expert's decision at step n. The thought says what is to be done and what is to be
// seen, up to a list of things, and leaves the decision to the command, where a teacher looks for it.
func Respond(task, observation, action string, n int) string {
	task = strings.TrimSuffix(strings.TrimSpace(task), ".")
	_, seen, found := strings.Cut(observation, "=-\n\n")
	if !found {
		seen = observation
	}
	seen, _, _ = strings.Cut(seen, ", you see")
	return "<think>" + openers[n%len(openers)] + task + "." + seers[n/len(openers)%len(seers)] + seen + "</think><action>" + action + "</action>"
}

// wander is how often an exploring command takes the place of the expert's.
const wander = 0.5

// Wander returns the command to take and whether it is the expert's. Going and opening at random shows
// the expert in places where it would not have been, which is where a player will mostly be. The random
// commands themselves are not recorded.
func Wander(r *rand.Rand, expert string, admissible []string) (action string, own bool) {
	if r.Float64() >= wander {
		return expert, true
	}
	var ways []string
	for _, a := range admissible {
		if strings.HasPrefix(a, "go to ") || strings.HasPrefix(a, "open ") {
			ways = append(ways, a)
		}
	}
	if len(ways) == 0 {
		return expert, true
	}
	return ways[r.IntN(len(ways))], false
}

// ReadCorpus reads what WriteCorpus wrote.
func ReadCorpus(r io.Reader) ([]Transcript, error) {
	z, err := gzip.NewReader(r)
	if err != nil {
		return nil, fmt.Errorf("read corpus: %w", err)
	}
	var out []Transcript
	lines := bufio.NewScanner(z)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var t Transcript
		if err := json.Unmarshal(lines.Bytes(), &t); err != nil {
			return nil, fmt.Errorf("read corpus: line %d: %w", len(out)+1, err)
		}
		out = append(out, t)
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("read corpus: %w", err)
	}
	return out, nil
}

// WriteCorpus writes transcripts as gzipped JSON lines; equal transcripts give equal bytes.
func WriteCorpus(w io.Writer, ts []Transcript) error {
	z, err := gzip.NewWriterLevel(w, gzip.BestCompression)
	if err != nil {
		return err
	}
	enc := json.NewEncoder(z)
	enc.SetEscapeHTML(false)
	for i, t := range ts {
		if err := enc.Encode(t); err != nil {
			return fmt.Errorf("write corpus: line %d: %w", i+1, err)
		}
	}
	return z.Close()
}
