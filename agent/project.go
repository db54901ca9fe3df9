package agent

import (
	"strings"
	"unicode/utf8"

	"github.com/hindsightrl/harness/internal/pystr"
)

// The tags of the response format.
const (
	openAction  = "<action>"
	closeAction = "</action>"
	openThink   = "<think>"
	closeThink  = "</think>"
)

// The number of code points that the reference keeps of a response without action tags.
const (
	alfworldTail = 30
	webshopTail  = 20
)

// A Projection turns a response into the action that is sent to the environment and says whether the
// response kept the format's rules. It is defined for every text: the empty one, one with half a tag,
// and one that is not UTF-8, which is never valid.
type Projection func(response string) (action string, valid bool)

// Project parses a response as the named environment's format does (see Formats): "alfworld",
// "webshop", or the generic rules for any other name.
func Project(env, response string) (action string, valid bool) {
	return DefaultFormats().For(env).Project(response)
}

// ProjectALFWorld is the reference's rule for ALFWorld: the text is lower-cased; the action is what
// stands between the first <action> and the first </action>, without the space around it, or "" where
// the closing tag comes first; without both tags it is the last 30 code points, and invalid. Valid
// responses have both tags, <think> and </think> in lower case anywhere, and no character in
// U+4E00..U+9FFF. Whether the action is admissible is not asked.
// Source: OliverLeeXZ/SERL@5a2a85b agent_system/environments/env_package/alfworld/projection.py.
func ProjectALFWorld(response string) (action string, valid bool) {
	return projectLower(response, alfworldTail)
}

// ProjectWebShop is ProjectALFWorld with 20 code points in place of 30.
// Source: OliverLeeXZ/SERL@5a2a85b agent_system/environments/env_package/webshop/projection.py.
func ProjectWebShop(response string) (action string, valid bool) {
	return projectLower(response, webshopTail)
}

func projectLower(response string, tail int) (action string, valid bool) {
	lower := pystr.Lower(response)
	start, end := strings.Index(lower, openAction), strings.Index(lower, closeAction)
	if start < 0 || end < 0 {
		return pystr.Last(lower, tail), false
	}
	if start += len(openAction); start < end {
		action = pystr.Strip(lower[start:end])
	}
	return action, hasThought(response) && !hasCJK(response) && utf8.ValidString(response)
}

// ProjectGeneric is the rule for environments without one of their own: the action is what stands
// between the first <action> and the </action> after it, as written, without the space around it.
// Without them it is "" and invalid. Valid responses also have <think> and </think>.
func ProjectGeneric(response string) (action string, valid bool) {
	_, rest, found := strings.Cut(response, openAction)
	if !found {
		return "", false
	}
	action, _, found = strings.Cut(rest, closeAction)
	if !found {
		return "", false
	}
	action = pystr.Strip(strings.ToValidUTF8(action, "\uFFFD"))
	return action, hasThought(response) && utf8.ValidString(response)
}

func hasThought(response string) bool {
	return strings.Contains(response, openThink) && strings.Contains(response, closeThink)
}

// hasCJK looks for the reference's range, U+4E00..U+9FFF: not kana, not the extensions.
func hasCJK(s string) bool {
	for _, r := range s {
		if 0x4e00 <= r && r <= 0x9fff {
			return true
		}
	}
	return false
}
