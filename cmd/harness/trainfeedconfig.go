package main

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"reflect"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"gopkg.in/yaml.v3"

	"github.com/hindsightrl/harness/agent"
	"github.com/hindsightrl/harness/credit"
	"github.com/hindsightrl/harness/creditrun"
	"github.com/hindsightrl/harness/envs/swebench"
	"github.com/hindsightrl/harness/feed"
	"github.com/hindsightrl/harness/internal/errext"
	"github.com/hindsightrl/harness/teacher"
)

//go:embed trainfeed.yaml
var trainExample string

// trainConfig is the file of harness train-feed as far as it is no other command's.
type trainConfig struct {
	Ledger  string      `json:"ledger"`
	Run     string      `json:"run"`
	Feed    string      `json:"feed"`
	Rounds  int         `json:"rounds"`
	Pace    trainPace   `json:"pace"`
	Reload  trainReload `json:"reload"`
	Metrics string      `json:"metrics"`
	Traces  string      `json:"traces"`
	Log     trainLog    `json:"log"`
}

// trainPace bounds how far collecting runs ahead.
type trainPace struct {
	PerUpdate    int `json:"groups_per_update"` // 0 = versions hold nothing back
	MaxStaleness int `json:"max_staleness"`
	MaxBacklog   int `json:"max_backlog"`         // 0 = any
	DropStaler   int `json:"drop_staler"`         // −1 = never
	MaxBatches   int `json:"max_num_gen_batches"` // 0 = any; read where credit.filter_groups is on
}

// trainReload says how versions get into the policy server.
type trainReload struct {
	Enabled  bool   `json:"enabled"`
	InFlight string `json:"in_flight"`
	Weights  string `json:"weights"`
	Info     string `json:"update_info"`
}

type trainLog struct {
	Level  string `json:"level"`
	Format string `json:"format"`
}

// What becomes of calls under way when the policy server gets other weights.
const (
	inFlightFinish = "finish"
	inFlightKeep   = "keep"
	inFlightAbort  = "abort"
)

func defaultTrainConfig() trainConfig {
	return trainConfig{
		Ledger: defaultDB, Run: "train", Feed: "default",
		Pace:   trainPace{MaxStaleness: 1, DropStaler: -1},
		Reload: trainReload{InFlight: inFlightFinish},
		Log:    trainLog{Level: "info", Format: "text"},
	}
}

// trainPlan is the whole file, read.
type trainPlan struct {
	trainConfig
	collect    *rolloutCommand
	collectCmd *cobra.Command
	score      *scoreCommand // nil: none
	options    teacher.Options
	credit     creditrun.Config
	serve      *serveCommand
	serveCmd   *cobra.Command
}

// Flags that mean nothing in a section, with what to write instead.
var (
	notInCollect = map[string]string{
		"db": "the ledger is named at the top: ledger", "name": "the run is named at the top: run", "resume": "a run that is there is gone on with: run",
		"retry-failed": "harness rollout --resume RUN --retry-failed", "json": "", "quiet": "set log.level to warn",
	}
	notInScore = map[string]string{
		"db": "the ledger is named at the top: ledger", "run": "the run is named at the top: run", "dry-run": "harness score --dry-run", "show": "", "price": "",
		"follow": "groups are scored as they finish", "interval": "groups are scored as they finish", "json": "", "quiet": "set log.level to warn",
		"update": "λ follows the versions that the trainer posts", "lambda": "credit.serl.lambda", "decay-updates": "credit.serl.decay_steps", "sync-every": "credit.serl.sync_every",
	}
	notInServe = map[string]string{
		"db": "the ledger is named at the top: ledger", "run": "the run is named at the top: run", "feed": "the feed is named at the top: feed",
		"credit": "the feed hands over the credit of this run", "score": "the feed hands over the scores that credit read", "drain": "with rounds, the feed ends when all is delivered",
		"log-level": "set log.level", "log-format": "set log.format",
	}
)

// readTrainPlan reads a file for the commands whose flags its sections hold.
func readTrainPlan(st stops, g *globals, path string) (*trainPlan, error) {
	raw, err := os.ReadFile(path)
	if err != nil {
		return nil, errext.WithHint(fmt.Errorf("read configuration: %w", err), "harness train-feed --example > "+path)
	}
	p, err := parseTrainPlan(st, g, raw)
	if err != nil {
		return nil, errext.WithHint(fmt.Errorf("read configuration %q: %w", path, err), hintOr(err, "harness train-feed --example prints all keys with what they mean"))
	}
	return p, nil
}

func parseTrainPlan(st stops, g *globals, raw []byte) (*trainPlan, error) {
	p := &trainPlan{trainConfig: defaultTrainConfig()}
	root, err := oneMapping(raw)
	if err != nil {
		return nil, err
	}
	own, sections, err := splitSections(root)
	if err != nil {
		return nil, err
	}
	if err := decodeMapping("", own, reflect.ValueOf(&p.trainConfig).Elem()); err != nil {
		return nil, err
	}
	p.collect, p.collectCmd = &rolloutCommand{st: st, g: g}, &cobra.Command{Use: "collect"}
	p.collect.flags(p.collectCmd)
	if err := setFlags(p.collectCmd.Flags(), "collect", sections["collect"], notInCollect); err != nil {
		return nil, err
	}
	if err := p.readScore(st, g, sections["score"]); err != nil {
		return nil, err
	}
	if err := p.readCredit(sections["credit"]); err != nil {
		return nil, err
	}
	p.serve, p.serveCmd = &serveCommand{st: st, g: g}, &cobra.Command{Use: "serve"}
	p.serve.flags(p.serveCmd)
	if err := setFlags(p.serveCmd.Flags(), "serve", sections["serve"], notInServe); err != nil {
		return nil, err
	}
	p.collect.db, p.collect.name, p.collect.quiet = p.Ledger, p.Run, true
	p.serve.rows.db, p.serve.rows.run, p.serve.name = p.Ledger, p.Run, p.Feed
	return p, p.validate()
}

// oneMapping parses one YAML document; an empty one is a mapping without keys.
func oneMapping(raw []byte) (*yaml.Node, error) {
	var doc yaml.Node
	dec := yaml.NewDecoder(bytes.NewReader(raw))
	if err := dec.Decode(&doc); err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	if err := dec.Decode(new(yaml.Node)); !errors.Is(err, io.EOF) {
		return nil, errors.New("want one YAML document")
	}
	if len(doc.Content) == 0 {
		return &yaml.Node{Kind: yaml.MappingNode}, nil
	}
	if doc.Content[0].Kind != yaml.MappingNode {
		return nil, fmt.Errorf("line %d: want keys with values", doc.Content[0].Line)
	}
	return doc.Content[0], nil
}

// splitSections takes the sections that are other commands' out of the file.
func splitSections(root *yaml.Node) (own *yaml.Node, sections map[string]*yaml.Node, err error) {
	names := []string{"collect", "score", "credit", "serve"}
	all := slices.Clone(names)
	for i, t := 0, reflect.TypeFor[trainConfig](); i < t.NumField(); i++ {
		all = append(all, t.Field(i).Tag.Get("json"))
	}
	own, sections = &yaml.Node{Kind: yaml.MappingNode, Line: root.Line}, map[string]*yaml.Node{}
	for i := 0; i+1 < len(root.Content); i += 2 {
		key, value := root.Content[i], root.Content[i+1]
		switch {
		case !slices.Contains(all, key.Value):
			return nil, nil, unknownName(key, "", all)
		case !slices.Contains(names, key.Value):
			own.Content = append(own.Content, key, value)
		case sections[key.Value] != nil:
			return nil, nil, fmt.Errorf("line %d: key %q stands here twice", key.Line, key.Value)
		default:
			sections[key.Value] = value
		}
	}
	return own, sections, nil
}

func unknownName(key *yaml.Node, path string, names []string) error {
	err := fmt.Errorf("line %d: %sunknown key %q", key.Line, pathColon(path), key.Value)
	if near := nearest(key.Value, slices.Clone(names)); near != "" {
		return errext.WithHint(err, fmt.Sprintf("did you mean %q?", near))
	}
	return errext.WithHint(err, "the keys here are "+strings.Join(names, ", "))
}

// setFlags sets a command's flags from a section, as if they had been given on its command line.
func setFlags(flags *pflag.FlagSet, path string, n *yaml.Node, not map[string]string) error {
	if n == nil {
		return nil
	}
	if n.Kind != yaml.MappingNode {
		return fmt.Errorf("line %d: %s: want keys with values", n.Line, path)
	}
	var names []string
	flags.VisitAll(func(f *pflag.Flag) {
		if _, no := not[f.Name]; !no {
			names = append(names, f.Name)
		}
	})
	seen := map[string]bool{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		if instead, no := not[key.Value]; no {
			return errext.WithHint(fmt.Errorf("line %d: %s: %q has no place here", key.Line, path, key.Value), instead)
		}
		if !slices.Contains(names, key.Value) {
			return unknownName(key, path, names)
		}
		if seen[key.Value] {
			return fmt.Errorf("line %d: %s: key %q stands here twice", key.Line, path, key.Value)
		}
		seen[key.Value] = true
		text, err := flagText(value)
		if err == nil {
			err = flags.Set(key.Value, text)
		}
		if err != nil {
			return fmt.Errorf("line %d: %s.%s: %w", value.Line, path, key.Value, err)
		}
		f := flags.Lookup(key.Value)
		if f.Annotations == nil {
			f.Annotations = map[string][]string{}
		}
		f.Annotations[originKey] = []string{originFlag}
	}
	return nil
}

func flagText(n *yaml.Node) (string, error) {
	switch {
	case n.Kind == yaml.ScalarNode && n.Tag != "!!null":
		return n.Value, nil
	case n.Kind == yaml.SequenceNode:
		parts := make([]string, len(n.Content))
		for i, c := range n.Content {
			if c.Kind != yaml.ScalarNode {
				return "", errors.New("want a value or a list of values")
			}
			parts[i] = c.Value
		}
		return strings.Join(parts, ","), nil
	}
	return "", errors.New("want a value or a list of values")
}

func (p *trainPlan) readScore(st stops, g *globals, n *yaml.Node) error {
	if n == nil || n.Kind == yaml.ScalarNode && n.Value == passNone {
		return nil
	}
	c, cmd := &scoreCommand{st: st, g: g}, &cobra.Command{Use: "score"}
	c.flags(cmd)
	if err := setFlags(cmd.Flags(), "score", n, notInScore); err != nil {
		return err
	}
	if err := c.validate(); err != nil {
		return fmt.Errorf("score: %w", err)
	}
	modes, err := teacher.ParseModes(c.modes)
	if err != nil {
		return fmt.Errorf("score.mode: %w", err)
	}
	if len(modes) != 1 {
		return errext.WithHint(fmt.Errorf("score.mode: %d modes, and credit reads one", len(modes)), "name one, such as immediate_feedback")
	}
	if modes[0].Judged() {
		return errext.WithHint(fmt.Errorf("score.mode: %s needs a judge, which reads whole runs", modes[0]), "choose a mode without a judge")
	}
	p.score = c
	p.options, err = c.options(modes)
	return err
}

// readCredit decodes the keys of a credit configuration and refuses what cannot be done group by group.
func (p *trainPlan) readCredit(n *yaml.Node) error {
	scored := p.score != nil
	p.credit = creditrun.DefaultConfig(credit.GRPO, scored)
	if n != nil {
		p.credit = creditrun.DefaultConfig(estimatorName(n), scored)
		if err := decodeNode("credit", n, reflect.ValueOf(&p.credit).Elem()); err != nil {
			return err
		}
	}
	c := p.credit
	if err := c.Validate(); err != nil {
		return fmt.Errorf("credit: %w", err)
	}
	whole := func(what string) error {
		return errext.WithHint(fmt.Errorf("credit: %s looks at a whole run, and here each group gets credit by itself", what),
			"choose another, or collect with harness rollout and run harness credit and harness serve")
	}
	switch {
	case c.Estimator.Name == credit.ReinforcePP:
		return whole("estimator " + string(c.Estimator.Name))
	case c.Response == credit.ResponseAEM && c.AEM.Scope == credit.EntropyBatch:
		return whole("aem.scope " + string(c.AEM.Scope))
	case c.Reward.Source != "" && c.Reward.Source != creditrun.RewardEnvironment:
		return whole("reward.source " + string(c.Reward.Source))
	case c.Token != credit.TokenNone && !scored:
		return errext.WithHint(fmt.Errorf("credit: token %s weighs by a teacher, and score is none", c.Token), "name a teacher under score, or set token: none")
	case c.Update != 0:
		return errext.WithHint(errors.New("credit: update follows the versions that the trainer posts"), "leave it out")
	}
	return nil
}

func (p *trainPlan) validate() error {
	if err := p.collect.validate(); err != nil {
		return fmt.Errorf("collect: %w", err)
	}
	if p.collect.source.env == swebench.Name {
		if _, err := p.collect.source.repair.config(); err != nil {
			return fmt.Errorf("collect: %w", err)
		}
	}
	if p.collect.sampler.name != parallelName {
		return errext.WithHint(fmt.Errorf("collect.sampler: %s needs all groups at once", p.collect.sampler.name), "use "+parallelName)
	}
	if (p.serve.cert == "") != (p.serve.key == "") {
		return errors.New("serve: tls-cert and tls-key belong together")
	}
	if err := p.serve.bounds(); err != nil {
		return fmt.Errorf("serve: %w", err)
	}
	if err := p.Pace.validate(p.credit.Filter.Enable); err != nil {
		return err
	}
	switch {
	case p.Ledger == "" || p.Run == "" || p.Feed == "":
		return errors.New("ledger, run and feed need names")
	case p.Rounds < 0:
		return fmt.Errorf("rounds is %d, want 0 (until stopped) or more", p.Rounds)
	}
	if err := p.Log.check("log.format", "log.level"); err != nil {
		return err
	}
	if u, err := url.Parse(p.Traces); p.Traces != "" && (err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "") {
		return fmt.Errorf("traces is %q, want an address such as http://127.0.0.1:4318", p.Traces)
	}
	return p.Reload.validate(p.collect.policy.spec)
}

func (r trainReload) validate(policy string) error {
	if !slices.Contains([]string{inFlightFinish, inFlightKeep, inFlightAbort}, r.InFlight) {
		return fmt.Errorf("reload.in_flight is %q, want finish, keep or abort", r.InFlight)
	}
	if r.Info != "" {
		var info map[string]any
		if err := json.Unmarshal([]byte(r.Info), &info); err != nil {
			return fmt.Errorf("reload.update_info is no JSON object: %w", err)
		}
	}
	if !r.Enabled && (r.Weights != "" || r.Info != "") {
		return errext.WithHint(errors.New("reload: weights are named, and nothing loads them"), "set reload.enabled: true")
	}
	if r.Enabled && !onServer(policy) {
		return errext.WithHint(fmt.Errorf("reload: the policy %s is no server that could be told to load weights", policy), "collect.policy: vllm:URL or sglang:URL")
	}
	return nil
}

func (t trainPace) validate(filtered bool) error {
	switch {
	case t.PerUpdate < 0 || t.MaxStaleness < 0 || t.MaxBacklog < 0 || t.DropStaler < -1:
		return errors.New("pace: groups_per_update, max_staleness and max_backlog cannot be negative, drop_staler is -1 or more")
	case t.MaxBatches < 0:
		return fmt.Errorf("pace.max_num_gen_batches is %d, want 0 (any number) or more", t.MaxBatches)
	case t.MaxBatches > 0 && (t.PerUpdate == 0 || !filtered):
		return errext.WithHint(errors.New("pace.max_num_gen_batches counts batches of groups_per_update groups that credit.filter_groups leaves short, and one of the two is off"),
			"set pace.groups_per_update and credit.filter_groups: {enable: true}, or leave max_num_gen_batches out")
	}
	return nil
}

// pace is the bound that versions set; false = none.
func (t trainPace) pace() (feed.Pace, bool) {
	return feed.Pace{PerUpdate: t.PerUpdate, MaxStaleness: t.MaxStaleness}, t.PerUpdate > 0
}

// agentConfig is what the collect section says about episodes.
func (c *rolloutCommand) agentConfig(templates *agent.Templates) agent.Config {
	return agent.Config{
		Templates: templates, Workers: c.workers, MaxSteps: c.maxSteps, History: historyOf(c.history), Conversation: c.converse,
		Budget: c.budget, Log: c.g.log, Now: c.g.now, Formats: c.source.repair.formats(),
	}
}
