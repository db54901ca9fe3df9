package main

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"

	"github.com/hindsightrl/harness/credit"
	"github.com/hindsightrl/harness/internal/errext"
)

// flagValues are a command's flags as a map.
func flagValues(flags *pflag.FlagSet) map[string]string {
	out := map[string]string{}
	flags.VisitAll(func(f *pflag.Flag) { out[f.Name] = f.Value.String() })
	return out
}

// TestTheExampleSaysTheDefaults: a file with every key of the example is the empty file.
func TestTheExampleSaysTheDefaults(t *testing.T) {
	t.Parallel()
	g := memoryGlobals(nil, nil, nil)
	empty, err := parseTrainPlan(never(t), g, nil)
	if err != nil {
		t.Fatal(err)
	}
	example, err := parseTrainPlan(never(t), g, []byte(trainExample))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(empty.trainConfig, example.trainConfig); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(flagValues(empty.collectCmd.Flags()), flagValues(example.collectCmd.Flags())); diff != "" {
		t.Errorf("collect: %s", diff)
	}
	if diff := cmp.Diff(flagValues(empty.serveCmd.Flags()), flagValues(example.serveCmd.Flags())); diff != "" {
		t.Errorf("serve: %s", diff)
	}
	if diff := cmp.Diff(empty.credit, example.credit); diff != "" || empty.score != nil || example.score != nil {
		t.Errorf("credit: %s", diff)
	}
}

func TestTrainConfigReachesTheOtherCommands(t *testing.T) {
	t.Parallel()
	p, err := parseTrainPlan(never(t), memoryGlobals(nil, nil, nil), []byte(`
ledger: x.db
run: nightly
collect: {policy: "expert:0.2", group: 2, max-steps: 7, max-episode-time: 3m}
score: {mode: anchor_immediate_feedback, teacher: refmodel, max-prompt: 99}
credit: {estimator: gigpo, serl: {lambda: 0.25}}
serve: {ttl: 90s, loss: dapo, tls-cert: c.pem, tls-key: k.pem}
pace: {groups_per_update: 4}
`))
	if err != nil {
		t.Fatal(err)
	}
	if c := p.collect; c.group != 2 || c.maxSteps != 7 || c.policy.spec != "expert:0.2" || c.db != "x.db" || c.name != "nightly" {
		t.Errorf("collect: %+v", c)
	}
	if p.options.MaxPrompt != 99 || len(p.options.Modes) != 1 || p.score.teacher.spec != "refmodel" {
		t.Errorf("score: %+v", p.options)
	}
	if p.credit.Estimator.Name != credit.GiGPO || p.credit.Token != credit.TokenSERL || p.credit.SERL.Lambda != 0.25 {
		t.Errorf("credit: %+v", p.credit)
	}
	if s := p.serve; s.ttl.Seconds() != 90 || s.rows.loss != "dapo" || s.rows.db != "x.db" || s.rows.run != "nightly" || s.cert != "c.pem" {
		t.Errorf("serve: %+v", s)
	}
	if pace, bound := p.Pace.pace(); !bound || pace.PerUpdate != 4 || pace.MaxStaleness != 1 {
		t.Errorf("pace: %+v", p.Pace)
	}
}

// TestTrainConfigNamesMistakes: each with its line, and a way on.
func TestTrainConfigNamesMistakes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ file, want, hint string }{
		{"collcet: {}", `line 1: unknown key "collcet"`, `did you mean "collect"?`},
		{"zzzzzzz: 1", `unknown key "zzzzzzz"`, "the keys here are collect, score, credit, serve, ledger"},
		{"pace:\n  max_stalenes: 2", `line 2: pace: unknown key "max_stalenes"`, `did you mean "max_staleness"?`},
		{"collect:\n  polcy: x", `line 2: collect: unknown key "polcy"`, `did you mean "policy"?`},
		{"collect:\n  group: many", `line 2: collect.group:`, ""},
		{"collect: {group: [1, {a: b}]}", "want a value or a list of values", ""},
		{"collect: {group: 1, group: 2}", "stands here twice", ""},
		{"collect: {}\ncollect: {}", `key "collect" stands here twice`, ""},
		{"collect: [a]", "collect: want keys with values", ""},
		{"collect: {group: 0}", "collect: --group 0", ""},
		{"collect: {env: swebench, prepared: -1}", "collect: --memory-gb, --cpus, --disk-gb, --processes and --prepared cannot be negative", "for the defaults"},
		{"collect: {env: swebench, relax: all}", `collect: relax "all"`, "--relax official"},
		{"collect: {db: x}", `"db" has no place here`, "the ledger is named at the top"},
		{"collect: {policy: }", "collect.policy", ""},
		{"score: {mode: all}", "18 modes, and credit reads one", "name one"},
		{"score: {mode: immediate_feedback, follow: true}", `"follow" has no place here`, "as they finish"},
		{"score: {mode: nonsense}", "score.mode", ""},
		{"credit: {estimator: reinforce_pp_baseline}", "looks at a whole run", "harness credit"},
		{"credit: {response: aem, aem: {scope: batch}}", "aem.scope batch looks at a whole run", ""},
		{"credit: {reward: {source: vote}}", "reward.source vote looks at a whole run", ""},
		{"credit: {token: serl}", "score is none", "name a teacher"},
		{"credit: {update: 3}", "update follows the versions", ""},
		{"credit: {estimatr: grpo}", `credit: unknown key "estimatr"`, `did you mean "estimator"?`},
		{"serve: {drain: true}", `"drain" has no place here`, ""},
		{"serve: {tls-cert: c}", "belong together", ""},
		{"serve: {ttl: 0s}", "must be positive", ""},
		{"rounds: -1", "rounds is -1", ""},
		{"rounds: x", `rounds is "x", want a whole number`, ""},
		{"pace: {drop_staler: -2}", "drop_staler", ""},
		{"log: {level: loud}", `log.level is "loud"`, ""},
		{"log: {format: xml}", `log.format is "xml"`, ""},
		{"traces: localhost", "want an address such as", ""},
		{"run: ''", "need names", ""},
		{"reload: {in_flight: drop}", "want finish, keep or abort", ""},
		{"reload: {enabled: true}", "the policy refmodel is no server", "vllm:URL"},
		{"reload: {weights: /w}", "nothing loads them", "reload.enabled: true"},
		{"reload: {update_info: '{'}", "is no JSON object", ""},
		{"a: 1\n---\nb: 2", "want one YAML document", ""},
		{"- a", "want keys with values", ""},
		{"\t", "", ""},
	} {
		_, err := parseTrainPlan(never(t), memoryGlobals(nil, nil, nil), []byte(c.file))
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(errext.Hint(err), c.hint) {
			t.Errorf("%q: %v (hint %q), want %q (%q)", c.file, err, errext.Hint(err), c.want, c.hint)
		}
	}
}

// FuzzTrainConfig: no file breaks the reader.
func FuzzTrainConfig(f *testing.F) {
	f.Add(trainExample)
	f.Add("collect: {policy: expert}\nscore: {mode: step}\n")
	f.Add("pace: {groups_per_update: 1e9}\nreload: {update_info: '[]'}")
	f.Fuzz(func(t *testing.T, file string) {
		p, err := parseTrainPlan(stops{soft: t.Context(), hard: t.Context()}, memoryGlobals(nil, nil, nil), []byte(file))
		if err == nil && (p.collect == nil || p.serve == nil || p.Ledger == "") {
			t.Errorf("a plan without its parts: %+v", p)
		}
	})
}
