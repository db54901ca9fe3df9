package importer

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/hindsightrl/harness"
)

// verifiersFile is the artifact with what of a record has no place.
const verifiersFile = "verifiers.json"

// verifiersLine reads a line of traces.jsonl (verifiers 0.2 and later: an episode with its traces, or a trace
// alone) or of results.jsonl (before: a rollout).
// Source: verifiers 0.4.0 v1/episode.py, v1/trace.py, v1/graph.py; 0.1.14 types.py, utils/save_utils.py.
func (r *Reader) verifiersLine(name string, line int, raw []byte, each func(*Episode) error) error {
	var err error
	if !json.Valid(raw) {
		var v any
		return record(name, line, syntax(json.Unmarshal(raw, &v)))
	}
	f, err := object(raw)
	if err != nil {
		return record(name, line, err)
	}
	source := fmt.Sprintf("%s:%d", name, line)
	var eps []*Episode
	switch {
	case f["traces"] != nil:
		eps, err = r.verifiersEpisode(f)
	case f["nodes"] != nil:
		var ep *Episode
		if ep, err = r.trace(f, origin{env: r.env(FormatVerifiers)}); ep != nil {
			eps = append(eps, ep)
		}
	case f["completion"] != nil || f["example_id"] != nil:
		var ep *Episode
		ep, err = r.rollout(f)
		eps = append(eps, ep)
	default:
		err = errors.New("neither an episode (traces), nor a trace (nodes), nor a rollout (completion) of verifiers")
	}
	if err != nil {
		return record(name, line, err)
	}
	for _, ep := range eps {
		ep.Source = source
		if err := each(ep); err != nil {
			return err
		}
	}
	return nil
}

func (r *Reader) env(fallback string) string {
	if r.opt.Env != "" {
		return r.opt.Env
	}
	return fallback
}

// origin is what an episode says about all its traces.
type origin struct {
	env     string
	group   string // of the trainer; "" = grouped by task
	version *int32 // policy version of all tokens; nil = not said, or more than one
	rest    fields // of the episode; nil for a trace alone
}

// verifiersEpisode reads an episode: each trace of an agent that is trained becomes an episode of the ledger.
func (r *Reader) verifiersEpisode(f fields) ([]*Episode, error) {
	var traces []json.RawMessage
	if _, err := f.take("traces", &traces); err != nil {
		return nil, err
	}
	o := origin{env: r.env(FormatVerifiers), rest: f}
	var env struct{ ID string }
	if given, err := f.peek("env", &env); err != nil {
		return nil, err
	} else if given && env.ID != "" && r.opt.Env == "" {
		o.env = env.ID
	}
	var group struct{ ID string }
	if _, err := f.peek("group", &group); err != nil {
		return nil, err
	}
	o.group = group.ID
	var run struct {
		Work struct{ Policy *struct{ Start, End int32 } }
	}
	if _, err := f.peek("run", &run); err != nil {
		return nil, err
	}
	if p := run.Work.Policy; p != nil && p.Start == p.End {
		o.version = &p.Start
	}
	if len(traces) == 0 {
		ep, err := r.noTrace(f, o)
		return []*Episode{ep}, err
	}
	var out []*Episode
	for i, raw := range traces {
		t, err := object(raw)
		if err == nil {
			var ep *Episode
			if ep, err = r.trace(t, o); ep != nil {
				out = append(out, ep)
			}
		}
		if err != nil {
			return nil, at(fmt.Sprintf("traces[%d]", i), err)
		}
	}
	return out, nil
}

// noTrace is an episode that failed before an agent said anything.
func (r *Reader) noTrace(f fields, o origin) (*Episode, error) {
	task, err := traceTask(f, o, "")
	if err != nil {
		return nil, err
	}
	fail, err := r.failure(f)
	if err != nil {
		return nil, err
	}
	if fail == nil {
		return nil, errors.New("an episode without traces, and without an error that says why")
	}
	f.prune()
	rest, err := artifact(verifiersFile, map[string]fields{"episode": f}, false)
	return &Episode{Task: task, Failure: fail, Rest: rest}, err
}

// traceTask reads the task of an episode or a trace. Rollouts of the same task, agent and trainer's group
// belong together.
func traceTask(f fields, o origin, agent string) (harness.Task, error) {
	var t struct {
		Type string
		Key  string
		Hash string
		Data struct {
			Idx  *int
			ID   string
			Name string
		}
	}
	if given, err := f.peek("task", &t); err != nil || !given {
		if err == nil {
			err = at("task", errors.New("missing"))
		}
		return harness.Task{}, err
	}
	id := firstOf(t.Data.ID, t.Key, t.Hash)
	if id == "" && t.Data.Idx != nil {
		id = fmt.Sprint(*t.Data.Idx)
	}
	if id = firstOf(id, t.Data.Name); id == "" {
		return harness.Task{}, at("task", errors.New("it has no key, hash, id or index to tell it by"))
	}
	if agent != "" && agent != "agent" {
		id += "@" + agent
	}
	if o.group != "" {
		id += "@" + o.group
	}
	return harness.Task{Env: o.env, ID: id, Type: t.Type, Hash: t.Hash}, nil
}

func firstOf(all ...string) string {
	for _, s := range all {
		if s != "" {
			return s
		}
	}
	return ""
}

// failure reads why an episode or a trace has no outcome; nil where it has none to give.
func (r *Reader) failure(f fields) (*harness.Failure, error) {
	var errs []struct{ Type, Message string }
	if _, err := f.peek("errors", &errs); err != nil {
		return nil, err
	}
	if len(errs) == 0 {
		return nil, nil
	}
	last := errs[len(errs)-1]
	return &harness.Failure{Kind: failureKind(last.Type), Op: last.Type, Err: errors.New(firstOf(last.Message, "no message"))}, nil
}

// failureKind says whose fault an error of verifiers is (v1/errors.py).
func failureKind(name string) harness.FailureKind {
	switch name {
	case "ProviderError", "InterceptionError", "TunnelError", "ModelError", "EmptyModelResponseError":
		return harness.FailServer
	case "HarnessError":
		return harness.FailAgent
	case "TimeoutError":
		return harness.FailBudget
	}
	return harness.FailEnv
}
