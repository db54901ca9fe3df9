package store

// treeRules are the invariants of forks and of the steps that leaves share with their ancestors.
var treeRules = []rule{
	{"forks", false, `SELECT f.attempt_id, 'its parent is attempt ' || f.parent_id || ', which is ' || p.state || CASE WHEN pe.group_id <> e.group_id THEN ' and of another group' ELSE '' END
		FROM forks f JOIN attempts a ON a.id = f.attempt_id JOIN attempts p ON p.id = f.parent_id
		JOIN episodes e ON e.id = a.episode_id JOIN episodes pe ON pe.id = p.episode_id
		WHERE p.state <> 'done' OR pe.group_id <> e.group_id OR f.parent_id = f.attempt_id`},
	{"forks", false, `SELECT f.attempt_id, 'it forks at step ' || f.step || ', token ' || f.token || ', which attempt ' || f.parent_id || ' does not have'
		FROM forks f LEFT JOIN steps p ON p.attempt_id = f.parent_id AND p.idx = f.step LEFT JOIN tokens t ON t.step_id = coalesce(p.shared_id, p.id)
		WHERE p.id IS NULL OR f.token > 0 AND f.token >= coalesce(t.n, 0)`},
	{"forks", false, `SELECT f.attempt_id, 'it forks where attempt ' || f.parent_id || ' shares with its own parent'
		FROM forks f JOIN forks p ON p.attempt_id = f.parent_id WHERE (f.step, f.token) <= (p.step, p.token)`},
	{"forks", false, `SELECT f.attempt_id, 'it shares ' || count(s.id) || ' steps, the fork is at step ' || f.step
		FROM forks f LEFT JOIN steps s ON s.attempt_id = f.attempt_id AND s.shared_id IS NOT NULL GROUP BY f.attempt_id HAVING count(s.id) <> f.step`},
	{"steps", false, `SELECT s.id, 'it is shared, and ' || CASE WHEN f.attempt_id IS NULL THEN 'its attempt has no fork' ELSE 'the parent has another step there' END
		FROM steps s LEFT JOIN forks f ON f.attempt_id = s.attempt_id LEFT JOIN steps p ON p.attempt_id = f.parent_id AND p.idx = s.idx
		WHERE s.shared_id IS NOT NULL AND s.shared_id IS NOT coalesce(p.shared_id, p.id)`},
	{"steps", true, `SELECT s.id, 'it differs from step ' || c.id || ', whose content it shares' FROM steps s JOIN steps c ON c.id = s.shared_id
		WHERE s.valid <> c.valid OR s.reward <> c.reward OR s.score <> c.score OR s.won <> c.won OR s.done <> c.done OR c.shared_id IS NOT NULL`},
	{"steps", true, `SELECT s.id, 'it is shared and has tokens of its own' FROM steps s JOIN tokens t ON t.step_id = s.id WHERE s.shared_id IS NOT NULL`},
	{"unused", false, `SELECT u.sample, 'sample ' || u.sample || ' of group ' || u.group_id || ' is an episode' FROM unused u
		JOIN episodes e ON e.group_id = u.group_id AND e.sample = u.sample`},
}

func (c *checker) trees() error { return c.runRules(treeRules) }
