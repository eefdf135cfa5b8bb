package rest_test

import (
	"bytes"
	"crypto/ed25519"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"
	"github.com/getkin/kin-openapi/routers/gorillamux"
	"github.com/google/uuid"

	"github.com/spillway-gateway/spillway/controlplane/identity"
	"github.com/spillway-gateway/spillway/controlplane/rest"
	"github.com/spillway-gateway/spillway/controlplane/store/storetest"
	"github.com/spillway-gateway/spillway/controlplane/tenant"
	"github.com/spillway-gateway/spillway/openapi"
)

func TestMain(m *testing.M) {
	openapi3filter.RegisterBodyDecoder("text/event-stream", openapi3filter.PlainBodyDecoder)
	storetest.Main(m)
}

const (
	adminPath        = "/api/llm-gateway/admin/"
	providersPath    = adminPath + "providers"
	mappingsPath     = adminPath + "model-mappings"
	keysPath         = adminPath + "api-keys"
	usersPath        = adminPath + "users"
	peopleGroupsPath = adminPath + "groups"
	userPath         = "/api/llm-gateway/user/"
)

// cheapPasswords lets tests sign in by the hundred.
var cheapPasswords = identity.PasswordCost{MemoryKiB: 128, Passes: 1, Threads: 1}

// api is a running admin API and a caller of it.
type api struct {
	db  *storetest.Database
	url string
	key ed25519.PrivateKey
	log *logBuffer
	// answers is every body that was ever answered.
	answers *logBuffer
	// clientID and clientSecret are an administrator's.
	clientID, clientSecret string
	org                    uuid.UUID
	token                  string
	cookie                 string // of a session, in place of the token
}

// setup returns the API for an administrator of a new organization.
func setup(t *testing.T) *api {
	t.Helper()
	return setupOver(t, storetest.Shared(t))
}

// setupAlone is setup over a database of the test's own.
func setupAlone(t *testing.T) *api {
	t.Helper()
	return setupOver(t, storetest.New(t))
}

func setupOver(t *testing.T, db *storetest.Database) *api {
	t.Helper()
	return setupFleet(t, db, nil)
}

// setupFleet is setupOver with nodes to ask.
func setupFleet(t *testing.T, db *storetest.Database, nodes rest.Fleet) *api {
	t.Helper()
	_, key, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	a := &api{db: db, key: key, log: &logBuffer{}, answers: &logBuffer{}}
	tokens, err := identity.New(identity.Config{Store: a.db.Store, Key: key})
	if err != nil {
		t.Fatal(err)
	}
	log := slog.New(slog.NewJSONHandler(a.log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	people := identity.NewPeople(identity.PeopleConfig{Store: a.db.Store, PasswordCost: cheapPasswords})
	handler, err := rest.New(rest.Config{Store: a.db.Store, Identity: tokens, People: people, Fleet: nodes, GatewayURL: gatewayURL, Log: log})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	a.url = server.URL
	a.org, a.clientID, a.clientSecret = a.organization(t, "Acme", tenant.RoleAdmin)
	a.token = a.signIn(t, a.clientID, a.clientSecret)
	return a
}

// as returns the same API for an administrator, or another role, of a new
// organization.
func (a *api) as(t *testing.T, organization string, role tenant.Role) *api {
	t.Helper()
	other := *a
	other.org, other.clientID, other.clientSecret = a.organization(t, organization, role)
	other.token = other.signIn(t, other.clientID, other.clientSecret)
	return &other
}

func (a *api) organization(t *testing.T, name string, role tenant.Role) (org uuid.UUID, clientID, clientSecret string) {
	t.Helper()
	org, err := a.db.Store.CreateOrganization(t.Context(), name+" "+uuid.NewString())
	if err != nil {
		t.Fatal(err)
	}
	clientID, clientSecret, err = a.db.Store.CreateServiceAccount(t.Context(), org, name+" automation", role)
	if err != nil {
		t.Fatal(err)
	}
	return org, clientID, clientSecret
}

func (a *api) signIn(t *testing.T, clientID, clientSecret string) string {
	t.Helper()
	r := a.form(t, url.Values{"grant_type": {"client_credentials"}, "client_id": {clientID}, "client_secret": {clientSecret}}, nil)
	r.want(t, http.StatusOK)
	return r.field(t, "access_token").(string)
}

func (a *api) form(t *testing.T, form url.Values, change func(*http.Request)) answer {
	t.Helper()
	return a.send(t, "POST", "/oauth/token", form.Encode(), func(r *http.Request) {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		r.Header.Del("Authorization")
		if change != nil {
			change(r)
		}
	})
}

// call sends a JSON body (a string as it is, anything else encoded) as the
// administrator.
func (a *api) call(t *testing.T, method, path string, body any) answer {
	t.Helper()
	return a.sendJSON(t, method, path, body, nil)
}

// sendJSON is call for a request that is changed before it is sent.
func (a *api) sendJSON(t *testing.T, method, path string, body any, change func(*http.Request)) answer {
	t.Helper()
	var text string
	switch b := body.(type) {
	case nil:
	case string:
		text = b
	default:
		raw, err := json.Marshal(body)
		if err != nil {
			t.Fatal(err)
		}
		text = string(raw)
	}
	return a.send(t, method, path, text, change)
}

func (a *api) send(t *testing.T, method, path, body string, change func(*http.Request)) answer {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, a.url+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if a.cookie != "" {
		req.Header.Set("Cookie", a.cookie)
		req.Header.Set("X-Spillway-Request", "1")
	} else {
		req.Header.Set("Authorization", "Bearer "+a.token)
	}
	req.Header.Set("Content-Type", "application/json")
	if change != nil {
		change(req)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	raw, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	a.answers.Write(raw)
	matchesDocument(t, req, res, raw)
	return answer{status: res.StatusCode, header: res.Header, body: raw}
}

// answer is a response that has been read.
type answer struct {
	status int
	header http.Header
	body   []byte
}

func (a answer) want(t *testing.T, status int) answer {
	t.Helper()
	if a.status != status {
		t.Fatalf("got status %d, want %d: %s", a.status, status, a.body)
	}
	return a
}

// wantError checks the whole envelope but its code.
func (a answer) wantError(t *testing.T, status int, kind, message string) answer {
	t.Helper()
	a.want(t, status)
	if got := a.errorField(t, "type"); got != kind {
		t.Errorf("got error type %q, want %q", got, kind)
	}
	if got := a.errorField(t, "message"); got != message {
		t.Errorf("got message %q, want %q", got, message)
	}
	return a
}

func (a answer) errorField(t *testing.T, name string) string {
	t.Helper()
	e, _ := a.field(t, "error").(map[string]any)
	text, _ := e[name].(string)
	return text
}

func (a answer) object(t *testing.T) map[string]any {
	t.Helper()
	var out map[string]any
	if err := json.Unmarshal(a.body, &out); err != nil {
		t.Fatalf("not an object: %s", a.body)
	}
	return out
}

func (a answer) list(t *testing.T) []map[string]any {
	t.Helper()
	var out []map[string]any
	if err := json.Unmarshal(a.body, &out); err != nil || out == nil {
		t.Fatalf("not a list: %s", a.body)
	}
	return out
}

func (a answer) field(t *testing.T, name string) any {
	t.Helper()
	value, ok := a.object(t)[name]
	if !ok {
		t.Fatalf("no field %q in %s", name, a.body)
	}
	return value
}

func (a answer) id(t *testing.T) string {
	t.Helper()
	return a.field(t, "id").(string)
}

// theDocument is the document, which tests only read.
var theDocument = sync.OnceValue(readDocument)

func readDocument() *openapi3.T {
	doc, err := openapi3.NewLoader().LoadFromData(openapi.Document)
	if err != nil {
		panic(err)
	}
	return doc
}

// spec is the document as answers are held against it: an object has the properties that
// the document names and no others, and an id is a UUID.
var spec = sync.OnceValue(func() routers.Router {
	openapi3.DefineStringFormatValidator("uuid", openapi3.NewCallbackValidator(uuid.Validate))
	doc := readDocument()
	seen := map[*openapi3.Schema]bool{}
	for _, schema := range doc.Components.Schemas {
		closeObjects(schema, seen)
	}
	for _, item := range doc.Paths.Map() {
		for _, op := range item.Operations() {
			for _, response := range op.Responses.Map() {
				for _, media := range response.Value.Content {
					closeObjects(media.Schema, seen)
				}
			}
		}
	}
	router, err := gorillamux.NewRouter(doc)
	if err != nil {
		panic(err)
	}
	return router
})

func closeObjects(ref *openapi3.SchemaRef, seen map[*openapi3.Schema]bool) {
	if ref == nil || seen[ref.Value] {
		return
	}
	schema := ref.Value
	seen[schema] = true
	if open := &schema.AdditionalProperties; len(schema.Properties) > 0 && open.Has == nil && open.Schema == nil {
		open.Has = new(bool)
	}
	for _, property := range schema.Properties {
		closeObjects(property, seen)
	}
	for _, part := range schema.AllOf {
		closeObjects(part, seen)
	}
	closeObjects(schema.Items, seen)
	closeObjects(schema.AdditionalProperties.Schema, seen)
}

// documentedHeaders are those that callers go by: an answer has none that the document
// does not name.
var documentedHeaders = []string{"ETag", "Link", "Location", "Retry-After", "Set-Cookie"}

// matchesDocument holds every answer of every test against the document.
func matchesDocument(t *testing.T, req *http.Request, res *http.Response, body []byte) {
	t.Helper()
	bare := req.Clone(req.Context())
	bare.URL = &url.URL{Path: req.URL.Path}
	route, params, err := spec().FindRoute(bare)
	if err != nil {
		return // not an operation: its own tests say what is answered
	}
	err = openapi3filter.ValidateResponse(t.Context(), &openapi3filter.ResponseValidationInput{
		RequestValidationInput: &openapi3filter.RequestValidationInput{Request: req, PathParams: params, Route: route},
		Status:                 res.StatusCode, Header: res.Header, Body: io.NopCloser(bytes.NewReader(body)),
		Options: &openapi3filter.Options{IncludeResponseStatus: true, MultiError: true},
	})
	if err != nil {
		t.Errorf("%s %s: the answer does not match the document: %v\n%s", req.Method, req.URL.Path, err, body)
		return
	}
	described := route.Operation.Responses.Status(res.StatusCode).Value
	for _, name := range documentedHeaders {
		if res.Header.Get(name) != "" && described.Headers[name] == nil {
			t.Errorf("%s %s: the document does not say that %d has the header %s", req.Method, req.URL.Path, res.StatusCode, name)
		}
	}
}

// logBuffer is a log that can be searched.
type logBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *logBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *logBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}

type fields = map[string]any

// with returns the fields with changes; a nil change removes a field.
func with(base fields, changes fields) fields {
	out := fields{}
	for k, v := range base {
		out[k] = v
	}
	for k, v := range changes {
		if v == nil {
			delete(out, k)
		} else {
			out[k] = v
		}
	}
	return out
}

func openAI(name string) fields {
	return fields{"name": name, "model_provider": "openai", "base_url": "https://api.openai.com/v1", "api_key": "sk-test"}
}

func (a *api) provider(t *testing.T, name string, models ...string) string {
	t.Helper()
	return a.call(t, "POST", providersPath, with(openAI(name), fields{"models": append([]string{}, models...)})).want(t, 200).id(t)
}
