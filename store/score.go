package store

import (
	"context"
	"database/sql/driver"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"math"
	"strings"

	"github.com/hindsightrl/harness"
)

// keysPerQuery bounds the parameters of one statement.
const keysPerQuery = 256

// Logprobs looks columns up by their keys. Those that are not there are not in the result.
func (s *Store) Logprobs(ctx context.Context, keys []harness.ContentKey) (map[harness.ContentKey][]float32, error) {
	type row struct {
		key   []byte
		value any
	}
	out := make(map[harness.ContentKey][]float32, len(keys))
	for len(keys) > 0 {
		n := min(len(keys), keysPerQuery)
		args := make([]any, n)
		for i, k := range keys[:n] {
			args[i] = append([]byte{}, k[:]...)
		}
		keys = keys[n:]
		text := "SELECT key, value FROM logprobs WHERE key IN (?" + strings.Repeat(", ?", n-1) + ")"
		for r, err := range query(ctx, s.db, "read log-probabilities", text, args, func(scan func(...any) error) (r row, err error) {
			err = scan(&r.key, &r.value)
			return r, err
		}) {
			if err != nil {
				return nil, err
			}
			v, err := float32s(r.value)
			if err != nil {
				return nil, fmt.Errorf("read log-probabilities %x: %w", r.key, err)
			}
			out[harness.ContentKey(r.key)] = v
		}
	}
	return out, nil
}

// AddLogprobs keeps columns under their keys; a key that is there already keeps its first value.
func (s *Store) AddLogprobs(ctx context.Context, cols []harness.LogprobColumn) error {
	for _, c := range cols {
		if c.Key == (harness.ContentKey{}) || c.Values == nil {
			return errors.New("add log-probabilities: a column without key or values")
		}
		for i, v := range c.Values {
			if math.IsNaN(float64(v)) || v > 0 {
				return fmt.Errorf("add log-probabilities %s: token %d has %v", c.Key, i, v)
			}
		}
	}
	err := s.write(ctx, func(c *conn) error {
		for i := range cols {
			_, err := c.exec("INSERT OR IGNORE INTO logprobs (key, n, value) VALUES (?, ?, ?)",
				cols[i].Key[:], int64(len(cols[i].Values)), floatColumn(cols[i].Values))
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("add log-probabilities: %w", err)
	}
	return nil
}

// SaveScores writes what a pass found about a group, in place of what it held about it before: all of it
// or nothing. The log-probabilities must be there (AddLogprobs).
func (s *Store) SaveScores(ctx context.Context, pass int64, group int, fingerprint string, scores []harness.StepScore) error {
	for i := range scores {
		if err := checkScore(&scores[i]); err != nil {
			return fmt.Errorf("save scores of group %d: attempt %d, step %d: %w", group, scores[i].Attempt, scores[i].Step, err)
		}
	}
	err := s.write(ctx, func(c *conn) error {
		id, err := c.value("SELECT g.id FROM groups g JOIN score_passes p ON p.run_id = g.run_id WHERE p.id = ? AND g.idx = ?", pass, int64(group))
		if err != nil {
			return err
		}
		if id == nil {
			return ErrNotFound
		}
		if _, err := c.exec("DELETE FROM scores WHERE pass_id = ? AND group_id = ?", pass, id); err != nil {
			return err
		}
		for i := range scores {
			if err := insertScore(c, pass, id, &scores[i]); err != nil {
				return fmt.Errorf("attempt %d, step %d: %w", scores[i].Attempt, scores[i].Step, err)
			}
		}
		_, err = c.exec(`INSERT INTO score_groups (pass_id, group_id, fingerprint) VALUES (?, ?, ?)
			ON CONFLICT (pass_id, group_id) DO UPDATE SET fingerprint = excluded.fingerprint`, pass, id, fingerprint)
		return err
	})
	if err != nil {
		return fmt.Errorf("save scores of group %d: %w", group, err)
	}
	return nil
}

func checkScore(r *harness.StepScore) error {
	n := len(r.Student.Values)
	switch {
	case r.Status == "":
		return errors.New("it has no status")
	case r.Status != harness.ScoreDone && (r.Student.Values != nil || r.Teacher.Values != nil || r.ActionMask != nil):
		return fmt.Errorf("it is %s and has numbers", r.Status)
	case len(r.Teacher.Values) != n || len(r.ActionMask) != n:
		return fmt.Errorf("%d student values, %d teacher values, %d mask values", n, len(r.Teacher.Values), len(r.ActionMask))
	case r.LeftOut != nil && !json.Valid(r.LeftOut):
		return errors.New("what is left out is not valid JSON")
	}
	return nil
}

func insertScore(c *conn, pass int64, group driver.Value, r *harness.StepScore) error {
	row := []driver.Value{pass, group, r.Attempt, int64(r.Step), string(r.Status), int64(len(r.ActionMask)), marked(r.ActionMask), nil, nil, nil, int64(r.PromptTokens), nil}
	if r.Status == harness.ScoreDone {
		row[7], row[8], row[9] = r.Student.Key[:], r.Teacher.Key[:], packBits(r.ActionMask)
	}
	if r.LeftOut != nil {
		row[11] = string(r.LeftOut)
	}
	_, err := c.exec(`INSERT INTO scores (pass_id, group_id, step_id, status, n, marked, student_id, teacher_id, action_mask, prompt_tokens, left_out)
		VALUES (?1, ?2, (SELECT id FROM steps WHERE attempt_id = ?3 AND idx = ?4), ?5, ?6, ?7,
			(SELECT id FROM logprobs WHERE key = ?8), (SELECT id FROM logprobs WHERE key = ?9), ?10, ?11, ?12)`, row...)
	return err
}

func marked(mask []bool) int64 {
	n := int64(0)
	for _, m := range mask {
		if m {
			n++
		}
	}
	return n
}

// packBits is one bit per flag, least significant first.
func packBits(mask []bool) []byte {
	out := make([]byte, (len(mask)+7)/8)
	for i, m := range mask {
		if m {
			out[i/8] |= 1 << (i % 8)
		}
	}
	return out
}

// flagsOf are the eight flags of a byte of packBits.
var flagsOf = func() (of [256][8]bool) {
	for v := range of {
		for i := range of[v] {
			of[v][i] = v>>i&1 != 0
		}
	}
	return of
}()

func unpackBits(b []byte, n int) ([]bool, error) {
	if len(b) != (n+7)/8 {
		return nil, badBlob("action mask of %d bytes for %d tokens", len(b), n)
	}
	out := make([]bool, n)
	for i, v := range b {
		copy(out[8*i:], flagsOf[v][:])
	}
	return out, nil
}

// ScoreFilter picks rows of a pass. Empty fields pick all.
type ScoreFilter struct {
	Episode int64
}

// Scores streams what a pass found, by episode and step.
func (s *Store) Scores(ctx context.Context, pass int64, f ScoreFilter) iter.Seq2[harness.StepScore, error] {
	where, args := "sc.pass_id = ?", []any{pass}
	if f.Episode != 0 {
		where += " AND sc.step_id IN (SELECT s.id FROM steps s JOIN attempts b ON b.id = s.attempt_id WHERE b.episode_id = ?)"
		args = append(args, f.Episode)
	}
	text := `SELECT sc.step_id, a.episode_id, a.id, st.idx, sc.status, sc.n, sc.action_mask, sc.prompt_tokens, sc.left_out,
		ls.key, ls.value, lt.key, lt.value
		FROM scores sc JOIN steps st ON st.id = sc.step_id JOIN attempts a ON a.id = st.attempt_id
		LEFT JOIN logprobs ls ON ls.id = sc.student_id LEFT JOIN logprobs lt ON lt.id = sc.teacher_id
		WHERE ` + where + ` ORDER BY a.episode_id, st.idx`
	return query(ctx, s.db, fmt.Sprintf("read score pass %d", pass), text, args, scanScore)
}

func scanScore(scan func(...any) error) (r harness.StepScore, err error) {
	var (
		n                     int
		mask                  []byte
		left                  *string
		studentKey, teachKey  []byte
		student, teacherValue any
	)
	if err := scan(&r.StepID, &r.Episode, &r.Attempt, &r.Step, &r.Status, &n, &mask, &r.PromptTokens, &left, &studentKey, &student, &teachKey, &teacherValue); err != nil {
		return r, err
	}
	if left != nil {
		r.LeftOut = json.RawMessage(*left)
	}
	if r.Status != harness.ScoreDone {
		return r, nil
	}
	if len(studentKey) != len(r.Student.Key) || len(teachKey) != len(r.Teacher.Key) {
		return r, badBlob("step %d: its log-probabilities are absent", r.StepID)
	}
	r.Student.Key, r.Teacher.Key = harness.ContentKey(studentKey), harness.ContentKey(teachKey)
	if r.Student.Values, err = float32s(student); err != nil {
		return r, err
	}
	if r.Teacher.Values, err = float32s(teacherValue); err != nil {
		return r, err
	}
	if len(r.Student.Values) != n || len(r.Teacher.Values) != n {
		return r, badBlob("step %d: %d student and %d teacher values for %d tokens", r.StepID, len(r.Student.Values), len(r.Teacher.Values), n)
	}
	r.ActionMask, err = unpackBits(mask, n)
	return r, err
}
