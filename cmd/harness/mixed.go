package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/hindsightrl/harness"
	"github.com/hindsightrl/harness/envs/alfworld"
	"github.com/hindsightrl/harness/envs/webshop"
)

// mixedName is what --env takes for all environments of many turns at once.
const mixedName = "all"

// mixedParts are those. Questions are another kind of run: one turn, and rewards that a vote may replace.
var mixedParts = []string{alfworld.Name, webshop.Name}

// mixedSuite is several environments as one: its tasks are those of all, and an environment is opened
// by the task that it is reset to.
type mixedSuite struct{ parts []harness.Suite }

var _ harness.Suite = (*mixedSuite)(nil)

// Name is "all".
func (m *mixedSuite) Name() string { return mixedName }

// Tasks lists the parts' tasks one part after the other; every part must have the split.
func (m *mixedSuite) Tasks(ctx context.Context, split string) ([]harness.Task, error) {
	var out []harness.Task
	for _, p := range m.parts {
		tasks, err := p.Tasks(ctx, split)
		if err != nil {
			return nil, err
		}
		out = append(out, tasks...)
	}
	return out, nil
}

// NewEnv opens an environment that becomes the right one at its first Reset.
func (m *mixedSuite) NewEnv(context.Context) (harness.Env, error) { return &mixedEnv{suite: m}, nil }

// Info is all that the parts have to say.
func (m *mixedSuite) Info() map[string]string {
	out := map[string]string{}
	for _, p := range m.parts {
		if s, ok := p.(interface{ Info() map[string]string }); ok {
			for k, v := range s.Info() {
				out[p.Name()+"_"+k] = v
			}
		}
	}
	return out
}

// Close closes the parts.
func (m *mixedSuite) Close() error {
	var errs []error
	for _, p := range m.parts {
		errs = append(errs, closeSuite(p))
	}
	return errors.Join(errs...)
}

// suitesOf maps environment names to suites, as episodes look them up.
func suitesOf(suite harness.Suite) map[string]harness.Suite {
	m, ok := suite.(*mixedSuite)
	if !ok {
		return map[string]harness.Suite{suite.Name(): suite}
	}
	out := map[string]harness.Suite{}
	for _, p := range m.parts {
		out[p.Name()] = p
	}
	return out
}

// openMixed opens the mixed environments on their embedded data.
func (s *envSource) openMixed(ctx context.Context) (harness.Suite, error) {
	if s.data != "" || s.split != "" {
		return nil, hintUsage(errors.New("--data and --split belong to one environment, not to all"), "name it with --env")
	}
	m := &mixedSuite{}
	for _, name := range mixedParts {
		one := *s
		one.env = name
		suite, err := one.open(ctx)
		if err != nil {
			return nil, errors.Join(err, m.Close())
		}
		m.parts = append(m.parts, suite)
	}
	return m, nil
}

// mixedPanel is the default panels of all environments, one after the other.
func (s *envSource) mixedPanel(ctx context.Context, m *mixedSuite) (harness.Panel, error) {
	var names []string
	var out harness.Panel
	for _, p := range m.parts {
		one := *s
		one.env = p.Name()
		panel, err := one.panel(ctx, p)
		if err != nil {
			return harness.Panel{}, err
		}
		names = append(names, panel.Name)
		out.Tasks = append(out.Tasks, panel.Tasks...)
	}
	out.Name = strings.Join(names, "+")
	return out, nil
}

// mixedEnv is an environment of the last task's kind.
type mixedEnv struct {
	suite *mixedSuite
	name  string
	env   harness.Env
}

var errNotReset = errors.New("no episode is under way: call Reset first")

// Reset opens the task's environment, unless it is open already, and resets it.
func (m *mixedEnv) Reset(ctx context.Context, task harness.Task) (harness.Observation, error) {
	if m.env == nil || m.name != task.Env {
		p, ok := suitesOf(m.suite)[task.Env]
		if !ok {
			return harness.Observation{}, harness.FailFinal(harness.FailEnv, "reset", fmt.Errorf("no environment %q", task.Env))
		}
		if err := m.Close(); err != nil {
			return harness.Observation{}, err
		}
		env, err := p.NewEnv(ctx)
		if err != nil {
			return harness.Observation{}, err
		}
		m.name, m.env = task.Env, env
	}
	return m.env.Reset(ctx, task)
}

// Step acts in the environment.
func (m *mixedEnv) Step(ctx context.Context, action string) (harness.Transition, error) {
	if m.env == nil {
		return harness.Transition{}, errNotReset
	}
	return m.env.Step(ctx, action)
}

// Close closes the environment.
func (m *mixedEnv) Close() error {
	if m.env == nil {
		return nil
	}
	env := m.env
	m.env = nil
	return env.Close()
}

// Advise asks the environment's expert.
func (m *mixedEnv) Advise(ctx context.Context) (string, error) {
	if m.env == nil {
		return "", errNotReset
	}
	expert, ok := m.env.(harness.Advisor)
	if !ok {
		return "", fmt.Errorf("environment %s has no expert", m.name)
	}
	return expert.Advise(ctx)
}

// Snapshot copies the environment's state.
func (m *mixedEnv) Snapshot() (harness.Snapshot, error) {
	if m.env == nil {
		return nil, errNotReset
	}
	s, ok := m.env.(harness.Snapshotter)
	if !ok {
		return nil, fmt.Errorf("environment %s has no snapshots", m.name)
	}
	return s.Snapshot()
}

// Restore puts a state of the same task back.
func (m *mixedEnv) Restore(snap harness.Snapshot) error {
	if m.env == nil {
		return errNotReset
	}
	s, ok := m.env.(harness.Snapshotter)
	if !ok {
		return fmt.Errorf("environment %s has no snapshots", m.name)
	}
	return s.Restore(snap)
}
