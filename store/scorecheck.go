package store

import "github.com/hindsightrl/harness"

// scoreRules are the invariants of teacher passes that SQL can see.
var scoreRules = []rule{
	{"scores", false, `SELECT sc.id, 'its pass is over run ' || p.run_id || ', its step of run ' || e.run_id FROM scores sc
		JOIN score_passes p ON p.id = sc.pass_id JOIN steps s ON s.id = sc.step_id JOIN attempts a ON a.id = s.attempt_id
		JOIN episodes e ON e.id = a.episode_id WHERE p.run_id <> e.run_id OR sc.group_id <> e.group_id`},
	{"scores", false, `SELECT sc.id, 'it is scored with ' || sc.n || ' tokens, its step has ' || coalesce(t.n, 'none') FROM scores sc
		JOIN steps s ON s.id = sc.step_id LEFT JOIN tokens t ON t.step_id = coalesce(s.shared_id, s.id) WHERE sc.status = 'scored' AND t.n IS NOT sc.n`},
	{"scores", false, `SELECT sc.id, 'it has ' || sc.n || ' tokens, its log-probabilities ' || s.n || ' and ' || t.n FROM scores sc
		JOIN logprobs s ON s.id = sc.student_id JOIN logprobs t ON t.id = sc.teacher_id WHERE s.n <> sc.n OR t.n <> sc.n`},
	{"scores", false, `SELECT sc.id, 'pass ' || sc.pass_id || ' does not hold its group' FROM scores sc
		WHERE NOT EXISTS (SELECT 1 FROM score_groups g WHERE g.pass_id = sc.pass_id AND g.group_id = sc.group_id)`},
}

// scores checks teacher passes: how their rows fit the steps, and that every column decodes.
func (c *checker) scores() error {
	if err := c.runRules(scoreRules); err != nil {
		return err
	}
	type row struct {
		id, n int64
		value any
	}
	for r, err := range query(c.ctx, c.q, "check logprobs", "SELECT id, n, value FROM logprobs", nil, func(scan func(...any) error) (r row, err error) {
		err = scan(&r.id, &r.n, &r.value)
		return r, err
	}) {
		if err != nil {
			return err
		}
		switch v, err := float32s(r.value); {
		case err != nil:
			c.add("logprobs", r.id, false, "value: %v", err)
		case int64(len(v)) != r.n:
			c.add("logprobs", r.id, false, "%d values, the row says %d", len(v), r.n)
		}
	}
	type mask struct {
		id   int64
		n    int
		bits []byte
	}
	text := "SELECT id, n, action_mask FROM scores WHERE status = ?"
	for m, err := range query(c.ctx, c.q, "check scores", text, []any{string(harness.ScoreDone)}, func(scan func(...any) error) (m mask, err error) {
		err = scan(&m.id, &m.n, &m.bits)
		return m, err
	}) {
		if err != nil {
			return err
		}
		if _, err := unpackBits(m.bits, m.n); err != nil {
			c.add("scores", m.id, false, "action_mask: %v", err)
		}
	}
	return nil
}
