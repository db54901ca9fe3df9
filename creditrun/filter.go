package creditrun

import (
	"fmt"
	"slices"

	"github.com/hindsightrl/harness/credit"
)

// FilterMetric says by which number of its episodes a group is judged to carry a signal. The names are
// verl's.
type FilterMetric string

// The metrics.
const (
	FilterReward FilterMetric = "seq_reward"       // the episode's reward, from the configured source
	FilterFinal  FilterMetric = "seq_final_reward" // what the estimator compares: the reward less the row's invalid-action penalty
	FilterWon    FilterMetric = "acc"              // whether the environment says that the task is solved
	FilterScore  FilterMetric = "score"            // the environment's score, in [0, 1]
)

// FilterConfig is DAPO's dynamic sampling: groups whose episodes all have the same number are left out of
// the batch, before anything is computed over it.
//
// Sources: arXiv 2503.14476 eq. 11; verl, recipe/dapo and algorithm.filter_groups.
type FilterConfig struct {
	Enable      bool         `json:"enable"`
	Metric      FilterMetric `json:"metric"`
	KeepSingles bool         `json:"keep_singles"` // a group of one episode stays, as in verl; it keeps its raw score
}

// DefaultFilter leaves nothing out; switched on, it judges by rewards.
func DefaultFilter() FilterConfig {
	return FilterConfig{Metric: FilterReward, KeepSingles: true}
}

// Validate reports an unknown metric (credit.ErrConfig).
func (c FilterConfig) Validate() error {
	known := []FilterMetric{FilterReward, FilterFinal, FilterWon, FilterScore}
	if c.Enable && !slices.Contains(known, c.Metric) {
		return fmt.Errorf("filter_groups.metric is %q, want one of %q: %w", c.Metric, known, credit.ErrConfig)
	}
	return nil
}

// Judge says of each group whether the configuration's filter keeps it, in order of first appearance;
// nothing where the filter is off.
func Judge(steps []Step, cfg Config) ([]credit.Verdict, error) {
	if !cfg.Filter.Enable {
		return nil, nil
	}
	if err := cfg.Validate(); err != nil {
		return nil, fmt.Errorf("filter groups: %w", err)
	}
	steps, _, err := rewarded(steps, cfg.Reward)
	if err != nil {
		return nil, fmt.Errorf("filter groups: %w", err)
	}
	return judge(steps, cfg)
}

// judge is Judge once the rewards are in place.
func judge(steps []Step, cfg Config) ([]credit.Verdict, error) {
	values := make([]float64, len(steps))
	for i := range steps {
		s := &steps[i]
		switch cfg.Filter.Metric {
		case FilterFinal:
			values[i] = s.Return
			if !s.Valid {
				values[i] -= cfg.Estimator.InvalidPenalty
			}
		case FilterWon:
			if s.Won {
				values[i] = 1
			}
		case FilterScore:
			values[i] = s.Task
		default:
			values[i] = s.Return
		}
	}
	verdicts, err := credit.DynamicSamplingOf(batch(steps), values, cfg.Filter.KeepSingles)
	if err != nil {
		return nil, fmt.Errorf("filter groups by %s: %w", cfg.Filter.Metric, err)
	}
	return verdicts, nil
}

// filtered returns the steps of the groups that the filter keeps, and its verdicts on the others.
func filtered(steps []Step, cfg Config) (kept []Step, dropped []credit.Verdict, err error) {
	if !cfg.Filter.Enable {
		return steps, nil, nil
	}
	verdicts, err := judge(steps, cfg)
	if err != nil {
		return nil, nil, err
	}
	gone := map[int]bool{}
	for _, v := range verdicts {
		if !v.Keep() {
			dropped, gone[v.Group] = append(dropped, v), true
		}
	}
	if len(dropped) == len(verdicts) {
		return nil, nil, fmt.Errorf("filter groups by %s: %w: %s", cfg.Filter.Metric, ErrNoSignal, dropped[0])
	}
	for i := range steps {
		if !gone[steps[i].Group] {
			kept = append(kept, steps[i])
		}
	}
	return kept, dropped, nil
}

// DropReason is the line that is recorded beside a group that the filter leaves out.
func DropReason(v credit.Verdict, cfg Config) string {
	return fmt.Sprintf("filter_groups by %s: %s", cfg.Filter.Metric, v)
}
