package serve

import (
	"context"
	"encoding/json"
	"net/http"

	"github.com/hindsightrl/harness/llm"
)

func (s *Server) say(w http.ResponseWriter, key, value string) error {
	s.writeJSON(w, http.StatusOK, map[string]string{key: value})
	return nil
}

// weightInfo tells the label of the weights, and beside it what exactly they are.
func (s *Server) weightInfo(w http.ResponseWriter, _ *http.Request) error {
	version, _, info := s.weights.state()
	s.writeJSON(w, http.StatusOK, map[string]string{"weight_version": version, "model_version": info.Version})
	return nil
}

func (s *Server) isPaused(w http.ResponseWriter, _ *http.Request) error {
	_, paused, _ := s.weights.state()
	s.writeJSON(w, http.StatusOK, map[string]bool{"is_paused": paused})
	return nil
}

func (s *Server) worldSize(w http.ResponseWriter, _ *http.Request) error {
	s.writeJSON(w, http.StatusOK, map[string]int{"world_size": 1})
	return nil
}

func (s *Server) pause(w http.ResponseWriter, r *http.Request) error {
	mode := r.URL.Query().Get("mode")
	switch {
	case mode == "" && r.URL.Query().Get("wait_for_inflight_requests") == "true": // the older spelling
		mode = "wait"
	case mode == "":
		mode = "abort"
	}
	if err := s.weights.pause(r.Context(), mode); err != nil {
		return err
	}
	return s.say(w, "status", "paused")
}

func (s *Server) resume(w http.ResponseWriter, _ *http.Request) error {
	s.weights.resume()
	return s.say(w, "status", "resumed")
}

func (s *Server) abortRequests(w http.ResponseWriter, r *http.Request) error {
	var req struct {
		IDs []string `json:"request_ids"`
	}
	if err := readOptional(r, &req); err != nil {
		return err
	}
	s.weights.abort(req.IDs)
	return s.say(w, "status", "aborted")
}

// initTransfer and startUpdate have nothing to prepare: weights come from a file.
func (s *Server) initTransfer(w http.ResponseWriter, _ *http.Request) error {
	return s.say(w, "message", "Weight transfer initialized")
}

func (s *Server) startUpdate(w http.ResponseWriter, _ *http.Request) error {
	return s.say(w, "message", "Weight update started")
}

// updateWeights opens the file that update_info names and serves it from then on. A weight_version beside
// update_info labels the new weights from their first token on; without one the label changes when
// /finish_weight_update or /update_weight_version says so, until when a server that is not paused gives the
// new weights' tokens the old label. vLLM, which ignores keys that it does not know, has the latter alone.
func (s *Server) updateWeights(w http.ResponseWriter, r *http.Request) error {
	var req struct {
		Info    map[string]any `json:"update_info"`
		Version label          `json:"weight_version"`
	}
	if err := read(r, &req); err != nil {
		return err
	}
	if s.cfg.Reload == nil {
		return &apiError{status: http.StatusNotImplemented, kind: "NotImplementedError", message: "this server cannot load other weights"}
	}
	path := ""
	for _, key := range []string{"path", "model_path", "weights_path"} {
		if p, ok := req.Info[key].(string); ok && path == "" {
			path = p
		}
	}
	if path == "" {
		return bad("update_info", "Missing 'update_info' with the path of the weights in request body")
	}
	// The swap goes on when the trainer hangs up: half a swap helps nobody.
	ctx := context.WithoutCancel(r.Context())
	err := s.weights.swap(ctx, string(req.Version), func(ctx context.Context) (llm.Model, error) {
		m, err := s.cfg.Reload(ctx, path)
		if err != nil {
			return nil, bad("update_info", "load %q: %v", path, err)
		}
		return m, nil
	})
	if err != nil {
		return err
	}
	return s.say(w, "message", "Weights updated")
}

// label is a version that may come as a number.
type label string

// UnmarshalJSON accepts a text or a number.
func (l *label) UnmarshalJSON(b []byte) error {
	var text string
	var number json.Number
	if json.Unmarshal(b, &text) == nil {
		*l = label(text)
		return nil
	}
	if err := json.Unmarshal(b, &number); err != nil {
		return bad("", "a version is a text or a number")
	}
	*l = label(number.String())
	return nil
}

func (s *Server) finishUpdate(w http.ResponseWriter, r *http.Request) error {
	var req struct {
		Version label `json:"weight_version"`
	}
	if err := readOptional(r, &req); err != nil {
		return err
	}
	if req.Version != "" {
		s.weights.setVersion(string(req.Version))
	}
	return s.say(w, "message", "Weight update finished")
}

func (s *Server) updateVersion(w http.ResponseWriter, r *http.Request) error {
	var req struct {
		Version label `json:"new_version"`
	}
	if err := read(r, &req); err != nil {
		return err
	}
	if req.Version == "" {
		return bad("new_version", "Missing 'new_version' in request body")
	}
	s.weights.setVersion(string(req.Version))
	s.writeJSON(w, http.StatusOK, map[string]any{"success": true, "message": "Weight version updated", "new_version": req.Version})
	return nil
}
