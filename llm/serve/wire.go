package serve

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strconv"

	"github.com/hindsightrl/harness/llm"
)

// read decodes a JSON body into v. Unknown fields are allowed, as every OpenAI server allows them. A
// body must say that it is JSON: a page in a browser cannot send that to another origin unasked.
func read(r *http.Request, v any) error {
	if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || kind != "application/json" {
		return &apiError{
			status: http.StatusUnsupportedMediaType, kind: "BadRequestError",
			message: "Unsupported Media Type: only 'application/json' is allowed",
		}
	}
	return decode(r.Body, v)
}

// readOptional is read for bodies that may be absent.
func readOptional(r *http.Request, v any) error {
	if r.ContentLength == 0 {
		return nil
	}
	return read(r, v)
}

func decode(body io.Reader, v any) error {
	d := json.NewDecoder(body)
	err := d.Decode(v)
	if err == nil {
		if _, err := d.Token(); !errors.Is(err, io.EOF) {
			return bad("", "the body goes on after its JSON value")
		}
		return nil
	}
	var own *apiError
	var kind *json.UnmarshalTypeError
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &tooLarge), errors.As(err, &own):
		return err
	case errors.As(err, &kind):
		return bad(kind.Field, "field %q cannot be a %s", kind.Field, kind.Value)
	}
	return bad("", "the body is no JSON: %v", err)
}

// encode writes JSON without escaping <, > and &, which control tokens are full of.
func encode(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte{'\n'}), nil
}

// writeJSON writes a whole reply. Errors of the connection are the client's going away.
func (s *Server) writeJSON(w http.ResponseWriter, status int, v any) {
	b, err := encode(v)
	if err != nil {
		s.cfg.Log.Error("encode reply", "error", err)
		http.Error(w, `{"error":{"message":"the reply could not be encoded","type":"InternalServerError","param":null,"code":500}}`, http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", strconv.Itoa(len(b)))
	w.WriteHeader(status)
	_, _ = w.Write(b) // an error here means that nobody listens any more
}

// ordered is a JSON object whose members keep their order. Clients read "the first entry" of
// prompt log-probabilities.
type ordered []member

type member struct {
	key   string
	value any
}

// MarshalJSON writes the members in order; of equal keys only the first. nil is null.
func (o ordered) MarshalJSON() ([]byte, error) {
	if o == nil {
		return []byte("null"), nil
	}
	b := []byte{'{'}
	seen := make(map[string]bool, len(o))
	for _, m := range o {
		if seen[m.key] {
			continue
		}
		if len(seen) > 0 {
			b = append(b, ',')
		}
		seen[m.key] = true
		k, err := encode(m.key)
		if err != nil {
			return nil, err
		}
		v, err := encode(m.value)
		if err != nil {
			return nil, err
		}
		b = append(append(append(b, k...), ':'), v...)
	}
	return append(b, '}'), nil
}

// stringList is a JSON string or a list of strings.
type stringList []string

// UnmarshalJSON accepts both forms and null.
func (s *stringList) UnmarshalJSON(b []byte) error {
	var one string
	if err := json.Unmarshal(b, &one); err == nil && string(b) != "null" {
		*s = stringList{one}
		return nil
	}
	var many []string
	if err := json.Unmarshal(b, &many); err != nil {
		return bad("stop", "stop strings are a string or a list of strings")
	}
	*s = many
	return nil
}

// worst stands for −Inf and NaN in JSON, as in vLLM.
const worst = -9999

func finite(lp float32) float32 {
	if lp > worst { // false for NaN too
		return lp
	}
	return worst
}

// withOwn puts the sampled token before its alternatives, which is vLLM's order, and leaves it out of
// them.
func withOwn(own llm.TokenLogprob, ownRank int32, top []llm.TokenLogprob) []ranked {
	list := append(make([]ranked, 0, len(top)+1), ranked{own, ownRank})
	for i, t := range top {
		if t.ID != own.ID {
			list = append(list, ranked{t, int32(i + 1)})
		} else if ownRank == 0 {
			list[0].rank = int32(i + 1)
		}
	}
	return list
}

type ranked struct {
	llm.TokenLogprob
	rank int32 // 1 = best; 0 = not known
}

// rankOrNull is a rank for JSON.
func (r ranked) rankOrNull() *int32 {
	if r.rank == 0 {
		return nil
	}
	return &r.rank
}

func itoa(id int32) string { return strconv.FormatInt(int64(id), 10) }

// tokenIDName is how a token is called where ids are asked for.
func tokenIDName(id int32) string { return fmt.Sprintf("token_id:%d", id) }
