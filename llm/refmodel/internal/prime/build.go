package prime

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/hindsightrl/harness/llm/refmodel/internal/ngram"
	"github.com/hindsightrl/harness/llm/refmodel/internal/vocab"
)

// Tie says that experts whose task has the word From use the word To in their commands.
type Tie struct{ From, To int32 }

// Setting is what the model knows of one setting.
type Setting struct {
	Offers string // how a command begins that only this setting offers; "" for the one that none tells
	NGrams []byte // ngram.Counts.Encode
}

// Tables are all that the model knows before it reads a context.
type Tables struct {
	Vocabulary []byte // vocab.Format
	Ties       []Tie  // by rising From, the closest first
	Settings   []Setting
	Corpus     string // SHA-256 of the corpus file, hex
	Hash       string // of the above: 12 hex digits
}

// BuildFile makes tables from a corpus file.
func BuildFile(corpus []byte) (*Tables, error) {
	ts, err := ReadCorpus(bytes.NewReader(corpus))
	if err != nil {
		return nil, err
	}
	t, err := Build(ts)
	if err != nil {
		return nil, err
	}
	t.Corpus = Digest(corpus)
	return t, nil
}

// Digest is what Tables.Corpus holds for a corpus file.
func Digest(corpus []byte) string {
	sum := sha256.Sum256(corpus)
	return hex.EncodeToString(sum[:])
}

// Build makes tables. It is deterministic: equal transcripts give equal tables.
func Build(ts []Transcript) (*Tables, error) {
	if len(ts) == 0 {
		return nil, errors.New("build tables: no transcripts")
	}
	list := words(ts)
	v, err := vocab.New(list)
	if err != nil {
		return nil, fmt.Errorf("build tables: %w", err)
	}
	t := &Tables{Vocabulary: vocab.Format(list), Ties: ties(v, in(ts, ""))}
	for _, setting := range settings(ts) {
		var counts ngram.Counts
		for _, one := range in(ts, setting) {
			count(&counts, v, one)
		}
		counts.Prune(2, 2)
		t.Settings = append(t.Settings, Setting{setting, counts.Encode()})
	}
	return t, nil
}

// Limits of a tie: how many tasks have to show it, how often the command word goes with the task word,
// how much more often than without it, and how many words a word is tied to.
const (
	tieTasks = 3
	tieShare = 0.6
	tieLift  = 2.5
	tieMost  = 4
)

// ties finds, for each content word of a task, the words that commands for such tasks have and other
// commands have not.
func ties(v *vocab.Vocab, ts []Transcript) []Tie {
	commands := map[string]map[int32]bool{}
	for _, t := range ts {
		if commands[t.Task] == nil {
			commands[t.Task] = map[int32]bool{}
		}
		addContent(v, commands[t.Task], t.Action)
	}
	tasks := slices.Sorted(maps.Keys(commands))
	with := map[int32]int{}
	all := map[int32]int{}
	pair := map[Tie]int{}
	for _, task := range tasks {
		said := map[int32]bool{}
		addContent(v, said, task)
		for to := range commands[task] {
			all[to]++
		}
		for from := range said {
			with[from]++
			for to := range commands[task] {
				if !said[to] {
					pair[Tie{from, to}]++
				}
			}
		}
	}
	lift := func(t Tie) float64 {
		return float64(pair[t]) / float64(with[t.From]) * float64(len(tasks)) / float64(all[t.To])
	}
	var found []Tie
	for t, n := range pair {
		if n >= tieTasks && float64(n) >= tieShare*float64(with[t.From]) && lift(t) >= tieLift {
			found = append(found, t)
		}
	}
	slices.SortFunc(found, func(a, b Tie) int {
		return cmp.Or(cmp.Compare(a.From, b.From), cmp.Compare(lift(b), lift(a)), cmp.Compare(a.To, b.To))
	})
	return spread(v, first(found))
}

// addContent adds the classes of a text's content words.
func addContent(v *vocab.Vocab, set map[int32]bool, text string) {
	for _, id := range v.Append(nil, " "+strings.ToLower(text), false) {
		if v.Flags(id)&vocab.Content != 0 {
			set[v.Class(id)] = true
		}
	}
}

// first keeps each word's closest ties.
func first(sorted []Tie) (out []Tie) {
	n := 0
	for i, t := range sorted {
		if i > 0 && sorted[i-1].From != t.From {
			n = 0
		}
		if n++; n <= tieMost {
			out = append(out, t)
		}
	}
	return out
}

// spread gives each token of a class the ties of its class.
func spread(v *vocab.Vocab, classes []Tie) (out []Tie) {
	for id := range int32(v.Size()) {
		for _, t := range classes {
			if t.From == v.Class(id) {
				out = append(out, Tie{id, t.To})
			}
		}
	}
	return out
}

// Pack writes tables as one gzipped file: a JSON line with the sizes, then the parts.
func (t *Tables) Pack() ([]byte, error) {
	var out bytes.Buffer
	z, err := gzip.NewWriterLevel(&out, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	if _, err := z.Write(t.body()); err != nil {
		return nil, err
	}
	if err := z.Close(); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

type sizes struct {
	Vocabulary, Ties int
	Offers           []string
	NGrams           []int
	Corpus           string
}

func (t *Tables) body() []byte {
	n := sizes{Vocabulary: len(t.Vocabulary), Ties: len(t.Ties), Corpus: t.Corpus}
	for _, s := range t.Settings {
		n.Offers, n.NGrams = append(n.Offers, s.Offers), append(n.NGrams, len(s.NGrams))
	}
	head, _ := json.Marshal(n)
	body := append(head, '\n')
	body = append(body, t.Vocabulary...)
	for _, s := range t.Settings {
		body = append(body, s.NGrams...)
	}
	for _, tie := range t.Ties {
		body = binary.LittleEndian.AppendUint32(body, uint32(tie.From))
		body = binary.LittleEndian.AppendUint32(body, uint32(tie.To))
	}
	return body
}

// Unpack reads what Pack wrote and fills Hash.
func Unpack(data []byte) (*Tables, error) {
	z, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return nil, fmt.Errorf("unpack tables: %w", err)
	}
	body, err := io.ReadAll(z)
	if err != nil {
		return nil, fmt.Errorf("unpack tables: %w", err)
	}
	head, rest, _ := bytes.Cut(body, []byte{'\n'})
	var n sizes
	if err := json.Unmarshal(head, &n); err != nil {
		return nil, fmt.Errorf("unpack tables: header: %w", err)
	}
	sum := sha256.Sum256(body)
	t := &Tables{Corpus: n.Corpus, Hash: hex.EncodeToString(sum[:6])}
	var ok bool
	if t.Vocabulary, rest, ok = cut(rest, n.Vocabulary); !ok || len(n.Offers) != len(n.NGrams) {
		return nil, fmt.Errorf("unpack tables: parts of %+v in %d bytes", n, len(body))
	}
	for i, size := range n.NGrams {
		s := Setting{Offers: n.Offers[i]}
		if s.NGrams, rest, ok = cut(rest, size); !ok {
			return nil, fmt.Errorf("unpack tables: parts of %+v in %d bytes", n, len(body))
		}
		t.Settings = append(t.Settings, s)
	}
	if n.Ties < 0 || 8*n.Ties != len(rest) {
		return nil, fmt.Errorf("unpack tables: %d ties in %d bytes", n.Ties, len(rest))
	}
	for p := rest; len(p) > 0; p = p[8:] {
		t.Ties = append(t.Ties, Tie{int32(binary.LittleEndian.Uint32(p)), int32(binary.LittleEndian.Uint32(p[4:]))})
	}
	return t, nil
}

// cut takes n bytes off the front.
func cut(b []byte, n int) (head, rest []byte, ok bool) {
	if n < 0 || n > len(b) {
		return nil, nil, false
	}
	return b[:n], b[n:], true
}
