package store

// checkRules are the invariants between tables. Those that a single row can break by itself are
// constraints of the schema; they are repeated here because a tool can switch constraints off.
var checkRules = []rule{
	{"runs", false, `SELECT r.id, 'its panel has ' || n.tasks || ' tasks, the run ' || n.groups || ' groups in ' || n.rounds || ' rounds'
		FROM runs r JOIN (SELECT r.id, (SELECT count(*) FROM tasks t WHERE t.panel_id = r.panel_id) AS tasks,
			(SELECT count(*) FROM groups g WHERE g.run_id = r.id) AS groups,
			(SELECT coalesce(max(round), 0) + 1 FROM groups g WHERE g.run_id = r.id) AS rounds FROM runs r) n ON n.id = r.id
		WHERE n.tasks * n.rounds <> n.groups OR n.tasks = 0`},
	{"runs", true, `SELECT r.id, 'the run is done, ' || count(*) || ' of its episodes are open' FROM runs r JOIN episodes e ON e.run_id = r.id
		WHERE r.state = 'done' AND e.status IN ('pending', 'running') GROUP BY r.id`},
	{"runs", false, `SELECT id, 'state ' || quote(state) || ' is unknown' FROM runs WHERE state NOT IN ('created', 'running', 'interrupted', 'done')`},
	{"groups", false, `SELECT g.id, 'group ' || g.idx || ' has task ' || t.idx || ' of panel ' || t.panel_id FROM groups g JOIN tasks t ON t.id = g.task_id
		JOIN runs r ON r.id = g.run_id WHERE t.panel_id <> r.panel_id
		OR g.idx <> t.idx + g.round * (SELECT count(*) FROM tasks n WHERE n.panel_id = t.panel_id)`},
	{"groups", false, `SELECT g.id, 'it holds ' || count(e.id) || ' episodes, the group size is ' || r.group_size
		FROM groups g JOIN runs r ON r.id = g.run_id LEFT JOIN episodes e ON e.group_id = g.id
		GROUP BY g.id HAVING count(e.id) + (SELECT count(*) FROM unused u WHERE u.group_id = g.id) <> r.group_size OR max(e.sample) >= r.group_size`},
	{"episodes", true, `SELECT e.id, 'it says run ' || e.run_id || ', its group says run ' || g.run_id FROM episodes e JOIN groups g ON g.id = e.group_id
		WHERE g.run_id <> e.run_id`},
	{"episodes", false, `SELECT id, 'status ' || quote(status) || ' is unknown' FROM episodes WHERE status NOT IN ('pending', 'running', 'done', 'failed')`},
	{"episodes", false, `SELECT id, 'it is done and has no complete outcome' FROM episodes WHERE status = 'done'
		AND (stop IS NULL OR won IS NULL OR reward IS NULL OR score IS NULL OR steps IS NULL OR invalid IS NULL)`},
	{"episodes", false, `SELECT id, 'it is ' || status || ' and has an outcome' FROM episodes WHERE status <> 'done'
		AND (stop IS NOT NULL OR won IS NOT NULL OR reward IS NOT NULL OR score IS NOT NULL OR steps IS NOT NULL OR invalid IS NOT NULL)`},
	{"episodes", true, `SELECT id, 'it failed and has no failure' FROM episodes WHERE status = 'failed' AND failure_kind IS NULL`},
	{"episodes", true, `SELECT id, 'it is ' || status || ' and has a failure' FROM episodes WHERE status <> 'failed' AND failure_kind IS NOT NULL`},
	{"episodes", true, `SELECT e.id, 'it is ' || e.status || ', the attempt that closed it is ' || coalesce(a.state, 'absent')
		FROM episodes e LEFT JOIN attempts a ON a.id = e.attempt_id AND a.episode_id = e.id
		WHERE e.status IN ('done', 'failed') AND a.state IS NOT e.status`},
	{"episodes", true, `SELECT id, 'it is ' || status || ' and names an attempt that closed it' FROM episodes
		WHERE status IN ('pending', 'running') AND attempt_id IS NOT NULL`},
	{"episodes", true, `SELECT e.id, 'it is ' || e.status || ' with ' || count(*) || ' attempts done' FROM episodes e JOIN attempts a ON a.episode_id = e.id
		WHERE a.state = 'done' GROUP BY e.id HAVING e.status <> 'done' OR count(*) > 1`},
	{"episodes", true, `SELECT e.id, 'it is ' || e.status || ' and attempt ' || a.number || ' is running' FROM episodes e JOIN attempts a ON a.episode_id = e.id
		WHERE a.state = 'running' AND e.status <> 'running'`},
	{"episodes", true, `SELECT e.id, 'it is running and was never attempted' FROM episodes e WHERE e.status = 'running'
		AND NOT EXISTS (SELECT 1 FROM attempts a WHERE a.episode_id = e.id)`},
	{"attempts", false, `SELECT a.id, 'attempt ' || a.number || ' is ' || a.state || ', and another follows' FROM attempts a WHERE a.state <> 'failed'
		AND EXISTS (SELECT 1 FROM attempts b WHERE b.episode_id = a.episode_id AND b.number > a.number)`},
	{"attempts", false, `SELECT max(a.id), 'the numbers go up to ' || max(a.number) || ', there are ' || count(*) || ' attempts of episode ' || a.episode_id
		FROM attempts a GROUP BY a.episode_id HAVING max(a.number) <> count(*) OR min(a.number) <> 1`},
	{"attempts", false, `SELECT id, 'it failed and has no failure' FROM attempts WHERE state = 'failed' AND failure_kind IS NULL`},
	{"attempts", true, `SELECT id, 'it is ' || state || ' and has a failure' FROM attempts WHERE state <> 'failed' AND failure_kind IS NOT NULL`},
	{"attempts", true, `SELECT id, 'it is ' || state || CASE WHEN finished_ms IS NULL THEN ' without' ELSE ' with' END || ' a time at which it finished'
		FROM attempts WHERE (state = 'running') <> (finished_ms IS NULL)`},
	{"events", false, `SELECT v.id, 'it is of run ' || v.run_id || ', its episode of run ' || e.run_id FROM events v JOIN episodes e ON e.id = v.episode_id
		WHERE e.run_id <> v.run_id`},
}
