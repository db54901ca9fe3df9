package store

import (
	"context"
	"fmt"

	"github.com/hindsightrl/harness"
)

// CreditScore is what credit needs of one scored step. T is the number of response tokens.
type CreditScore struct {
	Step    int64     // ledger id
	Student []float32 // T log-probabilities without the hindsight context, nats
	Teacher []float32 // T with it
	Action  []bool    // T flags: the token belongs to the action
}

// CreditScores reads the scored steps of a teacher pass in no particular order: sorting them, with their
// columns, would take longer than reading them.
func (s *Store) CreditScores(ctx context.Context, pass int64) ([]CreditScore, error) {
	const text = `SELECT sc.step_id, sc.n, sc.action_mask, ls.value, lt.value FROM scores sc
		JOIN logprobs ls ON ls.id = sc.student_id JOIN logprobs lt ON lt.id = sc.teacher_id WHERE sc.pass_id = ? AND sc.status = ?`
	return collect(query(ctx, s.db, fmt.Sprintf("read score pass %d for credit", pass), text, []any{pass, string(harness.ScoreDone)}, scanCreditScore))
}

func scanCreditScore(scan func(...any) error) (c CreditScore, err error) {
	var (
		n                int
		mask             []byte
		student, teacher any
	)
	if err := scan(&c.Step, &n, &mask, &student, &teacher); err != nil {
		return c, err
	}
	for _, col := range []struct {
		to *[]float32
		v  any
	}{{&c.Student, student}, {&c.Teacher, teacher}} {
		if *col.to, err = float32s(col.v); err != nil {
			return c, fmt.Errorf("step %d: %w", c.Step, err)
		}
		if len(*col.to) != n {
			return c, badBlob("step %d: %d log-probabilities for %d tokens", c.Step, len(*col.to), n)
		}
	}
	if c.Action, err = unpackBits(mask, n); err != nil {
		return c, fmt.Errorf("step %d: %w", c.Step, err)
	}
	return c, nil
}
