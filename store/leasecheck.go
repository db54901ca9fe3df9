package store

// leaseRules are the invariants of feeds: who has which groups, and which policy versions were posted.
var leaseRules = []rule{
	{"leases", false, `SELECT id, 'state ' || quote(state) || ' is unknown' FROM leases WHERE state NOT IN ('held', 'acked', 'returned', 'expired')`},
	{"leases", true, `SELECT id, 'it is ' || state || CASE WHEN closed_ms IS NULL THEN ' without' ELSE ' with' END || ' a time at which it was closed'
		FROM leases WHERE (state = 'held') <> (closed_ms IS NULL)`},
	{"leases", false, `SELECT l.id, 'it is ' || l.state || ' and has no group' FROM leases l WHERE l.state IN ('held', 'acked')
		AND NOT EXISTS (SELECT 1 FROM feed_groups f WHERE f.lease_id = l.id)`},
	{"leases", false, `SELECT l.id, 'it is of run ' || f.run_id || ', its credit pass of run ' || p.run_id FROM leases l JOIN feeds f ON f.id = l.feed_id
		JOIN credit_passes p ON p.id = l.credit_id WHERE p.run_id <> f.run_id`},
	{"leases", false, `SELECT l.id, 'it is of run ' || f.run_id || ', its score pass of run ' || p.run_id FROM leases l JOIN feeds f ON f.id = l.feed_id
		JOIN score_passes p ON p.id = l.score_id WHERE p.run_id <> f.run_id`},
	{"feed_groups", true, `SELECT f.group_id, 'feed ' || f.feed_id || ' says that lease ' || l.id || ' has it, and that is ' || l.state
		FROM feed_groups f JOIN leases l ON l.id = f.lease_id WHERE l.state NOT IN ('held', 'acked')`},
	{"feed_groups", false, `SELECT f.group_id, 'it is of feed ' || f.feed_id || ', its lease of feed ' || l.feed_id
		FROM feed_groups f JOIN leases l ON l.id = f.lease_id WHERE l.feed_id <> f.feed_id`},
	{"feed_groups", false, `SELECT f.group_id, 'it is of run ' || g.run_id || ', its feed of run ' || d.run_id
		FROM feed_groups f JOIN groups g ON g.id = f.group_id JOIN feeds d ON d.id = f.feed_id WHERE g.run_id <> d.run_id`},
	// A group whose failed episodes were tried again after it was delivered has more rows now, never fewer.
	{"feed_groups", false, `SELECT f.group_id, 'feed ' || f.feed_id || ' delivered ' || f.rows || ' rows of it, it has ' || n.rows
		FROM feed_groups f JOIN (SELECT g.group_id, g.feed_id, (SELECT count(*) FROM episodes e JOIN steps s ON s.attempt_id = e.attempt_id
			WHERE e.group_id = g.group_id AND e.status = 'done') AS rows FROM feed_groups g) n ON n.group_id = f.group_id AND n.feed_id = f.feed_id
		WHERE f.rows > n.rows OR f.rows < 1`},
	{"feed_groups", false, `SELECT f.group_id, 'feed ' || f.feed_id || ' delivered it under credit pass ' || l.credit_id || ', which has no row of it'
		FROM feed_groups f JOIN leases l ON l.id = f.lease_id WHERE l.credit_id IS NOT NULL AND NOT EXISTS (
			SELECT 1 FROM episodes e JOIN steps s ON s.attempt_id = e.attempt_id JOIN credits c ON c.pass_id = l.credit_id AND c.step_id = s.id
			WHERE e.group_id = f.group_id AND e.status = 'done')`},
	{"feed_dropped", false, `SELECT d.group_id, 'feed ' || d.feed_id || ' gave it up, and lease ' || f.lease_id || ' has it'
		FROM feed_dropped d JOIN feed_groups f ON f.feed_id = d.feed_id AND f.group_id = d.group_id`},
	{"feed_dropped", false, `SELECT d.group_id, 'it is of run ' || g.run_id || ', its feed of run ' || f.run_id
		FROM feed_dropped d JOIN groups g ON g.id = d.group_id JOIN feeds f ON f.id = d.feed_id WHERE g.run_id <> f.run_id`},
	{"policy_versions", false, `SELECT v.id, 'version ' || v.version || ' of run ' || v.run_id || ' was posted after version ' || max(w.version)
		FROM policy_versions v JOIN policy_versions w ON w.run_id = v.run_id AND w.id < v.id GROUP BY v.id HAVING max(w.version) >= v.version`},
}

// leases verifies feeds, leases and policy versions.
func (c *checker) leases() error { return c.runRules(leaseRules) }
