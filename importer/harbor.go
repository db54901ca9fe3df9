package importer

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/hindsightrl/harness"
)

// HarborResult reads a trial's result.json: task, reward (the one named "reward", or the only one), and the
// exception that ended it.
// Source: Harbor 0.26.0 models/trial/result.py, models/verifier/result.py.
func HarborResult(raw []byte) (Result, error) {
	f, err := object(raw)
	if err != nil {
		return Result{}, fmt.Errorf("no result of Harbor: %w", err)
	}
	var (
		res  Result
		ver  struct{ Rewards map[string]float64 }
		fail *struct {
			Type    string `json:"exception_type"`
			Message string `json:"exception_message"`
		}
	)
	for name, into := range map[string]any{"task_name": &res.Task, "task_checksum": &res.Hash, "verifier_result": &ver, "exception_info": &fail} {
		if _, err := f.peek(name, into); err != nil {
			return Result{}, err
		}
	}
	if res.Task == "" {
		return Result{}, errors.New("no result of Harbor: it has no task_name")
	}
	if v, ok := ver.Rewards["reward"]; ok {
		res.Reward = &v
	} else if len(ver.Rewards) == 1 {
		for _, v := range ver.Rewards {
			res.Reward = &v
		}
	} else if len(ver.Rewards) > 1 {
		return Result{}, fmt.Errorf("%d rewards, and none of them is called reward: name one with --rewards", len(ver.Rewards))
	}
	if res.Reward == nil && fail != nil {
		res.Failure = &harness.Failure{Kind: harborKind(fail.Type), Op: firstOf(fail.Type, "trial"), Err: errors.New(firstOf(fail.Message, "no message"))}
	}
	return res, nil
}

// harborKind says whose fault an exception of a trial is.
func harborKind(name string) harness.FailureKind {
	switch name {
	case "AgentTimeoutError", "VerifierTimeoutError", "EnvironmentStartTimeoutError", "AgentSetupTimeoutError":
		return harness.FailBudget
	case "NonZeroAgentExitCodeError":
		return harness.FailAgent
	}
	return harness.FailEnv
}

// Rewards are rewards by name: of a trajectory (trajectory_id, session_id) or a file.
type Rewards map[string]Result

// ParseRewards reads {"name": 1.0, …}, or {"name": {"reward": 1.0, "task": "…"}, …}.
func ParseRewards(raw []byte) (Rewards, error) {
	var all map[string]json.RawMessage
	if err := json.Unmarshal(raw, &all); err != nil {
		return nil, fmt.Errorf(`rewards are {"name": 1.0, …}: %w`, err)
	}
	out := Rewards{}
	for _, name := range sortedNames(all) {
		var res Result
		if kind(all[name]) != "an object" {
			if err := json.Unmarshal(all[name], &res.Reward); err != nil || res.Reward == nil {
				return nil, fmt.Errorf("reward of %q: %s is no number", name, kind(all[name]))
			}
			out[name] = res
			continue
		}
		f, err := object(all[name])
		if err != nil {
			return nil, fmt.Errorf("reward of %q: %w", name, err)
		}
		given, err := f.take("reward", &res.Reward)
		if err == nil && !given {
			err = at("reward", errors.New("missing"))
		}
		if err == nil {
			_, err = f.take("task", &res.Task)
		}
		if err == nil && len(f) > 0 {
			err = fmt.Errorf("unknown key %q: there are reward and task", f.names()[0])
		}
		if err != nil {
			return nil, fmt.Errorf("reward of %q: %w", name, err)
		}
		out[name] = res
	}
	return out, nil
}
