package store

import (
	"fmt"

	"github.com/hindsightrl/harness"
)

// checkedStep is a step's rows and where they are.
type checkedStep struct {
	id, attempt int64
	row         stepRow
	tokens      tokenRow
}

func (k *checkedStep) targets() []any {
	to := append(k.row.targets(), k.tokens.targets()...)
	return append(to, &k.id, &k.attempt)
}

// steps decodes every step of every attempt and adds the rewards of those that decided an episode up.
func (c *checker) steps() error {
	text := "SELECT " + stepColumns + ", " + tokenColumns + `, s.id, s.attempt_id FROM steps s JOIN steps c ON c.id = coalesce(s.shared_id, s.id) LEFT JOIN tokens t ON t.step_id = c.id
		LEFT JOIN token_meta m ON m.id = t.meta_id ORDER BY s.attempt_id, s.idx`
	var (
		last    int64
		cur     carry
		damaged bool // the attempt's later rows cannot be read
	)
	sums := make(map[int64]*attempt)
	for k, err := range query(c.ctx, c.q, "check steps", text, nil, func(scan func(...any) error) (k checkedStep, err error) {
		err = scan(k.targets()...)
		return k, err
	}) {
		if err != nil {
			return err
		}
		if k.attempt != last {
			last, cur, damaged = k.attempt, carry{}, false
			sums[last] = &attempt{}
		}
		if damaged {
			continue
		}
		damaged = !c.step(&k, &cur, sums[last])
		if damaged {
			sums[last] = nil
		}
	}
	return c.outcomes(sums)
}

// step checks one row; false means that the rows after it cannot be read.
func (c *checker) step(k *checkedStep, cur *carry, sum *attempt) bool {
	st, err := decodeStep(&k.row, cur)
	if err != nil {
		c.add("steps", k.id, false, "attempt %d: %v", k.attempt, err)
		return false
	}
	if err := checkSpans(st.Spans, st.Response); err != nil {
		c.add("steps", k.id, false, "%v", err)
	}
	if st.Tokens, err = decodeTokens(&k.tokens, cur); err != nil {
		c.add("tokens", k.id, false, "%v", err)
		return false
	}
	if _, err := st.Tokens.Spans(st.Response); err != nil {
		c.add("tokens", k.id, false, "%v", err)
	}
	sum.note(&st)
	sum.carry.index++
	return true
}

// outcomes compares what done episodes claim with what their steps add up to.
func (c *checker) outcomes(sums map[int64]*attempt) error {
	type claim struct {
		episode, attempt int64
		outcome          harness.Outcome
	}
	text := `SELECT id, coalesce(attempt_id, 0), coalesce(stop, ''), coalesce(won, 0), coalesce(reward, 0), coalesce(score, 0), coalesce(steps, 0), coalesce(invalid, 0)
		FROM episodes WHERE status = 'done'`
	for k, err := range query(c.ctx, c.q, "check outcomes", text, nil, func(scan func(...any) error) (k claim, err error) {
		o := &k.outcome
		err = scan(&k.episode, &k.attempt, &o.Stop, &o.Won, &o.Reward, &o.Score, &o.Steps, &o.Invalid)
		return k, err
	}) {
		if err != nil {
			return err
		}
		sum, recorded := sums[k.attempt]
		if recorded && sum == nil { // reported already
			continue
		}
		if !recorded {
			sum = &attempt{}
		}
		if err := sum.agrees(k.outcome); err != nil {
			c.add("episodes", k.episode, true, "%v", err)
		}
	}
	return nil
}

// texts decodes the text values outside steps.
func (c *checker) texts() error {
	for _, t := range []struct{ table, column string }{
		{"feedback", "text"},
		{"events", "message"},
		{"attempts", "failure_op"},
		{"attempts", "failure_message"},
		{"episodes", "failure_op"},
		{"episodes", "failure_message"},
	} {
		type row struct {
			id int64
			v  any
		}
		text := fmt.Sprintf("SELECT id, %s FROM %s WHERE typeof(%[1]s) = 'blob'", t.column, t.table)
		for r, err := range query(c.ctx, c.q, "check "+t.table, text, nil, func(scan func(...any) error) (r row, err error) {
			err = scan(&r.id, &r.v)
			return r, err
		}) {
			if err != nil {
				return err
			}
			if _, err := textOf(r.v); err != nil {
				c.add(t.table, r.id, false, "%s: %v", t.column, err)
			}
		}
	}
	return nil
}
