package reward

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"

	"github.com/jdkato/prose/v2"

	"github.com/hindsightrl/harness/internal/pystr"
)

// Nouns tells the nouns of product titles, lower-case, in their order and as often as they occur. Its
// methods are safe for concurrent use.
type Nouns interface {
	// Of returns the nouns of a product's title. The error says that a table has no entry for it.
	Of(asin, title string) ([]string, error)
	// Name says where the nouns come from, for the record of a run.
	Name() string
}

// Table is nouns that were found beforehand, for instance by the tagger of the original.
type Table struct {
	name  string
	nouns map[string][]string
}

// ReadTable reads a JSON object of lists of nouns by title, or by product id. The entry "" may hold
// one line that says what made the table.
func ReadTable(r io.Reader) (*Table, error) {
	raw, err := io.ReadAll(r)
	if err != nil {
		return nil, fmt.Errorf("read noun table: %w", err)
	}
	t := &Table{}
	if err := json.Unmarshal(raw, &t.nouns); err != nil {
		return nil, fmt.Errorf("read noun table: want an object of lists by title: %w", err)
	}
	if len(t.nouns) == 0 {
		return nil, errors.New("read noun table: it is empty")
	}
	sum := sha256.Sum256(raw)
	t.name = fmt.Sprintf("table sha256:%x", sum[:8])
	if about, ok := t.nouns[""]; ok {
		t.name += " (" + strings.Join(about, " ") + ")"
	}
	return t, nil
}

// Of implements Nouns. A product without a title has no nouns.
func (t *Table) Of(asin, title string) ([]string, error) {
	if n, ok := t.nouns[title]; ok && title != "" {
		return n, nil
	}
	if n, ok := t.nouns[asin]; ok && asin != "" {
		return n, nil
	}
	if title == "" {
		return nil, nil
	}
	return nil, fmt.Errorf("the noun table has no entry for product %q, %q", asin, title)
}

// Name implements Nouns.
func (t *Table) Name() string { return t.name }

// Tagger is the fallback without a table: a part-of-speech tagger in Go. It is not the original's
// tagger; of products that share the goal's words it judges some otherwise.
type Tagger struct {
	mu    sync.Mutex
	model *prose.Model // loaded at first use, then shared: loading takes longer than a thousand titles
	known map[string][]string
}

// maxTagged bounds how many titles a Tagger remembers.
const maxTagged = 1 << 16

// Of implements Nouns. A title is tagged once.
func (t *Tagger) Of(_, title string) ([]string, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if n, ok := t.known[title]; ok {
		return n, nil
	}
	options := []prose.DocOpt{prose.WithExtraction(false), prose.WithSegmentation(false)}
	if t.model != nil {
		options = append(options, prose.UsingModel(t.model))
	}
	doc, err := prose.NewDocument(title, options...)
	if err != nil {
		return nil, fmt.Errorf("find nouns of %q: %w", title, err)
	}
	t.model = doc.Model
	nouns := []string{}
	for _, tok := range doc.Tokens() {
		if strings.HasPrefix(tok.Tag, "NN") {
			nouns = append(nouns, pystr.Lower(tok.Text))
		}
	}
	if t.known == nil || len(t.known) >= maxTagged {
		t.known = map[string][]string{}
	}
	t.known[strings.Clone(title)] = nouns
	return nouns, nil
}

// Name implements Nouns.
func (t *Tagger) Name() string { return "fallback tagger prose v2 (the original uses spaCy)" }
