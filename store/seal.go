package store

import (
	"bufio"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"math"
	"slices"

	"github.com/hindsightrl/harness/internal/errext"
)

// Seal holds digests of what a ledger holds for good: closed attempts, credit passes, groups of teacher
// passes. It lies beside the ledger, not in it, so that nothing that happens to the one happens to the
// other.
//
// As text it is one JSON object a line: a head, the items, and a foot with their number.
type Seal struct {
	head  sealHead
	items map[sealKey]sealItem
}

// sealVersion goes up when the digest of the same rows would be another one.
const sealVersion = 1

// sealHead says whose seal it is: a ledger is known by its first run.
type sealHead struct {
	Version int    `json:"seal"`
	Run     string `json:"run"`
	Created int64  `json:"created_ms"`
}

// The kinds of items.
const (
	sealAttempt    = "attempt"
	sealCreditPass = "credit_pass"
	sealScoreGroup = "score_group"
)

type sealKey struct {
	Kind  string `json:"kind"`
	ID    int64  `json:"id"`              // of the attempt or the pass
	Group int64  `json:"group,omitempty"` // id of a teacher pass's group
	Of    string `json:"of,omitempty"`    // fingerprint of what that group was scored from: it is scored anew under another one
}

type sealItem struct {
	sealKey
	Rows   int64  `json:"rows"`
	Digest string `json:"sha256"`
}

// Covered says how much of what could be sealed is.
type Covered struct{ Sealed, All int }

// Cover compares a seal of what there is now with an earlier one.
func (s *Seal) Cover(earlier *Seal) (attempts, creditPasses, scoreGroups Covered) {
	of := map[string]*Covered{sealAttempt: &attempts, sealCreditPass: &creditPasses, sealScoreGroup: &scoreGroups}
	for key, item := range s.items {
		of[key.Kind].All++
		if old, ok := earlier.items[key]; ok && old.Rows == item.Rows {
			of[key.Kind].Sealed++
		}
	}
	return attempts, creditPasses, scoreGroups
}

// WriteTo writes the seal as text, its items in order.
func (s *Seal) WriteTo(w io.Writer) (int64, error) {
	items := make([]sealItem, 0, len(s.items))
	for _, item := range s.items {
		items = append(items, item)
	}
	slices.SortFunc(items, func(a, b sealItem) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.ID, b.ID), cmp.Compare(a.Group, b.Group), cmp.Compare(a.Of, b.Of))
	})
	counted := &countingWriter{w: bufio.NewWriter(w)}
	enc := json.NewEncoder(counted)
	err := enc.Encode(s.head)
	for i := range items {
		err = errors.Join(err, enc.Encode(items[i]))
	}
	err = errors.Join(err, enc.Encode(map[string]int{"end": len(items)}), counted.w.Flush())
	if err != nil {
		return counted.n, fmt.Errorf("write seal: %w", err)
	}
	return counted.n, nil
}

type countingWriter struct {
	w *bufio.Writer
	n int64
}

func (c *countingWriter) Write(b []byte) (int, error) {
	n, err := c.w.Write(b)
	c.n += int64(n)
	return n, err
}

// ReadSeal reads a seal. A text that is cut off or no seal is an error that names the line.
func ReadSeal(r io.Reader) (*Seal, error) {
	s := &Seal{items: map[sealKey]sealItem{}}
	lines := bufio.NewScanner(r)
	fail := func(n int, err error) (*Seal, error) { return nil, fmt.Errorf("read seal: line %d: %w", n, err) }
	for n := 1; lines.Scan(); n++ {
		var line struct {
			sealItem
			End *int `json:"end"`
		}
		if n == 1 {
			if err := json.Unmarshal(lines.Bytes(), &s.head); err != nil {
				return fail(n, err)
			}
			if s.head.Version != sealVersion {
				return fail(n, fmt.Errorf("it is version %d, want %d", s.head.Version, sealVersion))
			}
			continue
		}
		if err := json.Unmarshal(lines.Bytes(), &line); err != nil {
			return fail(n, err)
		}
		if line.End == nil {
			s.items[line.sealKey] = line.sealItem
			continue
		}
		if *line.End != len(s.items) {
			return fail(n, fmt.Errorf("it says %d items, there are %d", *line.End, len(s.items)))
		}
		return s, nil
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("read seal: %w", err)
	}
	return nil, errors.New("read seal: it is cut off")
}

// Seal computes the digests of all that the ledger holds for good now, and reports what is not as an
// earlier seal has it; nil is none. What was added since is no violation. It may run while a run writes.
// The error is for a file that cannot be read, or an earlier seal of another ledger.
func (s *Store) Seal(ctx context.Context, earlier *Seal) (*Seal, []Violation, error) {
	x := sealer{checker: checker{ctx: ctx}, now: &Seal{items: map[sealKey]sealItem{}}, earlier: earlier}
	if earlier == nil {
		x.earlier = &Seal{}
	}
	err := s.snapshot(ctx, func(q querier) error {
		x.q = q
		for _, f := range []func() error{x.head, x.attempts, x.creditPasses, x.scoreGroups} {
			if err := f(); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, nil, fmt.Errorf("seal ledger %q: %w", s.path, err)
	}
	x.lost()
	return x.now, x.found, nil
}

// sealer computes a seal beside an earlier one.
type sealer struct {
	checker
	now, earlier *Seal
}

func (x *sealer) head() error {
	x.now.head.Version = sealVersion
	for h, err := range query(x.ctx, x.q, "read the first run", "SELECT name, created_ms FROM runs ORDER BY id LIMIT 1", nil, func(scan func(...any) error) (h sealHead, err error) {
		err = scan(&h.Run, &h.Created)
		return h, err
	}) {
		if err != nil {
			return err
		}
		x.now.head.Run, x.now.head.Created = h.Run, h.Created
	}
	if old := x.earlier.head; old.Version != 0 && old.Run != "" && old != x.now.head {
		return errext.WithHint(fmt.Errorf("the seal is of another ledger: its first run is %q, this one's is %q", old.Run, x.now.head.Run),
			"name this ledger's seal with --seal, or remove the file and seal anew: harness db seal")
	}
	return nil
}

// attempts seals closed attempts with all that is theirs, and the outcome where they closed their episode.
func (x *sealer) attempts() error {
	ids, err := collect(query(x.ctx, x.q, "list closed attempts", "SELECT id FROM attempts WHERE state <> 'running' ORDER BY id", nil, scanOne[int64]))
	if err != nil {
		return err
	}
	for _, id := range ids {
		d := newDigest()
		for _, text := range []string{
			"SELECT * FROM attempts WHERE id = ?",
			"SELECT * FROM episodes WHERE attempt_id = ? AND status = 'done'",
			"SELECT * FROM forks WHERE attempt_id = ?",
			"SELECT * FROM steps WHERE attempt_id = ? ORDER BY idx",
			"SELECT t.* FROM tokens t JOIN steps s ON s.id = t.step_id WHERE s.attempt_id = ? ORDER BY s.idx",
			"SELECT DISTINCT m.* FROM token_meta m JOIN tokens t ON t.meta_id = m.id JOIN steps s ON s.id = t.step_id WHERE s.attempt_id = ? ORDER BY m.id",
			"SELECT * FROM artifacts WHERE attempt_id = ? ORDER BY name",
		} {
			if err := x.digest(d, text, id); err != nil {
				return err
			}
		}
		x.item("attempts", sealKey{Kind: sealAttempt, ID: id}, d, nil)
	}
	return nil
}

// creditPasses seals the rows of credit passes. A pass that grows keeps those that it has.
func (x *sealer) creditPasses() error {
	ids, err := collect(query(x.ctx, x.q, "list credit passes", "SELECT id FROM credit_passes ORDER BY id", nil, scanOne[int64]))
	if err != nil {
		return err
	}
	for _, id := range ids {
		key := sealKey{Kind: sealCreditPass, ID: id}
		d := newDigest()
		if err := x.digest(d, "SELECT run_id, key, scores, config FROM credit_passes WHERE id = ?", id); err != nil {
			return err
		}
		d.rows = 0 // the pass itself is not counted
		var before *string
		if old, ok := x.earlier.items[key]; ok {
			d.at = func() {
				if d.rows == old.Rows {
					sum := d.sum()
					before = &sum
				}
			}
			d.at()
		}
		if err := x.digest(d, "SELECT * FROM credits WHERE pass_id = ? ORDER BY id", id); err != nil {
			return err
		}
		x.item("credit_passes", key, d, before)
	}
	return nil
}

// scoreGroups seals the scores of each group of each teacher pass, with the numbers behind them.
func (x *sealer) scoreGroups() error {
	keys, err := collect(query(x.ctx, x.q, "list scored groups", "SELECT pass_id, group_id, fingerprint FROM score_groups ORDER BY pass_id, group_id", nil,
		func(scan func(...any) error) (sealKey, error) {
			k := sealKey{Kind: sealScoreGroup}
			err := scan(&k.ID, &k.Group, &k.Of)
			return k, err
		}))
	if err != nil {
		return err
	}
	for _, key := range keys {
		d := newDigest()
		err := x.digest(d, `SELECT c.*, s.key AS student_key, s.value AS student, t.key AS teacher_key, t.value AS teacher FROM scores c
			LEFT JOIN logprobs s ON s.id = c.student_id LEFT JOIN logprobs t ON t.id = c.teacher_id WHERE c.pass_id = ? AND c.group_id = ? ORDER BY c.step_id`, key.ID, key.Group)
		if err != nil {
			return err
		}
		x.item("score_groups", key, d, nil)
	}
	return nil
}

// item notes a digest and compares it with the earlier one; before is the digest of as many rows as that
// one has, where they may have become more.
func (x *sealer) item(table string, key sealKey, d *digest, before *string) {
	item := sealItem{sealKey: key, Rows: d.rows, Digest: d.sum()}
	x.now.items[key] = item
	old, ok := x.earlier.items[key]
	switch {
	case !ok:
	case old.Rows == item.Rows && old.Digest == item.Digest:
	case before != nil && old.Digest == *before:
	case old.Rows > item.Rows || old.Rows < item.Rows && before == nil:
		x.add(table, key.ID, false, "%s%d rows were sealed, there are %d", key.where(), old.Rows, item.Rows)
	default:
		x.add(table, key.ID, false, "%sits rows are not what was sealed", key.where())
	}
}

// where names the group of an item that is one's.
func (k sealKey) where() string {
	if k.Kind == sealScoreGroup {
		return fmt.Sprintf("group id %d: ", k.Group)
	}
	return ""
}

// lost reports what was sealed and is gone. A group that was scored anew is not.
func (x *sealer) lost() {
	tables := map[string]string{sealAttempt: "attempts", sealCreditPass: "credit_passes", sealScoreGroup: "score_groups"}
	again := map[sealKey]bool{}
	for key := range x.now.items {
		key.Of = ""
		again[key] = true
	}
	var gone []sealKey
	for key := range x.earlier.items {
		whoever := key
		whoever.Of = ""
		if !again[whoever] {
			gone = append(gone, key)
		}
	}
	slices.SortFunc(gone, func(a, b sealKey) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.ID, b.ID), cmp.Compare(a.Group, b.Group))
	})
	for _, key := range gone {
		x.add(tables[key.Kind], key.ID, false, "%sit was sealed and is absent", key.where())
	}
}

// digest adds the rows of a statement.
func (x *sealer) digest(d *digest, text string, args ...any) error {
	rows, err := x.q.QueryContext(x.ctx, text, args...)
	if err != nil {
		return classify(err)
	}
	defer rows.Close()
	columns, err := rows.Columns()
	if err != nil {
		return err
	}
	values, targets := make([]any, len(columns)), make([]any, len(columns))
	for i := range values {
		targets[i] = &values[i]
	}
	for rows.Next() {
		if err := rows.Scan(targets...); err != nil {
			return err
		}
		if err := d.row(columns, values); err != nil {
			return err
		}
	}
	if err := rows.Err(); err != nil {
		return classify(err)
	}
	return nil
}

// digest is a SHA-256 over rows: of each value that is not NULL its column's name, its type and its bytes.
// Columns that a later version adds, and leaves NULL in old rows, change no digest.
type digest struct {
	hash.Hash
	rows int64
	head []byte
	at   func() // called after each row; nil: nobody looks
}

func newDigest() *digest { return &digest{Hash: sha256.New()} }

func (d *digest) sum() string { return hex.EncodeToString(d.Sum(nil)) }

func (d *digest) row(columns []string, values []any) error {
	for i, v := range values {
		var kind byte
		var body []byte
		switch v := v.(type) {
		case nil:
			continue
		case int64:
			kind, body = 'i', binary.LittleEndian.AppendUint64(nil, uint64(v))
		case float64:
			kind, body = 'f', binary.LittleEndian.AppendUint64(nil, math.Float64bits(v))
		case string:
			kind, body = 't', []byte(v)
		case []byte:
			kind, body = 'b', v
		default:
			return fmt.Errorf("column %s holds a %T", columns[i], v)
		}
		d.head = appendString(append(d.head[:0], kind), columns[i])
		d.Write(binary.AppendUvarint(d.head, uint64(len(body))))
		d.Write(body)
	}
	d.Write([]byte{0})
	if d.rows++; d.at != nil {
		d.at()
	}
	return nil
}
