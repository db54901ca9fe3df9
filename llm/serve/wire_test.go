package serve

import (
	"encoding/json"
	"math"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestOrderedObjects(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		o    ordered
		want string
	}{
		{nil, `null`},
		{ordered{}, `{}`},
		{ordered{{"9", 1}, {"10", 2}}, `{"9":1,"10":2}`},
		{ordered{{"a", 1}, {"b", 2}, {"a", 3}}, `{"a":1,"b":2}`},
		{ordered{{`<|"|>`, nil}}, `{"<|\"|>":null}`},
	} {
		got, err := encode(tc.o)
		if err != nil || string(got) != tc.want {
			t.Errorf("%v: %s, %v; want %s", tc.o, got, err, tc.want)
		}
	}
	if _, err := encode(ordered{{"a", math.NaN()}}); err == nil {
		t.Error("NaN became JSON")
	}
}

func TestNumbersThatJSONLacks(t *testing.T) {
	t.Parallel()
	inf := float32(math.Inf(1))
	for _, tc := range []struct{ in, want float32 }{{-0.5, -0.5}, {0, 0}, {-inf, worst}, {float32(math.NaN()), worst}, {-1e9, worst}} {
		if got := finite(tc.in); got != tc.want {
			t.Errorf("%v is written as %v, want %v", tc.in, got, tc.want)
		}
	}
}

// A float32 survives JSON bit by bit: clients compare sampled and scored values.
func TestLogprobsSurviveJSON(t *testing.T) {
	t.Parallel()
	for bits := uint32(0xB0000000); bits < 0xC2000000; bits += 0x0003FFF1 { // -5e-10 … -32
		want := math.Float32frombits(bits)
		b, err := encode(chatToken{Logprob: want})
		if err != nil {
			t.Fatal(err)
		}
		var got chatToken
		if err := json.Unmarshal(b, &got); err != nil || math.Float32bits(got.Logprob) != bits {
			t.Fatalf("%v came back as %v, %v", want, got.Logprob, err)
		}
	}
}

func TestStringLists(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]stringList{`"a"`: {"a"}, `["a","b"]`: {"a", "b"}, `null`: nil, `[]`: {}} {
		var got stringList
		if err := json.Unmarshal([]byte(in), &got); err != nil || !cmp.Equal(got, want) {
			t.Errorf("%s: %#v, %v", in, got, err)
		}
	}
	var got stringList
	if err := json.Unmarshal([]byte(`[1]`), &got); err == nil {
		t.Errorf("[1] became %v", got)
	}
}

func FuzzPrompts(f *testing.F) {
	for _, s := range []string{`"x"`, `["x","y"]`, `[1,2]`, `[[1],[2,3]]`, `[]`, `[[]]`, `null`, `[1,"x"]`, `{}`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		var p promptList
		if json.Unmarshal([]byte(s), &p) != nil {
			return
		}
		if len(p.texts) > 0 && len(p.ids) > 0 {
			t.Errorf("%q is both texts and ids: %+v", s, p)
		}
		if s != "null" && strings.TrimSpace(s) != "null" && len(p.texts)+len(p.ids) == 0 {
			t.Errorf("%q is accepted and no prompt", s)
		}
	})
}

// The bytes of a stream, as they go over the wire.
func TestServerSentEvents(t *testing.T) {
	t.Parallel()
	s, err := New(&fake{}, Config{})
	if err != nil {
		t.Fatal(err)
	}
	w := httptest.NewRecorder()
	e := &events{s: s, w: w}
	for _, v := range []any{map[string]string{"a": "<b>\n"}, []int{1}} {
		if err := e.send(v); err != nil {
			t.Fatal(err)
		}
	}
	if err := e.end(bad("", "too late")); err != nil {
		t.Errorf("after the first event an error is told in the stream: %v", err)
	}
	want := "data: {\"a\":\"<b>\\n\"}\n\ndata: [1]\n\n" +
		"data: {\"error\":{\"message\":\"too late\",\"type\":\"BadRequestError\",\"param\":null,\"code\":400}}\n\ndata: [DONE]\n\n"
	if got := w.Body.String(); got != want || !w.Flushed || w.Code != http.StatusOK || !strings.HasPrefix(w.Header().Get("Content-Type"), "text/event-stream") {
		t.Errorf("status %d, header %v, body %q; want %q", w.Code, w.Header(), got, want)
	}
	early := &events{s: s, w: httptest.NewRecorder()}
	if err := early.end(bad("", "at once")); err == nil {
		t.Error("an error before the first event must get a status of its own")
	}
}
