package provider

import (
	"encoding/json"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
)

// The control surface is for a person with curl:
//
//	curl -X PUT  localhost:9900/control/gpt-4o -d '{"status":503}'             fails until healed
//	curl -X PUT  localhost:9900/control/gpt-4o -d '{"kind":"rate_limit","retry_after":"20","times":3}'
//	curl -X PUT  localhost:9900/control/meta%2Fllama -d '{"hang_after":5}'     any name, URL-escaped
//	curl -X PUT 'localhost:9900/control/*' -d '{"reset":true}'                 every model
//	curl -X DELETE localhost:9900/control/gpt-4o                               heals it
//	curl localhost:9900/control                                                what is set, and counts

// ModelState is one entry of GET /control.
type ModelState struct {
	Model    string     `json:"model"`
	Requests int        `json:"requests"`
	APIKey   string     `json:"api_key,omitempty"`
	Next     []Behavior `json:"next,omitempty"`
}

// states lists every model that is scripted or was asked.
func (s *script) states() []ModelState {
	s.mu.Lock()
	defer s.mu.Unlock()
	var list []ModelState
	plain := map[string]bool{}
	for key, queue := range s.queues {
		list = append(list, ModelState{key.model, s.counts[key.model], key.apiKey, slices.Clone(queue)})
		plain[key.model] = plain[key.model] || key.apiKey == ""
	}
	for model, n := range s.counts {
		if !plain[model] {
			list = append(list, ModelState{Model: model, Requests: n})
		}
	}
	slices.SortFunc(list, func(a, b ModelState) int {
		return strings.Compare(a.Model+"\x00"+a.APIKey, b.Model+"\x00"+b.APIKey)
	})
	return list
}

// local refuses a control request from another machine: whoever reaches the
// provider's port must not be able to break it.
func (s *Server) local(w http.ResponseWriter, r *http.Request) bool {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	ip := net.ParseIP(host)
	if err != nil || ip == nil || !ip.IsLoopback() || r.Header.Get("X-Forwarded-For") != "" {
		writeJSON(w, http.StatusForbidden, map[string]string{"error": "the control surface answers this machine only"})
		return false
	}
	return true
}

func (s *Server) listControl(w http.ResponseWriter, r *http.Request) {
	if s.local(w, r) {
		writeJSON(w, http.StatusOK, map[string]any{"models": s.script.states(), "kinds": Kinds()})
	}
}

func (s *Server) putControl(w http.ResponseWriter, r *http.Request) {
	if !s.local(w, r) {
		return
	}
	var b Behavior
	raw, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 1<<20))
	if err == nil {
		err = json.Unmarshal(raw, &b)
	}
	if err == nil {
		err = b.validate()
	}
	model := r.PathValue("model")
	if err != nil || model == "" {
		message := "name a model: PUT /control/{model}"
		if err != nil {
			message = err.Error()
		}
		writeJSON(w, http.StatusBadRequest, map[string]string{"error": message})
		return
	}
	s.Script(model, b)
	s.log.Info("scripted", "model", model, "behavior", string(raw))
	writeJSON(w, http.StatusOK, ModelState{Model: model, Next: []Behavior{b}})
}

func (s *Server) deleteControl(w http.ResponseWriter, r *http.Request) {
	if !s.local(w, r) {
		return
	}
	model := r.PathValue("model")
	s.Script(model)
	s.log.Info("healed", "model", model)
	writeJSON(w, http.StatusOK, map[string]string{"healed": model})
}

func writeJSON(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(append(encode(v), '\n')) // a client that left is not our concern
}
