package sweaction

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/hindsightrl/harness"
	"github.com/hindsightrl/harness/internal/pystr"
)

// The functions of the tools interface.
const (
	FileEditor  = "file_editor"
	ExecuteBash = "execute_bash"
	Search      = "search"
	Finish      = "finish"
)

// Call is one function call.
type Call struct {
	Function string
	Params   map[string]string
}

// Source: R2E-Gym/R2E-Gym@69bc9535 agenthub/action/action.py.
var (
	callText  = regexp.MustCompile(`(?s)<function=.*?</function>`)
	callName  = regexp.MustCompile(`<function\s*=\s*([^>]+)>`)
	callParam = regexp.MustCompile(`(?s)<parameter\s*=\s*([^>]+)>(.*?)</parameter>`)
)

// functions lists what a call may and must say.
var functions = map[string]struct{ required, optional []string }{
	FileEditor:  {[]string{"command", "path"}, []string{"file_text", "old_str", "new_str", "insert_line", "view_range", "concise"}},
	ExecuteBash: {[]string{"cmd"}, nil},
	Search:      {[]string{"search_term"}, []string{"path"}},
	Finish:      {[]string{"command"}, []string{"result"}},
}

// exact are the parameters whose space counts. A newline after the opening tag and before the closing one
// is layout.
var exact = map[string]bool{"file_text": true, "old_str": true, "new_str": true}

// other names that agents are taught for the same functions.
var synonyms = map[string]string{"str_replace_editor": FileEditor, "bash": ExecuteBash, "run": ExecuteBash, "submit": Finish}

// Tools takes the first function call out of a response, as it is written. A response without one is
// malformed and its action is empty; so is, by its action, a call that ParseTools refuses.
func Tools(response string) (action string, valid bool) {
	action = strings.ToValidUTF8(callText.FindString(response), "\uFFFD")
	_, err := ParseTools(action)
	return action, err == nil && utf8.ValidString(response)
}

// ToolsSpans returns the bytes of the response that are the call; nil where there is none.
func ToolsSpans(response string) []harness.Span {
	at := callText.FindStringIndex(response)
	if at == nil {
		return nil
	}
	return []harness.Span{{Start: at[0], End: at[1]}}
}

// NoCallError is returned for an action without a function call.
type NoCallError struct{}

// Error says what is missing.
func (NoCallError) Error() string { return "there is no function call" }

// ParseTools reads an action of the tools interface. Its errors are for the agent to read.
func ParseTools(action string) (Call, error) {
	text := callText.FindString(action)
	if text == "" {
		return Call{}, NoCallError{}
	}
	name := callName.FindStringSubmatch(text)
	if name == nil {
		return Call{}, NoCallError{}
	}
	c := Call{Function: pystr.Strip(name[1]), Params: map[string]string{}}
	if other := synonyms[c.Function]; other != "" {
		c.Function = other
	}
	for _, p := range callParam.FindAllStringSubmatch(text, -1) {
		key := pystr.Strip(p[1])
		if exact[key] {
			c.Params[key] = trimLayout(p[2])
		} else {
			c.Params[key] = pystr.Strip(p[2])
		}
	}
	if c.Function == ExecuteBash && c.Params["cmd"] == "" && c.Params["command"] != "" {
		c.Params = map[string]string{"cmd": c.Params["command"]} // as most agents are taught
	}
	if c.Function == Finish && c.Params["command"] == "" {
		c.Params["command"] = "submit"
	}
	return c, c.check()
}

// check says what is wrong with a call.
func (c Call) check() error {
	f, ok := functions[c.Function]
	if !ok {
		return fmt.Errorf("there is no function %q; there are %s, %s, %s and %s", c.Function, FileEditor, Search, ExecuteBash, Finish)
	}
	for _, p := range f.required {
		if _, ok := c.Params[p]; !ok {
			return fmt.Errorf("the function %s needs the parameter %q", c.Function, p)
		}
	}
	for _, p := range slices.Sorted(maps.Keys(c.Params)) {
		if !slices.Contains(f.required, p) && !slices.Contains(f.optional, p) {
			return fmt.Errorf("the function %s has no parameter %q; it has %s", c.Function, p, strings.Join(append(slices.Clone(f.required), f.optional...), ", "))
		}
	}
	return nil
}

// trimLayout removes the newline after an opening tag and the one before a closing tag.
func trimLayout(s string) string {
	return strings.TrimSuffix(strings.TrimPrefix(s, "\n"), "\n")
}

// String writes a call as a response has it. Parameters come in the function's order.
func (c Call) String() string {
	f := functions[c.Function]
	var b strings.Builder
	fmt.Fprintf(&b, "<function=%s>\n", c.Function)
	for _, p := range append(slices.Clone(f.required), f.optional...) {
		v, ok := c.Params[p]
		switch {
		case !ok:
		case exact[p]:
			fmt.Fprintf(&b, "  <parameter=%s>\n%s\n</parameter>\n", p, v)
		default:
			fmt.Fprintf(&b, "  <parameter=%s>%s</parameter>\n", p, v)
		}
	}
	return b.String() + "</function>"
}
