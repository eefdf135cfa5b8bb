package gateway

import (
	"encoding/json"
	"net/http"
	"strconv"
	"time"

	"github.com/spillway-gateway/spillway/dataplane/decide"
	"github.com/spillway-gateway/spillway/dataplane/llm"
)

// OpenAI's and Anthropic's entries of a model list.
type chatModel struct {
	ID      string `json:"id"`
	Object  string `json:"object"`
	Created int64  `json:"created"`
	OwnedBy string `json:"owned_by"`
}

type messagesModel struct {
	Type        string    `json:"type"`
	ID          string    `json:"id"`
	DisplayName string    `json:"display_name"`
	CreatedAt   time.Time `json:"created_at"`
}

// models lists what the caller may put in "model", or one of it. Anthropic's
// clients, known by their version header, get Anthropic's shape.
func (h *Handler) models(w http.ResponseWriter, r *http.Request, id string) {
	x := h.exchange(w, r, dialectOf(r), surfaceModels)
	defer x.end()
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		x.refuse(&llm.Error{Status: http.StatusMethodNotAllowed, Code: "method_not_allowed", Message: "use GET"})
		return
	}
	caller, refusal := h.authenticate(r)
	if refusal != nil {
		x.refuse(refusal)
		return
	}
	if id == "" {
		x.listModels(caller.Models())
		return
	}
	for _, m := range caller.Models() {
		if m.ID == id {
			x.answer(modelEntry(x.dialect, m))
			return
		}
	}
	x.refuse(decide.UnknownModel(id))
}

func (x *exchange) listModels(models []decide.Model) {
	query := x.r.URL.Query()
	if x.dialect != llm.Messages {
		x.answer(chatList(models, query.Has("client_version")))
		return
	}
	page, more, refusal := modelPage(models, query)
	if refusal != nil {
		x.refuse(refusal)
		return
	}
	x.answer(messagesList(page, more))
}

func modelEntry(d llm.Dialect, m decide.Model) any {
	if d == llm.Messages {
		return messagesModel{"model", m.ID, m.ID, m.Created.UTC().Truncate(time.Second)}
	}
	return chatModel{m.ID, "model", m.Created.Unix(), "spillway"}
}

// codexList is OpenAI's list with the member that Codex, known by the version it
// asks with, takes the list for unreadable without. It holds what Codex should know
// of models beyond their names; where it is empty Codex goes by what it brings.
type codexList struct {
	Object string `json:"object"`
	Data   []any  `json:"data"`
	Models []any  `json:"models"`
}

func chatList(models []decide.Model, codex bool) any {
	data := modelEntries(llm.Chat, models)
	if codex {
		return codexList{"list", data, []any{}}
	}
	return struct {
		Object string `json:"object"`
		Data   []any  `json:"data"`
	}{"list", data}
}

func messagesList(models []decide.Model, more bool) any {
	list := struct {
		Data    []any   `json:"data"`
		HasMore bool    `json:"has_more"`
		FirstID *string `json:"first_id"`
		LastID  *string `json:"last_id"`
	}{Data: modelEntries(llm.Messages, models), HasMore: more}
	if len(models) > 0 {
		list.FirstID, list.LastID = &models[0].ID, &models[len(models)-1].ID
	}
	return list
}

func modelEntries(d llm.Dialect, models []decide.Model) []any {
	data := make([]any, len(models))
	for i, m := range models {
		data[i] = modelEntry(d, m)
	}
	return data
}

// answer sends a JSON answer of the gateway's own.
func (x *exchange) answer(v any) {
	body, err := json.Marshal(v)
	if err != nil {
		x.refuse(&llm.Error{Status: http.StatusInternalServerError, Code: "internal_error", Message: "internal error"})
		return
	}
	x.set("Content-Type", "application/json")
	x.set("Content-Length", strconv.Itoa(len(body)))
	x.head(http.StatusOK)
	x.send(body)
}
