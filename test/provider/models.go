package provider

import "net/http"

// modelList is the name under which the model list is scripted.
const modelList = "/v1/models"

// auxiliary answers what is neither dialect's main call.
func (s *Server) auxiliary(name string, d func(http.Header) dialect, reply func(x *exchange) any) http.HandlerFunc {
	return s.handle(d, func(x *exchange) (string, *fault, func() error) {
		return name, nil, func() error {
			out := reply(x)
			if f, failed := out.(fault); failed {
				return x.fault(f)
			}
			return x.body(http.StatusOK, "application/json", encode(out))
		}
	})
}

func always(d dialect) func(http.Header) dialect { return func(http.Header) dialect { return d } }

// byVersion tells the two model lists apart as clients do.
func byVersion(h http.Header) dialect {
	if h.Get("Anthropic-Version") != "" {
		return messages{}
	}
	return chat{}
}

func (s *Server) listModels(x *exchange) any {
	list := make([]any, len(s.models))
	for i, id := range s.models {
		list[i] = modelEntry(x.dialect, id)
	}
	if _, anthropic := x.dialect.(messages); anthropic {
		return object("data", list, "has_more", false, "first_id", s.models[0], "last_id", s.models[len(s.models)-1])
	}
	return object("object", "list", "data", list)
}

func (s *Server) getModel(x *exchange) any {
	id := x.r.PathValue("model")
	for _, known := range s.models {
		if id == known {
			return modelEntry(x.dialect, id)
		}
	}
	return x.dialect.fault(http.StatusNotFound, "", id)
}

func modelEntry(d dialect, id string) any {
	if _, anthropic := d.(messages); anthropic {
		return object("type", "model", "id", id, "display_name", id, "created_at", "2025-09-29T00:00:00Z")
	}
	return object("id", id, "object", "model", "created", 1759104000, "owned_by", "system")
}
