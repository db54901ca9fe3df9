package openenv

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"net/http"
)

// The schemas of what clients send and get, as JSON Schema.
var (
	//go:embed schema/action.json
	actionSchema json.RawMessage
	//go:embed schema/observation.json
	observationSchema json.RawMessage
	//go:embed schema/state.json
	stateSchema json.RawMessage
	//go:embed schema/tool.json
	toolSchema json.RawMessage
	//go:embed schema/openapi.json
	openAPITemplate []byte
)

func (s *Server) serveSchema(w http.ResponseWriter, _ *http.Request) {
	writeJSON(w, http.StatusOK, map[string]json.RawMessage{
		"action": actionSchema, "observation": observationSchema, "reset_observation": observationSchema, "state": stateSchema,
	})
}

func (s *Server) serveMetadata(w http.ResponseWriter, _ *http.Request) {
	version := any(nil)
	if s.cfg.Version != "" {
		version = s.cfg.Version
	}
	writeJSON(w, http.StatusOK, map[string]any{
		"name": s.cfg.Suite.Name(), "description": s.cfg.About, "readme_content": nil,
		"version": version, "author": nil, "documentation_url": nil,
	})
}

func (s *Server) serveOpenAPI(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	w.Write(s.openAt) //nolint:errcheck // the client is gone
}

// openAPI is the document with the schemas in it.
func openAPI(build string) []byte {
	var doc struct {
		OpenAPI    string                                `json:"openapi"`
		Info       map[string]string                     `json:"info"`
		Paths      json.RawMessage                       `json:"paths"`
		Components map[string]map[string]json.RawMessage `json:"components"`
	}
	if err := json.Unmarshal(openAPITemplate, &doc); err != nil {
		panic(fmt.Sprintf("openenv: schema/openapi.json: %v", err)) // it is part of the program
	}
	if build != "" {
		doc.Info["description"] += " Served by hindsight " + build + "."
	}
	doc.Components["schemas"]["Action"] = actionSchema
	doc.Components["schemas"]["Observation"] = observationSchema
	doc.Components["schemas"]["State"] = stateSchema
	return encode(doc)
}
