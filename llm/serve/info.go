package serve

import (
	"net/http"
)

// isServed checks the model that a request names; none is fine.
func (s *Server) isServed(name string) error {
	if name != "" && name != s.info.Name {
		return notFound("The model `%s` does not exist.", name)
	}
	return nil
}

// What stands before the ids of replies.
const (
	chatPrefix = "chatcmpl-"
	textPrefix = "cmpl-"
)

// requestID is the client's id where it gave one, with the reply's prefix, else a new one.
func (s *Server) requestID(prefix, given string) string {
	if given != "" {
		return prefix + given
	}
	return s.newID(prefix)
}

func (s *Server) health(w http.ResponseWriter, _ *http.Request) error {
	w.WriteHeader(http.StatusOK)
	return nil
}

// version tells the engine and the weights that the server started with. It stays when weights are
// updated, which /weight_info tells.
func (s *Server) version(w http.ResponseWriter, _ *http.Request) error {
	s.writeJSON(w, http.StatusOK, map[string]string{"version": s.info.Version})
	return nil
}

type modelCard struct {
	ID          string   `json:"id"`
	Object      string   `json:"object"`
	Created     int64    `json:"created"`
	OwnedBy     string   `json:"owned_by"`
	Root        string   `json:"root"`
	Parent      *string  `json:"parent"`
	MaxModelLen int      `json:"max_model_len"`
	Permission  []string `json:"permission"`
	// Meta has what llama.cpp's server tells about a model and vLLM does not.
	Meta map[string]int `json:"meta"`
}

func (s *Server) card() modelCard {
	return modelCard{
		ID: s.info.Name, Object: "model", Created: s.cfg.Now().Unix(), OwnedBy: s.info.Engine, Root: s.info.Name,
		MaxModelLen: s.info.ContextLength, Permission: []string{}, Meta: map[string]int{"n_vocab": s.info.VocabSize},
	}
}

func (s *Server) models(w http.ResponseWriter, _ *http.Request) error {
	s.writeJSON(w, http.StatusOK, map[string]any{"object": "list", "data": []modelCard{s.card()}})
	return nil
}

func (s *Server) model(w http.ResponseWriter, r *http.Request) error {
	if err := s.isServed(r.PathValue("id")); err != nil {
		return err
	}
	s.writeJSON(w, http.StatusOK, s.card())
	return nil
}
