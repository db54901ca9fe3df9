package site

import (
	"embed"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/hindsightrl/harness/envs/webshop/catalog"
	"github.com/hindsightrl/harness/envs/webshop/internal/py"
	"github.com/hindsightrl/harness/envs/webshop/page"
	"github.com/hindsightrl/harness/envs/webshop/shop"
	"github.com/hindsightrl/harness/internal/pystr"
)

// maxForm bounds a posted form, in bytes.
const maxForm = 4 << 20

// Config says how the site is served.
type Config struct {
	// Original serves the original's pages unchanged: script and style come from other hosts.
	Original bool
	// AsText decides as the text environment does where the original's site decides otherwise: words and
	// names of options may hold slashes, and the last page shows product, chosen options and score alone.
	AsText bool
	// Log takes the lines that the original logs, without the line break; nil logs nothing. Calls come one
	// at a time.
	Log func(session string, line []byte)
}

// Site is a http.Handler. It is safe for concurrent use.
type Site struct {
	shop  *shop.Shop
	world *catalog.World
	cfg   Config
	cum   []float64 // running sums of the goals' weights

	mu       sync.Mutex // guards sessions, the world's random stream and Log
	sessions map[string]int
}

// New makes the site of a shop, with the goals of a world that was just drawn; the original uses human
// goals.
func New(s *shop.Shop, w *catalog.World, cfg Config) *Site {
	site := &Site{shop: s, world: w, cfg: cfg, sessions: map[string]int{}, cum: make([]float64, w.Len())}
	sum := 0.0
	for i := range site.cum {
		sum += w.At(i).Weight
		site.cum[i] = sum
	}
	return site
}

//go:embed static
var static embed.FS

// errNotFound is an address that no route has.
var errNotFound = errors.New("not found")

// ServeHTTP implements http.Handler.
func (s *Site) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !s.cfg.Original {
		w.Header().Set("Content-Security-Policy", policy)
	}
	path, err := url.PathUnescape(r.URL.EscapedPath())
	if err != nil || !utf8.ValidString(path) {
		path = strings.ToValidUTF8(r.URL.Path, "\uFFFD")
	}
	if name, ok := strings.CutPrefix(path, "/static/"); ok {
		s.static(w, r, name)
		return
	}
	switch r.Method {
	case http.MethodGet, http.MethodHead, http.MethodPost:
	default:
		w.Header().Set("Allow", "GET, HEAD, OPTIONS, POST")
		respond(w, http.StatusMethodNotAllowed, errorPage("405 Method Not Allowed", "Method Not Allowed", "The method is not allowed for the requested URL."))
		return
	}
	body, err := s.route(w, r, path)
	switch {
	case errors.Is(err, errNotFound):
		respond(w, http.StatusNotFound, errorPage("404 Not Found", "Not Found",
			"The requested URL was not found on the server. If you entered the URL manually please check your spelling and try again."))
	case err != nil:
		w.Header().Set("X-Webshop-Error", strconv.QuoteToASCII(err.Error()))
		respond(w, http.StatusInternalServerError, errorPage("500 Internal Server Error", "Internal Server Error",
			"The server encountered an internal error and was unable to complete your request. Either the server is overloaded or there is an error in the application."))
	case body != "":
		respond(w, http.StatusOK, body)
	}
}

func (s *Site) static(w http.ResponseWriter, r *http.Request, name string) {
	raw, err := static.ReadFile("static/" + name)
	if err != nil {
		respond(w, http.StatusNotFound, errorPage("404 Not Found", "Not Found",
			"The requested URL was not found on the server. If you entered the URL manually please check your spelling and try again."))
		return
	}
	types := map[string]string{"css": "text/css; charset=utf-8", "svg": "image/svg+xml", "js": "text/javascript; charset=utf-8"}
	w.Header().Set("Content-Type", types[name[strings.LastIndexByte(name, '.')+1:]])
	if r.Method != http.MethodHead {
		_, _ = w.Write(raw) // a client that left needs no answer
	}
}

func respond(w http.ResponseWriter, status int, body string) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, body) // a client that left needs no answer
}

func errorPage(title, heading, text string) string {
	return "<!doctype html>\n<html lang=en>\n<title>" + title + "</title>\n<h1>" + heading + "</h1>\n<p>" + text + "</p>\n"
}

// route finds the handler by the parts of the unescaped path: a slash in a value ends the part there,
// as in the original.
func (s *Site) route(w http.ResponseWriter, r *http.Request, path string) (string, error) {
	if path == "/" {
		redirect(w, "/abc")
		return "", nil
	}
	parts := strings.Split(strings.TrimPrefix(path, "/"), "/")
	for _, p := range parts {
		if p == "" {
			return "", errNotFound
		}
	}
	v := &visit{site: s, url: requestURL(r, path)}
	switch {
	case len(parts) == 1:
		return s.index(w, r, v, parts[0])
	case len(parts) == 4 && parts[0] == "search_results":
		v.session, v.keywords, v.number = parts[1], parts[2], parts[3]
		return v.known(v.results)
	case len(parts) == 6 && parts[0] == "item_page":
		v.session, v.asin, v.keywords, v.number, v.options = parts[1], parts[2], parts[3], parts[4], parts[5]
		return v.known(v.item)
	case len(parts) == 7 && parts[0] == "item_sub_page":
		v.session, v.asin, v.keywords, v.number, v.sub, v.options = parts[1], parts[2], parts[3], parts[4], parts[5], parts[6]
		return v.known(v.subPage)
	case len(parts) == 4 && parts[0] == "done":
		v.session, v.asin, v.options = parts[1], parts[2], parts[3]
		return v.known(v.done)
	}
	return "", errNotFound
}

// redirect answers with Flask's redirection.
func redirect(w http.ResponseWriter, to string) {
	w.Header().Set("Location", to)
	shown := page.Escape(to)
	respond(w, http.StatusFound, "<!doctype html>\n<html lang=en>\n<title>Redirecting...</title>\n<h1>Redirecting...</h1>\n"+
		"<p>You should be redirected automatically to the target URL: <a href=\""+shown+"\">"+shown+"</a>. If not, click the link.\n")
}

// index begins a session, or takes a search.
func (s *Site) index(w http.ResponseWriter, r *http.Request, v *visit, session string) (string, error) {
	v.session = session
	if err := s.enter(session); err != nil {
		return "", err
	}
	if r.Method == http.MethodPost {
		r.Body = http.MaxBytesReader(w, r.Body, maxForm)
		if err := r.ParseForm(); err != nil {
			return "", fmt.Errorf("read form: %w", err)
		}
		if q, ok := r.PostForm["search_query"]; ok {
			words := strings.Split(pystr.Lower(strings.ToValidUTF8(q[0], "\uFFFD")), " ")
			redirect(w, "/search_results/"+page.PathEscape(session)+"/"+page.PathEscape(s.repr(py.Strings(words)))+"/1")
			return "", nil
		}
	}
	return v.known(v.start)
}

// enter gives a new session its goal: the one that "fixed_N" names, else a random one by weight.
func (s *Site) enter(session string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, ok := s.sessions[session]; ok {
		return nil
	}
	n := s.world.Len()
	if strings.Contains(session, "fixed") {
		i, err := page.ReadNumber(session[strings.LastIndexByte(session, '_')+1:])
		if err != nil {
			return fmt.Errorf("session %q: %w", session, err)
		}
		if i < 0 {
			i += n
		}
		if i < 0 || i >= n {
			return fmt.Errorf("session %q: there are %d goals", session, n)
		}
		s.sessions[session] = i
		return nil
	}
	at := s.world.Rand.Float64() * s.cum[n-1]
	i := 0
	for i < n-1 && s.cum[i] <= at {
		i++
	}
	s.sessions[session] = i
	return nil
}

// Goal is the index of a session's goal; ok is false for a session that nobody began.
func (s *Site) Goal(session string) (index int, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	index, ok = s.sessions[session]
	return index, ok
}
