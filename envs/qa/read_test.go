package qa

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestRead: one row of each collection's form.
func TestRead(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		line string
		want Question
	}{
		"own":         {`{"id":"a","type":"sums","question":"2+2?","answer":"4"}`, Question{ID: "f/a", Text: "2+2?", Answer: "4", Known: true, Type: "sums", Split: "f"}},
		"aime":        {`{"ID":"2024-I-1","Problem":"Find x.","Answer":204}`, Question{ID: "f/2024-I-1", Text: "Find x.", Answer: "204", Known: true, Split: "f"}},
		"amc":         {`{"id":3,"problem":"Find x.","answer":142.0,"url":"x"}`, Question{ID: "f/3", Text: "Find x.", Answer: "142.0", Known: true, Split: "f"}},
		"math":        {`{"problem":"Find x.","solution":"First \\boxed{1}? No: $x=\\boxed{\\frac{1}{2}}$.","subject":"Algebra","unique_id":"test/algebra/1.json"}`, Question{ID: "f/test/algebra/1.json", Text: "Find x.", Answer: `\frac{1}{2}`, Known: true, Type: "Algebra", Split: "f"}},
		"gsm8k":       {`{"question":"How many?","answer":"48/2 = 24, 48+24 = 72\n#### 72"}`, Question{ID: "f/1", Text: "How many?", Answer: "72", Known: true, Split: "f"}},
		"ttrl":        {`{"prompt":"Find x.","answer":"25","source":"AIME-2024","id":"0"}`, Question{ID: "f/0", Text: "Find x.", Answer: "25", Known: true, Type: "AIME-2024", Split: "f"}},
		"verl":        {`{"data_source":"math_dapo","prompt":[{"role":"system","content":"s"},{"role":"user","content":"Find x."}],"reward_model":{"ground_truth":"34","style":"rule"}}`, Question{ID: "f/1", Text: "Find x.", Answer: "34", Known: true, Type: "math_dapo", Split: "f"}},
		"mmlu":        {`{"question":"Which?","choices":["x","y"],"answer":1,"subject":"s"}`, Question{ID: "f/1", Text: "Which?", Options: []string{"x", "y"}, Answer: "B", Known: true, Type: "s", Split: "f"}},
		"arc":         {`{"id":"M1","question":"Which?","choices":{"text":["x","y"],"label":["A","B"]},"answerKey":"A"}`, Question{ID: "f/M1", Text: "Which?", Options: []string{"x", "y"}, Answer: "A", Known: true, Split: "f"}},
		"lettered":    {`{"question":"Which?","options":{"B":"y","A":"x"},"answer":"B"}`, Question{ID: "f/1", Text: "Which?", Options: []string{"x", "y"}, Answer: "B", Known: true, Split: "f"}},
		"unknown":     {`{"question":"Who?","split":"test","answer":null}`, Question{ID: "f/1", Text: "Who?", Split: "test"}},
		"empty":       {`{"question":"Who?","answer":" "}`, Question{ID: "f/1", Text: "Who?", Split: "f"}},
		"unsolved":    {`{"question":"Who?","solution":"we do not know"}`, Question{ID: "f/1", Text: "Who?", Split: "f"}},
		"several":     {`{"question":"Who?","final_answer":["1","2"]}`, Question{ID: "f/1", Text: "Who?", Answer: "1, 2", Known: true, Split: "f"}},
		"truth value": {`{"question":"Is it?","answer":true}`, Question{ID: "f/1", Text: "Is it?", Answer: "true", Known: true, Split: "f"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for form, data := range map[string]string{"lines": "\ufeff" + c.line + "\r\n\n", "array": "[" + c.line + "]"} {
				got, err := Read("f", []byte(data))
				if err != nil {
					t.Fatalf("%s: %v", form, err)
				}
				if d := cmp.Diff([]Question{c.want}, got); d != "" {
					t.Errorf("%s (-want +got):\n%s", form, d)
				}
			}
		})
	}
}

func TestReadErrors(t *testing.T) {
	t.Parallel()
	ok := `{"question":"x","id":"1"}` + "\n"
	for data, want := range map[string]string{
		ok + "{":                              `"f", line 2: unexpected end of JSON input`,
		ok + "7":                              "line 2: json: cannot unmarshal number",
		ok + `{"answer":"4"}`:                 "line 2: no question: none of the fields question, problem",
		ok + `{"question":" "}`:               `line 2: field "question" is empty`,
		ok + `{"question":{"a":1}}`:           `field "question": {"a":1}: want a text or a number`,
		ok + `{"prompt":[1]}`:                 `field "prompt": json`,
		ok + `{"prompt":[{"role":"system"}]}`: `field "prompt" is empty`,
		ok + ok:                               `line 2: the id "f/1" is that of line 1`,
		"[" + strings.TrimSpace(ok) + `,{"x":1}]`: "element 2: no question",
		"[1":                                           `read questions "f": unexpected end`,
		`{"question":"x","options":"y"}`:               `field "options": want a list of texts`,
		`{"question":"x","options":["a"," "]}`:         `field "options": option B is empty`,
		`{"question":"x","options":[["a"]]}`:           `field "options": option A: ["a"]: want a text`,
		`{"question":"x","options":{"A":"1","D":"2"}}`: `option "D" is none of A to B`,
		`{"question":"x","options":["1","1","1","1","1","1","1","1","1","1","1"]}`: "11 options, answers are read with the letters A to J",
		`{"question":"x","answer":{"a":1}}`:                                        `field "answer": {"a":1}: want a text or a number`,
	} {
		if _, err := Read("f", []byte(data)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Read(%q): %v, want %q", data, err, want)
		}
	}
}

func FuzzRead(f *testing.F) {
	for _, s := range []string{
		`{"question":"x","answer":"4"}`, `[{"problem":"x","Answer":4}]`, `{"question":"x","choices":{"text":["a"]},"answer":0}`, "\ufeff\n\n", `{"prompt":[{"role":"user","content":"x"}]}`, "[", "{}",
		`{"question":"x","options":{"A":"1"}}`, `{"question":"x","options":{}}`, `{"question":"x","answer":[1,[2]]}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		questions, err := Read("f", data)
		seen := map[string]bool{}
		for _, q := range questions {
			if err != nil {
				t.Fatalf("questions and an error: %v", err)
			}
			if q.Text == "" || q.ID == "f/" || seen[q.ID] || q.Known != (q.Answer != "") || len(q.Options) > maxOptions {
				t.Fatalf("an unusable question: %+v", q)
			}
			seen[q.ID] = true
		}
	})
}
