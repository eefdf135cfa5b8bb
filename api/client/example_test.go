package client_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"

	"github.com/spillway-gateway/spillway/api/admin"
	"github.com/spillway-gateway/spillway/api/client"
)

// controlPlane stands for a real one, which the other tests use.
func controlPlane() *httptest.Server {
	return httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		switch r.Method + " " + r.URL.Path {
		case "POST /oauth/token":
			fmt.Fprint(w, `{"access_token":"...","token_type":"Bearer","expires_in":3600}`)
		case "GET /api/llm-gateway/admin/providers":
			fmt.Fprint(w, `[{"name":"OpenAI","base_url":"https://api.openai.com/v1"},{"name":"Claude","base_url":"https://api.anthropic.com"}]`)
		default:
			w.WriteHeader(http.StatusConflict)
			fmt.Fprint(w, `{"error":{"message":"A route with this name already exists.","type":"conflict_error","param":"model_alias"}}`)
		}
	}))
}

func Example() {
	server := controlPlane()
	defer server.Close()
	ctx := context.Background()

	c, err := client.New(client.Config{URL: server.URL, ClientID: "sa-...", ClientSecret: "..."})
	if err != nil {
		fmt.Println(err)
		return
	}
	for p, err := range client.List[admin.Provider](ctx, c.ListProviders, nil) {
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(p.Name, p.BaseUrl)
	}
	_, err = c.CreateRouteWithResponse(ctx, nil, admin.RouteCreate{ModelAlias: "assistant", ChangeNote: new("for the new app")})
	if refused, ok := errors.AsType[*client.Error](err); ok {
		fmt.Println(refused.Status, refused.Type, refused.Param, refused.Message)
	}
	// Output:
	// OpenAI https://api.openai.com/v1
	// Claude https://api.anthropic.com
	// 409 conflict_error model_alias A route with this name already exists.
}
