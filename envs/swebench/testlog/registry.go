package testlog

import (
	"errors"
	"fmt"
	"maps"
	"slices"
)

// Release says whose rules a log is read by.
type Release string

// The releases of the official harness whose rules are known.
const (
	V502 Release = "5.0.2" // the default
	V410 Release = "4.1.0" // cuts ids at spaces, counts skip summaries as tests, pairs Maven's results in place
)

// ParseRelease reads a release's name; "" is the default.
func ParseRelease(name string) (Release, error) {
	switch name {
	case "", string(V502), "5":
		return V502, nil
	case string(V410), "4", "4.1":
		return V410, nil
	}
	return "", fmt.Errorf("grader %q is unknown (have %s and %s)", name, V502, V410)
}

// Subject is what a parser may need to know beside the text. The zero value of Release is 5.0.2.
type Subject struct {
	InstanceID string // some repositories change runners from one pull request to the next
	Version    string // or from one version to the next
	Release    Release
}

func (s Subject) v4() bool { return s.Release == V410 }

// ErrUnknownParser is returned for a name that the registry does not have.
var ErrUnknownParser = errors.New("no such log parser")

// ParseError is a log that has not the form that its parser reads.
type ParseError struct {
	Parser string
	Err    error
}

// Error prints the parser and the cause.
func (e *ParseError) Error() string { return fmt.Sprintf("parse log with %s: %v", e.Parser, e.Err) }

// Unwrap returns the cause.
func (e *ParseError) Unwrap() error { return e.Err }

// parser reads one log into out. An error means that the log as a whole could not be read.
type parser struct {
	parse func(log string, sub Subject, out *Statuses) error
	since Release // the first release that has it
}

// plain adapts parsers that need nothing but the text and cannot fail.
func plain(f func(log string, out *Statuses)) parser {
	return parser{parse: func(log string, _ Subject, out *Statuses) error {
		f(log, out)
		return nil
	}, since: V410}
}

// ruled adapts parsers whose rules differ between releases.
func ruled(f func(log string, v4 bool, out *Statuses)) parser {
	return parser{parse: func(log string, sub Subject, out *Statuses) error {
		f(log, sub.v4(), out)
		return nil
	}, since: V410}
}

func (p parser) sinceV5() parser {
	p.since = V502
	return p
}

// registry holds the 57 official names.
var registry = map[string]parser{
	"parse_log_pytest":                 ruled(parsePytest),
	"parse_log_astroid":                ruled(parsePytest),
	"parse_log_flask":                  ruled(parsePytest),
	"parse_log_marshmallow":            ruled(parsePytest),
	"parse_log_pvlib":                  ruled(parsePytest),
	"parse_log_pyvista":                ruled(parsePytest),
	"parse_log_sqlfluff":               ruled(parsePytest),
	"parse_log_xarray":                 ruled(parsePytest),
	"parse_log_pytest_options":         ruled(parsePytestOptions),
	"parse_log_pydicom":                ruled(parsePytestOptions),
	"parse_log_requests":               ruled(parsePytestOptions),
	"parse_log_pylint":                 ruled(parsePytestOptions),
	"parse_log_pytest_v2":              ruled(parsePytestV2),
	"parse_log_astropy":                ruled(parsePytestV2),
	"parse_log_scikit":                 ruled(parsePytestV2),
	"parse_log_sphinx":                 ruled(parsePytestV2),
	"parse_log_matplotlib":             ruled(parseMatplotlib),
	"parse_log_seaborn":                plain(parseSeaborn),
	"parse_log_sympy":                  plain(parseSympy),
	"parse_log_django":                 plain(parseDjango),
	"parse_log_gotest":                 plain(parseGoTest),
	"parse_log_cargo":                  plain(parseCargo),
	"parse_log_maven":                  ruled(parseMaven),
	"parse_log_ant":                    plain(parseAnt),
	"parse_log_gradle_custom":          ruled(parseGradle),
	"parse_log_redis":                  plain(parseRedis),
	"parse_log_jq":                     plain(parseJQ),
	"parse_log_doctest":                {parse: parseDoctest, since: V410},
	"parse_log_micropython_test":       plain(parseMicroPython),
	"parse_log_googletest":             plain(parseGoogleTest),
	"parse_log_phpunit":                plain(parsePHPUnit),
	"parse_log_minitest":               plain(parseMinitest),
	"parse_log_cucumber":               plain(parseCucumber),
	"parse_log_ruby_unit":              plain(parseRubyUnit),
	"parse_log_rspec_transformed_json": plain(parseRSpec),
	"parse_log_jekyll":                 {parse: parseJekyll, since: V410},
	"parse_log_jest":                   ruled(parseJest),
	"parse_log_jest_json":              plain(parseJestJSON),
	"parse_log_vitest":                 plain(parseVitest),
	"parse_log_karma":                  plain(parseKarma),
	"parse_log_tap":                    plain(parseTAP),
	"parse_log_immutable_js":           {parse: parseImmutable, since: V410},
	"parse_log_calypso":                plain(parseCalypso),
	"parse_log_chart_js":               plain(parseChartJS),
	"parse_log_marked":                 plain(parseMarked),
	"parse_log_p5js":                   {parse: parseP5, since: V410},
	"parse_log_react_pdf":              plain(parseCarbon),
	"parse_log_carbon":                 plain(parseCarbon).sinceV5(),
	"parse_log_bpmn_js":                plain(parseBPMN).sinceV5(),
	"parse_log_eslint":                 plain(parseESLint).sinceV5(),
	"parse_log_grommet":                plain(parseGrommet).sinceV5(),
	"parse_log_highlightjs":            plain(parseHighlight).sinceV5(),
	"parse_log_lighthouse":             {parse: parseLighthouse, since: V502},
	"parse_log_next":                   {parse: parseNext, since: V502},
	"parse_log_openlayers":             plain(parseOpenLayers).sinceV5(),
	"parse_log_prismjs":                {parse: parsePrism, since: V502},
	"parse_log_quarto_cli":             plain(parseQuarto).sinceV5(),
}

// Names lists the registry, sorted.
func Names() []string { return slices.Sorted(maps.Keys(registry)) }

// Known reports whether the registry has a name.
func Known(name string) bool {
	_, ok := registry[name]
	return ok
}

// Parse reads a log with the parser of the given name. log is text as Decode makes it. The error wraps
// ErrUnknownParser for a name that the registry (or the asked release of it) has not, or is a *ParseError.
func Parse(name, log string, sub Subject) (*Statuses, error) {
	p, ok := registry[name]
	switch {
	case !ok:
		return nil, fmt.Errorf("parse log with %q: %w", name, ErrUnknownParser)
	case sub.v4() && p.since != V410:
		return nil, fmt.Errorf("parse log with %q: %w in release %s", name, ErrUnknownParser, sub.Release)
	}
	out := &Statuses{}
	if err := p.parse(log, sub, out); err != nil {
		return nil, &ParseError{Parser: name, Err: err}
	}
	return out, nil
}
