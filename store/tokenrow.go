package store

import (
	"database/sql/driver"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/hindsightrl/harness"
)

const insertTokens = `INSERT INTO tokens (step_id, n, n_prompt, top_k, meta_id, ids, logprobs, entropies, entropy_low, entropy_high,
	versions, prompt_ids, lengths) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)`

func nanoseconds(n int64) time.Duration { return time.Duration(n) }

func checkTokens(t *harness.Tokens) error {
	if err := t.Validate(); err != nil {
		return err
	}
	if t != nil && t.Meta != nil {
		for _, v := range []float64{t.Meta.Temperature, t.Meta.TopP, t.Meta.MinP} {
			if math.IsNaN(v) {
				return fmt.Errorf("tokens: sampler setting %v: not a number", v)
			}
		}
	}
	return nil
}

// encodeTokens returns the row of t; step_id and meta_id are filled in by the writer. base is the
// prompt ids' base, and nextBase what t leaves, in room's memory where that is enough.
func encodeTokens(t *harness.Tokens, base, room []byte) (row []driver.Value, nextBase []byte) {
	var prompt []byte
	if t.PromptIDs != nil {
		nextBase = appendWords(slices.Grow(room[:0], 4*(len(t.PromptIDs)+len(t.IDs))), t.PromptIDs)
		prompt = nextBase
		nextBase = appendWords(nextBase, t.IDs)
	}
	row = []driver.Value{
		nil, int64(len(t.IDs)), int64(len(t.PromptIDs)), int64(t.TopK), nil,
		narrowColumn(t.IDs), floatColumn(t.Logprobs), floatColumn(t.Entropies), floatColumn(t.EntropyLow), floatColumn(t.EntropyHigh),
		narrowColumn(t.Versions), promptColumn(t.PromptIDs, prompt, base), narrowColumn(t.Lengths),
	}
	return row, nextBase
}

// tokenColumns are what tokenRow reads, for a query that joins token_meta as m.
const tokenColumns = `t.step_id, t.n, t.n_prompt, t.top_k, t.meta_id, t.ids, t.logprobs, t.entropies, t.entropy_low, t.entropy_high,
	t.versions, t.prompt_ids, t.lengths, m.engine, m.version, m.model, m.mode, m.temperature, m.top_p, m.top_k, m.min_p, m.finish, m.drift`

// tokenRow is a row of tokens as it lies in the file. All of it is NULL for a step without tokens.
type tokenRow struct {
	stepID, n, nPrompt, topK, metaID                        *int64
	ids, logprobs, entropies, low, high, versions, promptID cell
	lengths                                                 cell
	engine, version, model, mode, finish, drift             cell
	temperature, topP, minP                                 *float64
	samplerTopK                                             *int64
}

func (r *tokenRow) targets() []any {
	return []any{
		&r.stepID, &r.n, &r.nPrompt, &r.topK, &r.metaID, &r.ids, &r.logprobs, &r.entropies, &r.low, &r.high,
		&r.versions, &r.promptID, &r.lengths, &r.engine, &r.version, &r.model, &r.mode, &r.temperature, &r.topP, &r.samplerTopK, &r.minP, &r.finish, &r.drift,
	}
}

// decodeTokens is the inverse of encodeTokens; it moves the carry's prompt ids on, and uses r's BLOBs up.
func decodeTokens(r *tokenRow, c *carry) (*harness.Tokens, error) {
	if r.stepID == nil {
		c.ids = nil
		return nil, nil
	}
	t := &harness.Tokens{TopK: int(*r.topK)}
	var err error
	for _, col := range []struct {
		name string
		to   *[]int32
		v    cell
		base []byte
	}{{"ids", &t.IDs, r.ids, nil}, {"versions", &t.Versions, r.versions, nil}, {"prompt_ids", &t.PromptIDs, r.promptID, c.ids}, {"lengths", &t.Lengths, r.lengths, nil}} {
		if *col.to, err = int32s(col.v.v, col.base); err != nil {
			return nil, fmt.Errorf("%s: %w", col.name, err)
		}
	}
	for _, col := range []struct {
		name string
		to   *[]float32
		v    cell
	}{{"logprobs", &t.Logprobs, r.logprobs}, {"entropies", &t.Entropies, r.entropies}, {"entropy_low", &t.EntropyLow, r.low}, {"entropy_high", &t.EntropyHigh, r.high}} {
		if *col.to, err = takeFloat32s(col.v.v); err != nil {
			return nil, fmt.Errorf("%s: %w", col.name, err)
		}
	}
	if int64(len(t.IDs)) != *r.n || int64(len(t.PromptIDs)) != *r.nPrompt {
		return nil, badBlob("tokens: %d ids and %d prompt ids, the row says %d and %d", len(t.IDs), len(t.PromptIDs), *r.n, *r.nPrompt)
	}
	if err := t.Validate(); err != nil {
		return nil, badBlob("%v", err)
	}
	if t.Meta, err = decodeMeta(r); err != nil {
		return nil, err
	}
	var room []byte
	if c.alone {
		room = c.ids[:0]
	}
	c.ids = nil
	if t.PromptIDs != nil {
		c.ids = appendWords(appendWords(slices.Grow(room, 4*(len(t.PromptIDs)+len(t.IDs))), t.PromptIDs), t.IDs)
	}
	return t, nil
}

func decodeMeta(r *tokenRow) (*harness.TokenMeta, error) {
	if r.metaID == nil {
		return nil, nil
	}
	if r.temperature == nil || r.topP == nil || r.minP == nil || r.samplerTopK == nil {
		return nil, badBlob("token meta %d is absent", *r.metaID)
	}
	m := &harness.TokenMeta{Temperature: *r.temperature, TopP: *r.topP, MinP: *r.minP, TopK: int(*r.samplerTopK)}
	var err error
	for _, f := range []struct {
		to *string
		v  cell
	}{{&m.Engine, r.engine}, {&m.Version, r.version}, {&m.Model, r.model}, {&m.Mode, r.mode}, {&m.Finish, r.finish}, {&m.Drift, r.drift}} {
		if *f.to, err = textOf(f.v.v); err != nil {
			return nil, fmt.Errorf("token meta %d: %w", *r.metaID, err)
		}
	}
	return m, nil
}

// metaID finds or adds the row of a token meta. The connection remembers those it met; the writer
// makes it forget them when a transaction is rolled back.
func (c *conn) metaID(m *harness.TokenMeta) (driver.Value, error) {
	if m == nil {
		return nil, nil
	}
	if id, ok := c.metas[*m]; ok {
		return id, nil
	}
	vals := []driver.Value{
		textValue(m.Engine), textValue(m.Version), textValue(m.Model), textValue(m.Mode),
		m.Temperature, m.TopP, int64(m.TopK), m.MinP, textValue(m.Finish), textValue(m.Drift),
	}
	v, err := c.value(`SELECT id FROM token_meta WHERE engine = ? AND version = ? AND model = ? AND mode = ?
		AND temperature = ? AND top_p = ? AND top_k = ? AND min_p = ? AND finish = ? AND drift = ?`, vals...)
	if err != nil {
		return nil, err
	}
	id, ok := v.(int64)
	if !ok {
		id, err = c.exec(`INSERT INTO token_meta (engine, version, model, mode, temperature, top_p, top_k, min_p, finish, drift)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`, vals...)
		if err != nil {
			return nil, err
		}
	}
	c.metas[*m] = id
	return id, nil
}
