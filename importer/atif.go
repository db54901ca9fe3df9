package importer

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"

	"github.com/hindsightrl/harness"
	"github.com/hindsightrl/harness/internal/errext"
)

// atifFile is the artifact with what of a trajectory has no place.
const atifFile = "atif.json"

// Trajectory is what can be known of an ATIF file before its steps are read.
type Trajectory struct {
	Session    string // session_id; "" = none
	Trajectory string // trajectory_id; "" = none
}

// Result is what ATIF has no field for: Harbor keeps it in result.json beside the trajectory.
type Result struct {
	Task    string           // name; "" = told by what the agent was asked
	Hash    string           // of the task; "" = not said
	Reward  *float64         // nil = not said
	Failure *harness.Failure // why there is no reward; nil = none
}

// versions are those of the schema that are known: ATIF-v1.0 to v1.8.
var versions = regexp.MustCompile(`^ATIF-v1\.[0-8]$`)

// readATIF reads a file with one trajectory, or several one after the other.
// Source: Harbor 0.26.0 models/trajectories.
func (r *Reader) readATIF(ctx context.Context, name string, in io.Reader, each func(*Episode) error, bad func(*BadRecordError) error) error {
	raw, err := io.ReadAll(io.LimitReader(in, maxRecord+1))
	if err != nil {
		return fmt.Errorf("read %s: %w", name, err)
	}
	if len(raw) > maxRecord {
		return fmt.Errorf("read %s: %w", name, errTooLong)
	}
	dec := json.NewDecoder(bytes.NewReader(raw))
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		begin := int(dec.InputOffset())
		begin += len(raw[begin:]) - len(bytes.TrimLeft(raw[begin:], " \t\r\n"))
		var doc json.RawMessage
		err := dec.Decode(&doc)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil { // nothing after it can be read
			end := begin
			if s := (*json.SyntaxError)(nil); errors.As(err, &s) {
				end = int(s.Offset)
			} else if errors.Is(err, io.ErrUnexpectedEOF) {
				end = len(raw)
			}
			return bad(&BadRecordError{File: name, Line: lineOf(raw, end), Err: syntax(err)})
		}
		ep, err := r.trajectoryDoc(name, doc)
		if err != nil {
			line := lineOf(raw, begin)
			if s := (*stepError)(nil); errors.As(err, &s) {
				line = lineOf(raw, begin+stepOffset(doc, s.index))
			}
			if err := refuse(record(name, line, err), bad); err != nil {
				return err
			}
			continue
		}
		ep.Source = fmt.Sprintf("%s:%d", name, lineOf(raw, begin))
		if err := each(ep); err != nil {
			return err
		}
	}
}

// lineOf is the line of an offset, from 1.
func lineOf(raw []byte, offset int) int {
	return bytes.Count(raw[:min(offset, len(raw))], []byte("\n")) + 1
}

// stepError says which step an error is in.
type stepError struct {
	index int
	err   error
}

func (s *stepError) Error() string { return s.err.Error() }
func (s *stepError) Unwrap() error { return s.err }

// stepOffset is where a step begins in its document; 0 where it cannot be found.
func stepOffset(doc []byte, index int) int {
	dec := json.NewDecoder(bytes.NewReader(doc))
	if _, err := dec.Token(); err != nil {
		return 0
	}
	for dec.More() {
		key, err := dec.Token()
		if err != nil {
			return 0
		}
		if key != "steps" {
			var skip json.RawMessage
			if dec.Decode(&skip) != nil {
				return 0
			}
			continue
		}
		if _, err := dec.Token(); err != nil {
			return 0
		}
		for i := 0; dec.More(); i++ {
			var step json.RawMessage
			if dec.Decode(&step) != nil {
				return 0
			}
			if i == index {
				return int(dec.InputOffset()) - len(step)
			}
		}
	}
	return 0
}

// trajectoryDoc reads a trajectory.
func (r *Reader) trajectoryDoc(name string, doc json.RawMessage) (*Episode, error) {
	f, err := object(doc)
	if err != nil {
		return nil, err
	}
	if err := supported(f); err != nil {
		return nil, err
	}
	var about Trajectory
	var model struct {
		Name  string `json:"name"`
		Model string `json:"model_name"`
	}
	for key, into := range map[string]any{"session_id": &about.Session, "trajectory_id": &about.Trajectory, "agent": &model} {
		if _, err := f.peek(key, into); err != nil {
			return nil, err
		}
	}
	w := &atifWalk{r: r, model: model.Model}
	if err := w.steps(f); err != nil {
		return nil, err
	}
	var res Result
	if r.opt.Result != nil {
		if res, err = r.opt.Result(name, about); err != nil {
			return nil, err
		}
	}
	ep := &Episode{Model: firstOf(w.model, model.Name), Task: harness.Task{Env: r.env(FormatATIF), ID: res.Task, Hash: res.Hash}}
	if ep.Task.ID == "" {
		sum := sha256.Sum256([]byte(w.asked))
		ep.Task.ID = "asked-" + hex.EncodeToString(sum[:6])
	}
	switch {
	case res.Failure != nil:
		ep.Steps, ep.Failure = failed(w.turns), res.Failure
	case res.Reward == nil:
		return nil, errext.WithHint(errors.New("no reward is known: ATIF has no field for it"), "import it from Harbor's job folder, where result.json is beside it, or name a file with --rewards")
	case len(w.turns) == 0:
		return nil, at("steps", errors.New("the model said nothing, and there is a reward"))
	default:
		ep.Steps, ep.Outcome = assemble(w.turns, *res.Reward, harness.StopFinished, *res.Reward >= r.opt.won())
	}
	return ep, r.atifRest(ep, f, w)
}

// supported refuses versions and kinds that cannot be read faithfully.
func supported(f fields) error {
	var version, next string
	if given, err := f.peek("schema_version", &version); err != nil {
		return err
	} else if !given {
		return at("schema_version", errors.New("missing: this is no ATIF trajectory"))
	}
	if !versions.MatchString(version) {
		return at("schema_version", fmt.Errorf("%q is not known: ATIF-v1.0 to ATIF-v1.8 are", version))
	}
	if given, err := f.peek("continued_trajectory_ref", &next); err != nil {
		return err
	} else if given {
		return at("continued_trajectory_ref", fmt.Errorf("the trajectory goes on in %q: its reward belongs to the whole, which is not in this file", next))
	}
	return nil
}

// atifRest keeps what has no place and notes what it is.
func (r *Reader) atifRest(ep *Episode, f fields, w *atifWalk) error {
	f.prune()
	for _, k := range f.names() {
		switch k {
		case "schema_version", "session_id", "trajectory_id", "agent", "final_metrics":
		case "subagent_trajectories":
			r.notes["trajectories with subagents: theirs are in the artifact "+atifFile+" alone"]++
		default:
			r.notes[k+" kept in the artifact "+atifFile]++
		}
	}
	rests := map[string]fields{}
	for i, rest := range w.rests {
		if rest.prune(); len(rest) > 0 {
			rests[fmt.Sprint(i+1)] = rest
		}
	}
	var err error
	ep.Rest, err = artifact(atifFile, struct {
		Trajectory fields            `json:"trajectory"`
		Steps      map[string]fields `json:"steps,omitempty"` // by step_id
	}{f, rests}, false)
	return err
}
