package swebench

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/hindsightrl/harness/internal/sweaction"
)

// plan is the expert's actions, and how many of them were taken.
type plan struct {
	actions []string
	done    int
}

// took notes that an action was taken.
func (p *plan) took(action string) {
	if p.done < len(p.actions) && p.actions[p.done] == action {
		p.done++
	}
}

// Advise returns the next action of somebody who knows the dataset's own repair: it makes the repair with
// the interface's means and submits. It does not know what else was changed.
func (e *Env) Advise(ctx context.Context) (string, error) {
	switch {
	case ctx.Err() != nil:
		return "", ctx.Err()
	case e.over != nil:
		return "", errors.New("advise: the episode is over")
	case e.box == nil:
		return "", errNoEpisode
	case e.in.Patch == "":
		return "", fmt.Errorf("advise: the dataset has no repair of %s", e.in.ID)
	}
	if e.plan == nil {
		actions, err := e.repair(ctx)
		if err != nil {
			return "", err
		}
		e.plan = &plan{actions: actions}
		for _, a := range e.taken { // a resumed episode has taken some
			e.plan.took(a)
		}
	}
	if e.plan.done == len(e.plan.actions) {
		return "", errors.New("advise: all that the expert knows was done")
	}
	return e.plan.actions[e.plan.done], nil
}

// repair plans the gold patch: by commands, or by edits where every hunk is a text that occurs once.
func (e *Env) repair(ctx context.Context) ([]string, error) {
	apply := applyCommand(e.in.Patch)
	if e.suite.cfg.Interface == Bash {
		return []string{apply, "git diff --stat", "echo " + SubmitLine}, nil
	}
	submit := sweaction.Call{Function: sweaction.Finish, Params: map[string]string{"command": "submit"}}
	calls, err := e.edits(ctx)
	switch {
	case errors.Is(err, errNoEdits):
		calls = []sweaction.Call{{Function: sweaction.ExecuteBash, Params: map[string]string{"cmd": apply}}}
	case err != nil:
		return nil, err
	}
	var actions []string
	for _, c := range append(calls, submit) {
		actions = append(actions, c.String())
	}
	return actions, nil
}

// applyCommand writes a patch with a here-document and applies it.
func applyCommand(patch string) string {
	end := "END_OF_PATCH"
	for strings.Contains(patch, end) {
		end += "_"
	}
	return "git apply - <<'" + end + "'\n" + NormalizePatch(patch) + end
}

// errNoEdits is returned for a patch that is more than changes of texts that occur once.
var errNoEdits = errors.New("the patch is no sequence of edits")

// edits turns the gold patch into calls of the file editor.
func (e *Env) edits(ctx context.Context) ([]sweaction.Call, error) {
	var calls []sweaction.Call
	for _, f := range PatchFiles(e.in.Patch) {
		section := e.in.Patch[f.Start:f.End]
		hunks, ok := hunksOf(section)
		name := WorkDir + "/" + f.New
		switch {
		case f.Old == "" && ok && len(hunks) == 1 && hunks[0].old == "" && !strings.Contains(section, "\nnew file mode 100755"):
			calls = append(calls, editCall(name, "create", "file_text", hunks[0].new))
			continue
		case f.Old != f.New || !ok || strings.Contains(section, "\nnew mode "):
			return nil, errNoEdits
		}
		content, err := e.atStart(ctx, f.New)
		if err != nil {
			return nil, err
		}
		for _, h := range hunks {
			if h.old == "" || strings.Count(content, h.old) != 1 {
				return nil, errNoEdits
			}
			content = strings.Replace(content, h.old, h.new, 1)
			calls = append(calls, editCall(name, "str_replace", "old_str", h.old, "new_str", h.new))
		}
	}
	return calls, nil
}

// atStart returns a file as the agent found it, whatever has been done since; errNoEdits for what is no
// text.
func (e *Env) atStart(ctx context.Context, name string) (string, error) {
	out, err := e.exec(ctx, "git", "-c", "safe.directory=*", "cat-file", "blob", e.start.tree+":"+name)
	switch {
	case err != nil:
		return "", err
	case out.problem != "" || out.code != 0 || !out.complete || strings.ContainsRune(out.text, '\uFFFD'):
		return "", errNoEdits
	}
	return out.text, nil
}

func editCall(name, command string, params ...string) sweaction.Call {
	c := sweaction.Call{Function: sweaction.FileEditor, Params: map[string]string{"command": command, "path": name}}
	for i := 0; i < len(params); i += 2 {
		c.Params[params[i]] = params[i+1]
	}
	return c
}

// hunk is what one hunk of a diff takes away and puts there, both without the last newline.
type hunk struct{ old, new string }

// hunksOf reads a section's hunks; ok is false for what is no sequence of text hunks that end in newlines.
func hunksOf(section string) (all []hunk, ok bool) {
	_, body, found := strings.Cut(section, "\n@@ ")
	if !found {
		return nil, false
	}
	for _, text := range strings.Split("\n@@ "+body, "\n@@ ")[1:] {
		var h hunk
		_, lines, _ := strings.Cut(text, "\n")
		for _, line := range strings.Split(strings.TrimSuffix(lines, "\n"), "\n") {
			switch {
			case line == "": // an empty line of context whose blank was cut
				h.old, h.new = h.old+"\n", h.new+"\n"
			case line[0] == ' ':
				h.old, h.new = h.old+line[1:]+"\n", h.new+line[1:]+"\n"
			case line[0] == '-':
				h.old += line[1:] + "\n"
			case line[0] == '+':
				h.new += line[1:] + "\n"
			default: // "\ No newline at end of file"
				return nil, false
			}
		}
		all = append(all, hunk{strings.TrimSuffix(h.old, "\n"), strings.TrimSuffix(h.new, "\n")})
	}
	return all, true
}
