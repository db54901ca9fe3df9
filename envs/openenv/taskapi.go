package openenv

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"

	"github.com/hindsightrl/harness"
)

// The task API (list_environments, splits, tasks, …) lists what resets can choose from.

func (s *Server) listEnvironments(w http.ResponseWriter, _ *http.Request) {
	writeJSON(w, http.StatusOK, []string{s.cfg.Suite.Name()})
}

// named answers 404 for another environment than this one.
func (s *Server) named(w http.ResponseWriter, r *http.Request) bool {
	if name := r.PathValue("env"); !strings.EqualFold(name, s.cfg.Suite.Name()) {
		httpError(w, http.StatusNotFound, "unknown environment '"+clip(name)+"'")
		return false
	}
	return true
}

func (s *Server) listSplits(w http.ResponseWriter, r *http.Request) {
	if !s.named(w, r) {
		return
	}
	names := s.cfg.Splits
	if names == nil {
		var err error
		if names, err = s.book.splits(r.Context()); err != nil {
			httpFault(w, asFault(err))
			return
		}
	}
	out := make([]map[string]string, len(names))
	for i, name := range names {
		kind := "validation"
		if slices.Contains([]string{"train", "test"}, name) {
			kind = name
		}
		out[i] = map[string]string{"name": name, "type": kind}
	}
	writeJSON(w, http.StatusOK, out)
}

// taskQuery is the body of the requests below; each takes some of it.
type taskQuery struct {
	Split *string `json:"split"`
	Index *int    `json:"index"`
	Start *int    `json:"start"`
	Stop  *int    `json:"stop"`
}

// query reads the body and lists the split's tasks; ok is false where it has answered already.
func (s *Server) query(w http.ResponseWriter, r *http.Request) (q taskQuery, tasks []harness.Task, ok bool) {
	if !s.named(w, r) {
		return q, nil, false
	}
	raw, ok := s.body(w, r)
	if !ok {
		return q, nil, false
	}
	if err := json.Unmarshal(raw, &q); err != nil || q.Split == nil {
		httpFault(w, invalid("missing", "Field required: the name of a split", "body", "split"))
		return q, nil, false
	}
	l, err := s.book.list(r.Context(), *q.Split)
	if err != nil {
		httpFault(w, asFault(err))
		return q, nil, false
	}
	return q, l.tasks, true
}

func (s *Server) listTasks(w http.ResponseWriter, r *http.Request) {
	if _, tasks, ok := s.query(w, r); ok {
		writeJSON(w, http.StatusOK, map[string]any{"tasks": told(tasks), "env_name": s.cfg.Suite.Name()})
	}
}

func (s *Server) numTasks(w http.ResponseWriter, r *http.Request) {
	if _, tasks, ok := s.query(w, r); ok {
		writeJSON(w, http.StatusOK, map[string]int{"num_tasks": len(tasks)})
	}
}

func (s *Server) getTask(w http.ResponseWriter, r *http.Request) {
	q, tasks, ok := s.query(w, r)
	switch {
	case !ok:
	case q.Index == nil:
		httpFault(w, invalid("missing", "Field required", "body", "index"))
	case *q.Index < 0 || *q.Index >= len(tasks):
		httpError(w, http.StatusBadRequest, "Invalid task index")
	default:
		writeJSON(w, http.StatusOK, map[string]any{"task": told(tasks[*q.Index : *q.Index+1])[0]})
	}
}

func (s *Server) getTaskRange(w http.ResponseWriter, r *http.Request) {
	q, tasks, ok := s.query(w, r)
	if !ok {
		return
	}
	start, stop := 0, len(tasks)
	if q.Start != nil {
		start = *q.Start
	}
	if q.Stop != nil {
		stop = *q.Stop
	}
	if start < 0 || stop > len(tasks) || start > stop {
		httpError(w, http.StatusBadRequest, "Invalid task index")
		return
	}
	writeJSON(w, http.StatusOK, map[string]any{"tasks": told(tasks[start:stop])})
}

// toldTask is a task as clients get it: task_id and split are what a reset takes.
type toldTask struct {
	TaskID string `json:"task_id"`
	Env    string `json:"env"`
	Split  string `json:"split"`
	Type   string `json:"type"`
	Hash   string `json:"hash"`
}

func told(tasks []harness.Task) []toldTask {
	out := make([]toldTask, len(tasks))
	for i, t := range tasks {
		out[i] = toldTask{t.ID, t.Env, t.Split, t.Type, t.Hash}
	}
	return out
}
