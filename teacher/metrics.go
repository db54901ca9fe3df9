package teacher

// metricPrefix begins the names of the reference's metrics.
const metricPrefix = "serl/"

// Metrics are the shares of rows with each source, and the mean size of anchor groups, under the
// reference's names. A source that no row used has no entry.
func (b *Batch) Metrics() map[string]float64 {
	n := float64(max(len(b.plans), 1))
	var available, success, feedback, next, future, anchor, judge, privileged, size, actions float64
	for i := range b.plans {
		p := &b.plans[i]
		available += one(p.n > 0)
		success += one(p.used.Success)
		feedback += one(p.used.Feedback)
		next += one(p.used.Next)
		future += one(p.used.Future)
		judge += one(p.used.Judge)
		privileged += one(p.used.Privileged)
		if p.used.Anchor {
			g := b.x.records[i].anchor
			anchor++
			size += float64(len(g.rows))
			actions += float64(len(b.x.candidatesOf(g)))
		}
	}
	m := map[string]float64{metricPrefix + "context_available_fraction": available / n, metricPrefix + "reprompt_sample_fraction": available / n}
	for name, count := range map[string]float64{
		"success_reference": success, "feedback_reference": feedback, "next_observation_reference": next, "next_state_reference": next,
		"future_reference": future, "anchor_reference": anchor, "traj_judge_reference": judge, "privileged_reference": privileged,
	} {
		if count > 0 {
			m[metricPrefix+name+"_fraction"] = count / n
		}
	}
	if anchor > 0 {
		m[metricPrefix+"anchor_group_size_mean"] = size / anchor
		m[metricPrefix+"anchor_action_count_mean"] = actions / anchor
	}
	return m
}

func one(b bool) float64 {
	if b {
		return 1
	}
	return 0
}
