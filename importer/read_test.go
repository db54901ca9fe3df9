package importer

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hindsightrl/harness"
)

// readText reads a file's text and stops at the first bad record.
func readText(t testing.TB, format, text string, opt Options) (eps []*Episode, notes Notes, err error) {
	t.Helper()
	r, err := NewReader(format, opt)
	if err != nil {
		t.Fatal(err)
	}
	err = r.Read(t.Context(), "f.jsonl", strings.NewReader(text), func(ep *Episode) error {
		eps = append(eps, ep)
		return nil
	}, func(b *BadRecordError) error { return b })
	return eps, r.Notes(), err
}

func readFile(t testing.TB, format, name string, opt Options) ([]*Episode, Notes) {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	eps, notes, err := readText(t, format, string(raw), opt)
	if err != nil {
		t.Fatal(err)
	}
	return eps, notes
}

func same(t *testing.T, what string, want, got any) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s: (-want +got)\n%s", what, diff)
	}
}

func user(s string) harness.Message { return harness.Message{Role: "user", Content: s} }

func assistant(s string) harness.Message { return harness.Message{Role: "assistant", Content: s} }

func TestTraces(t *testing.T) {
	t.Parallel()
	eps, notes := readFile(t, FormatVerifiers, "traces.jsonl", Options{})
	if len(eps) != 3 {
		t.Fatalf("%d episodes", len(eps))
	}
	e := eps[0]
	same(t, "task", harness.Task{Env: "count", ID: "k1", Type: "Count", Hash: "h1"}, e.Task)
	same(t, "outcome", harness.Outcome{Stop: harness.StopWon, Won: true, Reward: 1, Score: 1, Steps: 2}, e.Outcome)
	system := harness.Message{Role: "system", Content: "You count."}
	first := []harness.Message{system, user("Count to 2.")}
	second := append(slices.Clone(first), assistant("one"), user("Go on."))
	same(t, "steps", []harness.Step{
		{
			Index: 0, Prompt: first, Response: "one", Action: "one", Valid: true, Spans: []harness.Span{{End: 3}}, Anchor: "Count to 2.",
			Feedback: "Go on.", Next: harness.Observation{Text: "Go on.", Task: "Count to 2."}, NextPrompt: second,
			Tokens: &harness.Tokens{
				PromptIDs: []int32{1, 2, 3, 4, 5, 6}, IDs: []int32{7, 8}, Logprobs: []float32{-0.5, -0.25},
				Meta: &harness.TokenMeta{Engine: "verifiers", Model: "m", Temperature: 0.7, TopP: 1, Finish: "stop"},
			},
		},
		{
			Index: 1, Prompt: second, Response: "two", Action: "two", Valid: true, Spans: []harness.Span{{End: 3}}, Anchor: "Go on.",
			Next: harness.Observation{Task: "Count to 2."}, NextPrompt: append(slices.Clone(second), assistant("two")), Reward: 1, Score: 1, Won: true, Done: true,
			Tokens: &harness.Tokens{PromptIDs: []int32{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 6}, IDs: []int32{11}, Logprobs: []float32{-1}},
		},
	}, e.Steps)
	if e.Source != "f.jsonl:1" || e.Model != "m" || len(e.Rest) != 1 || !strings.Contains(e.Rest[0].Content, `"nodes":{"0":{"timestamp":1.5},"2":{"entropies":[0.1,0.2]}}`) || !strings.Contains(e.Rest[0].Content, `"turns":2.0`) {
		t.Errorf("source %s, model %s, rest %v", e.Source, e.Model, e.Rest)
	}
	e = eps[1]
	const text = "<think>\nHm.\n</think>\n\nI call.\n<tool_call>\n{\"name\": \"count\", \"arguments\": {\"to\": 2}}\n</tool_call>"
	s := e.Steps[0]
	if s.Response != text || s.Action != `{"name": "count", "arguments": {"to": 2}}` || text[s.Spans[0].Start:s.Spans[0].End] != s.Action {
		t.Errorf("response %q, action %q, spans %v", s.Response, s.Action, s.Spans)
	}
	if s.Feedback != "1 2" || s.NextPrompt[2].Role != "tool" || e.Outcome.Stop != harness.StopMaxSteps || e.Outcome.Won || !slices.Equal(s.Tokens.Versions, []int32{7}) {
		t.Errorf("%+v %+v", s, e.Outcome)
	}
	e = eps[2]
	if e.Failure == nil || e.Failure.Kind != harness.FailServer || e.Failure.Err.Error() != "503 from the model" || len(e.Steps) != 1 || e.Steps[0].Tokens != nil || e.Task.ID != "k2" {
		t.Errorf("%+v", e)
	}
	for _, want := range []string{`traces of agent "judge" left out: it is not trained`, notePutTogether, "nodes.entropies kept in the artifact verifiers.json", "trace.metrics kept in the artifact verifiers.json"} {
		if notes[want] != 1 {
			t.Errorf("no note %q in %v", want, notes)
		}
	}
}

// TestBranches: a trace that branches gives one step for every call, each with the prompt that it had.
func TestBranches(t *testing.T) {
	t.Parallel()
	eps, notes, err := readText(t, FormatVerifiers, `{"task":{"type":"T","key":"k","data":{}},"agent":{"name":"agent","config":{}},"ok":true,"rewards":{"r":{"score":0.5}},"nodes":[`+
		`{"message":{"role":"user","content":"a"},"token_ids":[1],"mask":[false]},`+
		`{"parent":0,"message":{"role":"assistant","content":"b"},"sampled":true,"token_ids":[2],"mask":[true]},`+
		`{"parent":1,"message":{"role":"user","content":"c"},"token_ids":[3],"mask":[false]},`+
		`{"parent":2,"message":{"role":"assistant","content":"d"},"sampled":true,"token_ids":[4],"mask":[true]},`+
		`{"message":{"role":"user","content":"summary"},"token_ids":[5],"mask":[false]},`+
		`{"parent":4,"message":{"role":"assistant","content":"e"},"sampled":true,"token_ids":[6,7],"mask":[true,true]}]}`, Options{WonAt: 0.5})
	if err != nil {
		t.Fatal(err)
	}
	var got [][]int32
	for _, s := range eps[0].Steps {
		got = append(got, s.Tokens.PromptIDs, s.Tokens.IDs)
	}
	same(t, "tokens", [][]int32{{1}, {2}, {1, 2, 3}, {4}, {5}, {6, 7}}, got)
	if eps[0].Steps[1].Feedback != "" || eps[0].Steps[0].Feedback != "c" || !eps[0].Outcome.Won || eps[0].Task.Env != "verifiers" {
		t.Errorf("%+v", eps[0])
	}
	if len(notes.Lines()) == 0 || !strings.Contains(strings.Join(notes.Lines(), ""), "1 traces with branches") {
		t.Errorf("notes %v", notes.Lines())
	}
}

func TestRollouts(t *testing.T) {
	t.Parallel()
	eps, notes := readFile(t, FormatVerifiers, "results.jsonl", Options{})
	if len(eps) != 3 {
		t.Fatalf("%d episodes", len(eps))
	}
	e := eps[0]
	same(t, "task", harness.Task{Env: "count", ID: "0"}, e.Task)
	same(t, "outcome", harness.Outcome{Stop: harness.StopMaxSteps, Won: true, Reward: 1, Score: 1, Steps: 2}, e.Outcome)
	same(t, "tokens", &harness.Tokens{PromptIDs: []int32{3, 4, 7, 8, 9}, IDs: []int32{11}, Logprobs: []float32{-1}}, e.Steps[1].Tokens)
	if e.Steps[0].Feedback != "Go on." || e.Steps[0].Reward != 0 || e.Steps[1].Reward != 1 || !strings.Contains(e.Rest[0].Content, `"answer":"2"`) || !strings.Contains(e.Rest[0].Content, `"trajectory_id":"x"`) {
		t.Errorf("%+v %v", e.Steps, e.Rest)
	}
	e = eps[1]
	if e.Steps[0].Response != "one two" || e.Steps[0].Tokens != nil || e.Outcome.Stop != harness.StopBudget || e.Outcome.Won || !cmp.Equal(e.Steps[0].Prompt, []harness.Message{user("Count to 2.")}) {
		t.Errorf("%+v", e)
	}
	if e = eps[2]; e.Failure == nil || e.Failure.Kind != harness.FailServer || len(e.Steps) != 0 {
		t.Errorf("%+v", e)
	}
	if notes["rollouts without a trajectory: they have no tokens"] != 1 {
		t.Errorf("notes %v", notes)
	}
}

func reward(x float64) func(string, Trajectory) (Result, error) {
	return func(string, Trajectory) (Result, error) { return Result{Task: "mend", Hash: "abc", Reward: &x}, nil }
}

func TestATIF(t *testing.T) {
	t.Parallel()
	eps, notes := readFile(t, FormatATIF, "trajectory.json", Options{Result: func(file string, tr Trajectory) (Result, error) {
		same(t, "about", Trajectory{Session: "s-1", Trajectory: "t-1"}, tr)
		return reward(0.5)(file, tr)
	}})
	e := eps[0]
	same(t, "task", harness.Task{Env: "atif", ID: "mend", Hash: "abc"}, e.Task)
	same(t, "outcome", harness.Outcome{Stop: harness.StopFinished, Reward: 0.5, Score: 0.5, Steps: 2}, e.Outcome)
	system := harness.Message{Role: "system", Content: "You repair."}
	same(t, "first prompt", []harness.Message{system, user("Mend it.")}, e.Steps[0].Prompt)
	same(t, "tokens", &harness.Tokens{PromptIDs: []int32{1, 2, 3}, IDs: []int32{7, 8}, Logprobs: []float32{-0.5, -0.25}}, e.Steps[0].Tokens)
	same(t, "last prompt", []harness.Message{
		system, user("Mend it."), assistant("<think>\nHm.\n</think>\n\nLooking.\n<tool_call>\n{\"name\": \"bash\", \"arguments\": {\"cmd\": \"ls\"}}\n</tool_call>"),
		{Role: "tool", Content: "a.py"},
		assistant("(routed)"), user("ok"),
	}, e.Steps[1].Prompt)
	if e.Steps[1].Response != "Done." || e.Steps[1].Tokens != nil || e.Model != "m" || !strings.Contains(e.Rest[0].Content, `"cost_usd":0.01`) {
		t.Errorf("%+v %v", e.Steps[1], e.Rest)
	}
	if notes["steps of agents that asked no model: part of prompts alone"] != 1 {
		t.Errorf("notes %v", notes)
	}
}

// TestATIFTasks: without a name, trajectories that were asked the same are of one task.
func TestATIFTasks(t *testing.T) {
	t.Parallel()
	one := func(ask, answer string) string {
		return `{"schema_version":"ATIF-v1.0","session_id":"s","agent":{"name":"a","version":"1"},"steps":[{"step_id":1,"source":"user","message":"` + ask + `"},{"step_id":2,"source":"agent","message":"` + answer + `"}]}`
	}
	x := 1.0
	eps, _, err := readText(t, FormatATIF, one("q", "a")+"\n"+one("q", "b")+one("r", "a"), Options{Env: "mine", Result: func(string, Trajectory) (Result, error) { return Result{Reward: &x}, nil }})
	if err != nil || len(eps) != 3 || eps[0].Task != eps[1].Task || eps[0].Task == eps[2].Task || eps[0].Task.Env != "mine" {
		t.Fatalf("%v, %+v", err, eps)
	}
	if eps[1].Source != "f.jsonl:2" || eps[0].Outcome.Stop != harness.StopWon {
		t.Errorf("%s %+v", eps[1].Source, eps[0].Outcome)
	}
}

// node and step wrap a part of a record in an otherwise good one.
func inNode(node string) string {
	return `{"task":{"type":"T","key":"k","data":{}},"agent":{"name":"agent"},"ok":true,"rewards":{"r":{"score":1}},"nodes":[{"message":{"role":"user","content":"a"},"token_ids":[1],"mask":[false]},` + node + `]}`
}

func inStep(step string) string {
	return "{\"schema_version\":\"ATIF-v1.8\",\"agent\":{\"name\":\"a\",\"version\":\"1\"},\n\"steps\":[{\"step_id\":1,\"source\":\"user\",\"message\":\"q\"},\n" + step + "]}"
}

func TestBadRecords(t *testing.T) {
	t.Parallel()
	good := inNode(`{"parent":0,"message":{"role":"assistant","content":"b"},"sampled":true,"token_ids":[2],"mask":[true]}`)
	if _, _, err := readText(t, FormatVerifiers, good, Options{}); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ name, format, in, want string }{
		{"cut off", FormatVerifiers, good + "\n" + good[:100], "f.jsonl:2: the JSON is cut off"},
		{"no JSON", FormatVerifiers, "\n\nhello\n", "f.jsonl:3: no JSON: invalid character 'h' looking for beginning of value"},
		{"no object", FormatVerifiers, "[1]", "f.jsonl:1: a list is no object"},
		{"something else", FormatVerifiers, `{"a":1}`, "f.jsonl:1: neither an episode (traces), nor a trace (nodes), nor a rollout (completion) of verifiers"},
		{"logprobs", FormatVerifiers, inNode(`{"parent":0,"message":{"role":"assistant","content":"b"},"sampled":true,"token_ids":[2,3],"mask":[true,true],"logprobs":[-1]}`), "f.jsonl:1: nodes[1].logprobs: 1 values for 2 sampled tokens"},
		{"logprobs alone", FormatVerifiers, inNode(`{"parent":0,"message":{"role":"assistant","content":"b"},"sampled":true,"logprobs":[-1]}`), "f.jsonl:1: nodes[1].logprobs: 1 values without token ids"},
		{"mask", FormatVerifiers, inNode(`{"parent":0,"message":{"role":"assistant","content":"b"},"sampled":true,"token_ids":[2,3],"mask":[true]}`), "f.jsonl:1: nodes[1].mask: 1 values for 2 token ids"},
		{"two runs", FormatVerifiers, inNode(`{"parent":0,"message":{"role":"assistant","content":"b"},"sampled":true,"token_ids":[2,3,4],"mask":[true,false,true]}`), "f.jsonl:1: nodes[1].mask: the sampled tokens are not one run: they are no response to one prompt"},
		{"sampled by nobody", FormatVerifiers, inNode(`{"parent":0,"message":{"role":"assistant","content":"b"},"token_ids":[2],"mask":[true]}`), "f.jsonl:1: nodes[1].mask: tokens are marked as sampled in a message that is not"},
		{"negative id", FormatVerifiers, inNode(`{"parent":0,"message":{"role":"assistant","content":"b"},"sampled":true,"token_ids":[-2],"mask":[true]}`), "f.jsonl:1: nodes[1].token_ids[0]: -2 is no token id"},
		{"large id", FormatVerifiers, inNode(`{"parent":0,"message":{"role":"assistant","content":"b"},"sampled":true,"token_ids":[3000000000],"mask":[true]}`), "f.jsonl:1: nodes[1].token_ids: number 3000000000 is no whole number (of 32 bits, for a token)"},
		{"role", FormatVerifiers, inNode(`{"parent":0,"message":{"role":"critic","content":"b"}}`), `f.jsonl:1: nodes[1].message.role: unknown role "critic"`},
		{"no role", FormatVerifiers, inNode(`{"parent":0,"message":{"content":"b"}}`), `f.jsonl:1: nodes[1].message.role: missing`},
		{"picture", FormatVerifiers, inNode(`{"parent":0,"message":{"role":"user","content":[{"type":"text","text":"x"},{"type":"image_url","image_url":{"url":"u"}}]}}`), `f.jsonl:1: nodes[1].message.content[1]: a part of type "image_url": only text can be imported`},
		{"parent", FormatVerifiers, inNode(`{"parent":4,"message":{"role":"user","content":"b"}}`), "f.jsonl:1: nodes[1].parent: 4 is no node before this one"},
		{"not scored", FormatVerifiers, strings.Replace(good, `{"r":{"score":1}}`, `{"r":null}`, 1), "f.jsonl:1: rewards: the trace has ended well and has no reward: it was not scored"},
		{"half a reward", FormatVerifiers, strings.Replace(good, `{"score":1}`, `{"weight":1}`, 1), "f.jsonl:1: rewards.r: it has no score"},
		{"no task", FormatVerifiers, strings.Replace(good, `"key":"k",`, ``, 1), "f.jsonl:1: task: it has no key, hash, id or index to tell it by"},
		{"in an episode", FormatVerifiers, `{"traces":[` + strings.Replace(good, `"role":"user"`, `"role":"x"`, 1) + `],"task":{}}`, `f.jsonl:1: traces[0].nodes[0].message.role: unknown role "x"`},
		{"no reward", FormatVerifiers, `{"example_id":0,"completion":"a","prompt":"b"}`, "f.jsonl:1: reward: missing"},
		{"null reward", FormatVerifiers, `{"example_id":0,"completion":"a","prompt":"b","reward":null}`, "f.jsonl:1: reward: missing"},
		{"reward as text", FormatVerifiers, `{"example_id":0,"completion":"a","prompt":"b","reward":"1"}`, "f.jsonl:1: reward: string is no number"},
		{"no example", FormatVerifiers, `{"completion":"a","prompt":"b","reward":1}`, "f.jsonl:1: example_id: missing: it tells which rollouts belong together"},
		{"two answers", FormatVerifiers, `{"example_id":0,"completion":"a","prompt":"b","reward":1,"trajectory":[{"prompt":"b","completion":[{"role":"assistant","content":"a"},{"role":"tool","content":"c"}]}]}`, "f.jsonl:1: trajectory[0].completion: 2 messages: a step is one answer of the model"},
		{"step logprobs", FormatVerifiers, `{"example_id":0,"completion":"a","prompt":"b","reward":1,"trajectory":[{"prompt":"b","completion":"a","tokens":{"completion_ids":[1,2],"completion_logprobs":[-1]}}]}`, "f.jsonl:1: trajectory[0].tokens.completion_logprobs: 1 values for 2 sampled tokens"},

		{"cut off", FormatATIF, inStep(`{"step_id":2,`)[:100], "f.jsonl:2: the JSON is cut off"},
		{"no JSON", FormatATIF, "{\n'a'}", `f.jsonl:2: no JSON: invalid character '\''`},
		{"no trajectory", FormatATIF, `{"steps":[]}`, "f.jsonl:1: schema_version: missing: this is no ATIF trajectory"},
		{"version", FormatATIF, `{"schema_version":"ATIF-v2.0"}`, `f.jsonl:1: schema_version: "ATIF-v2.0" is not known: ATIF-v1.0 to ATIF-v1.8 are`},
		{"part of one", FormatATIF, `{"schema_version":"ATIF-v1.5","continued_trajectory_ref":"b.json"}`, `f.jsonl:1: continued_trajectory_ref: the trajectory goes on in "b.json"`},
		{"no steps", FormatATIF, `{"schema_version":"ATIF-v1.5","steps":[]}`, `f.jsonl:1: steps: missing`},
		{"number", FormatATIF, inStep(`{"step_id":3,"source":"agent","message":"a"}`), "f.jsonl:3: steps[1].step_id: 3: expected 2"},
		{"source", FormatATIF, inStep(`{"step_id":2,"source":"critic","message":"a"}`), `f.jsonl:3: steps[1].source: unknown source "critic"`},
		{"picture", FormatATIF, inStep(`{"step_id":2,"source":"agent","message":"a","observation":{"results":[{"content":[{"type":"image","source":{}}]}]}}`), `f.jsonl:3: steps[1].observation.results[0].content[0]: a part of type "image": only text can be imported`},
		{"logprobs", FormatATIF, inStep(`{"step_id":2,"source":"agent","message":"a","metrics":{"completion_token_ids":[1],"logprobs":[-1,-2]}}`), "f.jsonl:3: steps[1].metrics.logprobs: 2 values for 1 sampled tokens"},
		{"arguments", FormatATIF, inStep(`{"step_id":2,"source":"agent","message":"a","tool_calls":[{"function_name":"f","arguments":"x"}]}`), "f.jsonl:3: steps[1].tool_calls[0].arguments: text is no object"},
		{"metrics of a user", FormatATIF, inStep(`{"step_id":2,"source":"user","message":"a","metrics":{}}`), "f.jsonl:3: steps[1].metrics: only an agent's step has it, and this one is the user's"},
		{"nothing said", FormatATIF, inStep(`{"step_id":2,"source":"user","message":"a"}`), "f.jsonl:1: steps: the model said nothing, and there is a reward"},
	} {
		t.Run(c.format+" "+c.name, func(t *testing.T) {
			t.Parallel()
			_, _, err := readText(t, c.format, c.in, Options{Result: reward(1)})
			if b := (*BadRecordError)(nil); !errors.As(err, &b) || !strings.HasPrefix(err.Error(), c.want) {
				t.Errorf("got  %v\nwant %s", err, c.want)
			}
		})
	}
	if _, _, err := readText(t, FormatATIF, inStep(`{"step_id":2,"source":"agent","message":"a"}`), Options{}); err == nil || !strings.Contains(err.Error(), "no reward is known") {
		t.Errorf("without a reward: %v", err)
	}
	if _, err := NewReader("csv", Options{}); err == nil {
		t.Error("csv is no format")
	}
}

// TestBadRecordsCanBeSkipped: the others are read, and each bad one is told once.
func TestBadRecordsCanBeSkipped(t *testing.T) {
	t.Parallel()
	good := inNode(`{"parent":0,"message":{"role":"assistant","content":"b"},"sampled":true}`)
	r, err := NewReader(FormatVerifiers, Options{})
	if err != nil {
		t.Fatal(err)
	}
	n, bad := 0, []int{}
	err = r.Read(t.Context(), "f", strings.NewReader(good+"\n{\n"+good+"\n[]\n"+good), func(*Episode) error { n++; return nil }, func(b *BadRecordError) error {
		bad = append(bad, b.Line)
		return nil
	})
	if err != nil || n != 3 || !slices.Equal(bad, []int{2, 4}) {
		t.Errorf("%d read, bad lines %v, %v", n, bad, err)
	}
}

// TestMaskedAnswers: what verifiers does not train on has no tokens in the ledger.
func TestMaskedAnswers(t *testing.T) {
	t.Parallel()
	eps, notes, err := readText(t, FormatVerifiers, `{"example_id":"x","completion":"a","prompt":"b","reward":1,"trajectory":[{"prompt":"b","completion":"a","tokens":{"completion_ids":[1,2],"completion_mask":[0,0]}}]}`, Options{})
	if err != nil || eps[0].Steps[0].Tokens != nil || !strings.Contains(eps[0].Rest[0].Content, `"completion_ids":[1,2]`) || len(notes) == 0 || eps[0].Task.ID != "x" {
		t.Errorf("%v %+v %v", err, eps, notes)
	}
}

func TestHarborResult(t *testing.T) {
	t.Parallel()
	half := 0.5
	for in, want := range map[string]Result{
		`{"task_name":"t","task_checksum":"c","verifier_result":{"rewards":{"reward":0.5,"other":1}}}`: {Task: "t", Hash: "c", Reward: &half},
		`{"task_name":"t","verifier_result":{"rewards":{"score":0.5}},"exception_info":null}`:          {Task: "t", Reward: &half},
		`{"task_name":"t","verifier_result":null}`:                                                     {Task: "t"},
	} {
		got, err := HarborResult([]byte(in))
		if err != nil {
			t.Error(err)
		}
		same(t, in, want, got)
	}
	got, err := HarborResult([]byte(`{"task_name":"t","exception_info":{"exception_type":"AgentTimeoutError","exception_message":"late"}}`))
	if err != nil || got.Failure == nil || got.Failure.Kind != harness.FailBudget || got.Failure.Err.Error() != "late" {
		t.Errorf("%+v, %v", got, err)
	}
	for _, in := range []string{`[]`, `{}`, `{"task_name":"t","verifier_result":{"rewards":{"a":1,"b":2}}}`, `{"task_name":1}`} {
		if _, err := HarborResult([]byte(in)); err == nil {
			t.Errorf("%s is no result", in)
		}
	}
}

func TestParseRewards(t *testing.T) {
	t.Parallel()
	one := 1.0
	got, err := ParseRewards([]byte(`{"a":1,"b":{"reward":1,"task":"t"}}`))
	if err != nil {
		t.Fatal(err)
	}
	same(t, "rewards", Rewards{"a": {Reward: &one}, "b": {Reward: &one, Task: "t"}}, got)
	for _, in := range []string{`[]`, `{"a":"x"}`, `{"a":null}`, `{"a":{}}`, `{"a":{"reward":1,"taks":"t"}}`} {
		if _, err := ParseRewards([]byte(in)); err == nil {
			t.Errorf("%s: no error", in)
		}
	}
}

func TestPanel(t *testing.T) {
	t.Parallel()
	var p Panel
	for i, want := range [][2]int{{0, 0}, {1, 0}, {0, 1}} {
		g, s, err := p.Add(&Episode{Task: harness.Task{Env: "e", ID: []string{"a", "b", "a"}[i]}})
		if err != nil || [2]int{g, s} != want {
			t.Errorf("episode %d: %d %d %v", i, g, s, err)
		}
	}
	if p.Largest() != 2 || p.Smallest() != 1 || len(p.Tasks()) != 2 {
		t.Errorf("%+v", p)
	}
	if _, _, err := p.Add(&Episode{Source: "f:1", Task: harness.Task{Env: "e", ID: "a", Hash: "other"}}); err == nil || !strings.Contains(err.Error(), "two tasks of one name") {
		t.Errorf("got %v", err)
	}
	if _, _, err := p.Add(&Episode{Task: harness.Task{Env: "e"}}); err == nil {
		t.Error("a task without an id")
	}
}
