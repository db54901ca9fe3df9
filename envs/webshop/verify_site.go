package webshop

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"

	"github.com/hindsightrl/harness/envs/webshop/catalog"
	"github.com/hindsightrl/harness/envs/webshop/site"
)

type requestRecord struct {
	Method   string            `json:"method"`
	URL      string            `json:"url"`
	Form     map[string]string `json:"form"`
	Status   int               `json:"status"`
	Location *string           `json:"location"`
	Type     *string           `json:"ctype"`
	Body     *string           `json:"body"`
}

// siteHost is the host that records name.
const siteHost = "http://localhost"

// answer is what the site says.
type answer struct {
	status int
	header http.Header
	body   string
}

// send makes the recorded request.
func (r *requestRecord) send(ctx context.Context, h http.Handler) (answer, error) {
	form := url.Values{}
	for k, v := range r.Form {
		form.Set(k, v)
	}
	target := r.URL
	if !strings.HasPrefix(target, "http") {
		target = siteHost + target
	}
	u, err := url.Parse(target)
	if err != nil {
		return answer{}, err
	}
	var body io.Reader
	if r.Method == http.MethodPost {
		body = strings.NewReader(form.Encode())
	}
	req := httptest.NewRequestWithContext(ctx, r.Method, u.String(), body)
	if r.Method == http.MethodPost {
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, req)
	return answer{w.Code, w.Header(), w.Body.String()}, nil
}

func (r *requestRecord) compare(ctx context.Context, h http.Handler) error {
	got, err := r.send(ctx, h)
	if err != nil {
		return err
	}
	if r.Status != 0 && got.status != r.Status {
		return differ("status "+got.header.Get("X-Webshop-Error"), got.status, r.Status)
	}
	if r.Location != nil {
		if err := differText("location", got.header.Get("Location"), strings.TrimPrefix(*r.Location, siteHost)); err != nil {
			return err
		}
	}
	if r.Type != nil {
		if err := differ("content type", got.header.Get("Content-Type"), *r.Type); err != nil {
			return err
		}
	}
	if r.Body != nil {
		return differText("body", got.body, *r.Body)
	}
	return nil
}

// newSite serves a world as the original's site.
func (v *run) newSite(ctx context.Context, w *catalog.World, log func(string, []byte)) (*site.Site, error) {
	s, err := v.main(ctx)
	if err != nil {
		return nil, err
	}
	return site.New(s, w, site.Config{Original: true, Log: log}), nil
}

func (v *run) siteRequests(ctx context.Context, values []json.RawMessage) error {
	var records []*requestRecord
	if err := decode(ctx, values, func(_ int, r *requestRecord) error {
		records = append(records, r)
		return nil
	}); err != nil {
		return err
	}
	// The seed shows in the price limits on the sessions' first pages.
	w, err := v.findWorld(ctx, v.name, []bool{true}, func(w *catalog.World) bool {
		s, err := v.newSite(ctx, w, nil)
		if err != nil {
			return false
		}
		for _, r := range records {
			if r.Status == http.StatusOK && strings.Count(r.URL, "/") == 1 && r.compare(ctx, s) != nil {
				return false
			}
		}
		return true
	})
	if err != nil {
		return err
	}
	s, err := v.newSite(ctx, w, nil)
	if err != nil {
		return err
	}
	for i, r := range records {
		v.add(fmt.Sprintf("request %d: %s %.100s", i, r.Method, r.URL), r.compare(ctx, s))
	}
	return nil
}

// logLine is what of a log's line is needed to ask for its page again.
type logLine struct {
	URL  string     `json:"url"`
	Goal goalRecord `json:"goal"`
}

// siteLog asks for each logged page again and compares what is logged then. Several seeds can give the
// first line's goal; the one that gives all lines is looked for.
func (v *run) siteLog(ctx context.Context, values []json.RawMessage) error {
	var lines []*logLine
	if err := decode(ctx, values, func(_ int, l *logLine) error {
		lines = append(lines, l)
		return nil
	}); err != nil {
		return err
	}
	session := sessionOfURL(lines[0].URL)
	goalAgrees := func(w *catalog.World) bool {
		s, err := v.newSite(ctx, w, nil)
		if err != nil {
			return false
		}
		if _, err := (&requestRecord{Method: http.MethodGet, URL: "/" + session}).send(ctx, s); err != nil {
			return false
		}
		i, ok := s.Goal(session)
		if !ok {
			return false
		}
		g := w.At(i)
		return lines[0].Goal.compare(&g) == nil
	}
	w, err := v.findWorld(ctx, v.name, []bool{true}, func(w *catalog.World) bool {
		if !goalAgrees(w) {
			return false
		}
		again := *w
		again.Rand = w.Rand.Clone()
		ok := true
		err := v.replaySite(ctx, &again, session, lines, values, func(_ string, err error) { ok = ok && err == nil })
		return ok && err == nil
	})
	if err != nil {
		if w, err = v.findWorld(ctx, v.name, []bool{true}, goalAgrees); err != nil {
			return err
		}
	}
	return v.replaySite(ctx, w, session, lines, values, v.add)
}

func (v *run) replaySite(ctx context.Context, w *catalog.World, session string, lines []*logLine, values []json.RawMessage, add func(string, error)) error {
	var logged []byte
	s, err := v.newSite(ctx, w, func(_ string, line []byte) { logged = line })
	if err != nil {
		return err
	}
	if _, err := (&requestRecord{Method: http.MethodGet, URL: "/" + session}).send(ctx, s); err != nil {
		return err
	}
	for i, l := range lines {
		logged = nil
		got, err := (&requestRecord{Method: http.MethodGet, URL: l.URL}).send(ctx, s)
		if err != nil {
			return err
		}
		err = differText("line "+got.header.Get("X-Webshop-Error"), string(logged), string(values[i]))
		add(fmt.Sprintf("line %d: %.100s", i+1, l.URL), err)
	}
	return nil
}

// sessionOfURL is the session that a logged address is of.
func sessionOfURL(address string) string {
	parts := strings.Split(strings.TrimPrefix(strings.TrimPrefix(address, "http://"), "https://"), "/")
	switch {
	case len(parts) == 2:
		return parts[1]
	case len(parts) > 2:
		return parts[2]
	}
	return ""
}
