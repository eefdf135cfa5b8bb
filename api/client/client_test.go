package client_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/spillway-gateway/spillway/api/admin"
	"github.com/spillway-gateway/spillway/api/client"
	"github.com/spillway-gateway/spillway/controlplane/rest/resttest"
	"github.com/spillway-gateway/spillway/controlplane/store/storetest"
)

func TestMain(m *testing.M) { storetest.Main(m) }

// bundle is a control plane, and a client of it for a new organization.
type bundle struct {
	*client.Client
	plane *resttest.Plane
	cfg   client.Config
	// around, where set, takes a request in place of the control plane's handler.
	around atomic.Pointer[func(w http.ResponseWriter, r *http.Request, next http.Handler)]
	calls  atomic.Int64 // that reached the server, without those for a token
	tokens atomic.Int64 // that were asked for
}

func setup(t *testing.T) *bundle {
	t.Helper()
	b := &bundle{}
	b.plane = resttest.Start(t, func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/oauth/token" {
				b.tokens.Add(1)
				next.ServeHTTP(w, r)
				return
			}
			b.calls.Add(1)
			if around := b.around.Load(); around != nil {
				(*around)(w, r, next)
				return
			}
			next.ServeHTTP(w, r)
		})
	})
	id, secret := b.plane.Account(t)
	b.cfg = client.Config{URL: b.plane.URL, ClientID: id, ClientSecret: secret}
	b.Client = b.with(t, b.cfg)
	return b
}

func (b *bundle) with(t *testing.T, cfg client.Config) *client.Client {
	t.Helper()
	c, err := client.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func (b *bundle) wrap(f func(w http.ResponseWriter, r *http.Request, next http.Handler)) {
	b.around.Store(&f)
}

// cutAfter carries a request out and drops the connection in place of its answer, n times.
func (b *bundle) cutAfter(n int64) {
	var seen atomic.Int64
	b.wrap(func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		if seen.Add(1) > n {
			next.ServeHTTP(w, r)
			return
		}
		next.ServeHTTP(httptest.NewRecorder(), r)
		panic(http.ErrAbortHandler)
	})
}

func group(name string) admin.CreateModelRouteGroupJSONRequestBody {
	return admin.ModelRouteGroupCreate{Name: name}
}

func (b *bundle) groups(t *testing.T, params *admin.ListModelRouteGroupsParams) (names []string) {
	t.Helper()
	list, err := client.Collect(client.List[admin.ModelRouteGroup](t.Context(), b.ListModelRouteGroups, params))
	if err != nil {
		t.Fatal(err)
	}
	for _, g := range list {
		names = append(names, g.Name)
	}
	return names
}

// One token serves many calls.
func TestOneTokenForManyCalls(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for range 3 {
		if _, err := b.GetConfigStatusWithResponse(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if got := b.tokens.Load(); got != 1 {
		t.Errorf("%d tokens were asked for, want 1", got)
	}
}

// A token that the control plane no longer takes is replaced, and the call is not lost.
func TestRefusedTokenIsRenewed(t *testing.T) {
	t.Parallel()
	b := setup(t)
	if _, err := b.CreateModelRouteGroupWithResponse(t.Context(), nil, group("one")); err != nil {
		t.Fatal(err)
	}
	b.plane.NewKeys(t)
	if _, err := b.CreateModelRouteGroupWithResponse(t.Context(), nil, group("two")); err != nil {
		t.Fatal(err)
	}
	if got, want := b.groups(t, nil), []string{"one", "two"}; !slices.Equal(got, want) || b.tokens.Load() != 2 {
		t.Errorf("groups %q and %d tokens, want %q and 2", got, b.tokens.Load(), want)
	}
}

// A token of the caller's own is used as it is, and its refusal is the call's.
func TestOwnToken(t *testing.T) {
	t.Parallel()
	b := setup(t)
	c := b.with(t, client.Config{URL: b.cfg.URL, Token: "not-a-token"})
	_, err := c.ListProvidersWithResponse(t.Context(), nil)
	if client.StatusOf(err) != http.StatusUnauthorized || b.calls.Load() != 1 || b.tokens.Load() != 0 {
		t.Errorf("error %v after %d calls and %d tokens", err, b.calls.Load(), b.tokens.Load())
	}
}

func TestWrongSecret(t *testing.T) {
	t.Parallel()
	b := setup(t)
	cfg := b.cfg
	cfg.ClientSecret = "canary"
	_, err := b.with(t, cfg).ListProvidersWithResponse(t.Context(), nil)
	got, ok := errors.AsType[*client.Error](err)
	if want := (&client.Error{Status: 401, Type: "authentication_error", Code: "invalid_client", Message: "the client id or the client secret is wrong"}); !ok || got.RequestID == "" ||
		got.Message != want.Message || got.Code != want.Code || got.Type != want.Type || got.Status != want.Status {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if strings.Contains(fmt.Sprintf("%v %+v %#v", cfg, cfg, cfg), "canary") {
		t.Error("a printed Config shows the secret")
	}
}

func TestErrorsAreTyped(t *testing.T) {
	t.Parallel()
	b := setup(t)
	_, err := b.CreateProviderWithResponse(t.Context(), nil, admin.ProviderCreate{Name: "x", ModelProvider: admin.ModelProviderOpenai, BaseUrl: "https://api.openai.com/v1"})
	got, ok := errors.AsType[*client.Error](err)
	if !ok {
		t.Fatalf("got %v", err)
	}
	want := &client.Error{Status: 400, Type: "invalid_request_error", Message: "api_key is required for API-key auth providers", Param: "api_key", RequestID: got.RequestID}
	if diff := cmp.Diff(want, got); diff != "" || got.RequestID == "" {
		t.Errorf("error differs (-want +got):\n%s", diff)
	}
}

func TestListTurnsPages(t *testing.T) {
	t.Parallel()
	b := setup(t)
	var want []string
	for i := range 7 {
		want = append(want, fmt.Sprint("group ", i))
		if _, err := b.CreateModelRouteGroupWithResponse(t.Context(), nil, group(want[i])); err != nil {
			t.Fatal(err)
		}
	}
	before := b.calls.Load()
	if got := b.groups(t, &admin.ListModelRouteGroupsParams{Limit: new(3)}); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := b.calls.Load() - before; got != 3 {
		t.Errorf("%d pages, want 3", got)
	}
	before = b.calls.Load()
	for range client.List[admin.ModelRouteGroup](t.Context(), b.ListModelRouteGroups, &admin.ListModelRouteGroupsParams{Limit: new(3)}) {
		break
	}
	if got := b.calls.Load() - before; got != 1 {
		t.Errorf("%d pages for the first item, want 1", got)
	}
	// A listing by name follows its own kind of `after`, and an error ends it.
	_, err := client.Collect(client.List[admin.ModelRouteGroup](t.Context(), b.ListModelRouteGroups, &admin.ListModelRouteGroupsParams{Limit: new(5000)}))
	if client.StatusOf(err) != http.StatusBadRequest {
		t.Errorf("a page of 5000: %v", err)
	}
}

// A creation whose answer is lost is made once.
func TestLostAnswerOfACreation(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.cutAfter(1)
	made, err := b.CreateModelRouteGroupWithResponse(t.Context(), nil, group("one"))
	if err != nil {
		t.Fatal(err)
	}
	if got := b.groups(t, nil); made.JSON200 == nil || made.JSON200.Name != "one" || !slices.Equal(got, []string{"one"}) {
		t.Errorf("answer %s, groups %q", made.Body, got)
	}
	if made.HTTPResponse.Header.Get("Idempotent-Replayed") != "true" {
		t.Error("the creation was made a second time")
	}
}

// What cannot be told apart from its own second sending is sent once.
func TestLostAnswerOfADeletion(t *testing.T) {
	t.Parallel()
	b := setup(t)
	made, err := b.CreateModelRouteGroupWithResponse(t.Context(), nil, group("one"))
	if err != nil {
		t.Fatal(err)
	}
	etag := made.HTTPResponse.Header.Get("ETag")
	b.cutAfter(100)
	before := b.calls.Load()
	if _, err := b.UpdateModelRouteGroup(t.Context(), made.JSON200.Id, &admin.UpdateModelRouteGroupParams{IfMatch: &etag}, admin.ModelRouteGroupUpdate{Name: new("two")}); err == nil || client.StatusOf(err) != 0 {
		t.Errorf("an update with If-Match: %v", err)
	}
	if _, err := b.DeleteModelRouteGroup(t.Context(), made.JSON200.Id, nil); err == nil || client.StatusOf(err) != 0 {
		t.Errorf("a deletion: %v", err)
	}
	if got := b.calls.Load() - before; got != 2 {
		t.Errorf("%d calls, want 2", got)
	}
}

// An answer that says to try later is followed, as often as Config.Retries says.
func TestTriesAgain(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		status, retries int
		call            func(context.Context, *client.Client) error
		calls           int64
	}{
		"ReadUnavailable":   {503, 2, list, 3},
		"ReadBadGateway":    {502, 1, list, 2},
		"CreateUnavailable": {503, 1, create, 2},
		"DeleteUnavailable": {503, 1, remove, 2},
		"DeleteTimeout":     {504, 1, remove, 1},
		"Internal":          {500, 3, list, 1},
		"TooMany":           {429, 3, list, 1},
		"Never":             {503, -1, list, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			b.wrap(func(w http.ResponseWriter, _ *http.Request, _ http.Handler) {
				w.Header().Set("Retry-After", "0")
				w.WriteHeader(c.status)
			})
			cfg := b.cfg
			cfg.Retries = c.retries
			err := c.call(t.Context(), b.with(t, cfg))
			if client.StatusOf(err) != c.status || b.calls.Load() != c.calls {
				t.Errorf("error %v after %d calls, want status %d after %d", err, b.calls.Load(), c.status, c.calls)
			}
		})
	}
}

func list(ctx context.Context, c *client.Client) error {
	_, err := c.ListProviders(ctx, nil)
	return err
}

func create(ctx context.Context, c *client.Client) error {
	_, err := c.CreateModelRouteGroup(ctx, nil, group("one"))
	return err
}

func remove(ctx context.Context, c *client.Client) error {
	_, err := c.DeleteModelRouteGroup(ctx, uuid.New(), nil)
	return err
}

// Credentials go to the host that was named, and to no other.
func TestRedirectsAreNotFollowed(t *testing.T) {
	t.Parallel()
	var leaked atomic.Int64
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { leaked.Add(1) }))
	t.Cleanup(other.Close)
	front := httptest.NewServer(http.RedirectHandler(other.URL, http.StatusTemporaryRedirect))
	t.Cleanup(front.Close)
	for _, cfg := range []client.Config{{URL: front.URL, Token: "t"}, {URL: front.URL, ClientID: "a", ClientSecret: "b", HTTPClient: other.Client()}} {
		c, err := client.New(cfg)
		if err != nil {
			t.Fatal(err)
		}
		if err := list(t.Context(), c); client.StatusOf(err) != http.StatusTemporaryRedirect || !strings.Contains(err.Error(), "redirect") {
			t.Errorf("got %v", err)
		}
	}
	if leaked.Load() != 0 {
		t.Error("a redirect was followed")
	}
}

// Something that answers 200 and is not the API does not pass for it.
func TestNotTheAPI(t *testing.T) {
	t.Parallel()
	page := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "<html>") }))
	t.Cleanup(page.Close)
	for _, cfg := range []client.Config{{URL: page.URL, Token: "t"}, {URL: page.URL, ClientID: "a", ClientSecret: "b"}} {
		c, err := client.New(cfg)
		if err != nil {
			t.Fatal(err)
		}
		if err := list(t.Context(), c); err == nil || !strings.Contains(err.Error(), "is the URL the control plane's?") {
			t.Errorf("got %v", err)
		}
	}
}

func TestWrongConfigs(t *testing.T) {
	t.Parallel()
	for name, cfg := range map[string]client.Config{
		"NoURL":       {Token: "t"},
		"RelativeURL": {URL: "gateway.example", Token: "t"},
		"UserInURL":   {URL: "https://a:b@gateway.example", Token: "t"},
		"NoCaller":    {URL: "https://gateway.example"},
		"HalfACaller": {URL: "https://gateway.example", ClientID: "a"},
		"TwoCallers":  {URL: "https://gateway.example", ClientID: "a", ClientSecret: "b", Token: "t"},
		"TokenURL":    {URL: "https://gateway.example", Token: "t", TokenURL: "nowhere"},
	} {
		if _, err := client.New(cfg); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
