package grade

import (
	"regexp"
	"strings"
)

// Infra is a hint that the environment broke and not the patch. It never changes a verdict.
type Infra struct {
	Reason      string `json:"reason"`      // as in the official report: "out_of_memory", …
	Environment bool   `json:"environment"` // a patch of the repository cannot cause it; else it may be either
}

// signature is a text that gives a reason away. needle is a literal of each alternative's, for speed.
type signature struct {
	Infra
	needles []string
	pattern *regexp.Regexp // nil: the needles themselves are the pattern
}

// signatures are tried in this order; the first hit wins.
var signatures = []signature{
	{Infra{"browser_launch_failed", true}, []string{"Failed to launch", "Failed to connect to the bus"}, nil},
	{Infra{"display_unavailable", true}, []string{"cannot open display", "Missing X server", "unable to open X display"}, nil},
	{
		Infra{"out_of_memory", true},
		[]string{"Cannot allocate memory", "OutOfMemoryError", "Killed"},
		regexp.MustCompile(`(?m)Cannot allocate memory|OutOfMemoryError|^Killed$`),
	},
	{Infra{"container_unavailable", true}, []string{"Error response from daemon", "Cannot connect to the Docker daemon"}, nil},
	{Infra{"network_unreachable", true}, []string{"Could not resolve host", "Temporary failure in name resolution"}, nil},
	{Infra{"missing_module", false}, []string{"Cannot find module", "MODULE_NOT_FOUND", "ModuleNotFoundError"}, nil},
	{Infra{"no_tests_collected", false}, []string{"no tests ran", "collected 0 items"}, nil},
	{Infra{"tests_timed_out", false}, []string{"Timeout error: "}, regexp.MustCompile(`Timeout error: \p{Nd}+ seconds exceeded`)},
}

// Classify looks for the first sign of a broken environment in a text; nil where there is none.
func Classify(text string) *Infra {
	for _, s := range signatures {
		for _, n := range s.needles {
			if strings.Contains(text, n) && (s.pattern == nil || s.pattern.MatchString(text)) {
				found := s.Infra
				return &found
			}
		}
	}
	return nil
}
