package store

import "fmt"

// creditRules are the invariants of credit passes.
var creditRules = []rule{
	{"credit_passes", false, `SELECT p.id, 'it says ' || p.n || ' rows and has ' || count(c.id) FROM credit_passes p
		LEFT JOIN credits c ON c.pass_id = p.id GROUP BY p.id HAVING p.n <> count(c.id)`},
	{"credits", false, `SELECT c.id, 'its step is of no finished episode of run ' || p.run_id FROM credits c JOIN credit_passes p ON p.id = c.pass_id
		JOIN steps s ON s.id = c.step_id LEFT JOIN episodes e ON e.attempt_id = s.attempt_id AND e.run_id = p.run_id AND e.status = 'done'
		WHERE e.id IS NULL`},
	{"credits", false, `SELECT c.id, 'its step has ' || coalesce(t.n || ' tokens', 'no tokens') || ', it has ' || CASE WHEN c.tokens IS NULL THEN 'none' ELSE 'some' END
		FROM credits c JOIN steps s ON s.id = c.step_id LEFT JOIN tokens t ON t.step_id = coalesce(s.shared_id, s.id) WHERE (t.n IS NULL) <> (c.tokens IS NULL)`},
	{"credits", false, `SELECT id, clipped || ' of its ' || weighted || ' weights are clipped' FROM credits WHERE weighted < 0 OR clipped < 0 OR clipped > weighted`},
}

// credits verifies the credit passes: their rules, and that each row has an advantage for each token.
func (c *checker) credits() error {
	if err := c.runRules(creditRules); err != nil {
		return err
	}
	type row struct {
		id, n int64
		blob  any
	}
	text := `SELECT c.id, t.n, c.tokens FROM credits c JOIN steps s ON s.id = c.step_id JOIN tokens t ON t.step_id = coalesce(s.shared_id, s.id) WHERE c.tokens IS NOT NULL`
	for r, err := range query(c.ctx, c.q, "check credits", text, nil, func(scan func(...any) error) (r row, err error) {
		err = scan(&r.id, &r.n, &r.blob)
		return r, err
	}) {
		if err != nil {
			return err
		}
		v, err := float32s(r.blob)
		if err == nil && int64(len(v)) != r.n {
			err = fmt.Errorf("%d advantages for %d tokens", len(v), r.n)
		}
		if err != nil {
			c.add("credits", r.id, false, "%v", err)
		}
	}
	return nil
}
