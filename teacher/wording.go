package teacher

import (
	"fmt"
	"strings"
)

// wording is the templates spread for filling. A template that parsed can always be filled with the
// values of its key, so filling has no errors.
type wording struct {
	t *Templates

	separator, stepSeparator, candidateSeparator string
	emptyAction, noFuture                        string

	context  frame             // slots: prompt, sections
	sections map[string]*frame // by title key without "title_"; slot: content
	success  *frame            // of sections, those that are asked for each row
	future   *frame
	feedback *frame
	next     *frame
	step     [2]frame // responses only; observation and action. Slots: step, observation, response
}

func newWording(t *Templates) *wording {
	w := &wording{t: t}
	w.separator, w.stepSeparator, w.candidateSeparator = w.plain("section_separator"), w.plain("trajectory_step_separator"), w.plain("candidate_separator")
	w.emptyAction, w.noFuture = w.plain("empty_action"), w.plain("candidate_no_future")
	w.context = w.frameOf("context", nil, "prompt", "privileged_context")
	w.sections = make(map[string]*frame)
	for key := range placeholders {
		if name, ok := strings.CutPrefix(key, "title_"); ok {
			f := w.frameOf("section", map[string]string{"title": w.plain(key)}, "content")
			w.sections[name] = &f
		}
	}
	w.success, w.future = w.sections["successful_trajectory"], w.sections["future_trajectory"]
	w.feedback, w.next = w.sections["immediate_feedback"], w.sections["next_observation"]
	w.step = [2]frame{
		w.frameOf("trajectory_step_response", nil, "step", "observation", "response"),
		w.frameOf("trajectory_step_observation_action", nil, "step", "observation", "action"),
	}
	return w
}

// plain is a string without placeholders, its doubled braces undone.
func (w *wording) plain(key string) string { return w.fill(key) }

// field is a placeholder's name and value.
type field struct {
	name  string
	value any
}

func (w *wording) fill(key string, fields ...field) string {
	return string(w.append(nil, key, fields...))
}

func (w *wording) append(dst []byte, key string, fields ...field) []byte {
	out, err := w.t.byKey[key].Append(dst, func(name string) any {
		for i := range fields {
			if fields[i].name == name {
				return fields[i].value
			}
		}
		return nil
	})
	if err != nil { // parseTemplate allows only what the callers fill in
		panic(fmt.Sprintf("template %q: %v", key, err))
	}
	return out
}
