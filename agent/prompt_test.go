package agent

import (
	"bufio"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/hindsightrl/harness"
	"github.com/hindsightrl/harness/internal/testutil"
)

// referenceTemplates returns the reference's strings, raw and loaded.
func referenceTemplates(t *testing.T) (map[string]string, *Templates) {
	t.Helper()
	file, err := os.ReadFile(testutil.Shared(t, "vectors/serl/templates.json"))
	if err != nil {
		t.Fatal(err)
	}
	var texts map[string]string
	if err := json.Unmarshal(file, &texts); err != nil {
		t.Fatal(err)
	}
	templates, err := ParseTemplates(file)
	if err != nil {
		t.Fatal(err)
	}
	return texts, templates
}

// fill replaces placeholders one after the other; it is right only where no value holds a placeholder.
func fill(template string, kv ...any) string {
	for i := 0; i < len(kv); i += 2 {
		template = strings.ReplaceAll(template, "{"+kv[i].(string)+"}", fmt.Sprint(kv[i+1]))
	}
	return template
}

// recorded is a line of the transcripts that were made with the original environment.
type recorded struct {
	Game        string
	Episode     string
	Step        int
	Action      *string
	Observation string
	Admissible  []string `json:"admissible_commands"`
}

func readTranscript(t *testing.T, rel string, max int) []recorded {
	t.Helper()
	f, err := os.Open(testutil.Shared(t, rel))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(z)
	lines.Buffer(nil, 1<<24)
	var out []recorded
	for len(out) < max && lines.Scan() {
		var r recorded
		if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
			t.Fatal(err)
		}
		if r.Game == "" {
			out = append(out, r)
		}
	}
	return out
}

// Every prompt over recorded games equals one that is written out here the way the reference does it.
func TestALFWorldPromptsOfTheReference(t *testing.T) {
	t.Parallel()
	texts, templates := referenceTemplates(t)
	f := DefaultFormats().For("alfworld")
	for _, window := range []int{2, 1, 5, 0} {
		var s Scene
		var lines []string // of the whole history
		var last recorded
		compared := 0
		for _, r := range readTranscript(t, "truth/alfworld/played-2.1.2.jsonl.gz", 400) {
			o := harness.Observation{Text: r.Observation, Admissible: r.Admissible}
			if r.Action == nil {
				_, after, _ := strings.Cut(r.Observation, "Your task is to: ")
				s = Scene{Task: f.Task(o), Window: window}
				if s.Task != strings.TrimSpace(after) || s.Task == "" {
					t.Fatalf("task %q of %q", s.Task, r.Observation)
				}
				lines = nil
			} else {
				s.History = append(s.History, Past{f.Observe(s.Task, harness.Observation{Text: last.Observation}), *r.Action})
				lines = append(lines, fmt.Sprintf("[Observation %d: '%s', Action %d: '%s']", len(lines)+1, last.Observation, len(lines)+1, *r.Action))
			}
			last, s.Observation = r, o
			var shown []string
			for _, a := range r.Admissible {
				if a != "help" {
					shown = append(shown, "'"+a+"'")
				}
			}
			recent := lines[max(0, len(lines)-window):]
			want := fill(texts["agent_alfworld"], "task_description", s.Task, "step_count", len(lines), "history_length", len(recent),
				"action_history", strings.Join(recent, "\n"), "current_step", len(lines)+1,
				"current_observation", r.Observation, "admissible_actions", strings.Join(shown, "\n "))
			if len(recent) == 0 {
				want = fill(texts["agent_alfworld_first"], "current_observation", r.Observation, "admissible_actions", strings.Join(shown, "\n "))
			}
			got, err := f.Prompt(templates, s)
			if err != nil {
				t.Fatal(err)
			}
			if len(got) != 1 || got[0].Role != "user" || got[0].Content != want {
				t.Fatalf("window %d, %s step %d: got\n%q\nwant\n%q", window, r.Episode, r.Step, got, want)
			}
			compared++
		}
		if compared == 0 {
			t.Fatal("nothing compared")
		}
	}
}

func TestALFWorldTaskFallsBack(t *testing.T) {
	t.Parallel()
	if got := alfworldTask(harness.Observation{Text: "a room", Task: "put it away"}); got != "put it away" {
		t.Errorf("task %q", got)
	}
}

func TestWebShopPromptsOfTheReference(t *testing.T) {
	t.Parallel()
	texts, templates := referenceTemplates(t)
	f := DefaultFormats().For("webshop")
	const task = "Find me a red shoe, and price lower than 80.00 dollars"
	start := harness.Observation{Text: "WebShop [SEP] Instruction: [SEP] " + task + " [SEP] Search", Admissible: []string{"search[<your query>]", "click[search]"}}
	results := harness.Observation{
		Text:       "Instruction: [SEP] " + task + " [SEP] Back to Search [SEP] Page 1 (Total results: 50) [SEP] B07 [SEP] It's a {shoe} [SEP]  [SEP] $59.5",
		Admissible: []string{"click[back to search]", "click[b07]"},
	}
	done := harness.Observation{Text: "Thank you for shopping with us! [SEP] Your code:"}
	s := Scene{Task: f.Task(start), Window: 2, Observation: start}
	if s.Task != task {
		t.Fatalf("task %q", s.Task)
	}
	check := func(want string) {
		t.Helper()
		got, err := f.Prompt(templates, s)
		if err != nil {
			t.Fatal(err)
		}
		if got[0].Content != want {
			t.Errorf("got\n%q\nwant\n%q", got[0].Content, want)
		}
	}
	const startActions = "'search[<your query>]',\n'click[search]',"
	check(fill(texts["agent_webshop_first"], "task_description", task, "current_observation", "'Search'", "available_actions", startActions))

	const page = "'Back to Search' [SEP] 'Page 1 (Total results: 50)' [SEP] 'B07' [SEP] 'It's a {shoe}' [SEP] '' [SEP] '$59.5'"
	s.History = append(s.History, Past{f.Observe(s.Task, s.Observation), "search[red shoe]"})
	s.Observation = results
	check(fill(texts["agent_webshop"], "task_description", task, "step_count", 1, "history_length", 1,
		"action_history", "[Observation 1: ''Search'', Action 1: 'search[red shoe]']", "current_step", 2,
		"available_actions", "'click[back to search]',\n'click[b07]',", "current_observation", page))

	s.History = append(s.History, Past{f.Observe(s.Task, s.Observation), "click[b07]"})
	s.Observation = done
	check(fill(texts["agent_webshop"], "task_description", task, "step_count", 2, "history_length", 2,
		"action_history", "[Observation 1: ''Search'', Action 1: 'search[red shoe]']\n[Observation 2: '"+page+"', Action 2: 'click[b07]']",
		"current_step", 3, "available_actions", "", "current_observation", done.Text))
}

// Beyond 13,000 code points (not bytes) the history goes.
func TestWebShopDropsTheHistoryOfLongPrompts(t *testing.T) {
	t.Parallel()
	texts, templates := referenceTemplates(t)
	f := DefaultFormats().For("webshop")
	s := Scene{Task: "t", Window: 2, History: []Past{{"o", "a"}}, Observation: harness.Observation{Text: "x"}}
	one, err := f.Prompt(templates, s)
	if err != nil {
		t.Fatal(err)
	}
	room := f.MaxPrompt - utf8.RuneCountInString(one[0].Content)
	for _, c := range []struct {
		extra   int
		dropped bool
	}{{room, false}, {room + 1, true}} {
		s.Observation.Text = "x" + strings.Repeat("é", c.extra)
		got, err := f.Prompt(templates, s)
		if err != nil {
			t.Fatal(err)
		}
		first := fill(texts["agent_webshop_first"], "task_description", "t", "available_actions", "", "current_observation", s.Observation.Text)
		if (got[0].Content == first) != c.dropped {
			t.Errorf("%d code points: history dropped %v, want %v", f.MaxPrompt+c.extra-room, !c.dropped, c.dropped)
		}
	}
}

func TestWebShopTaskFallsBack(t *testing.T) {
	t.Parallel()
	if got := webshopTask(harness.Observation{Text: "a page", Task: "buy"}); got != "buy" {
		t.Errorf("task %q", got)
	}
}

func TestWebShopConcrete(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2))
	if got := webshopConcrete("click[search]", "a b", r); got != "click[search]" {
		t.Errorf("a complete action became %q", got)
	}
	if got := webshopConcrete("search[<your query>]", "", r); got != "search[anything]" {
		t.Errorf("without a task: %q", got)
	}
	const task = "a red [big] shoe under 5 dollars"
	for range 200 {
		got := webshopConcrete("search[<your query>]", task, r)
		query := strings.TrimSuffix(strings.TrimPrefix(got, "search["), "]")
		if n := len(strings.Fields(query)); n < 1 || n > 4 || !strings.Contains("a red big shoe under 5 dollars", query) {
			t.Fatalf("query %q", query)
		}
	}
}

// The default wording shows everything that a policy needs.
func TestDefaultPromptsShowTheScene(t *testing.T) {
	t.Parallel()
	for env, f := range DefaultFormats() {
		switch env {
		case "qa":
			continue // asked once, and answered in a box: TestPromptQA
		case "swebench":
			continue // a conversation without a list of actions: TestPromptSWEBench
		}
		s := Scene{Task: "TASK", Window: 2, Observation: harness.Observation{Text: "NOW", Task: "TASK", Admissible: []string{"ACT1", "ACT2"}}}
		first, err := f.Prompt(DefaultTemplates(), s)
		if err != nil {
			t.Fatal(err)
		}
		for i := range 3 {
			s.History = append(s.History, Past{"OBS" + strconv.Itoa(i), "DID" + strconv.Itoa(i)})
		}
		later, err := f.Prompt(DefaultTemplates(), s)
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{"NOW", "'ACT1'", "'ACT2'", openThink, closeThink, openAction, closeAction} {
			if !strings.Contains(first[0].Content, want) || !strings.Contains(later[0].Content, want) {
				t.Errorf("%s: a prompt without %s", env, want)
			}
		}
		for _, want := range []string{"TASK", "OBS1", "DID1", "OBS2", "DID2", "3", "4"} {
			if !strings.Contains(later[0].Content, want) {
				t.Errorf("%s: the later prompt has no %s", env, want)
			}
		}
		if strings.Contains(later[0].Content, "OBS0") || strings.Contains(first[0].Content, "{") {
			t.Errorf("%s: more than the window, or a brace", env)
		}
	}
}

func TestFormatsFor(t *testing.T) {
	t.Parallel()
	own := Formats{"maze": {MaxSteps: 3}, genericFormat: {MaxSteps: 4}}
	for _, c := range []struct {
		formats Formats
		env     string
		want    int
	}{{own, "maze", 3}, {own, "x", 4}, {Formats{}, "x", 30}, {DefaultFormats(), "alfworld", 50}, {DefaultFormats(), "webshop", 15}} {
		if got := c.formats.For(c.env).MaxSteps; got != c.want {
			t.Errorf("%s: %d steps, want %d", c.env, got, c.want)
		}
	}
}
