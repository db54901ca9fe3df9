package llm

import (
	"encoding/json"
	"math"
	"strings"
	"testing"
)

func TestJSONReaderReadsValues(t *testing.T) {
	t.Parallel()
	var (
		text   string
		ids    []int32
		lps    []float32
		labels []string
	)
	body := ` {"a":{"skipped":[1,{"x":null}],"deep":[[[]]]},"text":"q\"\u00e9\ud83d\ude00\n","ids":[ 0, 7,2147483647 ],
		"lp":[-0.1,-1e-3,-0,null,1E+2,-3.4e39],"labels":["v1",12,null],"t":true,"f":false,"empty":{},"none":null} `
	err := parseReply([]byte(body), func(r *jsonReader, key string) {
		switch key {
		case "text":
			text = r.text()
		case "ids":
			ids = r.tokenIDs()
		case "lp":
			r.array(func(int) { lps = append(lps, r.float32()) })
		case "labels":
			r.array(func(int) { labels = append(labels, r.label()) })
		case "none":
			r.object(func([]byte) { t.Error("a null has a member") })
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	if text != "q\"é😀\n" || len(ids) != 3 || ids[2] != math.MaxInt32 || strings.Join(labels, ",") != "v1,12," {
		t.Errorf("text %q, ids %v, labels %q", text, ids, labels)
	}
	for i, want := range []float32{-0.1, -0.001, 0, float32(math.NaN()), 100, float32(math.Inf(-1))} {
		if got := lps[i]; got != want && !(math.IsNaN(float64(got)) && math.IsNaN(float64(want))) {
			t.Errorf("number %d: %g, want %g", i, got, want)
		}
	}
}

func TestJSONReaderRefusesWhatIsNoReply(t *testing.T) {
	t.Parallel()
	tests := map[string]string{
		``:                     "not a JSON object",
		`[]`:                   "not a JSON object",
		`{"a":1`:               "in the middle of a value",
		`{"a":`:                "where a value is due",
		`{"a":"x`:              "in the middle of a string",
		`{"a":"x\`:             "in the middle of a string",
		`{"a":NaN}`:            "NaN or Infinity",
		`{"a":Infinity}`:       "NaN or Infinity",
		`{"a":-Infinity}`:      "NaN or Infinity",
		`{"a":01}`:             "a number is due",
		`{"a":1.}`:             "a number is due",
		`{"a":-}`:              "a number is due",
		`{"a":1e}`:             "a number is due",
		`{"a":tru}`:            "unknown word",
		`{"a":1}{`:             "after the reply's end",
		"{\"a\":1}\x00":        "after the reply's end",
		`{"a" 1}`:              `':' is due`,
		`{a:1}`:                `'"' is due`,
		"{\"a\":\"\n\"}":       "control character",
		`{"a":"\q"}`:           "invalid character",
		`{"ids":[1.5]}`:        "integer",
		`{"ids":[-1]}`:         "out of range",
		`{"ids":[2147483648]}`: "out of range",
		`{"ids":["1"]}`:        "a number is due",
		`{"a":` + strings.Repeat("[", 100) + strings.Repeat("]", 100) + `}`: "nested deeper",
	}
	for body, want := range tests {
		err := parseReply([]byte(body), func(r *jsonReader, key string) {
			if key == "ids" {
				r.tokenIDs()
			}
		})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", clip([]byte(body), 40), err, want)
		}
	}
}

// FuzzJSONReader checks that exactly the objects that encoding/json takes are taken (up to the depth
// bound).
func FuzzJSONReader(f *testing.F) {
	for _, s := range []string{`{}`, `{"a":[1,-2.5e+3,null,true,false,"x\u0041"]}`, `{"a":{"b":{}}}`, `{"a":1}x`, `{"a":"\ud800"}`, `{"a":NaN}`, ` { } `, `{"":0}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		err := parseReply(b, func(*jsonReader, string) {})
		if err != nil && strings.Contains(err.Error(), "nested deeper") {
			return
		}
		trimmed := strings.TrimLeft(string(b), " \t\r\n")
		want := json.Valid(b) && strings.HasPrefix(trimmed, "{")
		if (err == nil) != want {
			t.Errorf("%q: %v, encoding/json says valid %v", b, err, want)
		}
	})
}

// FuzzReplies feeds one body to every reply format: no panic, no column of a wrong length, no value
// that is no log-probability.
func FuzzReplies(f *testing.F) {
	for _, s := range []string{
		`{"model":"m","choices":[{"message":{"content":"hi"},"logprobs":{"content":[{"token":"token_id:5","logprob":-0.5,"top_logprobs":[{"token":"token_id:5","logprob":-0.5}]}]},"finish_reason":"stop","token_ids":[5]}],"prompt_token_ids":[1]}`,
		`{"choices":[{"text":"hi","logprobs":{"token_logprobs":[-0.5],"top_logprobs":[{"token_id:5":-0.5}]},"token_ids":[5],"prompt_logprobs":[null,{"2":{"logprob":-1},"3":{"logprob":-2}},{"3":{"logprob":-9999}}]}]}`,
		`{"choices":[{"token_ids":[5],"logprobs":{"content":[{"token_id":5,"logprob":-0.5}]},"weight_versions":[{"version":"3","start":0,"end":1}]}],"prompt_logprobs":[null,{"2":{"logprob":-1}},{"3":{"logprob":-2}}]}`,
		`{"text":"hi","output_ids":[5],"meta_info":{"finish_reason":{"type":"stop"},"weight_versions":[["3",0,1]],"output_token_logprobs":[[-0.5,5,null]],"output_top_logprobs":[[[-0.5,5,null]]],"input_token_logprobs":[[null,1,null],[-1,2,null],[-2,3,null]],"input_top_logprobs":[null,[[-1,2,null]],[[-2,3,null]]]}}`,
		`{"content":"hi","tokens":[5],"completion_probabilities":[{"id":5,"logprob":-0.5,"top_logprobs":[{"id":5,"logprob":-0.5}]}],"stop_type":"word","truncated":false}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		for _, parse := range []func([]byte, *sample) error{parseChat, parseCompletion, parseTokens, parseSGLang, parseLlama} {
			s := newSample()
			if parse(b, &s) != nil || s.check() != nil {
				continue
			}
			if len(s.logprobs) != len(s.ids) || s.top != nil && len(s.top) != len(s.ids) {
				t.Fatalf("%q: %d ids, %d log-probabilities, %d alternatives", b, len(s.ids), len(s.logprobs), len(s.top))
			}
			if v := s.versions(); v != nil && len(v) != len(s.ids) {
				t.Fatalf("%q: %d versions for %d ids", b, len(v), len(s.ids))
			}
			checkValues(t, b, s.logprobs)
		}
		req := ScoreRequest{Prefix: []int32{1}, Continuation: []int32{2, 3}, TopLogprobs: 1}
		if p := newPromptScore([]int32{1, 2, 3}, 1, 1); p.parse(b) == nil {
			checkValues(t, b, p.logprobs)
		}
		if sc, err := parseSGLangScore(b, req); err == nil {
			if len(sc.Logprobs) != 2 || len(sc.Top) != 2 {
				t.Fatalf("%q: %+v", b, sc)
			}
			checkValues(t, b, sc.Logprobs)
		}
	})
}

func checkValues(t *testing.T, b []byte, lps []float32) {
	t.Helper()
	for i, lp := range lps {
		if !(lp > worstLogprob && lp <= positiveSlack) {
			t.Fatalf("%q: log-probability %d is %g", b, i, lp)
		}
	}
}
